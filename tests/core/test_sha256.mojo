"""Tests for `flare.core.sha256`: FIPS 180-4, whole and in pieces."""

from flare.core.message_digest import sha256
from flare.core.sha256 import Sha256, sha256_digest

from tests.asserting import assert_equal


def test_sha256_of_every_length_around_three_blocks() raises:
    # Computed with Python's hashlib: the digest of the digests of 0 to 199
    # octets.
    var digests = List[UInt8]()
    for count in range(200):
        var digest = sha256_digest(Span(_octets(count)))
        for i in range(32):
            digests.append(digest[i])
    assert_equal(
        sha256(Span(digests)),
        "0a716dcd52ebb45d547cf893c2616d1641ae3c122398e759ddeb1d0698a65c1a",
    )


def test_sha256_of_a_vector_of_the_standard() raises:
    assert_equal(
        sha256("abc".as_bytes()),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    )


def test_pieces_have_the_digest_of_the_whole() raises:
    var whole = _octets(200)
    for first in range(0, 130):
        for second in [0, 1, 63, 64, 65]:
            var hash = Sha256()
            hash.update(Span(whole)[:first])
            hash.update(Span(whole)[first : first + second])
            hash.update(Span(whole)[first + second :])
            assert_equal(hash^.digest(), sha256_digest(Span(whole)))


def test_a_number_counts_as_eight_octets() raises:
    var hash = Sha256()
    hash.update(0x0102030405060708)
    var octets: List[UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    assert_equal(hash^.digest(), sha256_digest(Span(octets)))


comptime TESTS = __functions_in_module()


def _octets(count: Int) -> List[UInt8]:
    var octets = List[UInt8]()
    for i in range(count):
        octets.append(UInt8(i * 7 % 256))
    return octets^
