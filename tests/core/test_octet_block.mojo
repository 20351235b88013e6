"""Writes into a block of octets and reads what is there."""

from flare.core import OctetBlock

from tests.asserting import assert_equal


def test_block_is_zeros_and_keeps_what_is_written() raises:
    for length in [1, 100, 64 * 1024]:
        var block = OctetBlock(length=length)
        assert_equal(len(block), length)
        assert_equal(len(block.span()), length)
        for octet in block.span():
            assert_equal(octet, 0)
        block.span()[length - 1] = 7
        var moved = block^
        assert_equal(moved.span()[length - 1], 7)


comptime TESTS = __functions_in_module()
