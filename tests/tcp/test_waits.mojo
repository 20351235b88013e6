"""Tests for waits of `flare.tcp`: their bounds, and who else may end them."""

from std.testing import assert_raises

from flare.core import OctetPointer
from flare.net import NetError, SocketAddr
from flare.runtime.backend import BackendKind
from flare.runtime.current import current_reactor
from flare.runtime.private_loop import begin_private_loop, end_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import spawn
from flare.runtime.wait import deadline_in, sleep
from flare.sys.socket import send_octets
from flare.tcp import TcpListener, TcpStream
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import (
    SharedListener,
    connected,
    connected_shared,
    on_each_backend,
    read_to_end,
)


def test_a_read_ends_after_its_timeout_and_can_be_repeated() raises:
    on_each_backend(_read_timeout)


def test_a_write_ends_after_its_timeout() raises:
    on_each_backend(_write_timeout)


def test_an_accept_ends_after_its_timeout_and_can_be_repeated() raises:
    on_each_backend(_accept_timeout)


def test_a_deadline_bounds_every_wait_inside_it() raises:
    on_each_backend(_deadline)


def test_a_timeout_that_is_over_before_it_begins_waits_for_nothing() raises:
    on_each_backend(_no_time)


def test_a_cancelled_read_raises_and_the_stream_stays_usable() raises:
    on_each_backend(_cancelled_read)


def test_a_cancelled_accept_and_connect_raise() raises:
    on_each_backend(_cancelled_accept)


def test_a_wait_that_was_ended_leaves_nothing_behind_for_the_number() raises:
    on_each_backend(_number_used_again)


def test_closing_twice_closes_once() raises:
    on_each_backend(_close_twice)


def test_closing_ends_the_read_and_the_write_of_other_fibers() raises:
    on_each_backend(_close_under_waits)


def test_a_second_reader_is_refused_and_the_first_is_not_disturbed() raises:
    on_each_backend(_second_reader)


def test_the_end_of_its_life_closes_a_stream() raises:
    on_each_backend(_end_of_life)


def test_without_a_buffer_a_read_says_that_memory_is_out() raises:
    end_private_loop()
    var begun = begin_private_loop(
        ReactorConfig(backend=BackendKind.EPOLL, receive_buffers_max=64)
    )
    assert_equal(begun[0], 0)
    var ends = connected()
    ends.client.write_all("abc".as_bytes())
    var pool = current_reactor().value().buffers()
    var taken = List[OctetPointer]()
    while not pool.is_exhausted():
        taken.append(pool.take().value())
    var into = List[UInt8](length=8, fill=0)
    with assert_raises(contains="net.no_memory read"):
        _ = ends.server.read(Span(into))
    for buffer in taken:
        pool.give(buffer)
    assert_equal(ends.server.read(Span(into)), 3)
    assert_equal(pool.lent(), 0)
    # Without a large buffer a large read is served in small pieces.
    var large = current_reactor().value().large_buffers()
    taken.clear()
    while not large.is_exhausted():
        taken.append(large.take().value())
    ends.client.write_all(Span(List[UInt8](length=8000, fill=1)))
    var room = List[UInt8](length=8000, fill=0)
    assert_equal(ends.server.read(Span(room)), 4096)
    for buffer in taken:
        large.give(buffer)
    assert_equal(ends.server.read(Span(room)), 3904)
    assert_equal(large.lent(), 0)
    _ = ends^
    end_private_loop()


def _read_timeout() raises:
    var ends = connected()
    var into = List[UInt8](length=8, fill=0)
    ends.client.set_read_timeout_ms(5)
    for _ in range(3):
        with assert_raises(contains="net.timeout read 127.0.0.1:"):
            _ = ends.client.read(Span(into))
    ends.server.write_all("x".as_bytes())
    assert_equal(ends.client.read(Span(into)), 1)
    # Large reads wait in another buffer.
    var large = List[UInt8](length=10_000, fill=0)
    with assert_raises(contains="net.timeout read 127.0.0.1:"):
        _ = ends.client.read(Span(large))
    ends.client.set_read_timeout_ms(None)
    ends.server.write_all("yz".as_bytes())
    assert_equal(ends.client.read(Span(large)), 2)
    assert_equal(current_reactor().value().large_buffers().lent(), 0)


