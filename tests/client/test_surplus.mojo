"""Tests that octets behind a response reach no later request, wherever they
lie: in the kernel, in a record that was received, or in one that was opened;
and that closing what is kept does no harm to who asks meanwhile."""

from flare.core import heap_create, heap_destroy
from flare.http import ClientConfig, HttpClient, PoolLimits
from flare.net import SocketAddr
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.tcp import TcpListener
from flare.tls import TlsListener

from tests.asserting import assert_equal, assert_true
from tests.client.stand import OK_ANSWER, read_request
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config, server_config

comptime _FORGED: StaticString = (
    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
)
comptime _RECORD_OCTETS_MAX = 16 * 1024


def test_what_tls_has_received_behind_an_answer_is_no_answer() raises:
    on_each_backend(_inside_of_tls)


def test_a_connection_that_is_handed_over_is_looked_at_first() raises:
    on_each_backend(_handed_over)


def test_the_pool_may_grow_while_its_connections_say_goodbye() raises:
    # A sanitizer watches over this one.
    on_each_backend(_grown_meanwhile)


def _inside_of_tls() raises:
    # The surplus lies in the record that ends the answer, or in the next one.
    for answer_octets in [5_000, _RECORD_OCTETS_MAX]:
        for method in ["GET", "POST"]:
            _ask_inside_of_tls(answer_octets, method)


def _ask_inside_of_tls(answer_octets: Int, method: String) raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = listener.local_address().port
    var head = String("HTTP/1.1 200 OK\r\nContent-Length: ")
    var length = answer_octets - head.byte_length() - 8
    if length >= 10_000:
        length -= 1
    var answer = String(head, length, "\r\n\r\n", String("a") * length)
    assert_equal(answer.byte_length(), answer_octets)

    def serve() raises {var listener^, var answer^}:
        var octets = List[UInt8](length=4096, fill=0)
        var stream = listener.accept()
        _ = stream.read(Span(octets))
        stream.write_all(String(answer, _FORGED).as_bytes())
        var other = listener.accept()
        _ = other.read(Span(octets))
        other.write_all(OK_ANSWER.as_bytes())
        _ = stream^

    var serving = spawn(serve^)
    var client = HttpClient(
        String("https://localhost:", port),
        config=ClientConfig(tls=client_config()),
    )
    assert_equal(client.request(method, "/").text().byte_length(), length)
    assert_equal(client.request(method, "/").text(), "ok", method)
    serving^.join()


def _handed_over() raises:
    # One request is short, and goes out with the wait for its answer; one does
    # not.
    for content_octets in [1, 20_000]:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var url = String("http://127.0.0.1:", listener.local_address().port)
        var config = ClientConfig(pool=PoolLimits(connections_per_origin_max=1))
        var client = heap_create(HttpClient(url, config=config^))

        def ask() raises {var client, var content_octets} -> String:
            var content = String("x") * content_octets
            return String(client[].post("/", content^).text())

        var first = spawn(ask)
        var second = spawn(ask)
        var stream = listener.accept()
        assert_true(read_request(stream).byte_length() > content_octets)
        stream.write_all(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfir".as_bytes()
        )
        # The client has the head, and waits for two octets and no more.
        sleep(5)
        stream.write_all(String("st", _FORGED).as_bytes())

        def answer() raises {var listener^}:
            var other = listener.accept()
            assert_true(read_request(other).byte_length() > 0)
            other.write_all(OK_ANSWER.as_bytes())

        var answering = spawn(answer^)
        assert_equal(first^.join(), "first")
        assert_equal(second^.join(), "ok", String(content_octets))
        answering^.join()
        _ = stream^
        heap_destroy(client)


def _grown_meanwhile() raises:
    var config = ClientConfig(tls=client_config())
    var client = heap_create(HttpClient(config=config^))
    for _ in range(2):
        assert_equal(client[].get(_secure_stand()).text(), "ok")
    var third = _secure_stand()

    def close() raises {var client}:
        client[].close_idle()

    def ask() raises {var client, var third} -> String:
        return String(client[].get(third).text())

    var closing = spawn(close)
    var asking = spawn(ask^)
    closing^.join()
    assert_equal(asking^.join(), "ok")
    assert_equal(client[].statistics().open, 1)
    heap_destroy(client)


def _secure_stand() raises -> String:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var url = String("https://localhost:", listener.local_address().port)

    def serve() raises {var listener^}:
        var octets = List[UInt8](length=4096, fill=0)
        var stream = listener.accept()
        while stream.read(Span(octets)) > 0:
            stream.write_all(OK_ANSWER.as_bytes())

    var serving = spawn(serve^)
    serving^.detach()
    return url


comptime TESTS = __functions_in_module()
"""Every test of this module."""
