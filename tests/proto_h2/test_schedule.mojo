"""Tests the order in which streams send (RFC 9218 section 10)."""

from flare.proto.h2.priority_field import H2Priority, parse_priority
from flare.proto.h2.schedule import H2Schedule
from flare.proto.h2.stream_table import NO_SLOT, H2StreamTable

from tests.asserting import assert_equal, assert_true


struct _Scene(Movable):
    var streams: H2StreamTable
    var schedule: H2Schedule

    def __init__(out self):
        self.streams = H2StreamTable(128)
        self.schedule = H2Schedule()

    def add(mut self, id: Int, urgency: Int, incremental: Bool):
        var slot = self.streams.insert(id)
        self.streams[slot].turn.urgency = UInt8(urgency)
        self.streams[slot].turn.is_incremental = incremental
        self.schedule.add(self.streams, slot)

    def turns(mut self, count: Int) -> String:
        var text = String()
        for _ in range(count):
            var slot = self.schedule.next()
            text.write(self.streams[slot].id, " ")
            self.schedule.note_sent(self.streams, slot)
        return String(text.strip())


def test_the_field_names_urgency_and_parts() raises:
    var before = H2Priority(5, True)
    var rows: List[Tuple[String, Int, Bool]] = [
        ("", 5, True),
        ("u=0", 0, True),
        ("u=7, i=?0", 7, False),
        (" \tu=1 ,i=?0\t", 1, False),
        ("i=?0,i", 5, True),
        ("i=?0, i=?1", 5, True),
        ("u=8, u=/, u=10, u=, u, U=1", 5, True),
        ("u =1, u= 1, i=0, i=?2, x=?0", 5, True),
        (",,u=2,", 2, True),
    ]
    for row in rows:
        var found = parse_priority(row[0].as_bytes(), before)
        assert_equal(Int(found.urgency), row[1], row[0])
        assert_equal(found.is_incremental, row[2], row[0])


def test_one_stream_after_the_other() raises:
    var scene = _Scene()
    scene.add(1, 3, False)
    scene.add(3, 3, False)
    scene.add(5, 1, False)
    assert_equal(scene.turns(3), "5 5 5")
    scene.schedule.remove(scene.streams, scene.streams.find(5))
    assert_equal(scene.turns(3), "1 1 1")
    scene.schedule.remove(scene.streams, scene.streams.find(1))
    assert_equal(scene.turns(2), "3 3")
    scene.schedule.remove(scene.streams, scene.streams.find(3))
    assert_true(scene.schedule.is_empty())
    assert_equal(scene.schedule.next(), NO_SLOT)


def test_incremental_streams_take_turns() raises:
    var scene = _Scene()
    scene.add(1, 3, True)
    scene.add(3, 3, True)
    scene.add(5, 3, True)
    assert_equal(scene.turns(7), "1 3 5 1 3 5 1")
    scene.schedule.remove(scene.streams, scene.streams.find(3))
    assert_equal(scene.turns(4), "5 1 5 1")


def test_both_kinds_alternate() raises:
    var scene = _Scene()
    scene.add(1, 3, False)
    scene.add(3, 3, True)
    scene.add(5, 3, True)
    assert_equal(scene.turns(6), "1 3 1 5 1 3")


def test_a_table_finds_each_stream_and_no_other() raises:
    var streams = H2StreamTable(128)
    var ids = List[Int]()
    # Numbers with a power of two between them, as a peer may choose.
    for i in range(1000):
        var id = 1 + 2 * ((i * 4096) % 999_983)
        if streams.find(id) == NO_SLOT and not streams.is_full():
            var slot = streams.insert(id)
            assert_equal(streams.find(id), slot)
            ids.append(id)
        if i % 3 == 2:
            var gone = ids.pop((i * 7) % len(ids))
            streams.remove(streams.find(gone))
            assert_equal(streams.find(gone), NO_SLOT)
        for each in ids:
            assert_equal(Int(streams[streams.find(each)].id), each)
        assert_equal(len(streams), len(ids))
    assert_true(streams.slots() == 128)
    while len(ids) > 0:
        streams.remove(streams.find(ids.pop()))
    streams.release_memory()
    assert_equal(streams.slots(), 0)


comptime TESTS = __functions_in_module()
