"""Tests for `flare.net.error` and its text form."""

from flare.net import IpAddr, NetError, SocketAddr
from flare.net.error_text import NET_KINDS, NET_OPERATIONS
from fuzz.random import Random

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable):
    var text: StaticString
    var shown: StaticString


def _refuse() raises:
    raise NetError.from_errno(
        "connect", -111, SocketAddr(IpAddr.v4(10, 0, 0, 1), 80)
    )


def _checked_by_the_user(port: Int) raises -> Int:
    if port > 1000:
        raise Error("port ", port, " is not ours")
    return port


def _mixed(address: StaticString, number: StaticString) raises -> Int:
    var parsed = SocketAddr.parse(address)
    return _checked_by_the_user(Int(number) + Int(parsed.port))


def test_one_try_mixes_ours_with_other_errors() raises:
    assert_equal(_mixed("127.0.0.1:80", "1"), 81)
    try:
        _ = _mixed("127.0.0.1:x", "1")
    except e:
        assert_equal(NetError.of(e).value().kind, NetError.BAD_ADDRESS)
        assert_equal(NetError.of(e).value().operation, "parse")
    try:
        _ = _mixed("127.0.0.1:80", "x")
        assert_true(False, "Int raises")
    except e:
        assert_false(NetError.of(e))
    try:
        _ = _mixed("127.0.0.1:80", "1000")
        assert_true(False, "the user's function raises")
    except e:
        assert_false(NetError.of(e))


def test_a_raised_error_starts_with_a_stable_code() raises:
    try:
        _refuse()
        assert_true(False, "it raises")
    except e:
        assert_equal(String(e), "net.refused connect 10.0.0.1:80 errno=111")
        var error = NetError.of(e).value()
        assert_equal(error.kind, NetError.REFUSED)
        assert_equal(error.operation, "connect")
        assert_equal(error.errno, 111)
        assert_equal(String(error.address.value()), "10.0.0.1:80")


def test_absent_parts_are_left_out() raises:
    assert_equal(String(NetError(NetError.TIMEOUT, "read")), "net.timeout read")
    assert_equal(
        String(NetError(NetError.CLOSED, "write", errno=32)),
        "net.closed write errno=32",
    )
    assert_equal(
        String(
            NetError(
                NetError.CANCELLED,
                "connect",
                address=SocketAddr.localhost_v6(1),
            )
        ),
        "net.cancelled connect [::1]:1",
    )


def test_every_error_is_read_back_from_its_text() raises:
    var kinds = materialize[NET_KINDS]()
    var operations = materialize[NET_OPERATIONS]()
    assert_equal(len(kinds), NetError.NOT_FOUND + 1)
    for run in range(3000):
        var random = Random(3, run)
        var error = NetError(random.below(len(kinds)), random.pick(operations))
        if random.chance(50):
            error.errno = random.between(1, 4095)
        if random.chance(50):
            error.address = SocketAddr(
                IpAddr.from_v4_number(UInt32(random.next() >> 32)),
                UInt16(random.next() >> 48),
            )
        elif random.chance(50):
            error.address = SocketAddr.any_v6(UInt16(random.next() >> 48))
        var text = String(error)
        var back = NetError.of(Error(text)).value()
        assert_equal(back.kind, error.kind, text)
        assert_equal(back.operation, error.operation, text)
        assert_equal(back.errno, error.errno, text)
        assert_equal(Bool(back.address), Bool(error.address), text)
        assert_equal(String(back), text)


def test_a_detail_behind_a_colon_is_for_people_only() raises:
    var error = NetError.of(
        Error('net.bad_address parse: the reason: "text errno=9"')
    ).value()
    assert_equal(error.kind, NetError.BAD_ADDRESS)
    assert_equal(error.errno, 0)
    assert_equal(
        NetError.of(Error("net.refused connect 10.0.0.1:80 errno=111: why"))
        .value()
        .errno,
        111,
    )


