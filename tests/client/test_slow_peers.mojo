"""Tests that no peer prolongs a request by octets that complete nothing."""

from flare.http import ClientConfig, ClientError, ClientTimeouts, HttpClient
from flare.net import SocketAddr
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.clock import monotonic_ms
from flare.tcp import TcpListener, TcpStream
from flare.tls import TlsContext, TlsMachine, TlsStep

from tests.asserting import assert_equal, assert_true
from tests.client.stand import OK_ANSWER
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config, server_config


def test_a_record_that_dribbles_prolongs_no_request() raises:
    on_each_backend(_dribbled)


def _dribbled() raises:
    # The bound of the whole, and that of the wait for the first octet.
    for timeouts in [
        ClientTimeouts(total_ms=300),
        ClientTimeouts(first_octet_ms=300),
    ]:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var url = String("https://localhost:", listener.local_address().port)

        def serve() raises {var listener^}:
            _dribble(listener.accept())

        var serving = spawn(serve^)
        var client = HttpClient(
            config=ClientConfig(tls=client_config(), timeouts=timeouts)
        )
        var began_ms = monotonic_ms()
        var kind = -1
        try:
            _ = client.get(url)
        except e:
            kind = ClientError.of(e).value().kind
        assert_equal(kind, ClientError.TIMEOUT)
        var spent_ms = monotonic_ms() - began_ms
        assert_true(spent_ms < 1_000, String(spent_ms))
        serving.cancel()
        try:
            serving^.join()
        except:
            pass


def _dribble(tcp: TcpStream) raises:
    var machine = TlsMachine.server(TlsContext.for_servers(server_config()))
    var window = List[UInt8]()
    var into = List[UInt8](length=4096, fill=0)
    while True:
        var step = machine.handshake(Span(window))
        window = List(Span(window)[step.consumed :])
        tcp.write_all(machine.output())
        machine.sent(machine.pending())
        if step.kind == TlsStep.DONE:
            break
        if step.kind == TlsStep.NEED_OCTETS:
            var count = tcp.read(Span(into))
            window.extend(Span(into)[:count])
    while True:
        var step = machine.read(Span(window), Span(into))
        window = List(Span(window)[step.consumed :])
        if step.kind != TlsStep.NEED_OCTETS:
            break
        var received = List[UInt8](length=4096, fill=0)
        var count = tcp.read(Span(received))
        window.extend(Span(received)[:count])
    _ = machine.write(OK_ANSWER.as_bytes())
    var record = List(machine.output())
    for i in range(len(record)):
        tcp.write_all(Span(record)[i : i + 1])
        sleep(50)


comptime TESTS = __functions_in_module()
"""Every test of this module."""