def _write_timeout() raises:
    var ends = connected()
    ends.client.set_write_timeout_ms(20)
    var octets = List[UInt8](length=1_000_000, fill=1)
    with assert_raises(contains="net.timeout write 127.0.0.1:"):
        for _ in range(100):
            ends.client.write_all(Span(octets))
    assert_true(len(_drain(ends.server, ends.client)) > 0)


def _drain(reader: TcpStream, writer: TcpStream) raises -> List[UInt8]:
    writer.close()
    return read_to_end(reader, 65_536)


def _accept_timeout() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var address = listener.local_address()
    for _ in range(2):
        with assert_raises(
            contains=String("net.timeout accept ", address, " errno=110")
        ):
            _ = listener.accept(timeout_ms=5)
    var client = TcpStream.connect(address)
    var server = listener.accept(timeout_ms=5000)
    assert_true(server.peer_address() == client.local_address())


def _deadline() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var ends = connected()
    var into = List[UInt8](length=8, fill=0)
    var timeouts = 0
    with deadline_in(20):
        try:
            _ = ends.client.read(Span(into))
        except e:
            timeouts += Int(NetError.of(e).value().kind == NetError.TIMEOUT)
        try:
            _ = listener.accept()
        except e:
            timeouts += Int(NetError.of(e).value().kind == NetError.TIMEOUT)
        try:
            _ = TcpStream.connect(listener.local_address())
        except e:
            timeouts += Int(NetError.of(e).value().kind == NetError.TIMEOUT)
    assert_equal(timeouts, 3)
    ends.server.write_all("x".as_bytes())
    assert_equal(ends.client.read(Span(into)), 1)


def _no_time() raises:
    var ends = connected()
    ends.server.write_all("x".as_bytes())
    var into = List[UInt8](length=8, fill=0)
    for timeout_ms in [0, -1, Int.MIN]:
        ends.client.set_read_timeout_ms(timeout_ms)
        with assert_raises(contains="net.timeout read"):
            _ = ends.client.read(Span(into))
    ends.client.set_read_timeout_ms(Int.MAX - 1)
    assert_equal(ends.client.read(Span(into)), 1)


def _cancelled_read() raises:
    var ends = connected_shared()
    var client = ends.client
    var server = ends.server

    def read() raises {var client} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return client[].read(Span(into))

    var reading = spawn(read)
    sleep(1)
    assert_false(reading.is_done())
    reading.cancel()
    with assert_raises(contains="net.cancelled read 127.0.0.1:"):
        _ = reading^.join()
    server[].write_all("x".as_bytes())
    var into = List[UInt8](length=8, fill=0)
    assert_equal(client[].read(Span(into)), 1)
    # Dropping the handle cancels, too.
    var dropped = spawn(read)
    sleep(1)
    _ = dropped^
    sleep(1)
    server[].write_all("y".as_bytes())
    assert_equal(client[].read(Span(into)), 1)


def _cancelled_accept() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0), backlog=0)
    var address = listener.local_address()

    def accept() raises {var listener^} -> Int:
        return Int(listener.accept().descriptor())

    var accepting = spawn(accept^)
    sleep(1)
    accepting.cancel()
    with assert_raises(contains="net.cancelled accept"):
        _ = accepting^.join()
    var full = TcpListener.bind(SocketAddr.localhost(0), backlog=0)
    address = full.local_address()
    var first = TcpStream.connect(address)

    def connect() raises {var address} -> Int:
        # The queue has room for one, so a later one gets no answer.
        var streams = List[TcpStream]()
        for _ in range(4):
            streams.append(TcpStream.connect(address))
        return len(streams)

    var connecting = spawn(connect)
    sleep(5)
    connecting.cancel()
    with assert_raises(contains="net.cancelled connect 127.0.0.1:"):
        _ = connecting^.join()
    _ = first^
    _ = full^


