"""Tests TLS and proxies."""

from std.memory import ArcPointer

from flare.http import (
    BearerAuth,
    ClientConfig,
    ClientError,
    HttpClient,
    Proxy,
    ProxyRules,
)
from flare.http.client.config.direct_rule import DirectRule
from flare.http.client.pool.tunnel import socks_request
from flare.http.client.config.retry import (
    RetryPolicy,
    seconds_to_wait,
    status_delay,
)
from flare.net import SocketAddr
from flare.runtime.task import spawn
from flare.tcp import TcpListener, TcpStream
from flare.tls import TlsListener, TlsStream

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import OK_ANSWER, read_request
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config, server_config


def test_a_rule_means_hosts_and_those_below() raises:
    # Rule, host, port, whether it means it.
    var rows: List[Tuple[String, String, Int, Bool]] = []
    rows.append(("*", "any", 80, True))
    rows.append(("example.com", "example.com", 80, True))
    rows.append(("example.com", "EXAMPLE.com", 80, True))
    rows.append(("example.com", "example.com.", 80, True))
    rows.append(("example.com", "a.example.com", 80, True))
    rows.append(("example.com", "badexample.com", 80, False))
    rows.append((".example.com", "a.example.com", 80, True))
    rows.append(("*.example.com", "a.example.com", 80, True))
    rows.append(("example.com:81", "example.com", 81, True))
    rows.append(("example.com:81", "example.com", 80, False))
    rows.append(("10.0.0.1", "10.0.0.1", 80, True))
    rows.append(("10.0.0.1", "10.0.0.11", 80, False))
    rows.append(("10.0.0.0/8", "10.9.9.9", 80, True))
    rows.append(("10.0.0.0/8", "11.0.0.1", 80, False))
    rows.append(("0.0.0.0/0", "9.9.9.9", 80, True))
    rows.append(("0.0.0.0/0", "name", 80, False))
    rows.append(("::1", "::1", 80, True))
    rows.append(("[::1]:81", "::1", 81, True))
    rows.append(("[::1]:81", "::1", 80, False))
    rows.append(("fd00::/8", "fdff::1", 80, True))
    rows.append(("fd00::/8", "fe00::1", 80, False))
    rows.append(("example.com.", "a.example.com", 80, True))
    rows.append(("..example.com", "a.example.com", 80, True))
    rows.append(("*:81", "any", 81, True))
    rows.append(("*:81", "any", 80, False))
    rows.append(("10.1.2.3/8:81", "10.9.9.9", 81, True))
    rows.append(("::ffff:10.0.0.1", "10.0.0.1", 80, True))
    rows.append(("[::1]", "::1", 80, True))
    rows.append(("fd00::/8", "name", 80, False))
    for row in rows:
        assert_equal(
            DirectRule.parse(row[0]).value().means(row[1], row[2]),
            row[3],
            String(row[0], " ", row[1], ":", row[2]),
        )
    var rules = ProxyRules.of_variables(
        all_proxy="proxy:3128",
        https_proxy="http://us%40er:p%3Aw@[::1]:8080/",
        no_proxy=" localhost ,, .internal",
    )
    assert_equal(len(rules.direct), 2)
    assert_false(rules.proxy_for(False, "localhost", 80))
    assert_false(rules.proxy_for(True, "a.internal", 443))
    assert_equal(rules.proxy_for(False, "h", 80).value().host, "proxy")
    var secure = rules.proxy_for(True, "h", 443).value().copy()
    assert_equal(secure.host, "::1")
    assert_equal(secure.port, 8080)
    assert_equal(secure.user.value(), "us@er")
    assert_equal(secure.password, "p:w")
    assert_equal(Proxy.parse("socks5://h").port, 1080)
    for text in ["", "ftp://h", "h:0", "h:99999", "[::1", "http://:80"]:
        var kind = -1
        try:
            _ = Proxy.parse(text)
        except e:
            kind = ClientError.of(e).value().kind
        assert_equal(kind, ClientError.BAD_CONFIG, text)


