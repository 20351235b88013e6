"""Tests what goes out, and to which URL."""

from std.testing import assert_raises

from flare.http import (
    BasicAuth,
    BearerAuth,
    ClientConfig,
    ClientError,
    ClientTimeouts,
    Content,
    FormFields,
    HeaderMap,
    HttpClient,
    Request,
    ReverseProxy,
    delete,
    get,
    head,
    options,
    patch,
    post,
    put,
)
from flare.http.client.call.reference import full_url
from flare.http.encoding import accept_encoding_of, decodable_codings
from flare.message import Url
from flare.net import SocketAddr
from flare.runtime.task import spawn
from flare.tcp import TcpListener
from flare.unix import UnixListener

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import (
    OK_ANSWER,
    Ending,
    Reply,
    Stand,
    ok_answers,
    read_some,
)
from tests.tcp.loops import octets_of, on_each_backend


def test_a_reference_is_joined_to_the_base() raises:
    # Base, what is asked for, URL or nothing where it is refused.
    var rows: List[Tuple[String, String, String]] = []
    rows.append(("http://h", "/a", "http://h/a"))
    rows.append(("http://h", "a", "http://h/a"))
    rows.append(("http://h/v1", "/a", "http://h/v1/a"))
    rows.append(("http://h/v1/", "a", "http://h/v1/a"))
    rows.append(("http://h/v1/", "/a?b=c", "http://h/v1/a?b=c"))
    rows.append(("http://h/v1", "", "http://h/v1"))
    rows.append(("http://h/v1", "?q", "http://h/v1?q"))
    rows.append(("http://h", "//evil/a", "http://h//evil/a"))
    rows.append(("http://h/v1", "//evil/a", "http://h/v1//evil/a"))
    rows.append(("http://h//evil", "/a", "http://h//evil/a"))
    rows.append(("http://h//evil", "a", "http://h//evil/a"))
    rows.append(("http://h//evil/", "/a", "http://h//evil/a"))
    rows.append(("http://h//evil", "", "http://h//evil"))
    rows.append(("http://h//evil", "?q", "http://h//evil?q"))
    rows.append(("http://h//evil", "//other", "http://h//evil//other"))
    rows.append(("http://h//", "/a", "http://h/a"))
    rows.append(("http://h//", "", "http://h//"))
    rows.append(("http://h/.//evil", "/a", "http://h//evil/a"))
    rows.append(("http://h", "/..//evil", "http://h//evil"))
    rows.append(("http://h:81//evil:82", "/a", "http://h:81//evil:82/a"))
    rows.append(("http://h", "/a/../b", "http://h/b"))
    rows.append(("http://h", "http://other/x", "http://other/x"))
    rows.append(("http://h", "HTTPS://Other:443", "https://other/"))
    rows.append(("", "http://[::1]:81/", "http://[::1]:81/"))
    rows.append(("", "/a", ""))
    rows.append(("http://h", "javascript:alert(1)", ""))
    rows.append(("http://h", "file:///etc/passwd", ""))
    rows.append(("http://h", "ws://h/", ""))
    rows.append(("http://h", "/a b", ""))
    rows.append(("http://h", "/a\r\nX: y", ""))
    rows.append(("http://h", "/%zz", ""))
    rows.append(("http://h", "/\u00e4", ""))
    rows.append(("", "http://user:pw@h/", ""))
    rows.append(("", "http://h:99999/", ""))
    rows.append(("", "http:///a", ""))
    rows.append(("", "http://h\u2011/", ""))
    rows.append(("", "http://h\u00e4:81/", "http://xn--h-0fa:81/"))
    rows.append(("", "http://[fe80::1%25eth0]/", ""))
    rows.append(("", "http://a b/", ""))
    for row in rows:
        var base = Optional[Url](None)
        if row[0].byte_length() > 0:
            base = Url.parse(row[0])
        try:
            var url = full_url(base, row[1], Dict[String, String]())
            assert_equal(String(url), row[2], row[1])
        except e:
            assert_equal(row[2], "", String(row[1], ": ", e))
            assert_equal(ClientError.of(e).value().kind, ClientError.BAD_URL)
    var query: Dict[String, String] = {"a b": "c&d", "e": "\u00e4"}
    assert_equal(
        String(full_url(None, "http://h/x?y", query)),
        "http://h/x?y&a%20b=c%26d&e=%C3%A4",
    )


