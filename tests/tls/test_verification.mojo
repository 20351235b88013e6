"""Tests for who is trusted: servers by clients, clients by servers."""

from flare.tls import (
    Pem,
    TlsConfig,
    TlsContext,
    TlsError,
    TlsMachine,
    TlsServerConfig,
)
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tls.certificates import (
    client_config,
    identity_of,
    path_of,
    server_config,
)
from tests.tls.pair import Pair, assert_joined, joined, written


def test_each_reason_to_refuse_a_server_has_its_error() raises:
    var rows: List[Tuple[String, String, Int]] = [
        ("server", "localhost", -1),
        ("server", "LOCALHOST", -1),
        ("server", "localhost.", -1),
        ("server", "server.test", -1),
        ("server", "127.0.0.1", -1),
        ("server", "::1", -1),
        ("server", "127.0.0.2", TlsError.WRONG_NAME),
        ("server", "::2", TlsError.WRONG_NAME),
        ("server", "elsewhere.test", TlsError.WRONG_NAME),
        ("server", "sub.localhost", TlsError.WRONG_NAME),
        # The subject counts for nothing where there are other names.
        ("server", "server", TlsError.WRONG_NAME),
        ("other", "a.wild.test", -1),
        ("other", "wild.test", TlsError.WRONG_NAME),
        ("other", "a.b.wild.test", TlsError.WRONG_NAME),
        ("other", "localhost", TlsError.WRONG_NAME),
        # Nor where there is none, or no name among them.
        ("nameless", "localhost", TlsError.WRONG_NAME),
        ("addressed", "localhost", TlsError.WRONG_NAME),
        ("addressed", "127.0.0.1", -1),
        # Addresses are 4 octets or 16, and all of them count.
        ("addressed", "::ffff:127.0.0.1", TlsError.WRONG_NAME),
        ("addressed", "::ffff:7f00:1", TlsError.WRONG_NAME),
        ("mapped", "::ffff:127.0.0.1", -1),
        ("mapped", "::FFFF:7f00:1", -1),
        ("mapped", "127.0.0.1", TlsError.WRONG_NAME),
        ("mapped", "::127.0.0.1", TlsError.WRONG_NAME),
        ("chained", "localhost", -1),
        ("unchained", "localhost", TlsError.UNKNOWN_AUTHORITY),
        ("for_servers", "localhost", -1),
        ("for_clients", "localhost", TlsError.BAD_CERTIFICATE),
        ("expired", "localhost", TlsError.EXPIRED),
        ("early", "localhost", TlsError.NOT_YET_VALID),
        ("self_signed", "localhost", TlsError.SELF_SIGNED),
        ("stranger", "localhost", TlsError.UNKNOWN_AUTHORITY),
    ]
    for row in rows:
        var pair = joined(client_config(), server_config(row[0]), row[1])
        var kind = -1
        if pair.client.error:
            kind = pair.client.error.value().kind
            assert_equal(pair.client.error.value().operation, "handshake")
            # The server is told.
            assert_equal(pair.server.error.value().kind, TlsError.ALERT)
            assert_false(pair.client.is_done)
        else:
            assert_joined(pair)
        assert_equal(kind, row[2], String(row[0], " ", row[1]))


def test_skipping_verification_accepts_anybody() raises:
    var client = TlsConfig(dangerously_skip_verification=True)
    for name in ["self_signed", "expired", "stranger", "other"]:
        var pair = joined(client, server_config(name))
        assert_joined(pair)


def test_a_certificate_that_is_trusted_itself_is_accepted() raises:
    var pair = joined(
        client_config("self_signed"), server_config("self_signed")
    )
    assert_joined(pair)