def test_a_rule_that_no_host_can_match_is_an_error() raises:
    for rule in [
        "",
        ".",
        "*.",
        "a b",
        "a*b",
        "*a",
        "10.0.0.0/33",
        "fd00::/129",
        "a/8",
        "10.0.0.0/",
        "::ffff:10.0.0.0/104",
        "192.168.",
        "192.168.*",
        "10.0.0.256",
        "a:",
        "a:0",
        "a:65536",
        "a:b",
        "http://a",
        "[::1",
        "[::1]81",
        "[::1]/8",
        "[a]",
        "::g",
        "m\u00fcnchen.de",
        "a@b",
    ]:
        assert_false(DirectRule.parse(rule), rule)
        var kind = -1
        try:
            _ = HttpClient(
                config=ClientConfig(proxies=ProxyRules(direct=[String(rule)]))
            )
        except e:
            kind = ClientError.of(e).value().kind
        assert_equal(kind, ClientError.BAD_CONFIG, rule)
    for text in ["a,b:0", "a b/8", "a*b"]:
        var kind = -1
        try:
            _ = ProxyRules.of_variables(no_proxy=text)
        except e:
            kind = ClientError.of(e).value().kind
        assert_equal(kind, ClientError.BAD_CONFIG, text)


def test_commas_and_blanks_divide_hosts_without_a_proxy() raises:
    var rules = ProxyRules.of_variables(
        all_proxy="proxy:3128", no_proxy="a b\tc\r\n, ,d,,e "
    )
    assert_equal(",".join(rules.direct), "a,b,c,d,e")
    for host in ["a", "b", "x.c", "d", "e"]:
        assert_false(rules.proxy_for(False, host, 80), host)
    assert_true(rules.proxy_for(False, "f", 80))
    assert_equal(len(ProxyRules.of_variables(no_proxy=" ").direct), 0)


def test_waits_grow_and_servers_ask_for_bounded_ones() raises:
    var policy = RetryPolicy(retries_max=3, delay_ms=100, delay_max_ms=1_000)
    for retries in range(8):
        var bound = min(100 << retries, 1_000)
        for drawn in [UInt64(0), UInt64(99), UInt64.MAX]:
            var delay_ms = policy.back_off(retries, drawn)
            assert_true(delay_ms >= 1 and delay_ms <= bound)
    assert_equal(seconds_to_wait("120".as_bytes(), 0).value(), 120)
    assert_equal(
        seconds_to_wait("9999999999999999999999".as_bytes(), 0).value(),
        1_000_000,
    )
    assert_equal(
        seconds_to_wait("Thu, 01 Jan 1970 00:01:40 GMT".as_bytes(), 90).value(),
        10,
    )
    assert_equal(
        seconds_to_wait(
            "Thu, 01 Jan 1970 00:01:40 GMT".as_bytes(), 900
        ).value(),
        0,
    )
    for text in ["", "-1", "1.5", "soon", "1 s"]:
        assert_false(seconds_to_wait(text.as_bytes(), 0), text)
    assert_equal(status_delay(policy, 0, 503, True, 2).value(), 2_000)
    assert_false(status_delay(policy, 0, 503, True, 31))
    assert_false(status_delay(policy, 3, 503, True, 1))
    assert_false(status_delay(policy, 0, 503, False, 1))
    assert_false(status_delay(policy, 0, 500, True, 1))
    assert_true(status_delay(policy, 0, 429, True, None))


def test_https_is_spoken_and_checked() raises:
    on_each_backend(_secure)


def test_a_proxy_carries_plain_requests_over() raises:
    on_each_backend(_forwarded)


def test_a_tunnel_carries_tls() raises:
    on_each_backend(_tunnelled)


def test_socks_carries_anything() raises:
    on_each_backend(_socks)


def test_socks_is_told_addresses_as_addresses() raises:
    var name: List[UInt8] = [5, 1, 0, 3, 4]
    name.extend("h.ex\x00\x50".as_bytes())
    assert_true(socks_request("h.ex", 80) == name)
    var four: List[UInt8] = [5, 1, 0, 1, 192, 0, 2, 1, 1, 187]
    assert_true(socks_request("192.0.2.1", 443) == four)
    var six: List[UInt8] = [5, 1, 0, 4, 32, 1, 13, 184]
    six.extend(List[UInt8](length=11, fill=0))
    six.extend("\x07\x00\x50".as_bytes())
    assert_true(socks_request("2001:db8::7", 80) == six)


def test_a_proxy_that_refuses_is_an_error() raises:
    on_each_backend(_proxy_refuses)


