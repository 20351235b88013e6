"""Tests for the names of Unix sockets."""

from flare.net import NetError
from flare.sys.socket_address import SocketAddressStorage
from flare.unix import UnixAddr

from tests.asserting import assert_equal, assert_false, assert_true


def test_names_are_read_and_written_and_cross_the_kernel_layout() raises:
    var rows: List[Tuple[String, Bool, Int]] = [
        (String("/run/app.sock"), False, 16),
        (String("a"), False, 4),
        (String("./@a"), False, 7),
        (String("@a"), True, 4),
        (String("@/run/app"), True, 11),
        (String("/") + String("p") * 106, False, 110),
        (String("@") + String("n") * 107, True, 110),
    ]
    for row in rows:
        var address = UnixAddr.parse(row[0])
        assert_equal(String(address), row[0])
        assert_equal(address.is_abstract(), row[1])
        assert_false(address.is_unnamed())
        var storage = address.to_storage()
        assert_equal(storage.octet_count(), row[2], row[0])
        assert_true(UnixAddr(storage=storage) == address, row[0])


def test_names_that_no_socket_can_have_are_refused() raises:
    var rows: List[String] = [
        String(),
        String("@"),
        String("/") + String("p") * 107,
        String("@") + String("n") * 108,
        String("x") * 5000,
        String("/a\x00b"),
        String("\x00abstract"),
        String("@a\x00b"),
    ]
    for row in rows:
        try:
            _ = UnixAddr.parse(row)
            assert_true(False, "it is no name")
        except e:
            var error = NetError.of(e).value()
            assert_equal(error.kind, NetError.BAD_ADDRESS)
            assert_equal(error.operation, "parse")
            assert_false("\x00" in String(e))


def test_what_another_process_chose_is_shown_escaped() raises:
    var octets: List[UInt8] = [0, 10, 65, 0, 255]
    var address = UnixAddr(storage=SocketAddressStorage.unix(Span(octets)))
    assert_true(address.is_abstract())
    assert_equal(String(address), "@\\x0aA\\x00\\xff")
    assert_equal(len(address.octets()), 4)


def test_a_socket_may_have_no_name() raises:
    var address = UnixAddr(storage=SocketAddressStorage())
    assert_true(address.is_unnamed())
    assert_false(address.is_abstract())
    assert_equal(String(address), "")
    var nobody = SocketAddressStorage.unix(Span(List[UInt8]()))
    nobody.note_octet_count(2)
    assert_true(UnixAddr(storage=nobody).is_unnamed())


comptime TESTS = __functions_in_module()
