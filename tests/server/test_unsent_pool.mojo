"""Tests the blocks of contents that wait for their turn."""

from flare.core import PointerTo
from flare.http.body import Body
from flare.http.server.transport.h2_connection import UnsentContent
from flare.http.server.transport.unsent_pool import UnsentPool

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_block_that_is_used_again_is_like_a_new_one() raises:
    var pool = UnsentPool()
    var block = pool.take(1_000)
    ref unsent = block[]
    unsent.body = Body(String("content of a response"))
    unsent.sent = 7
    unsent.gathered.append("gathered")
    unsent.is_last = True
    unsent.trailers.append("Checksum", "1")
    unsent.awaits_window = True
    pool.give(block)
    var again = pool.take(2_000)
    assert_true(again == block)
    var new = UnsentContent(2_000)
    assert_equal(again[].owned_octets(), 0)
    assert_equal(len(again[].body), 0)
    assert_equal(again[].sent, 0)
    assert_equal(len(again[].gathered), 0)
    assert_false(again[].is_last)
    assert_equal(len(again[].trailers), 0)
    assert_false(again[].awaits_window)
    assert_equal(again[].budget.deadline_ms(), new.budget.deadline_ms())
    pool.give(again)


def test_a_crowd_leaves_no_more_than_the_limit() raises:
    var pool = UnsentPool()
    var lent = List[PointerTo[UnsentContent]]()
    for _ in range(1_000):
        lent.append(pool.take(1_000))
    while len(lent) > 0:
        pool.give(lent.pop())
    assert_equal(pool._count, 256)


comptime TESTS = __functions_in_module()
