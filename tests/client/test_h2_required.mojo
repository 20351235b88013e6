"""Tests servers that choose HTTP/2 and then require HTTP/1.1 (RFC 9113 section
7)."""

from flare.http import ClientConfig, ClientError, HttpClient
from flare.net import SocketAddr
from flare.runtime.task import JoinHandle, spawn
from flare.tls import TlsListener, TlsStream

from tests.asserting import assert_equal, assert_true
from tests.client.h2_stand import H2Stand
from tests.client.stand import OK_ANSWER
from tests.proto_h2.machine_scene import number
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config, server_config

comptime _PREFACE_OCTETS = 24
comptime _HEADER_OCTETS = 9
# Empty settings, and an acknowledgement.
comptime _SETTINGS: List[UInt8] = [
    0,
    0,
    0,
    4,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    4,
    1,
    0,
    0,
    0,
    0,
]
# RST_STREAM of stream 1, HTTP_1_1_REQUIRED.
comptime _RESET: List[UInt8] = [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 13]


def test_a_stream_is_sent_again() raises:
    on_each_backend(_stream)


def test_a_request_that_was_not_processed_is_sent_again() raises:
    on_each_backend(_unprocessed)


def test_another_request_is_sent_again_if_it_is_idempotent() raises:
    on_each_backend(_processed)


def test_a_request_in_pieces_is_not_sent_again() raises:
    on_each_backend(_in_pieces)


def test_prior_knowledge_leaves_no_choice() raises:
    on_each_backend(_prior_knowledge)


def _stream() raises:
    for method in ["GET", "POST"]:
        var listener = _listener()
        var client = _client(listener)
        var serving = _serve(listener^, materialize[_RESET](), False, 2)
        var content = "content" if method == "POST" else ""
        var response = client.request(method, "/a", content)
        assert_equal(response.text(), "ok")
        assert_equal(String(response.version()), "HTTP/1.1")
        # The client remembers.
        assert_equal(client.get("/b").text(), "ok")
        assert_equal(client.statistics().connects, 2)
        assert_equal(client.statistics().not_processed, 1)
        client.close_idle()
        assert_equal(
            serving^.join(),
            String("h2 http/1.1 ", method, " /a, GET /b, "),
        )


def _unprocessed() raises:
    var listener = _listener()
    var client = _client(listener)
    var serving = _serve(listener^, _goaway(0), False, 1)
    assert_equal(client.post("/a", "content").text(), "ok")
    client.close_idle()
    assert_equal(serving^.join(), "h2 http/1.1 POST /a, ")


def _processed() raises:
    var listener = _listener()
    var client = _client(listener)
    var serving = _serve(listener^, _goaway(1), True, 1)
    assert_equal(client.get("/a").text(), "ok")
    client.close_idle()
    assert_equal(serving^.join(), "h2 http/1.1 GET /a, ")
    listener = _listener()
    client = _client(listener)
    serving = _serve(listener^, _goaway(1), True, 1)
    _require_error(client, "POST", ClientError.CLOSED)
    # Its next request is in HTTP/1.1 at once.
    assert_equal(client.get("/b").text(), "ok")
    client.close_idle()
    assert_equal(serving^.join(), "h2 http/1.1 GET /b, ")


def _in_pieces() raises:
    var listener = _listener()
    var client = _client(listener)
    var serving = _serve(listener^, materialize[_RESET](), False, 1)
    var kind = -1
    try:
        var stream = client.open("POST", "/a")
        stream.write_all("content".as_bytes())
        stream.end()
        _ = stream.status()
    except e:
        kind = ClientError.of(e).value().kind
    assert_equal(kind, ClientError.NOT_PROCESSED)
    assert_equal(client.get("/b").text(), "ok")
    client.close_idle()
    assert_equal(serving^.join(), "h2 http/1.1 GET /b, ")


def _prior_knowledge() raises:
    var stand = H2Stand()
    var handle = stand.ask("/a")
    var peer = stand.accept()
    var asked = peer.request()
    peer.frame(3, 0, asked.id, number(13))
    assert_equal(handle^.join(), "client.reset head")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _require_error(client: HttpClient, method: String, kind: Int) raises:
    try:
        _ = client.request(method, "/a", "content")
    except e:
        assert_equal(ClientError.of(e).value().kind, kind, String(e))
        return
    raise Error("no error")


def _goaway(last_id: Int) raises -> List[UInt8]:
    var frame: List[UInt8] = [0, 0, 8, 7, 0, 0, 0, 0, 0]
    frame.extend(Span(number(last_id)))
    frame.extend(Span(number(13)))
    return frame^


def _listener() raises -> TlsListener:
    var config = server_config()
    config.application_protocols = [String("h2"), String("http/1.1")]
    return TlsListener.bind(SocketAddr.localhost(0), config)


def _client(listener: TlsListener) raises -> HttpClient:
    return HttpClient(
        String("https://localhost:", listener.local_address().port),
        config=ClientConfig(tls=client_config()),
    )


def _serve(
    var listener: TlsListener,
    var frames: List[UInt8],
    closes: Bool,
    requests: Int,
) raises -> JoinHandle[String]:
    """Refuses the first connection, and answers on the second one."""

    def run() raises {
        var listener^, var frames^, var closes, var requests
    } -> String:
        var refused = listener.accept()
        refused.handshake()
        var log = refused.application_protocol().or_else("none")
        refused.write_all(Span(materialize[_SETTINGS]()))
        _await_head(refused)
        refused.write_all(Span(frames))
        if closes:
            refused.close()
        var stream = listener.accept()
        stream.handshake()
        log += " " + stream.application_protocol().or_else("none") + " "
        for _ in range(requests):
            log += _answer(stream) + ", "
        _ = refused^
        return log^

    return spawn(run^)


def _await_head(stream: TlsStream) raises:
    var received = List[UInt8]()
    var piece = List[UInt8](length=4096, fill=0)
    var at = _PREFACE_OCTETS
    while True:
        while len(received) >= at + _HEADER_OCTETS:
            if received[at + 3] == 1:
                return
            at += _HEADER_OCTETS + Int(received[at + 2])
        var count = stream.read(Span(piece))
        assert_true(count > 0, "the client has left")
        received.extend(Span(piece)[:count])


def _answer(stream: TlsStream) raises -> String:
    """Answers a request. Returns method and target."""
    var text = String()
    var piece = List[UInt8](length=4096, fill=0)
    while "\r\n\r\n" not in text or (
        text.startswith("POST") and not text.endswith("content")
    ):
        var count = stream.read(Span(piece))
        assert_true(count > 0, "the client has left")
        text += StringSlice(unsafe_from_utf8=Span(piece)[:count])
    stream.write_all(OK_ANSWER.as_bytes())
    return String(text[byte = : text.find(" HTTP/1.1")])


comptime TESTS = __functions_in_module()