def _number_used_again() raises:
    var descriptor = Int32(-1)
    var into = List[UInt8](length=8, fill=0)
    for round in range(3):
        var ends = connected()
        if round > 0:
            assert_equal(ends.client.descriptor(), descriptor)
        descriptor = ends.client.descriptor()
        ends.client.set_read_timeout_ms(2)
        with assert_raises(contains="net.timeout read"):
            _ = ends.client.read(Span(into))
        ends.client.set_read_timeout_ms(2000)
        var server = ends.server.descriptor()

        def answer() raises {var server} -> Int:
            sleep(2)
            return send_octets(server, "x".as_bytes())

        var answering = spawn(answer)
        assert_equal(ends.client.read(Span(into)), 1)
        assert_equal(answering^.join(), 1)
        with assert_raises(contains="net.timeout read"):
            ends.client.set_read_timeout_ms(2)
            _ = ends.client.read(Span(into))
        _ = ends^


def _close_twice() raises:
    var ends = connected()
    var descriptor = ends.client.descriptor()
    ends.client.close()
    assert_false(ends.client.is_open())
    # The number goes to the next socket, which the second close must spare.
    var lower = List[TcpListener]()
    var other = TcpListener.bind(SocketAddr.localhost(0))
    while other.descriptor() < descriptor:
        lower.append(other^)
        other = TcpListener.bind(SocketAddr.localhost(0))
    assert_equal(other.descriptor(), descriptor)
    ends.client.close()
    _ = ends^
    var client = TcpStream.connect(other.local_address())
    _ = other.accept(timeout_ms=5000)
    other.close()
    other.close()
    assert_false(other.is_open())
    with assert_raises(contains="net.closed accept"):
        _ = other.accept()
    with assert_raises(contains="net.closed local_address"):
        _ = other.local_address()
    _ = client^
    _ = lower^


def _close_under_waits() raises:
    var ends = connected_shared()
    var client = ends.client
    var server = ends.server

    def read() raises {var client} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return client[].read(Span(into))

    def write() raises {var client} -> Int:
        var octets = List[UInt8](length=1_000_000, fill=1)
        while True:
            client[].write_all(Span(octets))

    var reading = spawn(read)
    var writing = spawn(write)
    sleep(20)
    assert_false(reading.is_done())
    assert_false(writing.is_done())
    client[].close()
    # The number cannot name another socket while operations are in flight.
    assert_equal(client[].descriptor(), -1)
    with assert_raises(contains="net.closed read 127.0.0.1:"):
        _ = reading^.join()
    with assert_raises(contains="net.closed write 127.0.0.1:"):
        _ = writing^.join()
    assert_true(len(read_to_end(server[], 65_536)) > 0)
    var listener = SharedListener(TcpListener.bind(SocketAddr.localhost(0)))

    def accept() raises {var listener} -> Int:
        return Int(listener[].accept().descriptor())

    var accepting = spawn(accept)
    sleep(1)
    listener[].close()
    with assert_raises(contains="net.closed accept 127.0.0.1:"):
        _ = accepting^.join()


def _second_reader() raises:
    var ends = connected_shared()
    var client = ends.client
    var server = ends.server

    def read() raises {var client} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return client[].read(Span(into))

    var reading = spawn(read)
    sleep(1)
    var into = List[UInt8](length=8, fill=0)
    with assert_raises(contains="net.other read 127.0.0.1:"):
        _ = client[].read(Span(into))
    with assert_raises(contains="errno=16"):
        _ = client[].read(Span(into))
    # Writing is the other direction.
    client[].write_all("hello".as_bytes())
    assert_equal(server[].read(Span(into)), 5)
    server[].write_all("xyz".as_bytes())
    assert_equal(reading^.join(), 3)


def _end_of_life() raises:
    var ends = connected()
    var client = ends^.into_client()
    assert_equal(len(read_to_end(client, 8)), 0)
    var others = connected_shared()
    var held = others.client
    var server = others.server

    def read() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].read(Span(into))

    var reading = spawn(read)
    _ = held^
    sleep(1)
    # The reader holds the last reference, and it goes with the reader.
    server[].write_all("x".as_bytes())
    assert_equal(reading^.join(), 1)
    assert_equal(len(read_to_end(server[], 8)), 0)


comptime TESTS = __functions_in_module()
