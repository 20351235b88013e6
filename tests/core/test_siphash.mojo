"""Tests SipHash with the vectors of its authors."""

from std.testing import assert_not_equal

from flare.core.siphash import SipKey, siphash, siphash_word

from tests.asserting import assert_equal


def test_the_vectors_of_the_paper_and_the_reference_code() raises:
    # The message is 0, 1, 2, … under the key 0, 1, … 15.
    var rows: List[Tuple[Int, UInt64]] = [
        (0, UInt64(0x726FDB47DD0E0E31)),
        (1, UInt64(0x74F839C593DC67FD)),
        (7, UInt64(0xAB0200F58B01D137)),
        (8, UInt64(0x93F5F5799A932462)),
        (15, UInt64(0xA129CA6149BE45E5)),
    ]
    var key = SipKey(0x0706050403020100, 0x0F0E0D0C0B0A0908)
    for length, expected in rows:
        var message = List[UInt8]()
        for i in range(length):
            message.append(UInt8(i))
        assert_equal(
            siphash[2, 4](Span(message), key), expected, String(length)
        )


def test_other_keys_kinds_and_numbers_have_other_hashes() raises:
    var key = SipKey(1, 2)
    assert_not_equal(siphash_word(5, key), siphash_word(5, SipKey(1, 3)))
    assert_not_equal(siphash_word(5, key), siphash_word(5, SipKey(0, 2)))
    assert_not_equal(siphash_word(5, key), siphash_word(6, key))
    assert_not_equal(siphash_word(5, key, 4), siphash_word(5, key, 6))
    var octets: List[UInt8] = [5, 0, 0, 0, 0, 0, 0, 0]
    assert_not_equal(siphash_word(5, key), siphash(Span(octets), key))


comptime TESTS = __functions_in_module()
