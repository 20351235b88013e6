"""Tests for `flare.http.stream_address`."""

from std.testing import assert_raises

from flare.http import StreamAddr
from flare.net import SocketAddr
from flare.sys.socket_address import SocketAddressStorage
from flare.unix import UnixAddr

from tests.asserting import assert_equal, assert_false, assert_true


def test_each_text_names_its_kind() raises:
    var rows: List[Tuple[String, Bool]] = [
        (String("127.0.0.1:80"), False),
        (String("[::1]:65535"), False),
        (String("unix:/run/app.sock"), True),
        (String("unix:app.sock"), True),
        (String("unix:@app"), True),
        (String("unix:./@app"), True),
    ]
    for row in rows:
        var address = StreamAddr.parse(row[0])
        assert_equal(String(address), row[0])
        assert_equal(address.is_unix(), row[1], row[0])
        assert_equal(Bool(address.ip_address()), not row[1], row[0])


def test_what_is_no_address_is_refused() raises:
    for text in ["", "unix:", "unix:@", "127.0.0.1", "localhost:80", "UNIX:/a"]:
        with assert_raises(contains="net.bad_address parse"):
            _ = StreamAddr.parse(text)


def test_addresses_are_asked_for_by_kind() raises:
    var tcp = StreamAddr(SocketAddr.localhost(80))
    assert_true(tcp.socket_address() == SocketAddr.localhost(80))
    with assert_raises(contains="net.unsupported address"):
        _ = tcp.unix_address()
    var unix = StreamAddr(UnixAddr.parse("/run/a"))
    assert_true(unix.unix_address() == UnixAddr.parse("/run/a"))
    with assert_raises(contains="net.unsupported address"):
        _ = unix.socket_address()


def test_equal_addresses_have_one_kind_and_name() raises:
    var same = StreamAddr.parse("unix:/a")
    assert_true(same == StreamAddr.parse("unix:/a"))
    assert_false(same == StreamAddr.parse("unix:@/a"))
    assert_false(same == StreamAddr.parse("127.0.0.1:80"))
    var tcp = StreamAddr.parse("127.0.0.1:80")
    assert_true(tcp == StreamAddr(SocketAddr.localhost(80)))
    assert_false(tcp == StreamAddr(SocketAddr.localhost(81)))
    assert_false(tcp == same)


def test_the_kernels_layout_round_trips() raises:
    for text in ["127.0.0.1:80", "[2001:db8::1]:0", "unix:/a", "unix:@a"]:
        var address = StreamAddr.parse(text)
        var storage: SocketAddressStorage
        if address.is_unix():
            storage = address.unix_address().to_storage()
        else:
            storage = address.socket_address().to_storage()
        assert_true(StreamAddr.from_storage(storage).value() == address, text)
    assert_false(Bool(StreamAddr.from_storage(SocketAddressStorage())))
    var unnamed = SocketAddressStorage.unix(Span[UInt8, ImmStaticOrigin]())
    unnamed.note_octet_count(2)
    assert_equal(String(StreamAddr.from_storage(unnamed).value()), "unix:")


comptime TESTS = __functions_in_module()
