"""Tests hashes of passwords."""

from std.testing import assert_raises

from flare.session import hash_password, matches_password, needs_new_hash
from flare.session.password import PASSWORD_OCTETS_MAX
from flare.sys.openssl_scrypt import ScryptCost, derive_by_scrypt

from tests.asserting import assert_equal, assert_false, assert_true

# `hashlib.scrypt(b"pass", salt=bytes(range(16)), n=2**4, r=8, p=1, dklen=32)`
# of Python.
comptime CHEAP = (
    "$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$"
    "V3YxoH5ilCqng5/6Drpwi88yxzdEnLCsjimfDxoFl5U"
)


def test_keys_are_those_of_the_standard() raises:
    # RFC 7914 section 12.
    _check(
        "",
        "",
        ScryptCost(4, 1, 1),
        (
            "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
            "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
        ),
    )
    _check(
        "password",
        "NaCl",
        ScryptCost(10, 8, 16),
        (
            "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
            "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
        ),
    )
    _check(
        "pleaseletmein",
        "SodiumChloride",
        ScryptCost(14, 8, 1),
        (
            "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
            "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
        ),
    )


def test_a_password_matches_its_hash_alone() raises:
    var stored = hash_password("correct horse")
    assert_true(stored.startswith("$scrypt$ln=15,r=8,p=3$"), stored)
    assert_true(matches_password("correct horse", stored))
    assert_false(matches_password("correct horse ", stored))
    assert_false(matches_password("", stored))
    assert_false(matches_password("correct horse", None))
    # Each has a salt of its own.
    assert_true(hash_password("correct horse") != stored)
    assert_false(needs_new_hash(stored))


def test_hashes_of_other_programs_are_known() raises:
    assert_true(matches_password("pass", String(CHEAP)))
    assert_false(matches_password("Pass", String(CHEAP)))
    assert_true(needs_new_hash(CHEAP))


def test_long_passwords_are_refused_whole() raises:
    var longest = String("x") * PASSWORD_OCTETS_MAX
    with assert_raises(contains="session.long_password"):
        _ = hash_password(longest + "x")
    assert_true(matches_password(longest, hash_password(longest)))
    assert_false(matches_password(longest + "x", hash_password(longest)))
    # The limit is inside of a character.
    var wide = String("x", "é" * PASSWORD_OCTETS_MAX)
    assert_false(matches_password(wide, String(CHEAP)))
    assert_false(matches_password(wide, None))


def test_what_is_no_hash_is_an_error() raises:
    for text in [
        StaticString(""),
        "$",
        "secret",
        "$bcrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=4,r=8$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=0,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=21,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=20,r=32,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=-4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=4,r=8,p=1111$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$r=8,ln=4,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=4,r=8,p=1$AAEC$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$",
        "$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw==$AAECAwQFBgcICQoLDA0ODw",
        "$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw$",
    ]:
        with assert_raises(contains="session.bad_hash"):
            _ = matches_password("", String(text))


comptime TESTS = __functions_in_module()
"""Every test of this module."""


def _check(
    password: StringSlice, salt: StringSlice, cost: ScryptCost, wanted: String
) raises:
    var key = List[UInt8](length=64, fill=0)
    assert_true(
        derive_by_scrypt(password.as_bytes(), salt.as_bytes(), cost, Span(key))
    )
    var digits = String()
    for octet in key:
        var text = hex(Int(octet), prefix="")
        digits.write("0" if octet < 16 else "", text)
    assert_equal(digits, wanted)
