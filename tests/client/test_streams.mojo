"""Tests contents that go bit by bit, in both directions."""

from std.memory import ArcPointer
from std.testing import assert_raises

from flare.http import (
    ClientConfig,
    ClientStream,
    ClientTimeouts,
    HttpClient,
)
from flare.io import MemoryReader
from flare.net import SocketAddr
from flare.proto.h1 import H1Limits
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.tcp import TcpListener

from tests.asserting import assert_equal, assert_true
from tests.client.stand import (
    OK_ANSWER,
    Ending,
    Reply,
    Stand,
    ok_answers,
    read_some,
)
from tests.tcp.loops import octets_of, on_each_backend, pattern


def test_a_content_is_read_bit_by_bit() raises:
    on_each_backend(_read)


def test_a_content_may_be_longer_than_what_fits_in_memory() raises:
    on_each_backend(_endless)


def test_a_content_is_written_bit_by_bit() raises:
    on_each_backend(_written)


def test_a_reader_is_sent_whole() raises:
    on_each_backend(_uploaded)


def test_a_server_that_is_asked_first_may_refuse() raises:
    on_each_backend(_asked)


def test_a_stream_that_fails_or_is_dropped_ends_its_connection() raises:
    on_each_backend(_dropped)


def test_who_gives_a_stream_up_may_do_so_beside_its_reader() raises:
    on_each_backend(_given_up)


def test_a_stream_that_is_closed_waits_for_its_reader_and_its_writer() raises:
    on_each_backend(_closed_beside_both)


def test_a_content_that_was_given_up_has_no_end() raises:
    on_each_backend(_no_end)


def test_a_content_that_a_reset_ends_is_not_whole() raises:
    on_each_backend(_reset_beside)


def test_a_long_upload_does_not_use_up_the_wait_for_the_answer() raises:
    on_each_backend(_long_upload)


def test_a_response_without_content_gives_its_connection_back() raises:
    on_each_backend(_without_content)


def test_a_stream_follows_redirections() raises:
    on_each_backend(_redirected)


def test_a_status_of_a_stream_raises_if_asked_to() raises:
    on_each_backend(_status_raised)


def test_a_stream_outlives_its_client() raises:
    on_each_backend(_outlives)


def _read() raises:
    comptime CHUNKED: StaticString = (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n"
        "5\r\nhello\r\n6\r\n world\r\n0\r\nX-T: 2\r\n\r\n"
    )
    var answers: List[String] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nX-A: 1\r\n\r\nhello world",
        String(CHUNKED),
    ]
    for octets in [1, 3, 100]:
        for i in range(2):
            var stand = Stand(
                [
                    Reply(answers[i], Ending.KEEP),
                    Reply(String(OK_ANSWER), Ending.KEEP),
                ]
            )
            var client = HttpClient(stand.url())
            var stream = client.stream("/")
            assert_equal(stream.status(), 200)
            assert_equal(stream.headers().get("x-a").value(), "1")
            var text = List[UInt8]()
            var piece = List[UInt8](length=octets, fill=0)
            while True:
                var count = stream.read(Span(piece))
                if count == 0:
                    break
                text.extend(Span(piece)[0:count])
            assert_equal(String(unsafe_from_utf8=Span(text)), "hello world")
            assert_equal(stream.read(Span(piece)), 0)
            if i == 1:
                assert_equal(stream.trailers().get("x-t").value(), "2")
            # The connection is back before the stream ends its life.
            assert_equal(client.get("/").text(), "ok")
            assert_equal(stand.connections(), 1)
            _ = stream^
            stand^.join()


