"""Tests for reading answers against their queries."""

from flare.proto.dns import (
    RECORDS_MAX,
    DnsOutcome,
    RecordType,
    name_text,
    read_answer,
    write_query,
)
from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto.dns_messages import Message

comptime _NAME: StaticString = "www.example.com"
comptime _ID = 0x4711
comptime _ANSWER = 0x8180


def test_addresses_come_in_the_order_of_the_server() raises:
    var message = Message(_ID, _ANSWER, 1, 3)
    message.question("WWW.Example.COM", 1)
    message.v4(_NAME, 300, 0x0A000001)
    message.v4("other.example.com", 5, 0x0A000009)
    message.pointer(12)
    message.fixed(1, 200, 4)
    message.number(0x0A000002, 4)
    var answer = _read(message)
    assert_equal(answer.outcome, DnsOutcome.ADDRESSES)
    assert_equal(len(answer.addresses), 2)
    assert_equal(answer.addresses[0][3], 1)
    assert_equal(answer.addresses[1][3], 2)
    assert_equal(answer.ttl_seconds.value(), 200)


def test_messages_for_other_queries_are_foreign() raises:
    var message = Message(_ID + 1, _ANSWER)
    message.question(_NAME, 1)
    assert_equal(_failure(message), "0 the id is not that of the query")
    message = Message(_ID, 0x0100)
    message.question(_NAME, 1)
    assert_equal(_failure(message), "0 the message is not an answer")
    message = Message(_ID, _ANSWER | 0x0800)
    message.question(_NAME, 1)
    assert_equal(_failure(message), "0 the message is not an answer")
    message = Message(_ID, _ANSWER)
    message.question("www.example.org", 1)
    assert_equal(_failure(message), "0 the question has another name")
    message = Message(_ID, _ANSWER)
    message.question(_NAME, 28)
    assert_equal(_failure(message), "0 the question has another type")
    for questions in [0, 2]:
        message = Message(_ID, _ANSWER, questions)
        message.question(_NAME, 1)
        assert_equal(_failure(message), "0 the message has not one question")


def test_names_that_stand_for_others_are_followed_in_any_order() raises:
    var message = Message(_ID, _ANSWER, 1, 3)
    message.question(_NAME, 1)
    message.v4("c.example", 900, 1)
    message.cname("B.example", 30, "c.example")
    message.cname(_NAME, 60, "b.example")
    var answer = _read(message)
    assert_equal(len(answer.addresses), 1)
    assert_equal(answer.ttl_seconds.value(), 30)
    assert_equal(
        name_text(Span(message.octets), answer.canonical_name), "c.example"
    )


def test_names_that_lead_in_a_circle_are_refused() raises:
    var message = Message(_ID, _ANSWER, 1, 2)
    message.question(_NAME, 1)
    message.cname(_NAME, 60, "b.example")
    message.cname("b.example", 60, _NAME)
    assert_equal(_failure(message), "1 too many names lead to others")


def test_sixteen_names_may_lead_to_others() raises:
    for count in [16, 17]:
        var message = Message(_ID, _ANSWER, 1, count + 1)
        message.question(_NAME, 1)
        message.cname(_NAME, 60, "n1")
        for i in range(1, count):
            message.cname(String("n", i), 60, String("n", i + 1))
        message.v4(String("n", count), 60, 5)
        if count == 16:
            assert_equal(len(_read(message).addresses), 1)
        else:
            assert_equal(_failure(message), "1 too many names lead to others")


def test_a_no_holds_as_long_as_its_zone_says() raises:
    for code in [0, 3]:
        var message = Message(_ID, _ANSWER | code, 1, 0, 1)
        message.question(_NAME, 1)
        message.soa("example.com", 3600, 120)
        var answer = _read(message)
        assert_equal(
            answer.outcome,
            DnsOutcome.NO_ADDRESS if code == 0 else DnsOutcome.NO_SUCH_NAME,
        )
        assert_equal(answer.ttl_seconds.value(), 120)
    var message = Message(_ID, _ANSWER | 3, 1, 0, 1)
    message.question(_NAME, 1)
    message.soa("example.com", 60, 120)
    assert_equal(_read(message).ttl_seconds.value(), 60)
    message = Message(_ID, _ANSWER | 3)
    message.question(_NAME, 1)
    assert_false(Bool(_read(message).ttl_seconds))


def test_a_server_that_only_names_others_has_failed() raises:
    var message = Message(_ID, 0x8100)
    message.question(_NAME, 1)
    var answer = _read(message)
    assert_equal(answer.outcome, DnsOutcome.FAILED)
    assert_equal(answer.response_code, 0)