def test_parameters_of_a_query_may_stand_twice() raises:
    var twice = FormFields()
    twice.append("a", "1")
    twice.append("b", "x y")
    twice.append("a", "2")
    assert_equal(
        String(full_url(None, "http://h/x?a=0", twice)),
        "http://h/x?a=0&a=1&b=x%20y&a=2",
    )
    assert_equal(
        String(full_url(None, "http://h", {"a": "1", "a": "2"})),
        "http://h/?a=1&a=2",
    )
    on_each_backend(_twice)


def test_a_base_url_with_a_query_or_a_fragment_is_refused() raises:
    for tail in ["?a=b", "/v1?a=b", "?", "#a", "/#", "/?a#b"]:
        with assert_raises(contains="client.bad_url prepare: a base URL"):
            _ = HttpClient(String("http://h", tail))
        with assert_raises(contains="client.bad_url prepare: a base URL"):
            _ = HttpClient(String("http://h", tail), BearerAuth("t"))
        with assert_raises(contains="client.bad_url prepare: a base URL"):
            _ = ReverseProxy(String("http://h", tail))


def test_each_verb_sends_what_it_says() raises:
    on_each_backend(_verbs)


def test_fields_of_a_request_replace_those_of_the_client() raises:
    on_each_backend(_fields)


def test_a_request_with_own_fields_gets_none_of_the_source() raises:
    on_each_backend(_sourced)


def test_a_request_can_be_made_and_sent_again() raises:
    on_each_backend(_sent)


def test_nothing_is_sent_that_is_no_request() raises:
    on_each_backend(_refused)


def test_long_contents_go_both_ways() raises:
    on_each_backend(_long)


def test_an_answer_that_comes_early_is_read() raises:
    on_each_backend(_early)


def test_a_refusal_is_read_where_the_server_reads_no_more() raises:
    on_each_backend(_unread)


def test_content_waits_for_100_where_it_is_asked_for() raises:
    on_each_backend(_continued)


def test_a_unix_socket_stands_for_every_host() raises:
    on_each_backend(_unix)


def _twice() raises:
    var stand = Stand(ok_answers(3))
    var client = HttpClient(stand.url())
    _ = client.get("/x", query={"a": "1", "a": "2"})
    _ = client.post("/x?y", "{}", query={"a": "\u00e4&", "": ""})
    var once: Dict[String, String] = {"a": "1"}
    _ = client.get("/x", query=once)
    assert_true(stand.request(0).startswith("GET /x?a=1&a=2 HTTP/1.1\r\n"))
    assert_true(
        stand.request(1).startswith("POST /x?y&a=%C3%A4%26&= HTTP/1.1\r\n")
    )
    assert_true(stand.request(2).startswith("GET /x?a=1 HTTP/1.1\r\n"))
    client.close_idle()
    stand^.join()


def _verbs() raises:
    var stand = Stand(
        List[Reply](
            length=8,
            fill=Reply(String(OK_ANSWER), Ending.CLOSE),
        )
    )
    var url = stand.url("/x")
    assert_true(get(url).ok())
    assert_true(post(url, '{"a": 1}').ok())
    assert_true(put(url, octets_of("\x01\x02")).ok())
    assert_true(patch(url, Content("a=b", "text/plain")).ok())
    assert_true(delete(url).ok())
    assert_true(options(url).ok())
    assert_equal(head(url).text(), "")
    assert_true(post(url).ok())
    var host = String("Host: 127.0.0.1:", stand.port, "\r\n")
    var common = String(
        "User-Agent: flare\r\nAccept: */*\r\nAccept-Encoding: ",
        accept_encoding_of(decodable_codings()),
        "\r\n",
    )
    assert_equal(
        stand.request(0), String("GET /x HTTP/1.1\r\n", host, common, "\r\n")
    )
    assert_equal(
        stand.request(1),
        String(
            "POST /x HTTP/1.1\r\n",
            host,
            "Content-Length: 8\r\n",
            common,
            'Content-Type: application/json\r\n\r\n{"a": 1}',
        ),
    )
    assert_true("octet-stream\r\n\r\n\x01\x02" in stand.request(2))
    assert_true("Content-Type: text/plain\r\n\r\na=b" in stand.request(3))
    assert_true(stand.request(4).startswith("DELETE /x "))
    assert_true(stand.request(5).startswith("OPTIONS /x "))
    assert_true(stand.request(6).startswith("HEAD /x "))
    assert_true("Content-Length: 0\r\n" in stand.request(7))
    assert_false("Content-Type" in stand.request(7))
    stand^.join()


