"""Tests for names on the wire, and for queries."""

from flare.proto.dns import (
    HEADER_OCTETS,
    DnsMessageError,
    RecordType,
    append_name,
    name_text,
    same_name,
    skip_name,
    write_query,
)
from tests.asserting import assert_equal, assert_false, assert_true
from tests.proto.dns_messages import Message


@fieldwise_init
struct _Row(Copyable):
    var what: StaticString
    var octets: List[UInt8]
    var reason: StaticString


def test_a_query_has_one_question_and_says_what_it_takes() raises:
    var query = write_query("Www.example.com.", RecordType.AAAA, 0x1234)
    var wanted = Message(0x1234, 0x0100, 1, 0, 0, 1)
    wanted.question("Www.example.com", 28)
    wanted.options()
    assert_equal(query, wanted.octets)
    query = write_query("a", RecordType.A, 7, with_edns=False)
    wanted = Message(7, 0x0100)
    wanted.question("a", 1)
    assert_equal(query, wanted.octets)


def test_the_lengths_of_names_and_labels_are_inclusive() raises:
    assert_equal(_refusal(_repeated("a", 63)), "")
    assert_equal(_refusal(_repeated("a", 64)), "a label is over 63 octets")
    # Three labels of 63 octets and one of 61 are 255 on the wire.
    var long = _repeated("a", 63) + "."
    assert_equal(_refusal(long + long + long + _repeated("b", 61)), "")
    assert_equal(
        _refusal(long + long + long + _repeated("b", 62)),
        "the name is over 255 octets",
    )
    assert_equal(_refusal(long + long + long + _repeated("b", 61) + "."), "")


def test_empty_names_and_labels_are_refused() raises:
    assert_equal(_refusal(""), "the name is empty")
    assert_equal(_refusal("."), "the name is empty")
    for text in ["a..b", ".a", "a..", ".."]:
        assert_equal(_refusal(text), "a label is empty")


def test_what_is_refused_leaves_the_message_as_it_was() raises:
    var message: List[UInt8] = [1, 2]
    var is_refused = False
    try:
        append_name("a..b", message)
    except:
        is_refused = True
    assert_true(is_refused)
    assert_equal(len(message), 2)


def test_names_that_break_a_rule_are_refused() raises:
    var long = List[UInt8]()
    for _ in range(4):
        long.append(63)
        for _ in range(63):
            long.append(97)
    long.append(0)
    var rows: List[_Row] = [
        _Row("nothing", [], "a name leaves the message"),
        _Row("no root", [1, 97], "a name leaves the message"),
        _Row("half a label", [3, 97, 98], "a label leaves the message"),
        _Row("half a pointer", [0xC0], "a pointer leaves the message"),
        _Row("type 01", [0x40, 97], "a label has no known type"),
        _Row("type 10", [0x80, 97], "a label has no known type"),
        _Row("to itself", [0xC0, 12], "a pointer does not lead to the front"),
        _Row(
            "to the header", [0xC0, 4], "a pointer does not lead to the front"
        ),
        _Row(
            "ahead",
            [1, 97, 0xC0, 20, 0, 0, 0, 0, 0],
            "a pointer does not lead to the front",
        ),
        _Row(
            "into its own labels",
            [1, 97, 0xC0, 12],
            "a pointer does not lead to the front",
        ),
        _Row("257 octets", long^, "a name is over 255 octets"),
    ]
    for row in rows:
        var message = List[UInt8](length=HEADER_OCTETS, fill=0)
        message.extend(Span(row.octets))
        assert_equal(_end(message, HEADER_OCTETS), row.reason, row.what)


def test_pointers_that_lead_to_one_another_are_bounded() raises:
    # Each pointer leads to the one before it, which is allowed 127 times.
    for count in [127, 128]:
        var message = List[UInt8](length=HEADER_OCTETS, fill=0)
        message.append(0)
        for i in range(count):
            var target = HEADER_OCTETS if i == 0 else HEADER_OCTETS - 1 + 2 * i
            message.append(UInt8(0xC0 | target >> 8))
            message.append(UInt8(target & 255))
        var start = len(message) - 2
        var wanted = String(len(message))
        if count == 128:
            wanted = "a name follows too many pointers"
        assert_equal(_end(message, start), wanted)


def test_a_name_may_end_in_a_pointer() raises:
    var message = Message(0, 0)
    message.name("example.com")
    var second = len(message.octets)
    message.number(3, 1)
    message.octets.extend("WWW".as_bytes())
    message.pointer(HEADER_OCTETS)
    var end = len(message.octets)
    message.number(0xFFFF, 2)
    assert_equal(skip_name(Span(message.octets), second), end)
    assert_equal(name_text(Span(message.octets), second), "WWW.example.com")
    var third = len(message.octets)
    message.name("www.EXAMPLE.com")
    assert_true(
        same_name(Span(message.octets), second, Span(message.octets), third)
    )
    assert_false(
        same_name(
            Span(message.octets), HEADER_OCTETS, Span(message.octets), third
        )
    )


def test_the_text_of_a_name_has_escapes() raises:
    var message = List[UInt8](length=HEADER_OCTETS, fill=0)
    message.extend([4, 46, 92, 0, 255, 1, 97, 0])
    assert_equal(name_text(Span(message), HEADER_OCTETS), "\\.\\\\\\000\\255.a")
    assert_equal(name_text(Span(message), len(message) - 1), ".")


def _end(message: List[UInt8], start: Int) -> String:
    # Where the name ends, or why it is refused.
    try:
        return String(skip_name(Span(message), start))
    except e:
        return String(
            e.reason if e.kind == DnsMessageError.MALFORMED else "no kind"
        )


def _refusal(text: StringSlice) -> String:
    var message = List[UInt8]()
    try:
        append_name(text, message)
        return String()
    except e:
        return String(e.reason)


def _repeated(text: StaticString, count: Int) -> String:
    var all = String()
    for _ in range(count):
        all += text
    return all^


comptime TESTS = __functions_in_module()
