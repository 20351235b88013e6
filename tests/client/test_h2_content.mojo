"""Tests contents over HTTP/2: windows, trailers, and both directions at once."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.http import (
    ClientHttp2Config,
    ClientTimeouts,
    HttpVersion,
)
from flare.proto.h2.frame import append_frame_header
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.clock import monotonic_ms

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.h2_stand import H2Stand, require
from tests.proto_h2.machine_scene import block_of, number
from tests.tcp.loops import on_each_backend


def test_a_response_has_all_parts() raises:
    on_each_backend(_parts)


def test_a_large_upload_stays_within_the_windows() raises:
    on_each_backend(_upload)


def test_a_large_download_stays_within_the_windows() raises:
    on_each_backend(_download)


def test_a_reader_that_takes_nothing_holds_the_server_back() raises:
    on_each_backend(_slow_reader)


def test_a_window_of_zero_is_waited_for() raises:
    on_each_backend(_zero_window)


def test_a_server_that_never_widens_a_window_is_given_up() raises:
    on_each_backend(_never_widened)


def test_both_directions_go_at_once() raises:
    on_each_backend(_both_ways)


def test_trailers_go_both_ways() raises:
    on_each_backend(_trailers)


def test_fields_that_may_not_be_trailers_are_refused() raises:
    on_each_backend(_bad_trailers)


def test_content_waits_for_continue() raises:
    on_each_backend(_continue)


def test_an_early_answer_ends_the_request() raises:
    on_each_backend(_early)


def test_a_stream_that_is_dropped_is_cancelled() raises:
    on_each_backend(_cancelled)


def test_a_stream_that_is_closed_wakes_its_reader() raises:
    on_each_backend(_closed_beside_reader)


def test_content_of_another_length_than_announced_is_refused() raises:
    on_each_backend(_lengths)


def _parts() raises:
    var stand = H2Stand()
    var client = stand.client

    def run() raises {var client}:
        var response = client[].get("/")
        assert_equal(response.status, 203)
        assert_true(response.version() == HttpVersion.HTTP_2)
        assert_equal(response.text(), "abcdef")
        assert_equal(response.headers.get("x-a").value(), "1")
        assert_equal(len(response.headers), 1)
        assert_equal(response.trailers().get("x-sum").value(), "9")

    var running = spawn(run^)
    var peer = stand.accept()
    var asked = peer.request()
    peer.head(asked.id, ":status: 103|link: </a>")
    peer.head(asked.id, ":status: 203|x-a: 1")
    peer.data(asked.id, "abc")
    peer.data(asked.id, "")
    peer.data(asked.id, "def")
    peer.head(asked.id, "x-sum: 9", ends=True)
    running^.join()
    peer.leave()


def _upload() raises:
    var stand = H2Stand()
    var text = String("0123456789abcdef") * 65_536
    var handle = stand.ask("/", "POST", text)
    var peer = stand.accept()
    var asked = peer.request()
    # The machine of the server fails if a window is exceeded.
    assert_equal(peer.content_of(asked).byte_length(), 1 << 20)
    assert_true(peer.state[].content == text)
    peer.answer(asked)
    require(handle^, "200 ok")
    peer.leave()


def _download() raises:
    var stand = H2Stand()
    var handle = stand.ask("/")
    var peer = stand.accept()
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var piece = List[UInt8](length=16_384, fill=97)
    # The window of the stream is 1 MiB.
    for _ in range(63):
        peer.frame(0, 0, asked.id, piece)
    peer.data(asked.id, "the end", ends=True)
    var text = handle^.join()
    assert_equal(text.byte_length(), 4 + 63 * 16_384 + 7)
    assert_true(text.endswith("the end"))
    peer.leave()


def _slow_reader() raises:
    var stand = H2Stand(
        http2=ClientHttp2Config(
            stream_window_octets=65_536, connection_window_octets=131_072
        )
    )
    var client = stand.client

    def run() raises {var client}:
        var stream = client[].stream("/slow")
        sleep(30)
        # Another exchange reads the connection meanwhile.
        assert_equal(client[].get("/other").text(), "ok")
        assert_equal(len(stream.read_all(1 << 20)), 131_072)

    var running = spawn(run^)
    var peer = stand.accept()
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var piece = List[UInt8](length=16_384, fill=97)
    for _ in range(4):
        peer.frame(0, 0, asked.id, piece)
    peer.answer(peer.request())
    # Nothing was granted until the program read.
    var seen = peer.state[].machine.streams[asked.slot].send_window
    assert_equal(Int(seen), 65_536)
    while peer.state[].machine.streams[asked.slot].send_window == seen:
        _ = peer.next_frames()
    for i in range(4):
        peer.frame(0, 1 if i == 3 else 0, asked.id, piece)
    running^.join()
    peer.leave()


def _zero_window() raises:
    var stand = H2Stand()
    var warm = stand.ask("/warm")
    # INITIAL_WINDOW_SIZE is 0.
    var peer = stand.accept([0, 4, 0, 0, 0, 0])
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var handle = stand.ask("/", "POST", "abcdef")
    var asked = peer.request()
    assert_false(asked.ends)
    sleep(5)
    for _ in range(6):
        peer.frame(8, 0, asked.id, number(1))
    assert_equal(peer.content_of(asked), "abcdef")
    peer.answer(asked)
    require(handle^, "200 ok")
    # The settings widen it for all.
    handle = stand.ask("/", "POST", "abcdef")
    asked = peer.request()
    peer.frame(4, 0, 0, [0, 4, 0, 0, 0, 9])
    assert_equal(peer.content_of(asked), "abcdef")
    peer.answer(asked)
    require(handle^, "200 ok")
    peer.leave()


def _never_widened() raises:
    var stand = H2Stand(timeouts=ClientTimeouts(total_ms=10_000, write_ms=30))
    var warm = stand.ask("/warm")
    var peer = stand.accept([0, 4, 0, 0, 0, 0])
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var handle = stand.ask("/", "POST", "abcdef")
    _ = peer.request()
    require(handle^, "client.timeout send")
    # The stream alone has failed.
    assert_equal(peer.next().code, 8)
    var next = stand.ask("/next")
    peer.answer(peer.request())
    require(next^, "200 ok")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _both_ways() raises:
    var stand = H2Stand()
    var client = stand.client

    def run() raises {var client}:
        var stream = ArcPointer(client[].open("POST", "/both"))

        def write() raises {var stream}:
            for i in range(50):
                stream[].write_all(String("line ", i, "\n").as_bytes())
            stream[].end()

        var writing = spawn(write^)
        var text = String(from_utf8=Span(stream[].read_all(1 << 20)))
        writing^.join()
        assert_true(text.startswith("line 0\nline 1\n"), text)
        assert_true(text.endswith("line 49\n"), text)

    var running = spawn(run^)
    var peer = stand.accept()
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    while True:
        peer.state[].content = String()
        var event = peer.next()
        if event.kind == 2:
            peer.data(asked.id, peer.state[].content, event.ends)
        if event.ends:
            break
    running^.join()
    peer.leave()


def _trailers() raises:
    var stand = H2Stand()
    var client = stand.client

    def run() raises {var client}:
        var stream = client[].open("POST", "/")
        stream.write_all("abc".as_bytes())
        stream.set_trailer("X-Sum", "6")
        stream.end()
        assert_equal(len(stream.read_all(100)), 0)
        assert_equal(stream.trailers().get("grpc-status").value(), "0")

    var running = spawn(run^)
    var peer = stand.accept()
    var asked = peer.request()
    while True:
        var event = peer.next()
        if event.ends:
            assert_equal(event.kind, 3)
            break
    assert_equal(peer.state[].content, "abc")
    ref trailers = peer.state[].machine.input.trailers
    assert_equal(
        StringSlice(unsafe_from_utf8=trailers.octets.span()), "x-sum: 6\r\n"
    )
    peer.head(asked.id, ":status: 200")
    peer.head(asked.id, "grpc-status: 0", ends=True)
    running^.join()
    peer.leave()


def _bad_trailers() raises:
    var stand = H2Stand()
    var client = stand.client

    def run() raises {var client}:
        for name in ["Content-Type", "Host", "Set-Cookie"]:
            var stream = client[].open("POST", "/")
            stream.write_all("abc".as_bytes())
            stream.set_trailer(name, "x")
            with assert_raises(contains="client.bad_request send"):
                stream.end()

    var running = spawn(run^)
    var peer = stand.accept()
    for _ in range(3):
        var asked = peer.request()
        # It is cancelled, for lack of an end.
        while True:
            var event = peer.next()
            if event.ends:
                assert_equal(event.kind, 4)
                break
        peer.forget(asked)
    running^.join()
    peer.leave()


def _continue() raises:
    for accepts in [True, False]:
        var stand = H2Stand()
        var client = stand.client

        def run() raises {var client, var accepts}:
            var stream = client[].open(
                "PUT", "/", length=3, expects_continue=True
            )
            var began_ms = monotonic_ms()
            assert_equal(stream.begin_content(), accepts)
            # Without an answer, the content waits for 1 s.
            assert_true(monotonic_ms() - began_ms < 900)
            if accepts:
                stream.write_all("abc".as_bytes())
                stream.end()
            assert_equal(stream.status(), 200 if accepts else 413)
            _ = stream.read_all(100)

        var running = spawn(run^)
        var peer = stand.accept()
        var asked = peer.request()
        if accepts:
            # Both arrive together, and the second does not hide the first.
            for lines in [":status: 100", ":status: 103"]:
                var block = block_of(lines)
                append_frame_header(len(block), 1, 4, asked.id, peer.output())
                peer.output()[].append(Span(block))
            peer.flush()
            assert_equal(peer.content_of(asked), "abc")
            peer.answer(asked)
        else:
            peer.head(asked.id, ":status: 413", ends=True)
        running^.join()
        assert_equal(stand.statistics().open, 1)
        peer.leave()


def _early() raises:
    for has_reset in [True, False]:
        var stand = H2Stand()
        var text = String("0123456789abcdef") * 65_536
        var handle = stand.ask("/", "POST", text)
        var peer = stand.accept()
        var asked = peer.request()
        peer.head(asked.id, ":status: 403")
        peer.data(asked.id, "no", ends=True)
        if has_reset:
            # NO_ERROR: the rest of the request is of no use.
            peer.frame(3, 0, asked.id, number(0))
        else:
            _ = peer.content_of(asked)
        require(handle^, "403 no")
        peer.forget(asked)
        var next = stand.ask("/next")
        peer.answer(peer.request())
        require(next^, "200 ok")
        assert_equal(stand.statistics().connects, 1)
        peer.leave()


def _cancelled() raises:
    var stand = H2Stand()
    var client = stand.client

    def run() raises {var client}:
        var stream = client[].stream("/")
        assert_equal(stream.status(), 200)
        stream.close()
        with assert_raises(contains="client.over"):
            _ = stream.read_all(100)

    var running = spawn(run^)
    var peer = stand.accept()
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    running^.join()
    # CANCEL, and a PING that makes sure of it.
    assert_equal(peer.next().code, 8)
    assert_equal(stand.statistics().idle, 1)
    peer.leave()


def _closed_beside_reader() raises:
    var stand = H2Stand()
    var client = stand.client

    def run() raises {var client}:
        var stream = ArcPointer(client[].stream("/"))

        def read() raises {var stream}:
            with assert_raises(contains="client.closed content"):
                _ = stream[].read_all(100)

        var reading = spawn(read^)
        sleep(5)
        stream[].close()
        reading^.join()

    var running = spawn(run^)
    var peer = stand.accept()
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    running^.join()
    assert_equal(peer.next().code, 8)
    var next = stand.ask("/next")
    peer.answer(peer.request())
    require(next^, "200 ok")
    peer.leave()


def _lengths() raises:
    var stand = H2Stand()
    var client = stand.client

    def run() raises {var client}:
        var short = client[].open("POST", "/", length=5)
        short.write_all("abc".as_bytes())
        with assert_raises(contains="client.bad_request send"):
            short.end()
        var long = client[].open("POST", "/", length=5)
        with assert_raises(contains="client.bad_request send"):
            long.write_all("abcdef".as_bytes())

    var running = spawn(run^)
    var peer = stand.accept()
    running^.join()
    assert_equal(stand.statistics().open, 1)
    peer.leave()


comptime TESTS = __functions_in_module()
