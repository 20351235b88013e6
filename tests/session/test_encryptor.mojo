"""Tests encrypted values and encrypted cookies."""

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


def test_an_encrypted_value_comes_back() raises:
    check_round_trip(Encryptor(keys=keys(NEW, OLD)))


def test_the_first_key_encrypts_and_all_decrypt() raises:
    check_keys(
        Encryptor(keys=keys(OLD)),
        Encryptor(keys=keys(NEW, OLD)),
        Encryptor(keys=keys(NEW)),
        Encryptor(keys=keys(OTHER)),
    )


def test_a_value_is_bound_to_its_purpose() raises:
    check_purposes(Encryptor(keys=keys(NEW)))


def test_a_value_has_an_age() raises:
    check_age(Encryptor(keys=keys(NEW)))


def test_a_damaged_value_is_absent() raises:
    check_damage(Encryptor(keys=keys(NEW, OLD)))


def test_a_cookie_is_bound_to_its_name() raises:
    check_cookies(Encryptor(keys=keys(NEW)))


def test_the_same_value_looks_different_each_time() raises:
    var encryptor = Encryptor(keys=keys(NEW))
    var texts = List[String]()
    for _ in range(100):
        texts.append(encryptor.encrypt("p", "a value to hide"))
        assert_false("hide" in texts[len(texts) - 1])
        for i in range(len(texts) - 1):
            assert_true(texts[i] != texts[len(texts) - 1])
            assert_true(texts[i][byte=:30] != texts[len(texts) - 1][byte=:30])


def test_a_signed_value_is_no_encrypted_one() raises:
    var signer = Signer(keys=keys(NEW))
    var encryptor = Encryptor(keys=keys(NEW))
    var signed = signer.cookie(Cookie("user", "a longer value than a tag"))
    var encrypted = encryptor.cookie(Cookie("user", "a value"))
    for text in [signed.value, encrypted.value]:
        assert_equal(
            Int(
                Bool(
                    signer.reveal(
                        "cookie user",
                        text,
                        max_age_seconds=1 << 40,
                        now_seconds=NOW * 4,
                    )
                )
            )
            + Int(
                Bool(
                    encryptor.reveal(
                        "cookie user",
                        text,
                        max_age_seconds=1 << 40,
                        now_seconds=NOW * 4,
                    )
                )
            ),
            1,
        )


comptime TESTS = __functions_in_module()
