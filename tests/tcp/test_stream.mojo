"""Tests for `flare.tcp.stream`: octets, ends and limits, on both backends."""

from std.testing import assert_raises

from flare.io import BufReader, copy
from flare.net import NetError, SocketAddr
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.socket_constants import IPPROTO_TCP, TCP_NODELAY
from flare.tcp import TcpListener, TcpStream
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import (
    Shared,
    connected,
    octets_of,
    on_each_backend,
    pattern,
    read_to_end,
)


def test_one_octet_is_echoed() raises:
    on_each_backend(_one_octet)


def test_ten_megabytes_are_echoed_while_they_are_sent() raises:
    on_each_backend(_ten_megabytes)


def test_a_small_read_leaves_the_rest_for_the_next() raises:
    on_each_backend(_small_reads)


def test_a_large_read_takes_more_than_a_small_buffer_holds() raises:
    on_each_backend(_large_read)


def test_a_half_closed_stream_still_reads() raises:
    on_each_backend(_half_close)


def test_a_reset_by_the_peer_is_named_with_its_address() raises:
    on_each_backend(_reset)


def test_writing_to_a_peer_that_is_gone_raises_and_does_not_kill() raises:
    on_each_backend(_broken_pipe)


def test_nothing_to_read_or_write_does_not_wait() raises:
    on_each_backend(_empty)


def test_a_buffered_reader_reads_lines_of_a_stream() raises:
    on_each_backend(_lines)


def test_a_stream_is_copied_to_a_stream() raises:
    on_each_backend(_copy)


def test_octets_of_a_local_are_sent_and_received() raises:
    on_each_backend(_locals)


def test_a_stream_names_both_its_addresses() raises:
    on_each_backend(_addresses)


def test_small_writes_go_out_at_once_unless_told_otherwise() raises:
    on_each_backend(_no_delay)


def _one_octet() raises:
    var ends = connected()
    assert_equal(ends.client.write("x".as_bytes()), 1)
    var into = List[UInt8](length=8, fill=0)
    assert_equal(ends.server.read(Span(into)), 1)
    assert_equal(into[0], 120)
    assert_equal(into[1], 0)
    assert_equal(ends.server.write(Span(into)[0:1]), 1)
    assert_equal(ends.client.read(into.unsafe_ptr(), len(into)), 1)
    ends.client.close()
    assert_equal(ends.server.read(Span(into)), 0)
    assert_equal(ends.server.read(Span(into)), 0)


def _ten_megabytes() raises:
    comptime COUNT = 10_000_000
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = Shared(TcpStream.connect(listener.local_address()))
    var accepted = listener.accept()

    def echo() raises {var accepted^} -> Int:
        var piece = List[UInt8](length=100_000, fill=0)
        var total = 0
        while True:
            var count = accepted.read(Span(piece))
            if count == 0:
                accepted.end_sending()
                return total
            accepted.write_all(Span(piece)[0:count])
            total += count

    def send() raises {var client} -> Int:
        var octets = pattern(COUNT)
        client[].write_all(Span(octets))
        client[].end_sending()
        return len(octets)

    var echoing = spawn(echo^)
    var sending = spawn(send)
    # One fiber writes the stream that this one reads.
    var echoed = read_to_end(client[], 50_000)
    assert_equal(echoing^.join(), COUNT)
    assert_equal(sending^.join(), COUNT)
    assert_equal(len(echoed), COUNT)
    assert_true(echoed == pattern(COUNT))


def _small_reads() raises:
    var ends = connected()
    ends.client.write_all("abcdef".as_bytes())
    ends.client.end_sending()
    var into = List[UInt8](length=4, fill=0)
    assert_equal(ends.server.read(Span(into)[0:1]), 1)
    assert_equal(ends.server.read(Span(into)[1:4]), 3)
    assert_equal(into, octets_of("abcd"))
    assert_equal(read_to_end(ends.server, 1), octets_of("ef"))


def _large_read() raises:
    var ends = connected()
    var octets = pattern(60_000)
    ends.client.write_all(Span(octets))
    ends.client.end_sending()
    var received = List[UInt8]()
    var into = List[UInt8](length=70_000, fill=0)
    var largest = 0
    while True:
        var count = ends.server.read(Span(into))
        if count == 0:
            break
        largest = max(largest, count)
        received.extend(Span(into)[0:count])
    assert_true(largest > 4096, String(largest))
    assert_true(received == octets)


def _half_close() raises:
    var ends = connected()
    ends.client.write_all("question".as_bytes())
    ends.client.end_sending()
    assert_equal(read_to_end(ends.server, 64), octets_of("question"))
    ends.server.write_all("answer".as_bytes())
    ends.server.close()
    assert_equal(read_to_end(ends.client, 64), octets_of("answer"))
    with assert_raises(contains="net.closed write"):
        _ = ends.client.write("more".as_bytes())


