"""Tests for `flare.core.hmac`: the vectors of RFC 4231 and RFC 5869."""

from flare.core import write_hexadecimal
from flare.core.hmac import HmacKey, derived_key, same_digest
from flare.core.sha256 import Sha256Digest

from tests.asserting import assert_equal, assert_false, assert_true


def test_hmac_of_the_vectors_of_rfc_4231() raises:
    assert_equal(
        _code(_repeated(0x0B, 20), "Hi There"),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    )
    assert_equal(
        _code(_octets("Jefe"), "what do ya want for nothing?"),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    )
    assert_equal(
        _text(HmacKey(_repeated(0xAA, 20)).code(_repeated(0xDD, 50))),
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
    )
    var counted = List[UInt8]()
    for i in range(1, 26):
        counted.append(UInt8(i))
    assert_equal(
        _text(HmacKey(counted).code(_repeated(0xCD, 50))),
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    )


def test_hmac_with_a_key_longer_than_a_block() raises:
    assert_equal(
        _code(
            _repeated(0xAA, 131),
            "Test Using Larger Than Block-Size Key - Hash Key First",
        ),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    )
    assert_equal(
        _code(
            _repeated(0xAA, 131),
            (
                "This is a test using a larger than block-size key and a larger"
                " than block-size data. The key needs to be hashed before being"
                " used by the HMAC algorithm."
            ),
        ),
        "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
    )


def test_keys_are_derived_as_rfc_5869_says() raises:
    # Test case 3 of appendix A, the first 32 octets; and Python's hmac.
    assert_equal(
        _text(derived_key(_repeated(0x0B, 22), "")),
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d",
    )
    assert_equal(
        _text(derived_key("secret".as_bytes(), "purpose")),
        "eced7de97c6f9dd8c7c842b5a550832f39290b6fa8c17658b4eea5226819c4c0",
    )


def test_digests_differ_if_any_bit_does() raises:
    var digest = HmacKey(_octets("key")).code("message".as_bytes())
    assert_true(same_digest(digest, digest))
    for i in range(256):
        var other = digest
        other[i // 8] ^= UInt8(1) << UInt8(i % 8)
        assert_false(same_digest(digest, other), String(i))


comptime TESTS = __functions_in_module()


def _code(key: List[UInt8], message: StaticString) -> String:
    return _text(HmacKey(Span(key)).code(message.as_bytes()))


def _text(digest: Sha256Digest) -> String:
    var octets = List[UInt8]()
    for i in range(32):
        octets.append(digest[i])
    var text = String()
    write_hexadecimal(Span(octets), text)
    return text^


def _repeated(octet: UInt8, count: Int) -> List[UInt8]:
    return List[UInt8](length=count, fill=octet)


def _octets(text: StaticString) -> List[UInt8]:
    return List[UInt8](text.as_bytes())