def _source(mut fields: HeaderMap) raises:
    fields.set("traceparent", "of the source")
    fields.set("tracestate", "of the source too")
    fields.set("User-Agent", "sourced")


def _sourced() raises:
    var stand = Stand(ok_answers(2))
    var client = HttpClient(
        stand.url(), config=ClientConfig(field_source=_source)
    )
    _ = client.get("/")
    var head = stand.request(0)
    assert_true("traceparent: of the source\r\n" in head)
    assert_true("tracestate: of the source too\r\n" in head)
    assert_true("User-Agent: sourced\r\n" in head)
    assert_equal(head.count("User-Agent"), 1)
    var own = HeaderMap()
    own.append("Traceparent", "own")
    _ = client.get("/", headers=own)
    head = stand.request(1)
    assert_true("Traceparent: own\r\n" in head)
    # A state of another trace must not stand beside it.
    assert_false("of the source" in head)
    assert_true("User-Agent: flare\r\n" in head)
    client.close_idle()
    stand^.join()


def _fields() raises:
    var stand = Stand(ok_answers(3))
    var of_client = HeaderMap()
    of_client.append("X-A", "1")
    of_client.append("User-Agent", "mine")
    var client = HttpClient(
        stand.url(),
        BasicAuth("user", "pass"),
        config=ClientConfig(headers=of_client^),
    )
    _ = client.get("/")
    assert_true("User-Agent: mine\r\n" in stand.request(0))
    assert_true(
        "Authorization: Basic dXNlcjpwYXNz\r\n" in stand.request(0),
        stand.request(0),
    )
    var headers = HeaderMap()
    headers.append("x-a", "2")
    headers.append("x-a", "3")
    headers.append("Host", "other")
    headers.append("Authorization", "none")
    var query: Dict[String, String] = {"q": "1 2"}
    _ = client.get("/", headers=headers, query=query)
    var sent = stand.request(1)
    assert_true("x-a: 2\r\nx-a: 3\r\n" in sent, sent)
    assert_false("X-A: 1" in sent)
    assert_true(" HTTP/1.1\r\nHost: other\r\n" in sent, sent)
    assert_false("127.0.0.1" in sent)
    assert_true("Authorization: none\r\n" in sent)
    assert_false("Basic" in sent)
    assert_true(sent.startswith("GET /?q=1%202 "))
    # What one request has changed is not changed for the next.
    _ = client.get("/")
    assert_equal(stand.request(2), stand.request(0))
    stand^.join()


def _sent() raises:
    var stand = Stand(ok_answers(2))
    var request = Request("PUT", "/a?b", '{"c": "d"}')
    request.set_header("X-A", "1")
    request.set_header("X-A", "2")
    assert_equal(request.method.name(), "PUT")
    assert_equal(request.path, "/a")
    assert_equal(request.query, "b")
    assert_equal(request.text(), '{"c": "d"}')
    assert_equal(request.headers.get("x-a").value(), "2")
    var client = HttpClient(stand.url(), BearerAuth("t"))
    for i in range(2):
        assert_equal(client.send(request).text(), "ok")
        var sent = stand.request(i)
        assert_true(sent.startswith("PUT /a?b HTTP/1.1\r\n"), sent)
        assert_true("X-A: 2\r\n" in sent)
        assert_false("X-A: 1\r\n" in sent)
        assert_true("Authorization: Bearer t\r\n" in sent)
        assert_true(sent.endswith('\r\n\r\n{"c": "d"}'))
    stand^.join()


def _refused() raises:
    var stand = Stand(ok_answers(2))
    var client = HttpClient(stand.url())
    _ = client.get("/")
    for method in ["", "A B", "GET\r\n", "G" * 40]:
        with assert_raises(contains="client.bad_request prepare"):
            _ = client.request(method, "/")
    # Nor where the origin of the base URL is known already.
    for target in ["/?q=100%", "/?a%2", "/100%", "/a b", "/\u00e4", "/?\u00e4"]:
        with assert_raises(contains="client.bad_url prepare"):
            _ = client.get(target)
    var headers = HeaderMap()
    headers.append("Transfer-Encoding", "chunked")
    with assert_raises(contains="client.bad_request prepare"):
        _ = client.get("/", headers=headers)
    headers = HeaderMap()
    headers.append("Content-Length", "5")
    with assert_raises(contains="client.bad_request prepare"):
        _ = client.post("/", "1234", headers=headers)
    with assert_raises(contains="client.bad_request prepare"):
        _ = HttpClient(stand.url(), BasicAuth("a:b", "c"))
    with assert_raises(contains="message.bad_header_value"):
        _ = HttpClient(stand.url(), BearerAuth("a\r\nX: y")).get("/")
    # The connection carries on.
    _ = client.get("/")
    assert_equal(stand.connections(), 1)
    stand^.join()


