"""Tests for `flare.sys.socket`, against the real kernel."""

from flare.sys.errno import (
    EADDRINUSE,
    EAFNOSUPPORT,
    EAGAIN,
    EBADF,
    ECONNREFUSED,
    EINPROGRESS,
    EINVAL,
    ENOPROTOOPT,
    ENOTCONN,
    EPIPE,
    ETIMEDOUT,
    errno_name,
)
from flare.sys.file import close_descriptor
from flare.sys.socket import (
    accept_socket,
    bind_socket,
    connect_socket,
    listen_socket,
    local_socket_address,
    open_socket,
    open_socket_pair,
    peer_socket_address,
    receive_octets,
    receive_octets_from,
    send_octets,
    send_octets_to,
    send_two,
    set_non_blocking,
    set_socket_linger,
    set_socket_option,
    shut_down_socket,
    socket_option,
    unacknowledged_octets,
)
from flare.sys.socket_address import (
    AF_INET,
    AF_INET6,
    AF_UNIX,
    AF_UNSPEC,
    SocketAddressStorage,
)
from flare.sys.socket_constants import (
    MSG_PEEK,
    SHUT_WR,
    SOCK_DGRAM,
    SOCK_STREAM,
    SOL_SOCKET,
    SO_ERROR,
    SO_REUSEADDR,
    SO_TYPE,
)
from tests.asserting import assert_equal, assert_true
from tests.sys.ready import wait_readable, wait_writable


def _loopback(port: UInt16 = 0) -> SocketAddressStorage:
    return SocketAddressStorage.v4([127, 0, 0, 1], port)


def _listening(mut address: SocketAddressStorage) raises -> Int32:
    var descriptor = Int32(open_socket(AF_INET, SOCK_STREAM))
    assert_equal(bind_socket(descriptor, _loopback()), 0)
    assert_equal(listen_socket(descriptor, 8), 0)
    assert_equal(local_socket_address(descriptor, address), 0)
    return descriptor


@no_inline
def _send_local_octets(descriptor: Int32, tail: String) -> Int:
    # The octets of a local array must have reached memory when the kernel
    # reads them, although nothing in Mojo reads them.
    var head = Array[UInt8, 3](fill=97)
    head[1] = 98
    return send_two(descriptor, Span(head), tail.as_bytes())


def test_socket_address_storage_matches_the_kernels_layout() raises:
    var v4 = SocketAddressStorage.v4([1, 2, 3, 4], 0x1F90)
    assert_equal(v4.words[0], 0x0403_0201_901F_0002)
    assert_equal(v4.words[1], 0)
    assert_equal(v4.octet_count(), 16)
    var octets = Array[UInt8, 16](fill=0)
    for i in range(16):
        octets[i] = UInt8(i + 1)
    var v6 = SocketAddressStorage.v6(octets, 0x1F90)
    assert_equal(v6.words[0], 0x0000_0000_901F_000A)
    assert_equal(v6.words[1], 0x0807_0605_0403_0201)
    assert_equal(v6.words[2], 0x100F_0E0D_0C0B_0A09)
    assert_equal(v6.words[3], 0)
    assert_equal(v6.octet_count(), 28)


def test_socket_address_storage_decodes_what_it_encoded() raises:
    var v4 = SocketAddressStorage.v4([255, 128, 1, 0], 65535)
    assert_equal(v4.family(), AF_INET)
    assert_equal(v4.port(), 65535)
    var quad = v4.v4_octets()
    assert_equal(quad[0], 255)
    assert_equal(quad[1], 128)
    assert_equal(quad[2], 1)
    assert_equal(quad[3], 0)
    var octets = Array[UInt8, 16](fill=0)
    for i in range(16):
        octets[i] = UInt8(255 - i)
    var v6 = SocketAddressStorage.v6(octets, 1)
    assert_equal(v6.family(), AF_INET6)
    assert_equal(v6.port(), 1)
    var decoded = v6.v6_octets()
    for i in range(16):
        assert_equal(decoded[i], octets[i])
    assert_equal(SocketAddressStorage().family(), AF_UNSPEC)
    assert_equal(SocketAddressStorage().octet_count(), 128)