def _status_raised() raises:
    var stand = Stand(
        [
            Reply("HTTP/1.1 399 X\r\nContent-Length: 0\r\n\r\n", Ending.KEEP),
            Reply("HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\nno", Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url())
    var stream = client.stream("/")
    stream.raise_for_status()
    _ = stream.read_all(10)
    var missing = client.stream("/")
    with assert_raises(contains="client.status answer status=404: Not Found"):
        missing.raise_for_status()
    # The content is still there to be read.
    assert_equal(String(unsafe_from_utf8=Span(missing.read_all(10))), "no")
    _ = stream^
    _ = missing^
    stand^.join()


def _endless() raises:
    comptime COUNT = 2_000_000
    var stand = Stand(
        [
            Reply(
                String("HTTP/1.1 200 OK\r\n\r\n", String("a") * COUNT),
                Ending.CLOSE,
            )
        ]
    )
    var client = HttpClient(
        stand.url(),
        config=ClientConfig(limits=H1Limits(body_octets_max=1_000)),
    )
    var stream = client.stream("/")
    var total = 0
    var piece = List[UInt8](length=50_000, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            break
        total += count
    assert_equal(total, COUNT)
    stand^.join()


def _written() raises:
    var stand = Stand(ok_answers(3))
    var client = HttpClient(stand.url())
    var stream = client.open("POST", "/a")
    stream.write_all("hello".as_bytes())
    stream.write_all(" world".as_bytes())
    stream.set_trailer("X-T", "1")
    stream.end()
    stream.end()
    assert_equal(stream.status(), 200)
    assert_equal(String(unsafe_from_utf8=Span(stream.read_all(10))), "ok")
    assert_true(
        stand.request(0).endswith(
            "\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nX-T: 1\r\n\r\n"
        ),
        stand.request(0),
    )
    _ = stream^
    var counted = client.open("PUT", "/b", length=5)
    counted.write_all("he".as_bytes())
    counted.write_all("llo".as_bytes())
    counted.end()
    _ = counted.read_all(10)
    assert_true(stand.request(1).endswith("\r\n\r\nhello"), stand.request(1))
    _ = counted^
    assert_equal(stand.connections(), 1)
    # More, or less, than was said breaks off.
    var long = client.open("PUT", "/c", length=2)
    with assert_raises(contains="client.bad_request send"):
        long.write_all("abc".as_bytes())
    _ = long^
    var short = client.open("PUT", "/d", length=2)
    short.write_all("a".as_bytes())
    with assert_raises(contains="client.bad_request send"):
        short.end()
    _ = short^
    assert_equal(client.statistics().open, 0)
    assert_equal(client.get("/").text(), "ok")
    stand^.join()


def _uploaded() raises:
    comptime COUNT = 1_000_000
    var content = String("0123456789") * (COUNT // 10)
    var stand = Stand(ok_answers(2))
    var client = HttpClient(stand.url())
    for i in range(2):
        var octets = octets_of(content)
        var reader = MemoryReader(octets^)
        var length = Optional[Int](None)
        if i == 1:
            length = COUNT
        var response = client.upload("PUT", "/", reader, length=length)
        assert_equal(response.text(), "ok")
    var sent = stand.request(1).as_bytes()
    assert_true(List(sent[len(sent) - COUNT :]) == octets_of(content))
    assert_equal(stand.connections(), 1)
    stand^.join()


def _asked() raises:
    var stand = Stand(
        [
            Reply(
                "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno", Ending.HOLD
            ),
            Reply("HTTP/1.1 100 Continue\r\n\r\n", Ending.KEEP),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url())
    var reader = MemoryReader(pattern(100))
    var refused = client.upload(
        "PUT", "/", reader, length=100, expects_continue=True
    )
    assert_equal(refused.status, 413)
    assert_equal(refused.text(), "no")
    assert_true(stand.request(0).endswith("\r\n\r\n"))
    var taken = client.upload(
        "PUT", "/", reader, length=100, expects_continue=True
    )
    assert_equal(taken.text(), "ok")
    assert_equal(stand.request(2).byte_length(), 100)
    stand^.join()


def _dropped() raises:
    var stand = Stand(
        [
            Reply(
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Ending.CLOSE
            ),
            Reply(
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", Ending.HOLD
            ),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(
        stand.url(),
        config=ClientConfig(timeouts=ClientTimeouts(read_ms=50)),
    )
    var stream = client.stream("/")
    with assert_raises(contains="client.closed content"):
        _ = stream.read_all(100)
    assert_equal(client.statistics().open, 0)
    var dropped = client.stream("/")
    var piece = List[UInt8](length=2, fill=0)
    assert_equal(dropped.read(Span(piece)), 2)
    _ = dropped^
    assert_equal(client.statistics().open, 0)
    assert_equal(client.get("/").text(), "ok")
    stand^.join()


def _given_up() raises:
    # In front of the head, and within the content.
    var answers: List[String] = ["", "HTTP/1.1 200 OK\r\n\r\nabc"]
    for i in range(2):
        var stand = Stand([Reply(answers[i], Ending.HOLD)])
        var client = HttpClient(stand.url())
        var stream = ArcPointer(client.open("POST", "/", length=0))
        stream[].end()
        if i == 1:
            var piece = List[UInt8](length=3, fill=0)
            assert_equal(stream[].read(Span(piece)), 3)

        def read() raises {var stream}:
            _ = stream[].read_all(100)

        var reading = spawn(read^)
        sleep(0)
        stream[].close()
        with assert_raises(contains="client."):
            reading^.join()
        assert_equal(client.statistics().open, 0)
        _ = stream^
        stand^.join()


def _closed_beside_both() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = HttpClient(
        String("http://127.0.0.1:", listener.local_address().port)
    )
    var stream = ArcPointer(client.open("POST", "/"))
    assert_true(stream[].begin_content())
    var peer = listener.accept()
    assert_true(read_some(peer).startswith("POST / "))

    def write() raises {var stream}:
        var octets = pattern(64 * 1024)
        while True:
            stream[].write_all(Span(octets))

    def read() raises {var stream}:
        _ = stream[].status()

    var writing = spawn(write^)
    var reading = spawn(read^)
    # The writer waits for room when no more has gone out since the last look.
    var sent_ms = -1
    ref request = stream[]._state[].request
    for _ in range(200):
        if sent_ms == request.sent_ms and request.is_in_use:
            break
        sent_ms = request.sent_ms
        sleep(20)
    assert_true(request.is_in_use)
    assert_true(stream[]._state[].response.is_in_use)
    stream[].close()
    # Both are still there: the connection is not free yet.
    assert_equal(client.statistics().open, 1)
    with assert_raises(contains="client."):
        writing^.join()
    with assert_raises(contains="client."):
        reading^.join()
    assert_equal(client.statistics().open, 0)
    with assert_raises(contains="client.over send"):
        stream[].write_all("a".as_bytes())
    with assert_raises(contains="client.over head"):
        _ = stream[].status()
    _ = stream^
    _ = peer^


def _no_end() raises:
    # Chunks, a known length, and what lasts until the close.
    var answers: List[String] = [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\n\r\nabc",
    ]
    var piece = List[UInt8](length=3, fill=0)
    for answer in answers:
        var stand = Stand([Reply(answer, Ending.HOLD)])
        var client = HttpClient(stand.url())
        var stream = client.stream("/")
        assert_equal(stream.read(Span(piece)), 3)
        stream.close()
        for _ in range(2):
            with assert_raises(contains="client.over content"):
                _ = stream.read(Span(piece))
        _ = stream^
        stand^.join()
    var stand = Stand([Reply(answers[1], Ending.CLOSE)])
    var client = HttpClient(stand.url())
    var stream = client.stream("/")
    assert_equal(stream.read(Span(piece)), 3)
    with assert_raises(contains="client.closed content"):
        _ = stream.read(Span(piece))
    with assert_raises(contains="client.over content"):
        _ = stream.read(Span(piece))
    stand^.join()
    var whole = Stand(ok_answers(1))
    var read = HttpClient(whole.url()).stream("/")
    assert_equal(len(read.read_all(2)), 2)
    read.close()
    assert_equal(read.read(Span(piece)), 0)
    whole^.join()


def _reset_beside() raises:
    for answer in ["", "HTTP/1.1 200 OK\r\n\r\nabc"]:
        _reset_behind(answer)


def _reset_behind(answer: StringSlice) raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = HttpClient(
        String("http://127.0.0.1:", listener.local_address().port)
    )
    var stream = client.open("POST", "/")
    assert_true(stream.begin_content())
    var peer = listener.accept()
    assert_true(read_some(peer).startswith("POST / "))
    peer.write_all(answer.as_bytes())
    var piece = List[UInt8](length=3, fill=0)
    if answer.byte_length() > 0:
        assert_equal(stream.read(Span(piece)), 3)
    peer.set_linger(0)
    _ = peer^
    with assert_raises(contains="client.reset send"):
        while True:
            stream.write_all("a".as_bytes())
            sleep(0)
    var phase: StaticString = "content" if answer.byte_length() > 0 else "head"
    with assert_raises(contains=String("client.reset ", phase)):
        _ = stream.read(Span(piece))


def _long_upload() raises:
    var stand = Stand(ok_answers(1))
    var client = HttpClient(
        stand.url(),
        config=ClientConfig(timeouts=ClientTimeouts(first_octet_ms=60)),
    )
    var stream = ArcPointer(client.open("POST", "/", length=10))

    def send() raises {var stream}:
        for _ in range(10):
            stream[].write_all("a".as_bytes())
            sleep(20)
        stream[].end()

    assert_true(stream[].begin_content())
    var sending = spawn(send^)
    assert_equal(stream[].status(), 200)
    sending^.join()
    _ = stream^
    stand^.join()


def _without_content() raises:
    var answers: List[String] = [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 204 No\r\n\r\n",
        "HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ]
    var replies = List[Reply]()
    for answer in answers:
        replies.append(Reply(answer, Ending.KEEP))
        replies.append(Reply(String(OK_ANSWER), Ending.KEEP))
    var stand = Stand(replies^)
    var client = HttpClient(stand.url())
    for i in range(len(answers)):
        var stream = client.stream("/", method="HEAD" if i == 0 else "GET")
        # Nobody reads, because there is nothing to read.
        assert_true(stream.status() >= 200)
        assert_true("Content-Length" in stream.headers() or i == 1)
        _ = stream^
        assert_equal(client.get("/").text(), "ok")
    assert_equal(stand.connections(), 1)
    stand^.join()


def _redirected() raises:
    var stand = Stand(
        [
            Reply(
                (
                    "HTTP/1.1 302 X\r\nLocation: /y\r\n"
                    "Content-Length: 3\r\n\r\nabc"
                ),
                Ending.KEEP,
            ),
            Reply(String(OK_ANSWER), Ending.KEEP),
        ]
    )
    var client = HttpClient(stand.url())
    var stream = client.stream("/x")
    assert_equal(String(unsafe_from_utf8=Span(stream.read_all(10))), "ok")
    assert_true(stand.request(1).startswith("GET /y "))
    assert_equal(stand.connections(), 1)
    _ = stream^
    stand^.join()


def _outlives() raises:
    var stand = Stand(ok_answers(1))
    var stream = _stream_of(stand)
    assert_equal(String(unsafe_from_utf8=Span(stream.read_all(10))), "ok")
    _ = stream^
    stand^.join()


def _stream_of(stand: Stand) raises -> ClientStream:
    var client = HttpClient(stand.url())
    return client.stream("/")


comptime TESTS = __functions_in_module()