def _secure() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port

    def serve() raises {var listener^} -> Int:
        var requests = 0
        for _ in range(2):
            var stream = listener.accept()
            try:
                stream.handshake()
            except:
                continue
            while _answered(stream):
                requests += 1
        return requests

    var serving = spawn(serve^)
    var url = String("https://localhost:", port)
    var client = HttpClient(url, config=ClientConfig(tls=client_config()))
    for number in range(3):
        var response = client.get("/")
        assert_equal(response.text(), "ok")
        # Only the first one shakes hands.
        assert_equal(response.timings().handshake_us > 0, number == 0)
        assert_equal(response.timings().reused, number > 0)
    assert_equal(client.statistics().connects, 1)
    client.close_idle()
    var wrong = HttpClient(
        url, config=ClientConfig(tls=client_config("other_ca"))
    )
    var failure = Optional[Error](None)
    try:
        _ = wrong.get("/")
    except e:
        failure = e^
    var error = ClientError.of(failure.value()).value().copy()
    assert_equal(error.kind, ClientError.TLS, String(error))
    assert_equal(error.phase, "handshake")
    assert_equal(serving^.join(), 3)


def _answered(stream: TlsStream) raises -> Bool:
    var octets = List[UInt8](length=4096, fill=0)
    if stream.read(Span(octets)) == 0:
        return False
    stream.write_all(OK_ANSWER.as_bytes())
    return True


def _rules(port: UInt16, kind: UInt8) -> ProxyRules:
    var proxy = Proxy(kind, "127.0.0.1", port, user=String("u"), password="p")
    return ProxyRules(http=proxy.copy(), https=proxy^)


def _forwarded() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_address().port

    def serve() raises {var listener^} -> String:
        var stream = listener.accept()
        var request = read_request(stream)
        stream.write_all(OK_ANSWER.as_bytes())
        return request^

    var serving = spawn(serve^)
    var client = HttpClient(
        "http://no.such.host:81/v1",
        BearerAuth("t"),
        config=ClientConfig(proxies=_rules(port, Proxy.HTTP)),
    )
    assert_equal(client.get("/a?b").text(), "ok")
    var sent = serving^.join()
    assert_true(
        sent.startswith("GET http://no.such.host:81/v1/a?b HTTP/1.1\r\n"), sent
    )
    assert_true("Host: no.such.host:81\r\n" in sent)
    assert_true("Proxy-Authorization: Basic dTpw\r\n" in sent)
    assert_true("Authorization: Bearer t\r\n" in sent)


def _tunnelled() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_address().port
    var secure = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var secure_port = secure.local_address().port

    def serve() raises {var secure^}:
        var stream = secure.accept()
        _ = _answered(stream)
        _ = _answered(stream)

    def carry() raises {var listener^, var secure_port} -> String:
        var near = listener.accept()
        var request = read_request(near)
        var far = TcpStream.connect(SocketAddr.localhost(secure_port))
        near.write_all("HTTP/1.1 200 Connected\r\n\r\n".as_bytes())
        _carry(near^, far^)
        return request^

    var serving = spawn(serve^)
    var carrying = spawn(carry^)
    var config = ClientConfig(
        tls=client_config(), proxies=_rules(port, Proxy.HTTP)
    )
    config.tls.expected_name = String("localhost")
    var client = HttpClient("https://far.away", BearerAuth("t"), config=config^)
    assert_equal(client.get("/").text(), "ok")
    assert_equal(client.get("/").text(), "ok")
    client.close_idle()
    serving^.join()
    var sent = carrying^.join()
    assert_true(sent.startswith("CONNECT far.away:443 HTTP/1.1\r\n"), sent)
    assert_true("Proxy-Authorization: Basic dTpw\r\n" in sent)
    # The proxy learns nothing of what is in the tunnel.
    assert_false("Bearer" in sent)


def _carry(var near: TcpStream, var far: TcpStream) raises:
    var here = ArcPointer(near^)
    var there = ArcPointer(far^)

    def back() raises {var here, var there}:
        _pour(there[], here[])

    var returning = spawn(back)
    _pour(here[], there[])
    returning^.join()