def test_failures_are_negated_errnos() raises:
    var address = SocketAddressStorage()
    var octets = Array[UInt8, 4](fill=0)
    var value = 7
    assert_equal(open_socket(1000, SOCK_STREAM), -EAFNOSUPPORT)
    assert_equal(bind_socket(-1, _loopback()), -EBADF)
    assert_equal(listen_socket(-1, 1), -EBADF)
    assert_equal(accept_socket(-1, address), -EBADF)
    assert_equal(connect_socket(-1, _loopback(1)), -EBADF)
    assert_equal(local_socket_address(-1, address), -EBADF)
    assert_equal(peer_socket_address(-1, address), -EBADF)
    assert_equal(unacknowledged_octets(-1), -EBADF)
    assert_equal(set_socket_option(-1, SOL_SOCKET, SO_TYPE, 1), -EBADF)
    assert_equal(socket_option(-1, SOL_SOCKET, SO_TYPE, value), -EBADF)
    assert_equal(value, 7, "unchanged on failure")
    assert_equal(set_socket_linger(-1, 0), -EBADF)
    assert_equal(shut_down_socket(-1, SHUT_WR), -EBADF)
    assert_equal(set_non_blocking(-1, True), -EBADF)
    assert_equal(send_octets(-1, Span(octets)), -EBADF)
    assert_equal(send_two(-1, Span(octets), Span(octets)), -EBADF)
    assert_equal(receive_octets(-1, Span(octets)), -EBADF)
    assert_equal(send_octets_to(-1, Span(octets), address), -EBADF)
    assert_equal(receive_octets_from(-1, Span(octets), address), -EBADF)


def test_a_connection_carries_octets_both_ways() raises:
    var address = SocketAddressStorage()
    var listener = _listening(address)
    assert_true(address.port() != 0)
    var client = Int32(open_socket(AF_INET, SOCK_STREAM, non_blocking=False))
    assert_equal(connect_socket(client, address), 0)
    var peer = SocketAddressStorage()
    var server = Int32(accept_socket(listener, peer, non_blocking=False))
    assert_true(server >= 0)
    var own = SocketAddressStorage()
    assert_equal(local_socket_address(client, own), 0)
    assert_equal(peer.port(), own.port())
    assert_equal(peer_socket_address(client, own), 0)
    assert_equal(own.port(), address.port())

    var text = String("a request")
    var buffer = Array[UInt8, 32](fill=0)
    assert_equal(send_octets(client, text.as_bytes()), 9)
    assert_equal(receive_octets(server, Span(buffer), MSG_PEEK), 9)
    assert_equal(receive_octets(server, Span(buffer)), 9)
    assert_true(StringSlice(unsafe_from_utf8=Span(buffer)[0:9]) == text)
    assert_equal(_send_local_octets(server, "an answer"), 12)
    assert_equal(receive_octets(client, Span(buffer)), 12)
    assert_true(
        StringSlice(unsafe_from_utf8=Span(buffer)[0:12]) == "abaan answer"
    )

    assert_equal(shut_down_socket(client, SHUT_WR), 0)
    assert_equal(receive_octets(server, Span(buffer)), 0, "end of stream")
    assert_equal(send_octets(client, text.as_bytes()), -EPIPE)
    _ = close_descriptor(client)
    _ = close_descriptor(server)
    _ = close_descriptor(listener)


def test_sockets_are_non_blocking_unless_asked_otherwise() raises:
    var address = SocketAddressStorage()
    var listener = _listening(address)
    var peer = SocketAddressStorage()
    assert_equal(accept_socket(listener, peer), -EAGAIN)
    var client = Int32(open_socket(AF_INET, SOCK_STREAM))
    assert_equal(connect_socket(client, address), -EINPROGRESS)
    wait_readable(listener)
    var server = Int32(accept_socket(listener, peer))
    var octets = Array[UInt8, 4](fill=0)
    assert_equal(receive_octets(server, Span(octets)), -EAGAIN)
    _ = close_descriptor(client)
    _ = close_descriptor(server)
    _ = close_descriptor(listener)


