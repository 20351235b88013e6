"""Tests for Unix streams: connecting, reading, waiting, credentials."""

from std.memory import ArcPointer
from std.os import getuid
from std.testing import assert_raises

from flare.io import BufReader
from flare.net import NetError
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.process import process_id
from flare.unix import UnixListener, UnixStream
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import on_each_backend, pattern
from tests.unix.names import abstract_name

comptime _Shared = ArcPointer[UnixStream]
comptime _SharedListener = ArcPointer[UnixListener]


def test_lines_go_both_ways() raises:
    on_each_backend(_lines)


def test_long_streams_arrive_whole() raises:
    on_each_backend(_long)


def test_the_peer_is_known_by_process_and_user() raises:
    on_each_backend(_credentials)


def test_a_connect_that_nobody_takes_says_why() raises:
    on_each_backend(_failures)


def test_a_connect_to_a_full_queue_waits_for_room() raises:
    on_each_backend(_full_queue)


def test_reads_and_accepts_end_after_their_timeouts() raises:
    on_each_backend(_timeouts)


def test_closing_ends_the_waits_of_other_fibers() raises:
    on_each_backend(_close_under_waits)


def test_options_of_tcp_are_refused() raises:
    on_each_backend(_options)


def _lines() raises:
    var listener = UnixListener.bind(abstract_name(10))
    var name = String(listener.local_address())

    def serve() raises {var listener^}:
        var reader = BufReader(listener.accept())
        while True:
            var line = reader.read_line(limit=100)
            if not line:
                return
            reader.inner().write_all(
                String("<", line.value(), ">\n").as_bytes()
            )

    var serving = spawn(serve^)
    var stream = UnixStream.connect(name)
    stream.write_all("one\ntwo\n".as_bytes())
    stream.end_sending()
    var reader = BufReader(stream^)
    assert_equal(reader.read_line().value(), "<one>")
    assert_equal(reader.read_line().value(), "<two>")
    assert_false(reader.read_line())
    serving^.join()


def _long() raises:
    comptime COUNT = 1_000_000
    var listener = UnixListener.bind(abstract_name(11))
    var name = String(listener.local_address())

    def serve() raises {var listener^}:
        listener.accept().write_all(Span(pattern(COUNT)))

    var serving = spawn(serve^)
    var stream = UnixStream.connect(name)
    var all = List[UInt8]()
    var piece = List[UInt8](length=30_000, fill=0)
    while True:
        var count = stream.read(piece.unsafe_ptr(), len(piece))
        if count == 0:
            break
        all.extend(Span(piece)[0:count])
    assert_true(all == pattern(COUNT))
    serving^.join()


def _credentials() raises:
    var listener = UnixListener.bind(abstract_name(12))
    var client = UnixStream.connect(abstract_name(12))
    var server = listener.accept()
    for peer in [client.peer_credentials(), server.peer_credentials()]:
        assert_equal(peer.pid, process_id())
        assert_equal(peer.uid, getuid())
    client.close()
    with assert_raises(contains="net.closed option"):
        _ = client.peer_credentials()
    _ = server^


def _failures() raises:
    try:
        _ = UnixStream.connect("/no/such/socket")
        assert_true(False, "there is none")
    except e:
        assert_equal(
            String(e), "net.not_found connect errno=2: /no/such/socket"
        )
        assert_equal(NetError.of(e).value().kind, NetError.NOT_FOUND)
    with assert_raises(contains="net.refused connect errno=111: /dev/null"):
        _ = UnixStream.connect("/dev/null")
    with assert_raises(contains="net.refused connect errno=111: @"):
        _ = UnixStream.connect(abstract_name(13))
    with assert_raises(contains="net.bad_address parse: "):
        _ = UnixStream.connect(String("x") * 108)


def _full_queue() raises:
    var listener = _SharedListener(
        UnixListener.bind(abstract_name(14), backlog=0)
    )
    var first = UnixStream.connect(abstract_name(14))
    with assert_raises(contains="net.timeout connect errno=110: @"):
        _ = UnixStream.connect(abstract_name(14), timeout_ms=20)
    var held = listener

    def connect() raises {} -> UnixStream:
        return UnixStream.connect(abstract_name(14))

    def accept() raises {var held} -> Int:
        return Int(held[].accept().descriptor())

    var connecting = spawn(connect)
    sleep(10)
    assert_false(connecting.is_done())
    var accepting = spawn(accept)
    var second = connecting^.join()
    _ = accepting^.join()
    var server = listener[].accept(timeout_ms=5000)
    second.write_all("x".as_bytes())
    var into = List[UInt8](length=8, fill=0)
    assert_equal(server.read(Span(into)), 1)
    # A connect that waits can be cancelled.
    var third = UnixStream.connect(abstract_name(14))
    var cancelled = spawn(connect)
    sleep(5)
    cancelled.cancel()
    with assert_raises(contains="net.cancelled connect"):
        _ = cancelled^.join()
    _ = first^
    _ = third^
    _ = listener^


def _timeouts() raises:
    var listener = UnixListener.bind(abstract_name(15))
    with assert_raises(contains="net.timeout accept errno=110"):
        _ = listener.accept(timeout_ms=5)
    var client = UnixStream.connect(abstract_name(15))
    var server = listener.accept(timeout_ms=5000)
    var into = List[UInt8](length=8, fill=0)
    client.set_read_timeout_ms(5)
    with assert_raises(contains="net.timeout read"):
        _ = client.read(Span(into))
    client.set_write_timeout_ms(5)
    with assert_raises(contains="net.timeout write"):
        client.write_all(Span(List[UInt8](length=10_000_000, fill=1)))
    _ = server^


def _close_under_waits() raises:
    var listener = _SharedListener(UnixListener.bind(abstract_name(16)))
    var client = _Shared(UnixStream.connect(abstract_name(16)))
    var server = listener[].accept()
    var held = client
    var held_listener = listener

    def read() raises {var held} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return held[].read(Span(into))

    def accept() raises {var held_listener} -> Int:
        return Int(held_listener[].accept().descriptor())

    var reading = spawn(read)
    var accepting = spawn(accept)
    sleep(5)
    client[].close()
    listener[].close()
    with assert_raises(contains="net.closed read"):
        _ = reading^.join()
    with assert_raises(contains="net.closed accept"):
        _ = accepting^.join()
    var into = List[UInt8](length=8, fill=0)
    assert_equal(server.read(Span(into)), 0)
    with assert_raises(contains="net.closed write"):
        for _ in range(2):
            server.write_all("x".as_bytes())


def _options() raises:
    var listener = UnixListener.bind(abstract_name(17))
    with assert_raises(contains="net.unsupported option"):
        listener.set_no_delay(True)
    listener.set_receive_buffer_octets(20_000)


comptime TESTS = __functions_in_module()