def _pour(source: TcpStream, target: TcpStream) raises:
    var octets = List[UInt8](length=4096, fill=0)
    while True:
        var count: Int
        try:
            count = source.read(Span(octets))
            target.write_all(Span(octets)[0:count])
        except:
            count = 0
        if count == 0:
            target.close()
            return


def _socks() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_address().port

    def serve() raises {var listener^} -> List[UInt8]:
        var stream = listener.accept()
        var said = List[UInt8]()
        _take(stream, said, 4)
        stream.write_all("\x05\x02".as_bytes())
        _take(stream, said, 5)
        stream.write_all("\x01\x00".as_bytes())
        _take(stream, said, 7 + 8)
        stream.write_all("\x05\x00\x00\x03\x01\x61\x00\x50".as_bytes())
        assert_true(read_request(stream).startswith("GET /x HTTP/1.1\r\n"))
        stream.write_all(OK_ANSWER.as_bytes())
        return said^

    var serving = spawn(serve^)
    var client = HttpClient(
        "http://far.away:81",
        config=ClientConfig(proxies=_rules(port, Proxy.SOCKS5)),
    )
    assert_equal(client.get("/x").text(), "ok")
    var wanted: List[UInt8] = [5, 2, 0, 2, 1, 1, 117, 1, 112]
    wanted.extend("\x05\x01\x00\x03\x08".as_bytes())
    wanted.extend("far.away".as_bytes())
    wanted.extend("\x00\x51".as_bytes())
    assert_true(serving^.join() == wanted)


def _take(stream: TcpStream, mut said: List[UInt8], count: Int) raises:
    var octets = List[UInt8](length=count, fill=0)
    var read = 0
    while read < count:
        read += stream.read(Span(octets)[read:count])
    said.extend(Span(octets))


def _proxy_refuses() raises:
    # What the proxy says first; an empty text closes.
    var rows: List[Tuple[UInt8, String, Int]] = []
    for framing in [
        "Content-Length: 0\r\n\r\n",
        "Content-Length: 4\r\n\r\nwho?",
        "Content-Length: 4\r\n\r\n",
        "Content-Length: 999999999999\r\n\r\nwho?",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nwho?\r\n0\r\n\r\n",
        "Connection: close\r\n\r\nwho?",
    ]:
        rows.append(
            (
                Proxy.HTTP,
                String("HTTP/1.1 407 Who\r\n", framing),
                ClientError.PROXY,
            )
        )
    rows.append((Proxy.HTTP, "HTTP/1.1 200 OK\r\n\r\nmore", ClientError.PROXY))
    rows.append((Proxy.HTTP, "garbage\r\n\r\n", ClientError.PROTOCOL))
    rows.append((Proxy.HTTP, "", ClientError.CLOSED))
    rows.append((Proxy.SOCKS5, "\x05\x7f", ClientError.PROXY))
    rows.append((Proxy.SOCKS5, "HT", ClientError.PROXY))
    rows.append((Proxy.SOCKS5, "\x05\x02\x01\x01", ClientError.PROXY))
    rows.append((Proxy.SOCKS5, "\x05\x00\x05\x05\x00\x01", ClientError.PROXY))
    rows.append((Proxy.SOCKS5, "\x05", ClientError.CLOSED))
    rows.append((Proxy.SOCKS5, "", ClientError.CLOSED))
    for row in rows:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var port = listener.local_address().port
        var said = row[1]

        def serve() raises {var listener^, var said}:
            var stream = listener.accept()
            var octets = List[UInt8](length=4096, fill=0)
            _ = stream.read(Span(octets))
            stream.write_all(said.as_bytes())
            stream.end_sending()
            try:
                while stream.read(Span(octets)) > 0:
                    pass
            except:
                stream.close()

        var serving = spawn(serve^)
        var client = HttpClient(
            "https://far.away",
            config=ClientConfig(
                tls=client_config(), proxies=_rules(port, row[0])
            ),
        )
        var failure = Optional[Error](None)
        try:
            _ = client.get("/")
        except e:
            failure = e^
        var error = ClientError.of(failure.value()).value().copy()
        assert_equal(error.kind, row[2], String(row[1], ": ", error))
        if "407" in row[1]:
            assert_equal(error.status, 407, row[1])
        assert_equal(client.statistics().open, 0)
        serving^.join()


comptime TESTS = __functions_in_module()
