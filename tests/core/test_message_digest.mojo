"""Tests for `flare.core.message_digest`: the vectors of RFC 3174."""

from flare.core import write_hexadecimal
from flare.core.message_digest import sha1

from tests.asserting import assert_equal


def test_sha1_of_the_vectors_of_rfc_3174() raises:
    assert_equal(
        _hexadecimal("abc".as_bytes(), 1),
        "a9993e364706816aba3e25717850c26c9cd0d89d",
    )
    assert_equal(
        _hexadecimal(
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".as_bytes(),
            1,
        ),
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 1_000_000),
        "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
    )
    assert_equal(
        _hexadecimal(
            "0123456701234567012345670123456701234567012345670123456701234567"
            .as_bytes(),
            10,
        ),
        "dea356a2cddd90c7a7ecedc5ebb563934f460452",
    )


def test_sha1_of_lengths_around_a_block() raises:
    # Computed with Python's hashlib: n times "a".
    assert_equal(
        _hexadecimal("a".as_bytes(), 0),
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 1),
        "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 55),
        "c1c8bbdc22796e28c0e15163d20899b65621d65a",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 56),
        "c2db330f6083854c99d4b5bfb6e8f29f201be699",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 57),
        "f08f24908d682555111be7ff6f004e78283d989a",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 60),
        "13d956033d9af449bfe2c4ef78c17c20469c4bf1",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 63),
        "03f09f5b158a7a8cdad920bddc29b81c18a551f5",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 64),
        "0098ba824b5c16427bd7a1122a5a442a25ec644d",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 65),
        "11655326c708d70319be2610e8a57d9a5b959d3b",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 119),
        "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 120),
        "f34c1488385346a55709ba056ddd08280dd4c6d6",
    )
    assert_equal(
        _hexadecimal("a".as_bytes(), 128),
        "ad5b3fdbcb526778c2839d2f151ea753995e26a0",
    )


def _hexadecimal(piece: Span[UInt8, _], count: Int) raises -> String:
    var octets = List[UInt8](capacity=len(piece) * count)
    for _ in range(count):
        octets.extend(piece)
    var digest = sha1(Span(octets))
    var text = String()
    write_hexadecimal(Span(digest), text)
    return text^


comptime TESTS = __functions_in_module()
