"""Tests for the configurations: what is refused before any connection."""

from flare.tls import (
    Pem,
    TlsConfig,
    TlsContext,
    TlsError,
    TlsIdentity,
    TlsServerConfig,
)
from flare.tls.config import wire_protocols
from flare.tls.server_name import ServerName
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tls.certificates import (
    client_config,
    path_of,
    server_config,
)


def test_the_defaults_have_no_problem() raises:
    assert_false(Bool(TlsConfig().first_problem()))
    assert_false(Bool(server_config().first_problem()))


def test_fields_out_of_bounds_are_named() raises:
    var client = TlsConfig(handshake_timeout_ms=0)
    assert_true(Bool(client.first_problem()))
    assert_true(
        Bool(TlsConfig(trusts_system_authorities=False).first_problem())
    )
    client = TlsConfig(dangerously_skip_verification=True)
    assert_false(Bool(client.first_problem()))
    client.authorities.append(Pem(text="x"))
    assert_true(Bool(client.first_problem()))
    var server = server_config()
    server.client_certificate_is_optional = True
    assert_true(Bool(server.first_problem()))
    server = server_config()
    server.identities.clear()
    assert_true(Bool(server.first_problem()))
    server = server_config()
    server.handshake_timeout_ms = 0
    assert_true(Bool(server.first_problem()))
    assert_equal(_kind_of_server(server), TlsError.BAD_CONFIG)


def test_application_protocols_have_1_to_255_octets() raises:
    var rows: List[Tuple[Int, Bool]] = [
        (0, False),
        (1, True),
        (255, True),
        (256, False),
    ]
    for row in rows:
        var config = TlsConfig(application_protocols=[String("h") * row[0]])
        assert_equal(not config.first_problem(), row[1], String(row[0]))
    var octets = wire_protocols(["h2", "http/1.1"])
    var wanted = List("\x02h2\x08http/1.1".as_bytes())
    assert_true(octets == wanted)


def test_an_identity_that_cannot_be_used_is_refused() raises:
    var rows: List[Tuple[String, String, Int]] = [
        ("server.pem", "server.key", -1),
        ("rsa.pem", "rsa.key", -1),
        ("nothing.pem", "server.key", TlsError.BAD_FILE),
        ("server.pem", "nothing.key", TlsError.BAD_FILE),
        ("truncated.pem", "server.key", TlsError.BAD_FILE),
        ("empty.pem", "server.key", TlsError.BAD_FILE),
        ("server.key", "server.key", TlsError.BAD_FILE),
        ("server.pem", "server.pem", TlsError.BAD_FILE),
        ("server.pem", "encrypted.key", TlsError.BAD_FILE),
        ("server.pem", "other.key", TlsError.WRONG_KEY),
        ("server.pem", "rsa.key", TlsError.WRONG_KEY),
        ("weak.pem", "weak.key", TlsError.BAD_CERTIFICATE),
    ]
    for row in rows:
        var config = TlsServerConfig(
            TlsIdentity.files(path_of(row[0]), path_of(row[1]))
        )
        assert_equal(
            _kind_of_server(config), row[2], String(row[0], " ", row[1])
        )


def test_a_status_is_the_answer_of_an_authority() raises:
    var rows: List[Tuple[String, Int]] = [
        ("status.der", -1),
        ("half_status.der", TlsError.BAD_FILE),
        ("no_status.der", TlsError.BAD_FILE),
        ("nothing.der", TlsError.BAD_FILE),
        ("empty.pem", TlsError.BAD_FILE),
        ("server.pem", TlsError.BAD_FILE),
    ]
    for row in rows:
        var config = server_config()
        config.identities[0].status_path = path_of(row[0])
        assert_equal(_kind_of_server(config), row[1], row[0])


def test_certificates_and_keys_may_be_texts() raises:
    var texts = List[String]()
    for name in ["server.pem", "server.key"]:
        with open(path_of(name), "r") as file:
            texts.append(file.read())
    var config = TlsServerConfig(
        TlsIdentity(Pem(text=texts[0]), Pem(text=texts[1]))
    )
    assert_equal(_kind_of_server(config), -1)
    config = TlsServerConfig(
        TlsIdentity(
            Pem(text=String("noise before\n", texts[0])), Pem(text=texts[0])
        )
    )
    assert_equal(_kind_of_server(config), TlsError.BAD_FILE)


def test_a_refused_file_is_named() raises:
    var config = server_config()
    config.identities[0].certificates = Pem(path="build/not\nhere")
    try:
        _ = TlsContext.for_servers(config)
        assert_true(False, "the file is missing")
    except e:
        assert_true(String(e).endswith(": build/not\\x0ahere"), String(e))


def test_authorities_that_cannot_be_read_are_refused() raises:
    for name in ["nothing.pem", "truncated.pem", "empty.pem", "ca.key"]:
        var config = TlsConfig(trusts_system_authorities=False)
        config.authorities.append(Pem(path=path_of(name)))
        var kind = -1
        try:
            _ = TlsContext.for_clients(config)
        except e:
            kind = TlsError.of(e).value().kind
        assert_equal(kind, TlsError.BAD_FILE, name)
    _ = TlsContext.for_clients(client_config())


def test_a_reload_that_fails_changes_nothing() raises:
    var context = TlsContext.for_servers(server_config())
    var before = Int(Pointer(to=context.generation()[]))
    var bad = server_config()
    bad.identities[0].key = Pem(path=path_of("other.key"))
    var kind = -1
    try:
        context.reload(bad)
    except e:
        kind = TlsError.of(e).value().kind
    assert_equal(kind, TlsError.WRONG_KEY)
    assert_equal(Int(Pointer(to=context.generation()[])), before)
    context.reload(server_config("renewed"))
    assert_true(Int(Pointer(to=context.generation()[])) != before)
    var clients = TlsContext.for_clients(client_config())
    try:
        clients.reload(server_config())
        assert_true(False, "a context of clients has no identity to reload")
    except e:
        assert_equal(TlsError.of(e).value().kind, TlsError.BAD_CONFIG)


def test_names_of_servers_are_judged() raises:
    var rows: List[Tuple[String, String]] = [
        ("localhost", "localhost"),
        ("a.b-c.D_e", "a.b-c.D_e"),
        ("example.test.", "example.test"),
        (String("x") * 63, String("x") * 63),
        (String("x") * 64, ""),
        (
            (String("x") * 49 + ".") * 5 + "yyy",
            (String("x") * 49 + ".") * 5 + "yyy",
        ),
        ((String("x") * 49 + ".") * 5 + "yyyy", ""),
        ("", ""),
        (".", ""),
        (".a", ""),
        ("a..b", ""),
        ("a b", ""),
        ("a\0b", ""),
        ("a/b", ""),
        ("user@host", ""),
        ("a:443", ""),
        ("*.test", ""),
        ("\xc3\xbc.test", ""),
    ]
    for row in rows:
        var read = String()
        try:
            var name = ServerName.parse(row[0])
            assert_false(name.is_address, row[0])
            read = name.text
        except e:
            assert_equal(TlsError.of(e).value().kind, TlsError.BAD_NAME)
        assert_equal(read, row[1], row[0])
    for address in ["127.0.0.1", "::1", "::ffff:10.0.0.1"]:
        assert_true(ServerName.parse(address).is_address, address)


def _kind_of_server(config: TlsServerConfig) -> Int:
    try:
        _ = TlsContext.for_servers(config)
    except e:
        return TlsError.of(e).value().kind
    return -1


comptime TESTS = __functions_in_module()