def _reset() raises:
    var ends = connected()
    var peer = ends.client.peer_address()
    ends.server.set_linger(0)
    ends.server.close()
    var into = List[UInt8](length=8, fill=0)
    try:
        _ = ends.client.read(Span(into))
        assert_true(False, "the peer has reset the connection")
    except e:
        assert_equal(String(e), String("net.reset read ", peer, " errno=104"))
    # What was accepted names its peer although the kernel has forgotten it.
    var others = connected()
    var client = others.server.peer_address()
    others.client.set_linger(0)
    others.client.close()
    try:
        _ = others.server.read(Span(into))
        assert_true(False, "the peer has reset the connection")
    except e:
        assert_equal(NetError.of(e).value().kind, NetError.RESET)
        assert_true(NetError.of(e).value().address.value() == client)


def _broken_pipe() raises:
    var ends = connected()
    ends.server.close()
    var kind = -1
    for _ in range(100):
        try:
            ends.client.write_all("0123456789".as_bytes())
        except e:
            kind = NetError.of(e).value().kind
            break
        # The answer of the peer's kernel to the first octets needs a moment.
        sleep(1)
    assert_true(kind == NetError.CLOSED or kind == NetError.RESET, String(kind))
    with assert_raises(contains="net.closed write"):
        ends.client.write_all("0123456789".as_bytes())


def _empty() raises:
    var ends = connected()
    var into = List[UInt8](length=8, fill=0)
    assert_equal(ends.client.read(Span(into)[0:0]), 0)
    assert_equal(ends.client.read(into.unsafe_ptr(), 0), 0)
    assert_equal(ends.client.read(into.unsafe_ptr(), -5), 0)
    assert_equal(ends.client.write("".as_bytes()), 0)
    ends.client.write_all("".as_bytes())
    ends.client.close()
    with assert_raises(contains="net.closed read"):
        _ = ends.client.read(Span(into)[0:0])


def _lines() raises:
    var ends = connected()
    var client = ends^.into_server()
    with assert_raises(contains="net."):
        # The other end was dropped, so the peer is gone soon.
        for _ in range(100):
            client.write_all("first\r\nsecond\n".as_bytes())
            sleep(1)
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var writer = TcpStream.connect(listener.local_address())
    var reader = BufReader(listener.accept())
    writer.write_all("first\r\nsecond\nlast".as_bytes())
    assert_equal(reader.read_line().value(), "first")
    assert_equal(reader.read_line().value(), "second")
    reader.inner().write_all("thanks".as_bytes())
    reader.inner().end_sending()
    assert_equal(read_to_end(writer, 3), octets_of("thanks"))
    writer.close()
    assert_equal(reader.read_line().value(), "last")
    assert_false(Bool(reader.read_line()))


def _copy() raises:
    var first = connected()
    var second = connected()
    first.client.write_all("copied".as_bytes())
    first.client.end_sending()
    assert_equal(copy(first.server, second.client, 6), 6)
    second.client.end_sending()
    assert_equal(read_to_end(second.server, 64), octets_of("copied"))


def _locals() raises:
    var ends = connected()
    for round in range(3):
        var sent = Array[UInt8, 64](fill=UInt8(round))
        sent[63] = 9
        _write_parked(ends.client, Span(sent))
        var into = Array[UInt8, 64](fill=255)
        assert_equal(_read_parked(ends.server, Span(into)), 64)
        assert_equal(Int(into[0]), round)
        assert_equal(Int(into[62]), round)
        assert_equal(Int(into[63]), 9)


@no_inline
def _write_parked(stream: TcpStream, octets: Span[UInt8, _]) raises:
    stream.write_all(octets)


@no_inline
def _read_parked(
    stream: TcpStream, into: Span[mut=True, UInt8, _]
) raises -> Int:
    return stream.read(into)


def _no_delay() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect(listener.local_address())
    var server = listener.accept()
    assert_equal(client.option(IPPROTO_TCP, TCP_NODELAY), 1)
    assert_equal(server.option(IPPROTO_TCP, TCP_NODELAY), 1)
    listener.set_no_delay(False)
    var delaying = TcpStream.connect(listener.local_address())
    delaying.set_no_delay(False)
    assert_equal(delaying.option(IPPROTO_TCP, TCP_NODELAY), 0)
    var delayed = listener.accept()
    assert_equal(delayed.option(IPPROTO_TCP, TCP_NODELAY), 0)


def _addresses() raises:
    var ends = connected()
    assert_true(ends.client.peer_address() == ends.server.local_address())
    assert_true(ends.server.peer_address() == ends.client.local_address())
    assert_true(ends.client.descriptor() >= 0)
    ends.client.set_no_delay(True)
    ends.client.close()
    assert_equal(ends.client.descriptor(), -1)
    with assert_raises(contains="net.closed peer_address"):
        _ = ends.client.peer_address()
    with assert_raises(contains="net.closed local_address"):
        _ = ends.client.local_address()
    with assert_raises(contains="net.closed option"):
        ends.client.set_no_delay(True)
    with assert_raises(contains="net.closed shut_down"):
        ends.client.end_sending()


comptime TESTS = __functions_in_module()