def test_set_non_blocking_switches_both_ways() raises:
    var first = Int32(-1)
    var second = Int32(-1)
    var octets = Array[UInt8, 4](fill=0)
    assert_equal(
        open_socket_pair(
            AF_UNIX, SOCK_STREAM, first, second, non_blocking=False
        ),
        0,
    )
    assert_equal(set_non_blocking(first, True), 0)
    assert_equal(receive_octets(first, Span(octets)), -EAGAIN)
    assert_equal(set_non_blocking(first, False), 0)
    assert_equal(send_octets(second, Span(octets)), 4)
    assert_equal(receive_octets(first, Span(octets)), 4)
    _ = close_descriptor(first)
    _ = close_descriptor(second)


def test_a_failing_socket_pair_leaves_the_descriptors_alone() raises:
    var first = Int32(-5)
    var second = Int32(-6)
    assert_true(open_socket_pair(AF_INET, SOCK_STREAM, first, second) < 0)
    assert_equal(first, -5)
    assert_equal(second, -6)


def test_sending_to_a_closed_peer_fails_without_a_signal() raises:
    var first = Int32(-1)
    var second = Int32(-1)
    var octets = Array[UInt8, 4](fill=0)
    assert_equal(open_socket_pair(AF_UNIX, SOCK_STREAM, first, second), 0)
    _ = close_descriptor(second)
    assert_equal(send_octets(first, Span(octets)), -EPIPE)
    assert_equal(send_two(first, Span(octets), Span(octets)), -EPIPE)
    _ = close_descriptor(first)


def test_a_refused_connect_leaves_its_error_in_the_socket() raises:
    var address = SocketAddressStorage()
    var listener = _listening(address)
    _ = close_descriptor(listener)
    var client = Int32(open_socket(AF_INET, SOCK_STREAM))
    assert_equal(connect_socket(client, address), -EINPROGRESS)
    wait_writable(client)
    var error = 0
    assert_equal(socket_option(client, SOL_SOCKET, SO_ERROR, error), 0)
    assert_equal(error, ECONNREFUSED)
    assert_equal(socket_option(client, SOL_SOCKET, SO_ERROR, error), 0)
    assert_equal(error, 0, "reading the error clears it")
    _ = close_descriptor(client)


def test_an_address_binds_once() raises:
    var address = SocketAddressStorage()
    var listener = _listening(address)
    var other = Int32(open_socket(AF_INET, SOCK_STREAM))
    assert_equal(bind_socket(other, address), -EADDRINUSE)
    assert_equal(bind_socket(listener, _loopback()), -EINVAL)
    var peer = SocketAddressStorage()
    assert_equal(peer_socket_address(other, peer), -ENOTCONN)
    _ = close_descriptor(other)
    _ = close_descriptor(listener)


def test_options_read_back_what_was_set() raises:
    var socket = Int32(open_socket(AF_INET, SOCK_STREAM))
    var value = 0
    assert_equal(socket_option(socket, SOL_SOCKET, SO_TYPE, value), 0)
    assert_equal(value, SOCK_STREAM)
    assert_equal(socket_option(socket, SOL_SOCKET, SO_REUSEADDR, value), 0)
    assert_equal(value, 0)
    assert_equal(set_socket_option(socket, SOL_SOCKET, SO_REUSEADDR, 1), 0)
    assert_equal(socket_option(socket, SOL_SOCKET, SO_REUSEADDR, value), 0)
    assert_equal(value, 1)
    assert_equal(set_socket_option(socket, SOL_SOCKET, 9999, 1), -ENOPROTOOPT)
    _ = close_descriptor(socket)


def test_lingering_for_no_time_resets_the_connection() raises:
    var address = SocketAddressStorage()
    var listener = _listening(address)
    var client = Int32(open_socket(AF_INET, SOCK_STREAM, non_blocking=False))
    assert_equal(connect_socket(client, address), 0)
    var peer = SocketAddressStorage()
    var server = Int32(accept_socket(listener, peer, non_blocking=False))
    assert_equal(set_socket_linger(client, 0), 0)
    _ = close_descriptor(client)
    var octets = Array[UInt8, 4](fill=0)
    assert_equal(
        errno_name(-receive_octets(server, Span(octets))), "ECONNRESET"
    )
    _ = close_descriptor(server)
    _ = close_descriptor(listener)