def test_texts_of_others_are_not_read() raises:
    var texts: List[StaticString] = [
        "",
        "net.",
        "net.refused",
        "net.refused ",
        "net. connect",
        "refused connect",
        " net.refused connect",
        "net.refused connect ",
        "net.refused  connect",
        "net.refusal connect",
        "net.refused dial",
        "Net.refused connect",
        "net.refused connect errno=",
        "net.refused connect errno=0",
        "net.refused connect errno=0111",
        "net.refused connect errno=-1",
        "net.refused connect errno=4096",
        "net.refused connect errno=11111",
        "net.refused connect errno=1x",
        "net.refused connect errno=111 ",
        "net.refused connect errno=111 10.0.0.1:80",
        "net.refused connect 10.0.0.1",
        "net.refused connect 10.0.0.1:080",
        "net.refused connect [::0]:80",
        "net.refused connect 10.0.0.1:80 errno=111 more",
        "net.refused connect 10.0.0.1:80 10.0.0.1:80",
        "net.refused connect\n",
        "net.refused connect: caf\xc3\xa9",
        "handler: net.refused connect",
    ]
    for text in texts:
        assert_false(NetError.of(Error(String(text))), text)
    assert_true(NetError.of(Error("net.refused connect errno=4095")))


def test_errnos_have_the_kind_a_program_branches_on() raises:
    var rows: List[Tuple[Int, Int]] = [
        (110, NetError.TIMEOUT),
        (111, NetError.REFUSED),
        (104, NetError.RESET),
        (103, NetError.RESET),
        (32, NetError.CLOSED),
        (9, NetError.CLOSED),
        (107, NetError.CLOSED),
        (101, NetError.UNREACHABLE),
        (113, NetError.UNREACHABLE),
        (98, NetError.ADDRESS_IN_USE),
        (99, NetError.ADDRESS_NOT_AVAILABLE),
        (13, NetError.PERMISSION),
        (1, NetError.PERMISSION),
        (24, NetError.NO_DESCRIPTORS),
        (23, NetError.NO_DESCRIPTORS),
        (12, NetError.NO_MEMORY),
        (105, NetError.NO_MEMORY),
        (125, NetError.CANCELLED),
        (90, NetError.TOO_LARGE),
        (97, NetError.UNSUPPORTED),
        (92, NetError.UNSUPPORTED),
        (22, NetError.OTHER),
        (11, NetError.OTHER),
        (0, NetError.OTHER),
    ]
    for row in rows:
        var errno = row[0]
        assert_equal(
            NetError.from_errno("read", errno).kind, row[1], String(errno)
        )
        var negated = NetError.from_errno("read", -errno)
        assert_equal(negated.kind, row[1], String(-errno))
        assert_equal(negated.errno, errno)


def test_a_refused_address_is_shown_escaped_and_cut() raises:
    var rows: List[_Row] = [
        _Row("a\r\nb\0\\", '"a\\x0d\\x0ab\\x00\\x5c"'),
        _Row("\x1b[31m", '"\\x1b[31m"'),
    ]
    for row in rows:
        var shown = String(row.shown)
        try:
            _ = IpAddr.parse(row.text)
            assert_true(False, shown)
        except e:
            assert_true(String(e).startswith("net.bad_address parse: "))
            assert_true(String(e).endswith(String(": ", shown)), String(e))
            assert_equal(NetError.of(e).value().kind, NetError.BAD_ADDRESS)


def _shown(text: String) -> Int:
    try:
        _ = SocketAddr.parse(text)
    except e:
        var whole = String(e)
        var start = whole.find('"') + 1
        if whole.endswith('..."'):
            return whole.byte_length() - start - 4
        return whole.byte_length() - start - 1
    return -1


def test_at_most_64_octets_of_a_refused_text_are_shown() raises:
    var plain = String()
    for _ in range(63):
        plain += "x"
    assert_equal(_shown(plain), 63)
    assert_equal(_shown(plain + "x"), 64)
    assert_equal(_shown(plain + "xx"), 64)
    # An escape is shown whole or not at all.
    assert_equal(_shown(plain + "\n"), 63)
    assert_equal(_shown(String(plain[byte=0:60]) + "\n"), 64)
    assert_equal(_shown(String(plain[byte=0:61]) + "\n"), 61)


comptime TESTS = __functions_in_module()