def test_codes_of_failure_are_reported() raises:
    for code in [1, 2, 4, 5, 9]:
        var message = Message(_ID, _ANSWER | code)
        message.question(_NAME, 1)
        var answer = _read(message)
        assert_equal(answer.outcome, DnsOutcome.FAILED)
        assert_equal(answer.response_code, code)
    var header = Message(_ID, _ANSWER | 1, 0)
    assert_equal(_read(header).response_code, 1)
    var message = Message(_ID, _ANSWER, 1, 0, 0, 1)
    message.question(_NAME, 1)
    message.options(extended=1)
    assert_equal(_read(message).response_code, 16)


def test_of_a_truncated_answer_nothing_else_is_read() raises:
    var message = Message(_ID, _ANSWER | 0x0200, 1, 40)
    message.question(_NAME, 1)
    message.number(0xFFFF, 2)
    assert_equal(_read(message).outcome, DnsOutcome.TRUNCATED)


def test_a_ttl_with_the_highest_bit_is_none() raises:
    var message = Message(_ID, _ANSWER, 1, 1)
    message.question(_NAME, 1)
    message.v4(_NAME, 0x80000000, 1)
    assert_equal(_read(message).ttl_seconds.value(), 0)


def test_a_thousand_records_are_read_and_too_many_are_not() raises:
    for count in [1000, RECORDS_MAX, RECORDS_MAX + 1]:
        var message = Message(_ID, _ANSWER, 1, count)
        message.question(_NAME, 1)
        for i in range(count):
            message.pointer(12)
            message.fixed(1, 60, 4)
            message.number(i, 4)
        if count <= RECORDS_MAX:
            assert_equal(len(_read(message).addresses), count)
        else:
            assert_equal(
                _failure(message), "1 the message has too many records"
            )


def test_records_out_of_shape_are_refused() raises:
    for octets in [3, 5]:
        var message = _one_record(1, octets)
        assert_equal(_failure(message), "1 an A record has not four octets")
    assert_equal(
        _failure(_one_record(28, 4)), "1 an AAAA record has not 16 octets"
    )
    # Four zeros are four roots, and a CNAME record has one.
    assert_equal(
        _failure(_one_record(5, 4)), "1 a CNAME record is not one name"
    )
    assert_equal(
        _failure(_one_record(6, 21)),
        "1 an SOA record is not two names and five numbers",
    )
    assert_equal(
        _failure(_one_record(41, 0)), "1 an OPT record is out of place"
    )
    assert_equal(_read(_one_record(16, 9)).outcome, DnsOutcome.NO_ADDRESS)


def test_a_message_cut_anywhere_is_refused() raises:
    var message = Message(_ID, _ANSWER, 1, 2, 0, 1)
    message.question(_NAME, 1)
    message.cname(_NAME, 60, "b.example")
    message.v4("b.example", 60, 1)
    message.options()
    assert_equal(len(_read(message).addresses), 1)
    var whole = message.octets.copy()
    for count in range(len(whole)):
        message.octets = List(Span(whole)[:count])
        assert_true(_failure(message).startswith("1 "), String(count))


def test_what_lies_behind_the_last_record_is_not_read() raises:
    var message = Message(_ID, _ANSWER, 1, 1)
    message.question(_NAME, 1)
    message.v4(_NAME, 60, 1)
    message.number(0xFFFF, 2)
    assert_equal(len(_read(message).addresses), 1)


def _query() raises -> List[UInt8]:
    try:
        return write_query(_NAME, RecordType.A, UInt16(_ID))
    except e:
        raise Error(e)


struct _Answer(Movable):
    var outcome: UInt8
    var response_code: Int
    var addresses: List[SIMD[DType.uint8, 16]]
    var ttl_seconds: Optional[Int]
    var canonical_name: Int

    def __init__(out self, message: Message) raises:
        var query = _query()
        try:
            var answer = read_answer(Span(message.octets), Span(query))
            self.outcome = answer.outcome
            self.response_code = answer.response_code
            self.addresses = answer.addresses.copy()
            self.ttl_seconds = answer.ttl_seconds
            self.canonical_name = answer.canonical_name
        except e:
            raise Error(e)


def _read(message: Message) raises -> _Answer:
    return _Answer(message)


def _failure(message: Message) raises -> String:
    var query = _query()
    try:
        _ = read_answer(Span(message.octets), Span(query))
        return "none"
    except e:
        return String(e.kind, " ", e.reason)


def _one_record(type: Int, octets: Int) -> Message:
    var message = Message(_ID, _ANSWER, 1, 1)
    message.question(_NAME, 1)
    message.name("" if type == 41 else _NAME)
    message.fixed(type, 60, octets)
    for _ in range(octets):
        message.number(0, 1)
    return message^


comptime TESTS = __functions_in_module()