def test_who_is_trusted_need_not_be_his_own_authority() raises:
    # Who is trusted, who comes, and how that ends.
    var rows: List[Tuple[String, String, Int]] = [
        ("middle", "chained", -1),
        ("middle", "unchained", -1),
        ("middle", "server", TlsError.UNKNOWN_AUTHORITY),
        ("server", "server", -1),
        ("server", "renewed", TlsError.UNKNOWN_AUTHORITY),
        ("expired", "expired", TlsError.EXPIRED),
    ]
    for row in rows:
        var pair = joined(client_config(row[0]), server_config(row[1]))
        var kind = -1
        if pair.client.error:
            kind = pair.client.error.value().kind
        assert_equal(kind, row[2], String(row[0], " ", row[1]))
        var server = server_config()
        server.client_authorities.append(
            Pem(path=path_of(String(row[0], ".pem")))
        )
        var client = client_config()
        client.identity = identity_of(row[1])
        pair = joined(client, server)
        kind = -1
        if pair.server.error:
            kind = pair.server.error.value().kind
        assert_equal(kind, row[2], String(row[0], " ", row[1], " as a client"))


def test_an_expected_name_takes_the_place_of_the_host() raises:
    var client = client_config()
    client.expected_name = String("other.test")
    var pair = joined(client, server_config("other"), "10.0.0.1")
    assert_joined(pair)
    assert_equal(pair.server.machine.server_name().value(), "other.test")
    pair = joined(client, server_config("server"), "localhost")
    assert_equal(pair.client.error.value().kind, TlsError.WRONG_NAME)
    client.expected_name = String("127.0.0.1")
    pair = joined(client, server_config("addressed"), "::ffff:127.0.0.1")
    assert_joined(pair)


def test_an_address_is_never_asked_for_by_name() raises:
    var pair = joined(client_config(), server_config(), "127.0.0.1")
    assert_joined(pair)
    assert_false(Bool(pair.server.machine.server_name()))


def test_a_server_shows_the_certificate_that_is_asked_for() raises:
    var server = server_config("server")
    server.identities.append(identity_of("other"))
    var rows: List[Tuple[String, String]] = [
        ("localhost", "CN=server"),
        ("other.test", "CN=other"),
        ("b.wild.test", "CN=other"),
        ("127.0.0.1", "CN=server"),
    ]
    for row in rows:
        var pair = joined(client_config(), server, row[0])
        assert_joined(pair)
        assert_equal(pair.client.machine.peer_subject().value(), row[1], row[0])
    var pair = joined(client_config(), server, "nobody.test")
    assert_equal(pair.client.error.value().kind, TlsError.WRONG_NAME)


def test_a_client_is_asked_for_a_certificate_only_where_somebody_vouches() raises:
    var client = client_config()
    client.identity = identity_of("client")
    var pair = joined(client, server_config())
    assert_joined(pair)
    assert_false(Bool(pair.server.machine.peer_subject()))
    for name in ["chained", "for_clients"]:
        client.identity = identity_of(name)
        pair = joined(client, _server_that_asks())
        assert_joined(pair)
    client.identity = identity_of("client")
    pair = joined(client, _server_that_asks())
    assert_joined(pair)
    # Everything that divides a name, or could deceive a log, is escaped.
    assert_equal(
        pair.server.machine.peer_subject().value(),
        'O=Flare,CN=client\\, \\"x\\"',
    )


def test_the_name_of_a_client_is_told_whole() raises:
    for end in ["a", "b"]:
        var client = client_config()
        client.identity = identity_of(String("long_", end))
        var pair = joined(client, _server_that_asks())
        assert_joined(pair)
        var subject = pair.server.machine.peer_subject().value()
        assert_equal(subject.byte_length(), 8 + 100 * 64 + 3)
        assert_true(subject.startswith("CN=long,OU=0000"), subject)
        assert_true(subject.endswith(String("01,O=", end)), subject)


def test_a_client_without_a_certificate_is_refused_or_not() raises:
    var server = _server_that_asks()
    var pair = joined(client_config(), server)
    assert_equal(pair.server.error.value().kind, TlsError.NO_CERTIFICATE)
    # certificate_required: in TLS 1.3 the client learns it when it reads.
    assert_equal(pair.client.error.value().kind, TlsError.ALERT)
    assert_equal(pair.client.error.value().alert, 116)
    server.client_certificate_is_optional = True
    pair = joined(client_config(), server)
    assert_joined(pair)
    assert_false(Bool(pair.server.machine.peer_subject()))


