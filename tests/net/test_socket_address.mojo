"""Tests for `flare.net.socket_address`."""

from flare.net import IpAddr, SocketAddr
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from fuzz.random import Random

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable):
    var text: StaticString
    # The canonical text, or the reason of the refusal.
    var wanted: StaticString


def _outcome(text: StringSlice) -> String:
    try:
        return String(SocketAddr.parse_octets(text.as_bytes()))
    except e:
        return String(e.reason)


def test_address_and_port_are_read() raises:
    var rows: List[_Row] = [
        _Row("127.0.0.1:80", "127.0.0.1:80"),
        _Row("127.0.0.1:0", "127.0.0.1:0"),
        _Row("127.0.0.1:65535", "127.0.0.1:65535"),
        _Row("127.0.0.1:00080", "127.0.0.1:80"),
        _Row("[::1]:8080", "[::1]:8080"),
        _Row("[0:0:0:0:0:0:0:1]:1", "[::1]:1"),
        _Row("[::ffff:1.2.3.4]:65535", "[::ffff:1.2.3.4]:65535"),
    ]
    for row in rows:
        assert_equal(_outcome(row.text), row.wanted, row.text)


def test_other_texts_are_refused() raises:
    comptime LETTER = (
        "a letter that no address has; names are not resolved here"
    )
    comptime NO_PORT = "the port is missing"
    comptime NO_DIGIT = "the port has an octet that is no digit"
    comptime NO_BRACKETS = "an IPv6 address stands in brackets"
    var rows: List[_Row] = [
        _Row("", "the text is empty"),
        _Row(":", "the text is empty"),
        _Row(":80", "the text is empty"),
        _Row("127.0.0.1", NO_PORT),
        _Row("127.0.0.1:", NO_PORT),
        _Row("[::1]", NO_PORT),
        _Row("[::1]:", NO_PORT),
        _Row("127.0.0.1:65536", "the port is over 65535"),
        _Row("[::1]:99999", "the port is over 65535"),
        _Row("127.0.0.1:000080", "the port is longer than five digits"),
        _Row(
            "127.0.0.1:18446744073709551616",
            "the port is longer than five digits",
        ),
        _Row("127.0.0.1:+80", NO_DIGIT),
        _Row("127.0.0.1:-1", NO_DIGIT),
        _Row("127.0.0.1:8 ", NO_DIGIT),
        _Row("127.0.0.1: 8", NO_DIGIT),
        _Row("127.0.0.1:0x50", NO_DIGIT),
        _Row("127.0.0.1:http", NO_DIGIT),
        _Row("127.0.0.1:80\0", NO_DIGIT),
        _Row("127.0.0.1:80/", NO_DIGIT),
        _Row("::1:80", NO_BRACKETS),
        _Row("1::2", NO_BRACKETS),
        _Row("127.0.0.1:80:80", NO_BRACKETS),
        _Row("[", "the closing bracket is missing"),
        _Row("[::1", "the closing bracket is missing"),
        _Row("[]:80", "the text is empty"),
        _Row("[::1]80", "a colon follows the closing bracket"),
        _Row("[::1]]:80", "a colon follows the closing bracket"),
        _Row("[[::1]]:80", "brackets do not belong here"),
        _Row("[127.0.0.1]:80", "only an IPv6 address stands in brackets"),
        _Row("[fe80::1%eth0]:80", "an address with a zone is not accepted"),
        _Row("localhost:80", LETTER),
        _Row("user@127.0.0.1:80", LETTER),
        _Row(" 127.0.0.1:80", "a blank does not belong here"),
    ]
    for row in rows:
        assert_equal(_outcome(row.text), row.wanted, row.text)


def test_fields_are_those_of_the_text() raises:
    var address = SocketAddr.parse("[::1]:8080")
    assert_true(address.ip.is_v6())
    assert_equal(address.port, 8080)
    assert_true(address == SocketAddr(IpAddr.localhost_v6(), 8080))
    assert_false(address == SocketAddr(IpAddr.localhost_v6(), 8081))
    assert_false(address == SocketAddr(IpAddr.localhost_v4(), 8080))


def test_named_addresses_are_what_their_names_say() raises:
    assert_equal(String(SocketAddr.localhost(8080)), "127.0.0.1:8080")
    assert_equal(String(SocketAddr.localhost_v6(8080)), "[::1]:8080")
    assert_equal(String(SocketAddr.any_v4(0)), "0.0.0.0:0")
    assert_equal(String(SocketAddr.any_v6(65535)), "[::]:65535")


def test_equal_addresses_share_a_place_in_a_dict() raises:
    var seen = Dict[SocketAddr, Int]()
    seen[SocketAddr.localhost(1)] = 1
    seen[SocketAddr.localhost(2)] = 2
    seen[SocketAddr.localhost_v6(1)] = 3
    assert_equal(len(seen), 3)
    assert_equal(seen[SocketAddr.parse("127.0.0.1:00002")], 2)


def test_the_kernels_layout_and_the_text_round_trip() raises:
    for run in range(2000):
        var random = Random(2, run)
        var ip = IpAddr.from_v4_number(UInt32(random.next() >> 32))
        if random.chance(50):
            var octets = Array[UInt8, 16](fill=0)
            for i in range(16):
                octets[i] = random.octet()
            ip = IpAddr.v6(octets)
        var address = SocketAddr(ip, UInt16(random.next() >> 48))
        var decoded = SocketAddr.from_storage(address.to_storage())
        assert_true(decoded.value() == address, String(address))
        assert_true(SocketAddr.parse(String(address)) == address)


def test_a_family_that_is_not_ip_gives_no_address() raises:
    var storage = SocketAddressStorage()
    assert_false(SocketAddr.from_storage(storage))
    storage.words[0] = UInt64(AF_UNIX)
    assert_false(SocketAddr.from_storage(storage))


comptime TESTS = __functions_in_module()
