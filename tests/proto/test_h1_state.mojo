"""Tests for `flare.proto.h1.state`: every pair of both tables."""

from std.sys.info import size_of

from flare.proto.h1 import H1State
from flare.proto.h1.state import SideInput, SideState, next_state

from tests.asserting import assert_equal, assert_true

# One row per state, one column per input, in the order of the constants:
# request head, informational head, response head, data, end, next, last,
# upgrade, fail, refuse. `.` is illegal, letters name the next state:
# Idle, Awaited, Body, Done, Closed, Upgraded, Failed.
comptime _REQUEST: List[StaticString] = [
    "B.....C.F.",  # idle
    "..........",  # awaited: no state of this side
    "...BD..UF.",  # body
    ".....ICUF.",  # done
    "......C.F.",  # closed
    "..........",  # upgraded
    "......F.F.",  # failed
]
comptime _RESPONSE: List[StaticString] = [
    "A.....C.FA",  # idle
    ".AB....UFA",  # awaited
    "...BD...FB",  # body
    ".....IC.FD",  # done
    "......C.F.",  # closed
    "..........",  # upgraded
    "......F.FF",  # failed
]
comptime _LETTERS: StaticString = "IABDCUF"


def test_every_pair_of_the_request_table_is_as_stated() raises:
    _check[True](materialize[_REQUEST]())


def test_every_pair_of_the_response_table_is_as_stated() raises:
    _check[False](materialize[_RESPONSE]())


def test_a_state_that_failed_never_leaves_it() raises:
    for i in range(SideInput.COUNT):
        comptime for is_request in [True, False]:
            var next = next_state[is_request](SideState.FAILED, UInt8(i))
            assert_true(next == SideState.FAILED or next == SideState.ILLEGAL)


def test_an_idle_connection_holds_at_most_128_octets() raises:
    assert_true(size_of[H1State]() <= 128, String(size_of[H1State]()))


def _check[is_request: Bool](rows: List[StaticString]) raises:
    assert_equal(len(rows), SideState.COUNT)
    for state in range(SideState.COUNT):
        var row = rows[state].as_bytes()
        assert_equal(len(row), SideInput.COUNT)
        for input in range(SideInput.COUNT):
            var expected = SideState.ILLEGAL
            for i in range(SideState.COUNT):
                if _LETTERS.as_bytes()[i] == row[input]:
                    expected = UInt8(i)
            var got = next_state[is_request](UInt8(state), UInt8(input))
            assert_equal(got, expected, String(state, " on ", input))


comptime TESTS = __functions_in_module()