def test_a_client_that_nobody_vouches_for_is_refused() raises:
    var rows: List[Tuple[String, Int]] = [
        ("expired", TlsError.EXPIRED),
        ("early", TlsError.NOT_YET_VALID),
        ("self_signed", TlsError.SELF_SIGNED),
        ("stranger", TlsError.UNKNOWN_AUTHORITY),
        ("unchained", TlsError.UNKNOWN_AUTHORITY),
        ("for_servers", TlsError.BAD_CERTIFICATE),
    ]
    for row in rows:
        for is_optional in [False, True]:
            var server = _server_that_asks()
            server.client_certificate_is_optional = is_optional
            var client = client_config()
            client.identity = identity_of(row[0])
            var pair = joined(client, server)
            assert_true(Bool(pair.server.error), row[0])
            assert_equal(pair.server.error.value().kind, row[1], row[0])
            assert_equal(pair.client.error.value().kind, TlsError.ALERT)


def test_a_reload_shows_the_new_certificate_and_keeps_who_is_there() raises:
    var clients = TlsContext.for_clients(client_config())
    var servers = TlsContext.for_servers(server_config())
    var old = Pair(
        TlsMachine.client(clients, "localhost"), TlsMachine.server(servers)
    )
    # One connection is in the middle of its handshake.
    var half = Pair(
        TlsMachine.client(clients, "localhost"), TlsMachine.server(servers)
    )
    old.run()
    servers.reload(server_config("renewed"))
    var fresh = Pair(
        TlsMachine.client(clients, "localhost"), TlsMachine.server(servers)
    )
    half.run()
    fresh.run()
    assert_equal(old.client.machine.peer_subject().value(), "CN=server")
    assert_equal(half.client.machine.peer_subject().value(), "CN=server")
    assert_equal(fresh.client.machine.peer_subject().value(), "CN=renewed")
    written(old.client.machine, "still here")
    old.run()
    assert_equal(len(old.server.plaintext), 10)


def test_octets_that_are_no_handshake_are_refused_in_words() raises:
    var rows: List[Tuple[String, Int]] = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", TlsError.PLAIN_HTTP),
        ("POST / HTTP/1.1\r\n\r\n", TlsError.PLAIN_HTTP),
        ("CONNECT a:1 HTTP/1.1\r\n\r\n", TlsError.PLAIN_HTTP),
        ("SSH-2.0-client\r\n", TlsError.PROTOCOL),
        ("\x00\x00\x00\x00\x00\x00\x00\x00", TlsError.PROTOCOL),
        # A heartbeat, and a record that is longer than any may be.
        ("\x18\x03\x03\x00\x03\x01\x40\x00", TlsError.PROTOCOL),
        ("\x16\x03\x01\x7f\x7f\x01\x00\x00\x00\x00", TlsError.PROTOCOL),
    ]
    var servers = TlsContext.for_servers(server_config())
    for row in rows:
        var machine = TlsMachine.server(servers)
        var kind = -1
        try:
            _ = machine.handshake(row[0].as_bytes())
        except e:
            kind = e.kind
        assert_equal(kind, row[1], row[0])


def test_a_server_that_speaks_no_tls_is_refused() raises:
    var clients = TlsContext.for_clients(client_config())
    var machine = TlsMachine.client(clients, "localhost")
    var kind = -1
    try:
        _ = machine.handshake("HTTP/1.1 400 Bad Request\r\n\r\n".as_bytes())
    except e:
        kind = e.kind
    assert_equal(kind, TlsError.PROTOCOL)


def test_ends_are_not_made_from_the_other_end_s_context() raises:
    var clients = TlsContext.for_clients(client_config())
    var servers = TlsContext.for_servers(server_config())
    var kinds = List[Int]()
    try:
        _ = TlsMachine.server(clients)
    except e:
        kinds.append(TlsError.of(e).value().kind)
    try:
        _ = TlsMachine.client(servers, "localhost")
    except e:
        kinds.append(TlsError.of(e).value().kind)
    assert_true(kinds == [TlsError.BAD_CONFIG, TlsError.BAD_CONFIG])


def _server_that_asks() raises -> TlsServerConfig:
    var config = server_config()
    config.client_authorities.append(Pem(path=path_of("ca.pem")))
    return config^


comptime TESTS = __functions_in_module()
