"""Tests what comes of certificates that a peer shows and that are none.

Messages of TLS 1.2 are put together by hand: they go in the clear up to here.
"""

from flare.tls import Pem, TlsContext, TlsError, TlsMachine, TlsStep
from tests.asserting import assert_equal, assert_true
from tests.tls.certificates import client_config, path_of, server_config

comptime _Octets = List[UInt8]

comptime _CLIENT_HELLO: UInt8 = 1
comptime _SERVER_HELLO: UInt8 = 2
comptime _CERTIFICATE: UInt8 = 11
comptime _ALERT: UInt8 = 21


@fieldwise_init
struct _Row(Copyable):
    var what: StaticString
    var certificates: _Octets
    var kind: Int


def test_a_server_whose_certificate_is_broken_is_refused() raises:
    var rows = _rows()
    rows.append(_Row("none", _Octets(), TlsError.PROTOCOL))
    for row in rows:
        var clients = TlsContext.for_clients(client_config())
        var machine = TlsMachine.client(clients, "localhost")
        _ = machine.handshake(Span(_Octets()))
        machine.sent(machine.pending())
        var flight = _message(_SERVER_HELLO, Span(_server_hello()))
        flight.extend(
            Span(_message(_CERTIFICATE, Span(_sized(row.certificates))))
        )
        assert_equal(_kind(machine, flight), row.kind, row.what)
        _assert_told(machine, row.what)


def test_a_client_whose_certificate_is_broken_is_refused() raises:
    var config = server_config()
    config.client_authorities.append(Pem(path=path_of("ca.pem")))
    var rows = _rows()
    rows.append(_Row("none", _Octets(), TlsError.NO_CERTIFICATE))
    for row in rows:
        var machine = TlsMachine.server(TlsContext.for_servers(config))
        var hello = _message(_CLIENT_HELLO, Span(_client_hello()))
        var step = machine.handshake(Span(hello))
        assert_equal(step.kind, TlsStep.HAS_OCTETS)
        machine.sent(machine.pending())
        var shown = _message(_CERTIFICATE, Span(_sized(row.certificates)))
        assert_equal(_kind(machine, shown), row.kind, row.what)
        _assert_told(machine, row.what)


def _rows() raises -> List[_Row]:
    var whole: _Octets
    with open(path_of("server.der"), "r") as file:
        whole = file.read_bytes()
    var behind = whole.copy()
    behind.append(0)
    var noise = _Octets(length=300, fill=0x30)
    var longer = _sized(whole)
    longer[1] += 1
    return [
        _Row(
            "cut in the middle",
            _sized(List(Span(whole)[: len(whole) // 2])),
            TlsError.BAD_CERTIFICATE,
        ),
        _Row(
            "cut by one octet",
            _sized(List(Span(whole)[: len(whole) - 1])),
            TlsError.BAD_CERTIFICATE,
        ),
        _Row("noise", _sized(noise), TlsError.BAD_CERTIFICATE),
        _Row("no octets", _sized(_Octets()), TlsError.BAD_CERTIFICATE),
        _Row("something behind it", _sized(behind), TlsError.PROTOCOL),
        _Row("longer than its list", longer^, TlsError.PROTOCOL),
    ]


def _kind(machine: TlsMachine, octets: _Octets) -> Int:
    try:
        _ = machine.handshake(Span(octets))
        return -1
    except e:
        # What a user gets is read back from its text.
        var error = TlsError.of(Error(String(e)))
        return error.value().kind if error else -2


def _assert_told(machine: TlsMachine, what: StaticString) raises:
    assert_true(machine.pending() > 0, what)
    assert_equal(machine.output()[0], _ALERT, what)


def _client_hello() -> _Octets:
    # TLS 1.2, one suite of ECDHE and ECDSA, P-256.
    var hello = _beginning()
    hello.extend([0, 2, 0xC0, 0x2B, 1, 0])
    var extensions: _Octets = [0, 10, 0, 4, 0, 2, 0, 23]
    extensions.extend([0, 11, 0, 2, 1, 0])
    extensions.extend([0, 13, 0, 4, 0, 2, 4, 3])
    extensions.extend([0xFF, 1, 0, 1, 0])
    hello.append(0)
    hello.append(UInt8(len(extensions)))
    hello.extend(Span(extensions))
    return hello^


def _server_hello() -> _Octets:
    var hello = _beginning()
    hello.extend([0xC0, 0x2B, 0, 0, 5, 0xFF, 1, 0, 1, 0])
    return hello^


def _beginning() -> _Octets:
    # The version, a random number and no session.
    var hello: _Octets = [3, 3]
    for _ in range(32):
        hello.append(7)
    hello.append(0)
    return hello^


def _sized(octets: _Octets) -> _Octets:
    var sized = _Octets()
    sized.append(0)
    sized.append(UInt8(len(octets) >> 8))
    sized.append(UInt8(len(octets) & 255))
    sized.extend(Span(octets))
    return sized^


def _message(type: UInt8, content: Span[UInt8, _]) -> _Octets:
    var message: _Octets = [type]
    message.extend(Span(_sized(List(content))))
    var record: _Octets = [22, 3, 3]
    record.append(UInt8(len(message) >> 8))
    record.append(UInt8(len(message) & 255))
    record.extend(Span(message))
    return record^


comptime TESTS = __functions_in_module()