def _long() raises:
    comptime COUNT = 3_000_000
    var content = String("0123456789") * (COUNT // 10)
    var stand = Stand(
        [
            Reply(
                String(
                    "HTTP/1.1 200 OK\r\nContent-Length: ",
                    COUNT,
                    "\r\n\r\n",
                    content,
                ),
                Ending.KEEP,
            ),
            Reply(
                String("HTTP/1.1 200 OK\r\n\r\n", content),
                Ending.CLOSE,
            ),
        ]
    )
    var client = HttpClient(stand.url())
    var response = client.post("/", Content(content, "text/plain"))
    assert_true(response.text() == content)
    assert_true(stand.request(0).endswith(content))
    assert_true(client.get("/").text() == content)
    stand^.join()


def _early() raises:
    # The server answers and closes without having read the content.
    comptime ANSWER: StaticString = (
        "HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
    )
    var stand = Stand([Reply(String(ANSWER), Ending.CLOSE_UNASKED)])
    var client = HttpClient(stand.url())
    var content = String("x") * 8_000_000
    try:
        assert_equal(client.post("/", content).status, 413)
    except e:
        # The kernel may have thrown the answer away with the connection.
        assert_true(ClientError.of(e).value().is_broken_off(), String(e))
    stand^.join()


def _unread() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("http://127.0.0.1:", listener.local_address().port)

    def ask() raises {var url} -> Int:
        var client = HttpClient(
            url, config=ClientConfig(timeouts=ClientTimeouts(write_ms=50))
        )
        return client.post("/", String("x") * 32_000_000).status

    var asking = spawn(ask)
    var peer = listener.accept()
    assert_true(read_some(peer).startswith("POST / "))
    peer.write_all("HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno".as_bytes())
    assert_equal(asking^.join(), 413)
    _ = peer^


def _continued() raises:
    var asking = HeaderMap()
    asking.append("Expect", "100-continue")
    var stand = Stand(
        [
            Reply("HTTP/1.1 100 Continue\r\n\r\n", Ending.KEEP),
            Reply(String(OK_ANSWER), Ending.KEEP),
            Reply(
                "HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno",
                Ending.HOLD,
            ),
            Reply(String(OK_ANSWER), Ending.KEEP),
            Reply(
                "HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno",
                Ending.HOLD,
            ),
        ]
    )
    var client = HttpClient(stand.url())
    assert_equal(client.post("/", "abc", headers=asking).text(), "ok")
    assert_equal(stand.request(1), "abc")
    # Who refuses the expectation is asked once more, without it.
    assert_equal(client.post("/", "abc", headers=asking).text(), "ok")
    assert_true(stand.request(2).endswith("\r\n\r\n"))
    assert_false("Expect" in stand.request(3))
    assert_true(stand.request(3).endswith("\r\n\r\nabc"))
    assert_equal(stand.connections(), 2)
    assert_equal(client.post("/", "abc").status, 417)
    client.close_idle()
    assert_equal(client.statistics().open, 0)
    stand^.join()


def _unix() raises:
    var name = String("@flare-client-test")
    var listener = UnixListener.bind(name)

    def serve() raises {var listener^} -> String:
        var stream = listener.accept()
        var octets = List[UInt8](length=1024, fill=0)
        var count = stream.read(Span(octets))
        stream.write_all(OK_ANSWER.as_bytes())
        return String(unsafe_from_utf8=Span(octets)[0:count])

    var serving = spawn(serve^)
    var client = HttpClient(
        "http://any.host/v1", config=ClientConfig(unix_socket=name)
    )
    assert_equal(client.get("/x").text(), "ok")
    var sent = serving^.join()
    assert_true(sent.startswith("GET /v1/x "))
    assert_true("Host: any.host\r\n" in sent)


comptime TESTS = __functions_in_module()
