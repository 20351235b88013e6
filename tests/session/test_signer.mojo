"""Tests signed values and signed cookies."""

from std.testing import assert_raises

from flare.http import Cookie
from flare.session import Encryptor, Signer

from tests.asserting import assert_equal, assert_false, assert_true

from .protected import (
    NEW,
    NOW,
    OLD,
    OTHER,
    check_age,
    check_cookies,
    check_damage,
    check_keys,
    check_purposes,
    check_round_trip,
    keys,
)


def test_a_signed_value_comes_back() raises:
    check_round_trip(Signer(keys=keys(NEW, OLD)))


def test_the_first_key_signs_and_all_verify() raises:
    check_keys(
        Signer(keys=keys(OLD)),
        Signer(keys=keys(NEW, OLD)),
        Signer(keys=keys(NEW)),
        Signer(keys=keys(OTHER)),
    )


def test_a_value_is_bound_to_its_purpose() raises:
    check_purposes(Signer(keys=keys(NEW)))


def test_a_value_has_an_age() raises:
    check_age(Signer(keys=keys(NEW)))


def test_a_damaged_value_is_absent() raises:
    check_damage(Signer(keys=keys(NEW, OLD)))


def test_a_cookie_is_bound_to_its_name() raises:
    check_cookies(Signer(keys=keys(NEW)))


def test_a_signature_is_that_of_another_implementation() raises:
    # Computed with Python's hmac, from the description in docs/guide.
    assert_equal(
        Signer(keys=keys(NEW)).protect("cookie user", "ann", now_seconds=NOW),
        "uxdwRkKiBxf5qqZG-MWxet4OYRMZXKAn0ereYgZABYwAAAAAZVPxAGFubg",
    )


def test_keys_that_are_too_short_are_refused_without_their_text() raises:
    for list in [
        keys(),
        keys(""),
        keys("31 octets are not enough for it"),
        keys(NEW, "short"),
        keys(NEW, NEW, NEW, NEW, NEW, NEW, NEW, NEW, NEW),
    ]:
        with assert_raises(contains="session.bad_keys"):
            _ = Signer(keys=list)
        with assert_raises(contains="session.bad_keys"):
            _ = Encryptor(keys=list)
    try:
        _ = Signer(keys=keys(NEW, "short"))
    except e:
        assert_equal(
            String(e), "session.bad_keys key 1 is shorter than 32 octets"
        )


def test_texts_and_cookies_have_different_purposes() raises:
    var signer = Signer(keys=keys(NEW))
    var text = signer.sign("user", "ann")
    assert_equal(signer.verify("user", text, max_age_seconds=10).value(), "ann")
    assert_false(Bool(signer.verify("users", text, max_age_seconds=10)))
    assert_false(Bool(signer.verify("user", text, max_age_seconds=-1)))
    var cookie = signer.cookie(Cookie("user", "ann", path="/"))
    assert_equal(cookie.path, "/")
    assert_false(Bool(signer.verify("user", cookie.value, max_age_seconds=10)))
    assert_true(cookie.to_set_cookie().startswith("user="))


comptime TESTS = __functions_in_module()
