"""Tests for `flare.sys.listener`, against the real kernel."""

from flare.runtime.backends.kernel_listener import accept_waiting
from flare.sys.errno import EAGAIN, ECONNREFUSED
from flare.sys.file import close_descriptor, replace_descriptor
from flare.sys.listener import hold_connections_back
from flare.sys.process import process_id
from flare.sys.socket import (
    bind_socket,
    connect_socket,
    listen_socket,
    open_socket,
    socket_option,
)
from flare.sys.socket_address import AF_UNIX, SocketAddressStorage
from flare.sys.socket_constants import (
    SOCK_STREAM,
    SOL_SOCKET,
    SO_ACCEPTCONN,
)

from tests.asserting import assert_equal, assert_true


def test_a_unix_listener_held_back_keeps_who_waits_and_refuses_others() raises:
    var address = _own_name("held")
    var listener = _listen(address)
    var early = _stream()
    assert_equal(connect_socket(early, address), 0)
    assert_equal(hold_connections_back(listener, True), 0)
    var late = _stream()
    assert_equal(connect_socket(late, address), -ECONNREFUSED)
    var accepted = accept_waiting(listener)
    assert_true(accepted >= 0)
    # What has ended is empty, not broken.
    assert_equal(accept_waiting(listener), -EAGAIN)
    assert_equal(hold_connections_back(listener, False), 0)
    for descriptor in [listener, early, late, Int32(accepted)]:
        _ = close_descriptor(descriptor)


def test_a_descriptor_that_is_replaced_gives_its_name_free() raises:
    var address = _own_name("replaced")
    var listener = _listen(address)
    var other = _stream()
    assert_equal(replace_descriptor(listener, by=other), Int(listener))
    assert_equal(close_descriptor(other), 0)
    var listens = 1
    assert_equal(socket_option(listener, SOL_SOCKET, SO_ACCEPTCONN, listens), 0)
    assert_equal(listens, 0)
    assert_equal(bind_socket(listener, address), 0)
    assert_equal(listen_socket(listener, 1), 0)
    assert_equal(close_descriptor(listener), 0)


def _own_name(what: StringSlice) -> SocketAddressStorage:
    var name = List[UInt8]()
    name.append(0)
    name.extend(String("flare-", what, "-", process_id()).as_bytes())
    return SocketAddressStorage.unix(name)


def _stream() raises -> Int32:
    var opened = open_socket(AF_UNIX, SOCK_STREAM)
    assert_true(opened >= 0)
    return Int32(opened)


def _listen(address: SocketAddressStorage) raises -> Int32:
    var listener = _stream()
    assert_equal(bind_socket(listener, address), 0)
    assert_equal(listen_socket(listener, 10), 0)
    return listener


comptime TESTS = __functions_in_module()
