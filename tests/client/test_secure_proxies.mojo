"""Tests proxies to which TLS is spoken."""

from std.memory import ArcPointer

from flare.http import (
    BearerAuth,
    ClientConfig,
    ClientError,
    HttpClient,
    Proxy,
    ProxyRules,
)
from flare.io import Reader, Writer
from flare.net import SocketAddr
from flare.runtime.task import spawn
from flare.tcp import TcpStream
from flare.tls import TlsListener

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import OK_ANSWER
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config, server_config

comptime _LONG = 700_000


def test_the_form_of_variables_names_such_a_proxy() raises:
    var proxy = Proxy.parse("https://u:p@proxy.example")
    assert_equal(proxy.kind, Proxy.HTTPS)
    assert_equal(proxy.port, 443)
    assert_equal(Proxy.parse("HTTPS://[::1]:8443/").port, 8443)


def test_requests_of_http_are_carried_over() raises:
    on_each_backend(_forwarded)


def test_a_tunnel_carries_tls_inside_of_tls() raises:
    on_each_backend(_tunnelled)


def test_a_proxy_must_be_the_one_that_is_named() raises:
    on_each_backend(_untrusted)


def test_a_proxy_that_leaves_is_an_error() raises:
    on_each_backend(_cut)


comptime TESTS = __functions_in_module()


def _rules(port: UInt16) -> ProxyRules:
    var proxy = Proxy(
        Proxy.HTTPS, "localhost", port, user=String("u"), password="p"
    )
    return ProxyRules(http=proxy.copy(), https=proxy^)


def _head[T: Reader](stream: T) raises -> String:
    # Octet by octet: what follows belongs to others.
    var text = List[UInt8]()
    var octet = List[UInt8](length=1, fill=0)
    while not String(from_utf8_lossy=Span(text)).endswith("\r\n\r\n"):
        if stream.read(Span(octet)) == 0:
            break
        text.append(octet[0])
    return String(from_utf8_lossy=Span(text))


def _forwarded() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def serve() raises {var listener^} -> String:
        var stream = listener.accept()
        var seen = _head(stream)
        stream.write_all(OK_ANSWER.as_bytes())
        seen += _head(stream)
        stream.write_all(OK_ANSWER.as_bytes())
        return seen^

    var serving = spawn(serve^)
    var config = ClientConfig(tls=client_config(), proxies=_rules(port))
    # Both are meant for origins alone.
    config.tls.expected_name = String("other.example")
    var client = HttpClient("http://no.such.host:81", config=config^)
    assert_equal(client.get("/a").text(), "ok")
    assert_equal(client.get("/b").text(), "ok")
    var seen = serving^.join()
    assert_true(seen.startswith("GET http://no.such.host:81/a HTTP/1.1\r\n"))
    assert_true("GET http://no.such.host:81/b HTTP/1.1\r\n" in seen)
    assert_true("Proxy-Authorization: Basic dTpw\r\n" in seen)


def _tunnelled() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port
    var secure = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var secure_port = secure.local_address().port

    def serve() raises {var secure^}:
        var stream = secure.accept()
        _ = _head(stream)
        stream.write_all(OK_ANSWER.as_bytes())
        # A long content in each direction.
        _ = _head(stream)
        var left = _LONG
        var octets = List[UInt8](length=16384, fill=0)
        while left > 0:
            left -= stream.read(Span(octets))
        assert_equal(left, 0)
        stream.write_all(
            String(
                "HTTP/1.1 200 OK\r\nContent-Length: ", _LONG, "\r\n\r\n"
            ).as_bytes()
        )
        stream.write_all(Span(List[UInt8](length=_LONG, fill=120)))
        assert_equal(_head(stream), "")

    def carry() raises {var listener^, var secure_port} -> String:
        var near = listener.accept()
        var request = _head(near)
        var far = TcpStream.connect(SocketAddr.localhost(secure_port))
        near.write_all("HTTP/1.1 200 Connected\r\n\r\n".as_bytes())
        var here = ArcPointer(near^)
        var there = ArcPointer(far^)

        def back() raises {var here, var there}:
            _ = _pour(there[], here[])
            here[].close()

        var returning = spawn(back)
        request += _pour(here[], there[])
        there[].close()
        returning^.join()
        return request^

    var serving = spawn(serve^)
    var carrying = spawn(carry^)
    var url = String("https://localhost:", secure_port)
    var client = HttpClient(
        url,
        BearerAuth("t"),
        config=ClientConfig(tls=client_config(), proxies=_rules(port)),
    )
    assert_equal(client.get("/").text(), "ok")
    var response = client.post("/", List[UInt8](length=_LONG, fill=121))
    assert_equal(response.text().byte_length(), _LONG)
    assert_equal(client.statistics().connects, 1)
    client.close_idle()
    serving^.join()
    var seen = carrying^.join()
    assert_true(
        seen.startswith(String("CONNECT localhost:", secure_port, " HTTP/1.1")),
        seen,
    )
    assert_true("Proxy-Authorization: Basic dTpw\r\n" in seen)
    # The proxy learns nothing of what is in the tunnel.
    assert_false("Bearer" in seen)
    assert_false("yyyyyyyyyyyyyyyy" in seen)


def _pour[S: Reader, T: Writer](source: S, target: T) raises -> String:
    var octets = List[UInt8](length=4096, fill=0)
    var seen = String()
    while True:
        var count: Int
        try:
            count = source.read(Span(octets))
            target.write_all(Span(octets)[0:count])
        except:
            count = 0
        if count == 0:
            return seen^
        if seen.byte_length() < 10_000:
            seen += String(from_utf8_lossy=Span(octets)[0:count])


def _untrusted() raises:
    var listener = TlsListener.bind(
        SocketAddr.localhost(0), server_config("other")
    )
    var port = listener.local_address().port

    def serve() raises {var listener^}:
        var stream = listener.accept()
        try:
            stream.handshake()
        except:
            stream.close()

    var serving = spawn(serve^)
    var client = HttpClient(
        "https://localhost",
        config=ClientConfig(tls=client_config(), proxies=_rules(port)),
    )
    assert_equal(_kind_of(client), ClientError.TLS)
    serving^.join()


def _cut() raises:
    # The proxy leaves at the start, after its handshake, after its answer.
    for moment in range(3):
        var listener = TlsListener.bind(
            SocketAddr.localhost(0), server_config()
        )
        var port = listener.local_address().port

        def serve() raises {var listener^, var moment}:
            var stream = listener.accept()
            if moment > 0:
                _ = _head(stream)
            if moment == 2:
                stream.write_all("HTTP/1.1 200 OK\r\n\r\n".as_bytes())
            stream.close()

        var serving = spawn(serve^)
        var client = HttpClient(
            "https://localhost",
            config=ClientConfig(tls=client_config(), proxies=_rules(port)),
        )
        var kind = _kind_of(client)
        assert_true(
            kind == ClientError.CLOSED
            or kind == ClientError.TLS
            or kind == ClientError.RESET,
            String(moment, " ", kind),
        )
        assert_equal(client.statistics().open, 0)
        serving^.join()


def _kind_of(client: HttpClient) raises -> Int:
    try:
        _ = client.get("/")
    except e:
        return ClientError.of(e).value().kind
    return -1
