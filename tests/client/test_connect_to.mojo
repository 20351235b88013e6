"""Tests connections to another address than that of the host."""

from std.testing import assert_raises

from flare.http import ClientConfig, ConnectTo, HttpClient
from flare.net import SocketAddr
from flare.runtime.task import spawn
from flare.tls import TlsListener

from tests.asserting import assert_equal, assert_true
from tests.client.stand import Ending, OK_ANSWER, Reply, Stand
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config, server_config


def test_a_rule_leads_a_host_elsewhere() raises:
    on_each_backend(_elsewhere)


def test_certificates_are_those_of_the_host() raises:
    on_each_backend(_certificate)


def test_a_rule_without_an_address_is_refused() raises:
    var rows: List[ConnectTo] = [
        ConnectTo("", "::1"),
        ConnectTo("h", ""),
        ConnectTo("h", "::1", port=65536),
        ConnectTo("h", "::1", address_port=-1),
    ]
    for row in rows:
        with assert_raises(contains="client.bad_config prepare"):
            _ = HttpClient(config=ClientConfig(connect_to=[row.copy()]))


comptime TESTS = __functions_in_module()


def _elsewhere() raises:
    var stand = Stand([Reply(OK_ANSWER, Ending.CLOSE)])
    var rules: List[ConnectTo] = [
        # The first rule that is meant applies.
        ConnectTo("no.such.host", "192.0.2.1", port=81),
        ConnectTo("No.Such.Host", "127.0.0.1", address_port=Int(stand.port)),
        ConnectTo("no.such.host", "192.0.2.2"),
    ]
    var client = HttpClient(config=ClientConfig(connect_to=rules^))
    assert_equal(client.get("http://no.such.host:8080/a").text(), "ok")
    assert_true("Host: no.such.host:8080\r\n" in stand.request(0))
    stand^.join()


def _certificate() raises:
    var listener = TlsListener.bind(SocketAddr.localhost(0), server_config())
    var port = Int(listener.local_address().port)

    def serve() raises {var listener^}:
        for _ in range(2):
            var stream = listener.accept()
            try:
                stream.handshake()
                var octets = List[UInt8](length=4096, fill=0)
                _ = stream.read(Span(octets))
                stream.write_all(OK_ANSWER.as_bytes())
            except:
                pass
            stream.close()

    var serving = spawn(serve^)
    var config = ClientConfig(
        tls=client_config(),
        connect_to=[
            ConnectTo("localhost", "127.0.0.1", address_port=port),
            ConnectTo("elsewhere.test", "127.0.0.1", address_port=port),
        ],
    )
    var client = HttpClient(config=config^)
    assert_equal(client.get("https://localhost/").text(), "ok")
    with assert_raises(contains="client.tls handshake"):
        _ = client.get("https://elsewhere.test/")
    serving^.join()