def test_octets_that_nobody_reads_are_counted() raises:
    var address = SocketAddressStorage()
    var listener = _listening(address)
    var client = Int32(open_socket(AF_INET, SOCK_STREAM))
    _ = connect_socket(client, address)
    wait_readable(listener)
    var peer = SocketAddressStorage()
    var server = Int32(accept_socket(listener, peer))
    var octets = Array[UInt8, 4096](fill=120)
    var sent = 0
    while True:
        var count = send_octets(client, Span(octets))
        if count == -EAGAIN:
            break
        sent += count
    # What the other side has in its window is acknowledged.
    var left = unacknowledged_octets(client)
    assert_true(left > 0 and left < sent, String(left))
    var taken = 0
    while taken < sent:
        wait_readable(server)
        taken += receive_octets(server, Span(octets))
    assert_equal(taken, sent)
    # An acknowledgement may come a little later.
    for _ in range(1_000_000):
        left = unacknowledged_octets(client)
        if left == 0:
            break
    assert_equal(left, 0)
    _ = close_descriptor(client)
    _ = close_descriptor(server)
    _ = close_descriptor(listener)


def test_datagrams_carry_the_senders_address() raises:
    var receiver = Int32(open_socket(AF_INET, SOCK_DGRAM))
    var sender = Int32(open_socket(AF_INET, SOCK_DGRAM))
    assert_equal(bind_socket(receiver, _loopback()), 0)
    assert_equal(bind_socket(sender, _loopback()), 0)
    var to = SocketAddressStorage()
    assert_equal(local_socket_address(receiver, to), 0)
    var octets = Array[UInt8, 4](fill=3)
    assert_equal(send_octets_to(sender, Span(octets), to), 4)
    var from_ = SocketAddressStorage()
    var buffer = Array[UInt8, 8](fill=0)
    wait_readable(receiver)
    assert_equal(receive_octets_from(receiver, Span(buffer), from_), 4)
    assert_equal(buffer[3], 3)
    var own = SocketAddressStorage()
    assert_equal(local_socket_address(sender, own), 0)
    assert_equal(from_.port(), own.port())
    _ = close_descriptor(receiver)
    _ = close_descriptor(sender)


def _is_close_on_exec(descriptor: Int32) raises -> Bool:
    with open(String("/proc/self/fdinfo/", descriptor), "r") as file:
        for line in file.read().split("\n"):
            if line.startswith("flags:"):
                var flags = atol(line[byte = 6 : line.byte_length()].strip(), 8)
                return flags & 0o2000000 != 0
    return False


def test_every_new_descriptor_is_close_on_exec() raises:
    var address = SocketAddressStorage()
    var listener = _listening(address)
    var client = Int32(open_socket(AF_INET, SOCK_STREAM, non_blocking=False))
    assert_equal(connect_socket(client, address), 0)
    var peer = SocketAddressStorage()
    var server = Int32(accept_socket(listener, peer))
    var first = Int32(-1)
    var second = Int32(-1)
    assert_equal(open_socket_pair(AF_UNIX, SOCK_STREAM, first, second), 0)
    for descriptor in [listener, client, server, first, second]:
        assert_true(_is_close_on_exec(descriptor))
        _ = close_descriptor(descriptor)


def test_errno_names_are_those_of_the_headers() raises:
    assert_equal(errno_name(ECONNREFUSED), "ECONNREFUSED")
    assert_equal(errno_name(ETIMEDOUT), "ETIMEDOUT")
    assert_equal(errno_name(1), "EPERM")
    assert_equal(errno_name(125), "ECANCELED")
    assert_equal(errno_name(0), "unknown")
    assert_equal(errno_name(126), "unknown")
    assert_equal(errno_name(-111), "unknown")


comptime TESTS = __functions_in_module()
