"""Checks the ring that carries log lines from a loop to a thread."""

from std.ffi import _Global

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.line_queue import LineQueue, write_line
from flare.runtime.line_ring import (
    LINE_OCTETS_MAX,
    LINES_OCTETS_MAX,
    LINES_PER_SECOND_MAX,
    Bell,
    LineRing,
    LineRingState,
)

from tests.asserting import assert_equal, assert_false, assert_true


def test_lines_come_out_whole_and_in_order() raises:
    var ring = make_ring()
    for turn in range(200):
        # Lengths that leave each remainder at the end of the memory.
        for i in range(20):
            assert_true(ring.put(keep, String("x") * (i * 37 + turn) + "."))
        seen().clear()
        ring.write_all()
        assert_equal(len(seen()), 20)
        for i in range(20):
            assert_equal(seen()[i].byte_length(), i * 37 + turn + 1)
            assert_true(seen()[i].endswith("."))
    assert_equal(ring.dropped(), 0)
    end_ring(ring)


def test_a_line_without_room_is_dropped_and_counted() raises:
    var ring = make_ring()
    var line = String("x") * (1024 - 16)
    for _ in range(LINES_OCTETS_MAX // 1024):
        assert_true(ring.put(keep, line))
    assert_false(ring.put(keep, ""), "a header has no room either")
    assert_equal(ring.dropped(), 1)
    seen().clear()
    ring.write_all()
    assert_equal(len(seen()), LINES_OCTETS_MAX // 1024)
    assert_true(ring.put(keep, line), "there is room again")
    end_ring(ring)


def test_a_long_line_is_cut_between_characters() raises:
    var ring = make_ring()
    seen().clear()
    _ = ring.put(keep, String("x") * LINE_OCTETS_MAX)
    _ = ring.put(keep, String("x") * LINE_OCTETS_MAX + "y")
    _ = ring.put(keep, String("x") * (LINE_OCTETS_MAX - 1) + "é")
    ring.write_all()
    assert_equal(seen()[0].byte_length(), LINE_OCTETS_MAX)
    assert_equal(seen()[1], String("x") * LINE_OCTETS_MAX + "...")
    assert_equal(seen()[2], String("x") * (LINE_OCTETS_MAX - 1) + "...")
    end_ring(ring)


def test_lines_of_peers_have_a_rate() raises:
    var ring = make_ring()
    for i in range(LINES_PER_SECOND_MAX + 5):
        var is_taken = ring.put_of_peer(keep, "a line", 5000 + i)
        assert_equal(is_taken, i < LINES_PER_SECOND_MAX)
    assert_equal(ring.dropped(), 5)
    assert_true(ring.put(keep, "a line of the program"))
    assert_true(ring.put_of_peer(keep, "a line", 6000), "the next second")
    end_ring(ring)


def test_a_queue_writes_all_and_tells_once_what_it_dropped() raises:
    seen().clear()
    var names: List[String] = ["worker 0", "worker 1"]
    var queue = LineQueue.begin(keep, names^).value()
    for i in range(LINES_PER_SECOND_MAX + 7):
        _ = queue.ring(1).put_of_peer(keep, String(i), 5000)
    _ = queue.ring(0).put(keep, "of another worker")
    queue.end()
    var found = seen().copy()
    assert_equal(len(found), LINES_PER_SECOND_MAX + 2)
    assert_equal(
        found[len(found) - 1],
        (
            "flare: worker 1 dropped 7 log lines, which came faster than they"
            " are taken or written"
        ),
    )
    assert_true("of another worker" in found)


def test_a_line_outside_of_a_loop_is_written_at_once() raises:
    seen().clear()
    write_line(keep, "now")
    assert_equal(seen()[0], "now")


comptime _SEEN = _Global[
    StorageType=PointerTo[List[String]], "test_line_ring_seen", _make_list
]


def _make_list() -> PointerTo[List[String]]:
    return heap_create(List[String]())


def seen() raises -> ref[MutUntrackedOrigin] List[String]:
    return _SEEN.get_or_create_ptr()[][]


def keep(line: StringSlice[ImmUntrackedOrigin]):
    try:
        seen().append(String(line))
    except:
        pass


def make_ring() -> LineRing:
    return LineRing(heap_create(LineRingState(heap_create(Bell()))))


def end_ring(ring: LineRing):
    ring.state[].bell[].lock.destroy()
    heap_destroy(ring.state[].bell)
    heap_destroy(ring.state)


comptime TESTS = __functions_in_module()
