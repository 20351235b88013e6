"""Tests for `flare.sys.openssl_cipher`: vectors of the specification of GCM."""

from flare.core import write_hexadecimal
from flare.sys.openssl_cipher import TAG_OCTETS, cipher

from tests.asserting import assert_equal, assert_false, assert_true

comptime _KEY: StaticString = (
    "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
)
comptime _NONCE: StaticString = "cafebabefacedbaddecaf888"
comptime _PLAIN: StaticString = (
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
)
comptime _ASSOCIATED: StaticString = "feedfacedeadbeeffeedfacedeadbeefabaddad2"
comptime _ENCRYPTED: StaticString = (
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
    "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece"
    "0f4e1768cddf8853bb2d551b"
)
comptime _ZEROS: StaticString = (
    "0000000000000000000000000000000000000000000000000000000000000000"
)


def test_encryption_of_the_vectors_of_the_specification() raises:
    # Test cases 13, 14 and 16 of McGrew and Viega.
    assert_equal(
        _encrypted(_ZEROS, "000000000000000000000000", "", ""),
        "530f8afbc74536b9a963b4f1c4cb738b",
    )
    assert_equal(
        _encrypted(
            _ZEROS,
            "000000000000000000000000",
            "",
            "00000000000000000000000000000000",
        ),
        "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
    )
    assert_equal(_encrypted(_KEY, _NONCE, _ASSOCIATED, _PLAIN), _ENCRYPTED)


def test_decryption_takes_only_what_was_encrypted() raises:
    var key = _octets(_KEY)
    var nonce = _octets(_NONCE)
    var associated = _octets(_ASSOCIATED)
    var octets = _octets(_ENCRYPTED)
    var into = List[UInt8](length=len(octets) - TAG_OCTETS, fill=0)
    var aes = cipher().value()
    assert_true(
        aes.decrypt(
            Span(key), Span(nonce), Span(associated), Span(octets), Span(into)
        )
    )
    assert_equal(_text(into), _PLAIN)
    for i in range(len(octets)):
        octets[i] ^= 1
        assert_false(
            aes.decrypt(
                Span(key),
                Span(nonce),
                Span(associated),
                Span(octets),
                Span(into),
            )
        )
        octets[i] ^= 1
    associated[3] ^= 1
    assert_false(
        aes.decrypt(
            Span(key), Span(nonce), Span(associated), Span(octets), Span(into)
        )
    )


comptime TESTS = __functions_in_module()


def _encrypted(
    key: StaticString,
    nonce: StaticString,
    associated: StaticString,
    plain: StaticString,
) raises -> String:
    var octets = _octets(plain)
    var into = List[UInt8](length=len(octets) + TAG_OCTETS, fill=0)
    assert_true(
        cipher()
        .value()
        .encrypt(
            Span(_octets(key)),
            Span(_octets(nonce)),
            Span(_octets(associated)),
            Span(octets),
            Span(into),
        )
    )
    return _text(into)


def _octets(digits: StaticString) raises -> List[UInt8]:
    var octets = List[UInt8]()
    for i in range(0, digits.byte_length(), 2):
        octets.append(UInt8(atol(digits[byte = i : i + 2], 16)))
    return octets^


def _text(octets: List[UInt8]) -> String:
    var text = String()
    write_hexadecimal(Span(octets), text)
    return text^
