"""Tests for certificates that are made for development."""

from std.testing import assert_raises

from flare.tls import Pem, TlsConfig, TlsError, TlsIdentity, TlsServerConfig
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tls.pair import joined


def test_a_client_that_trusts_it_accepts_it_for_each_of_its_names() raises:
    var identity = TlsIdentity.self_signed()
    for name in ["localhost", "127.0.0.1", "::1"]:
        assert_equal(_refusal(identity, name), -1, name)


def test_it_is_for_no_other_name() raises:
    var identity = TlsIdentity.self_signed()
    for name in ["localhost.test", "127.0.0.2", "::2"]:
        assert_equal(_refusal(identity, name), TlsError.WRONG_NAME, name)
    identity = TlsIdentity.self_signed(["a.test", "192.0.2.1"])
    assert_equal(_refusal(identity, "a.test"), -1)
    assert_equal(_refusal(identity, "192.0.2.1"), -1)
    assert_equal(_refusal(identity, "localhost"), TlsError.WRONG_NAME)


def test_nobody_else_trusts_it() raises:
    var one = TlsIdentity.self_signed()
    var other = TlsIdentity.self_signed()
    assert_false(one.key.read() == other.key.read())
    assert_false(one.certificates.read() == other.certificates.read())
    var client = TlsConfig(
        trusts_system_authorities=False, authorities=[other.certificates.copy()]
    )
    assert_equal(_refusal_of(client, one, "localhost"), TlsError.SELF_SIGNED)


def test_a_name_that_no_server_has_is_refused() raises:
    for name in ["", "a b", "a,DNS:b.test", "email:copy", "@section", "*.test"]:
        with assert_raises(contains="tls.bad_name configure"):
            _ = TlsIdentity.self_signed([name])
    with assert_raises(contains="tls.bad_name configure"):
        _ = TlsIdentity.self_signed(List[String]())
    var names = List[String](length=100, fill="a.test")
    _ = TlsIdentity.self_signed(names)
    names.append("a.test")
    with assert_raises(contains="tls.bad_name configure"):
        _ = TlsIdentity.self_signed(names)


def test_the_key_is_a_text_in_memory() raises:
    var identity = TlsIdentity.self_signed()
    assert_true(
        _text(identity.certificates).startswith("-----BEGIN CERTIFICATE-----")
    )
    assert_true(_text(identity.key).startswith("-----BEGIN PRIVATE KEY-----"))


comptime TESTS = __functions_in_module()


def _text(pem: Pem) raises -> String:
    return String(StringSlice(unsafe_from_utf8=Span(pem.read())))


def _refusal(identity: TlsIdentity, name: String) raises -> Int:
    """Returns why a client that trusts an identity refuses it; -1 if not."""
    return _refusal_of(
        TlsConfig(
            trusts_system_authorities=False,
            authorities=[identity.certificates.copy()],
        ),
        identity,
        name,
    )


def _refusal_of(
    client: TlsConfig, identity: TlsIdentity, name: String
) raises -> Int:
    var pair = joined(client, TlsServerConfig(identity.copy()), name)
    if not pair.client.error:
        assert_true(pair.client.is_done)
        return -1
    return pair.client.error.value().kind
