"""Tests for `TlsStream` and `TlsListener` over real sockets."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.core import heap_create, heap_destroy
from flare.io import BufReader, Writer, copy
from flare.net import NetError, SocketAddr
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import sleep
from flare.tcp import TcpListener, TcpStream
from flare.tls import (
    TlsContext,
    TlsError,
    TlsListener,
    TlsStream,
)
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import octets_of, on_each_backend, pattern
from tests.tls.certificates import client_config, server_config

comptime _Shared = ArcPointer[TlsStream]


def test_two_streams_talk() raises:
    on_each_backend(_talk)


def test_ten_megabytes_are_echoed_while_they_are_sent() raises:
    on_each_backend(_ten_megabytes)


def test_a_wrong_name_is_refused_at_both_ends() raises:
    on_each_backend(_wrong_name)


def test_an_end_without_a_word_is_truncated() raises:
    on_each_backend(_truncated)


def test_a_half_closed_stream_still_reads() raises:
    on_each_backend(_half_close)


def test_a_silent_client_is_given_up_and_holds_nobody_up() raises:
    on_each_backend(_silent)


def test_plain_text_on_either_side_is_refused() raises:
    on_each_backend(_plain)


def test_a_buffered_reader_reads_lines() raises:
    on_each_backend(_lines)


def test_a_stream_that_is_closed_says_so() raises:
    on_each_backend(_closed)


def test_a_session_is_resumed_over_sockets() raises:
    on_each_backend(_resumed)


def test_a_listener_reloads_its_certificate() raises:
    on_each_backend(_reloaded)


def test_nobody_listens() raises:
    on_each_backend(_refused)


def test_a_writer_waits_while_a_reader_sends() raises:
    on_each_backend(_reader_sends)


def test_a_close_over_unread_octets_loses_nothing() raises:
    on_each_backend(_unread)


def test_a_stream_that_is_closed_at_once_tells_the_peer() raises:
    on_each_backend(_closed_at_once)


def test_a_reader_and_a_writer_may_begin_before_the_handshake() raises:
    on_each_backend(_both_begin)


def test_who_waits_for_a_handshake_that_fails_fails_too() raises:
    on_each_backend(_both_fail)


def test_a_second_reader_is_refused() raises:
    on_each_backend(_two_readers)


def _talk() raises:
    var ends = _connected()
    assert_equal(ends.client.write("x".as_bytes()), 1)
    var into = List[UInt8](length=8, fill=0)
    assert_equal(ends.server.read(Span(into)), 1)
    assert_equal(into[0], 120)
    assert_equal(ends.client.version(), "TLSv1.3")
    assert_equal(ends.client.peer_subject().value(), "CN=server")
    assert_equal(ends.server.server_name().value(), "localhost")
    assert_equal(ends.client.read(Span(into)[0:0]), 0)
    assert_equal(ends.client.write("".as_bytes()), 0)
    assert_true(ends.client.peer_address() == ends.server.local_address())
    ends.client.close()
    ends.client.close()
    assert_equal(ends.server.read(Span(into)), 0)
    assert_equal(ends.server.read(Span(into)), 0)


def _ten_megabytes() raises:
    comptime COUNT = 10_000_000
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def echo() raises {var listener^} -> Int:
        var stream = listener.accept()
        var piece = List[UInt8](length=100_000, fill=0)
        var total = 0
        while True:
            var count = stream.read(Span(piece))
            if count == 0:
                stream.close()
                return total
            stream.write_all(Span(piece)[0:count])
            total += count

    var echoing = spawn(echo^)
    var client = _Shared(TlsStream.connect("localhost", port, client_config()))

    def send() raises {var client} -> Int:
        var octets = pattern(COUNT)
        client[].write_all(Span(octets))
        client[].end_sending()
        return len(octets)

    var sending = spawn(send)
    # One fiber writes the stream that this one reads.
    var echoed = _read_to_end(client[])
    assert_equal(echoing^.join(), COUNT)
    assert_equal(sending^.join(), COUNT)
    assert_equal(len(echoed), COUNT)
    assert_true(echoed == pattern(COUNT))


def _reader_sends() raises:
    comptime COUNT = 200_000
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def serve() raises {var listener^} -> Int:
        var stream = listener.accept()
        var count = len(_read_to_end(stream))
        stream.close()
        return count

    var serving = spawn(serve^)
    var client = _Shared(TlsStream.connect("localhost", port, client_config()))
    # As while a reader has an answer to send and the peer takes nothing.
    client[]._state[].is_flushing = True

    def send() raises {var client} -> Int:
        client[].write_all(Span(pattern(COUNT)))
        return COUNT

    var sending = spawn(send)
    sleep(0)
    client[]._state[].is_flushing = False
    client[].flush()
    assert_equal(sending^.join(), COUNT)
    client[].end_sending()
    assert_equal(len(_read_to_end(client[])), 0)
    assert_equal(serving^.join(), COUNT)


def _unread() raises:
    comptime COUNT = 4_000_000
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def serve() raises {var listener^} -> Int:
        var stream = listener.accept()
        stream.write_all("unread".as_bytes())
        return len(_read_to_end(stream))

    var serving = spawn(serve^)
    var client = TlsStream.connect("localhost", port, client_config())
    # It waits for room, and the server writes.
    client.write_all(Span(pattern(COUNT)))
    client.close()
    assert_equal(serving^.join(), COUNT)


def _both_begin() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def ask() raises {var port} -> Int:
        var client = TlsStream.connect("localhost", port, client_config())
        client.write_all("question".as_bytes())
        client.end_sending()
        return len(_read_to_end(client))

    var asking = spawn(ask)
    var server = _Shared(listener.accept())

    def read() raises {var server} -> Int:
        return len(_read_to_end(server[]))

    def write() raises {var server}:
        server[].write_all("answer".as_bytes())
        server[].end_sending()

    var reading = spawn(read)
    var writing = spawn(write)
    assert_equal(reading^.join(), 8)
    writing^.join()
    assert_equal(asking^.join(), 6)


def _both_fail() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var tcp = TcpStream.connect("localhost", listener.local_address().port)
    var server = _Shared(listener.accept())

    def read() raises {var server}:
        _ = _read_to_end(server[])

    def write() raises {var server}:
        server[].write_all("answer".as_bytes())

    var reading = spawn(read)
    var writing = spawn(write)
    sleep(0)
    tcp.write_all("GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_bytes())
    with assert_raises(contains="tls.plain_http handshake"):
        reading^.join()
    with assert_raises(contains="tls.plain_http handshake"):
        writing^.join()
    _ = tcp^


def _wrong_name() raises:
    var listener = TlsListener.bind(
        SocketAddr.localhost(0), server_config("other")
    )
    var port = listener.local_address().port
    var serving = _serve(listener^)
    var kind = -1
    try:
        _ = TlsStream.connect("localhost", port, client_config())
    except e:
        kind = TlsError.of(e).value().kind
    assert_equal(kind, TlsError.WRONG_NAME)
    var outcome = serving^.join()
    assert_true(outcome.startswith("tls.alert handshake alert=42"), outcome)


def _truncated() raises:
    var ends = _connected()
    var into = List[UInt8](length=8, fill=0)
    # What the client leaves unread would reset the connection.
    ends.server.write_all("begin".as_bytes())
    assert_equal(ends.client.read(Span(into)), 5)
    ends.client.write_all("half".as_bytes())
    var server = ends^.into_server()
    assert_equal(server.read(Span(into)), 4)
    with assert_raises(contains="tls.truncated read"):
        _ = server.read(Span(into))
    with assert_raises(contains="tls.truncated write"):
        _ = server.write("more".as_bytes())


def _half_close() raises:
    var ends = _connected()
    ends.client.write_all("question".as_bytes())
    ends.client.end_sending()
    assert_true(_read_to_end(ends.server) == octets_of("question"))
    ends.server.write_all("answer".as_bytes())
    ends.server.close()
    assert_true(_read_to_end(ends.client) == octets_of("answer"))
    with assert_raises(contains="tls.closed write"):
        _ = ends.client.write("more".as_bytes())


def _silent() raises:
    var config = server_config()
    config.handshake_timeout_ms = 50
    var listener = TlsListener.bind(SocketAddr.localhost(0), config)
    var port = listener.local_address().port
    var silent = TcpStream.connect("localhost", port)
    # Accepting does not wait for the handshake.
    var first = listener.accept()

    def wait() raises {var first^} -> String:
        try:
            first.handshake()
        except e:
            return String(e)
        return "done"

    var waiting = spawn(wait^)
    var serving = _serve(listener^)
    var client = TlsStream.connect("localhost", port, client_config())
    client.write_all("served".as_bytes())
    client.end_sending()
    assert_equal(serving^.join(), "served")
    var outcome = waiting^.join()
    assert_true(outcome.startswith("net.timeout"), outcome)
    var into = List[UInt8](length=8, fill=0)
    assert_equal(silent.read(Span(into)), 0)


def _plain() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var tcp = TcpStream.connect("localhost", listener.local_address().port)
    var serving = _serve(listener^)
    tcp.write_all("GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_bytes())
    var outcome = serving^.join()
    assert_true(outcome.startswith("tls.plain_http handshake"), outcome)

    var plain = TcpListener.bind(SocketAddr.localhost(0))
    var port = plain.local_address().port

    def greet() raises {var plain^}:
        var stream = plain.accept()
        stream.write_all("220 ready\r\n".as_bytes())
        stream.end_sending()
        _ = copy(stream, _Nowhere(), 100_000)

    var greeting = spawn(greet^)
    with assert_raises(contains="tls.protocol handshake"):
        _ = TlsStream.connect("localhost", port, client_config())
    greeting^.join()


def _lines() raises:
    var ends = _connected()
    ends.client.write_all("first\r\nsecond\nlast".as_bytes())
    ends.client.end_sending()
    var reader = BufReader(ends^.into_server())
    assert_equal(reader.read_line().value(), "first")
    assert_equal(reader.read_line().value(), "second")
    assert_equal(reader.read_line().value(), "last")
    assert_false(Bool(reader.read_line()))


def _closed() raises:
    var ends = _connected()
    assert_true(ends.client.is_open())
    ends.client.close()
    assert_false(ends.client.is_open())
    var into = List[UInt8](length=8, fill=0)
    with assert_raises(contains="net.closed read"):
        _ = ends.client.read(Span(into))
    with assert_raises(contains="tls.closed write"):
        _ = ends.client.write("x".as_bytes())


def _closed_at_once() raises:
    var ends = _connected()
    ends.client.write_all("all of it".as_bytes())
    # A reset would take from the peer what it has not read yet.
    ends.server.write_all("unread".as_bytes())
    ends.client.close_at_once()
    ends.client.close_at_once()
    assert_false(ends.client.is_open())
    assert_equal(len(_read_to_end(ends.server)), 9)
    var into = List[UInt8](length=8, fill=0)
    with assert_raises(contains="net.closed read"):
        _ = ends.client.read(Span(into))
    with assert_raises(contains="tls.closed write"):
        _ = ends.client.write("x".as_bytes())


def _resumed() raises:
    var context = TlsContext.for_clients(client_config())
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def serve() raises {var listener^} -> Int:
        var resumed = 0
        for _ in range(2):
            var stream = listener.accept()
            stream.write_all("hello".as_bytes())
            _ = _read_to_end(stream)
            stream.close()
            resumed += 1 if stream.is_resumed() else 0
        return resumed

    var serving = spawn(serve^)
    var first = TlsStream.connect("localhost", port, context)
    var into = List[UInt8](length=8, fill=0)
    assert_equal(first.read(Span(into)), 5)
    assert_false(first.is_resumed())
    var taken = first.take_session()
    var session = heap_create(taken.take())
    first.close()
    var second = TlsStream.connect("localhost", port, context, session=session)
    assert_true(second.is_resumed())
    assert_equal(second.peer_subject().value(), "CN=server")
    assert_equal(second.read(Span(into)), 5)
    second.close()
    heap_destroy(session)
    assert_equal(serving^.join(), 1)


def _reloaded() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port
    var context = TlsContext.for_clients(client_config())

    def connect() raises {var context, var port} -> TlsStream:
        return TlsStream.connect("localhost", port, context)

    var connecting = spawn(connect)
    var accepted = listener.accept()
    accepted.handshake()
    var old = connecting^.join()
    listener.reload(server_config("renewed"))
    connecting = spawn(connect)
    var next = listener.accept()
    next.handshake()
    var fresh = connecting^.join()
    assert_equal(old.peer_subject().value(), "CN=server")
    assert_equal(fresh.peer_subject().value(), "CN=renewed")
    old.write_all("old".as_bytes())
    fresh.write_all("new".as_bytes())
    var into = List[UInt8](length=8, fill=0)
    assert_equal(accepted.read(Span(into)), 3)
    assert_equal(into[0], 111)
    assert_equal(next.read(Span(into)), 3)
    assert_equal(into[0], 110)


def _refused() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_address().port
    listener.close()
    with assert_raises(contains="net.refused connect"):
        _ = TlsStream.connect("127.0.0.1", port, client_config())
    with assert_raises(contains="tls.bad_name connect"):
        _ = TlsStream.connect("a b", port, client_config())


def _two_readers() raises:
    var ends = _connected().into_shared()
    var server = ends.server

    def read() raises {var server} -> Int:
        var into = List[UInt8](length=8, fill=0)
        return server[].read(Span(into))

    var first = spawn(read)
    var second = spawn(read)
    var refused = 0
    sleep(0)
    ends.client[].write_all("x".as_bytes())
    try:
        _ = second^.join()
    except e:
        assert_equal(NetError.of(e).value().errno, 16)
        refused += 1
    assert_equal(first^.join(), 1)
    assert_equal(refused, 1)


@fieldwise_init
struct _Ends(Movable):
    var client: TlsStream
    var server: TlsStream

    def into_server(deinit self) -> TlsStream:
        return self.server^

    def into_shared(deinit self) -> _SharedEnds:
        return _SharedEnds(_Shared(self.client^), _Shared(self.server^))


@fieldwise_init
struct _SharedEnds(Movable):
    var client: _Shared
    var server: _Shared


def _connected() raises -> _Ends:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def accept() raises {var listener^} -> TlsStream:
        var stream = listener.accept()
        stream.handshake()
        return stream^

    var accepting = spawn(accept^)
    var client = TlsStream.connect("localhost", port, client_config())
    return _Ends(client^, accepting^.join())


def _serve(var listener: TlsListener) raises -> JoinHandle[String]:
    def serve() raises {var listener^} -> String:
        var stream = listener.accept()
        try:
            var octets = _read_to_end(stream)
            stream.close()
            return String(StringSlice(from_utf8=Span(octets)))
        except e:
            return String(e)

    return spawn(serve^)


def _read_to_end(stream: TlsStream) raises -> List[UInt8]:
    var all = List[UInt8]()
    var piece = List[UInt8](length=50_000, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            return all^
        all.extend(Span(piece)[0:count])


struct _Nowhere(Writer):
    def __init__(out self):
        pass

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        return len(octets)


comptime TESTS = __functions_in_module()
