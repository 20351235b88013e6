"""Tests which fields of a request a gateway does not send on."""

from std.testing import assert_raises

from flare.http import HeaderMap
from flare.http.field_guard import FIELDS_DROPPED, FieldGuard

from tests.asserting import assert_equal, assert_false, assert_true


def test_every_name_of_the_list_is_dropped_in_any_spelling() raises:
    var guard = FieldGuard([], [], HeaderMap())
    for entry in materialize[FIELDS_DROPPED]():
        var name = String(entry).replace("*", "")
        assert_true(guard.has(name), name)
        assert_true(guard.has(name.upper()), name)
        assert_true(guard.has(name.replace("-", "_")), name)
        assert_true(guard.has(name.lower().replace("-", ".")), name)
        assert_equal(guard.has(String(name, "0")), entry.endswith("*"), name)


def test_names_that_only_resemble_the_list_go_on() raises:
    var guard = FieldGuard([], [], HeaderMap())
    for name in [
        "Accept",
        "Cookie",
        "X-Request-ID",
        "XForwardedFor",
        "X-Forward",
        "X-Real",
        "X-RealxIP",
        "Proxy-Status",
        "_",
        "0",
    ]:
        assert_false(guard.has(name), name)


def test_a_program_extends_the_list() raises:
    var guard = FieldGuard(["Remote-User", "X-Auth-*"], [], HeaderMap())
    assert_true(guard.has("remote_user"))
    assert_true(guard.has("x-auth-groups"))
    assert_true(guard.has("X.Auth.User"))
    assert_false(guard.has("x-auth"))
    assert_false(guard.has("remote-users"))


def test_a_program_keeps_what_a_network_in_front_writes() raises:
    var guard = FieldGuard([], ["CF-Connecting-IP", "Fly-*"], HeaderMap())
    assert_false(guard.has("cf-connecting-ip"))
    assert_true(guard.has("cf-connecting-ipv6"))
    assert_false(guard.has("fly-client-ip"))
    assert_true(guard.has("fastly-client-ip"))


def test_a_name_that_is_not_dropped_cannot_be_kept() raises:
    for name in ["X-Forwarded-For", "Proxy", "Forwarded", "Accept", "X-Real"]:
        with assert_raises(contains="client.bad_config"):
            _ = FieldGuard([], [name], HeaderMap())


def test_fields_of_the_proxy_cannot_be_replaced() raises:
    var own = HeaderMap()
    own.append("Y-Key", "1")
    var guard = FieldGuard(["Y-*"], ["Y-Keys"], own)
    assert_true(guard.has("y_key"))
    assert_false(guard.has("y-keys"))


def test_a_name_that_is_no_token_is_refused() raises:
    for name in ["", "*", "a b", "a:"]:
        with assert_raises(contains="client.bad_config"):
            _ = FieldGuard([name], [], HeaderMap())
        with assert_raises(contains="client.bad_config"):
            _ = FieldGuard([], [name], HeaderMap())


comptime TESTS = __functions_in_module()
