"""Tests for `flare.proto.h1`: nothing behind the window is ever touched."""

from std.memory import unsafe_memcpy

from flare.core import OctetPointer, heap_create, heap_destroy
from flare.proto.h1 import H1Limits, H1Machine, H1State, Head, HttpEvent, Role
from flare.sys.memory import (
    PAGE_OCTETS,
    at_address,
    map_private,
    protect_none,
    unmap,
)

from tests.asserting import assert_equal, assert_true
from tests.proto.fixtures import load


def test_no_prefix_of_a_fixture_is_read_past_its_end() raises:
    var base = map_private(2 * PAGE_OCTETS)
    assert_true(base > 0)
    # Touching the second page ends the process.
    assert_equal(protect_none(base + PAGE_OCTETS, PAGE_OCTETS), 0)
    var page_end = at_address(base + PAGE_OCTETS)
    var prefixes = 0
    for fixture in load("conformance/h1"):
        if fixture.role != Role.SERVER:
            continue
        for octets in fixture.received:
            for n in range(min(len(octets), PAGE_OCTETS) + 1):
                _read(octets, n, page_end)
                prefixes += 1
    assert_true(prefixes > 10_000, String(prefixes))
    assert_equal(unmap(base, 2 * PAGE_OCTETS), 0)


def _read(octets: List[UInt8], n: Int, page_end: OctetPointer):
    var front = page_end.unsafe_offset(-n)
    unsafe_memcpy(dest=front, src=octets.unsafe_ptr(), count=n)
    var window = Span(unsafe_ptr=front, length=n)
    var machine = H1Machine(heap_create(H1State(Role.SERVER, H1Limits())))
    var head = heap_create(Head())
    try:
        while True:
            var event = machine.next_event(window, head)
            window = window[event.consumed :]
            if (
                event.kind == HttpEvent.NEED_OCTETS
                or event.kind == HttpEvent.PAUSED
            ):
                break
    except:
        # What is refused is tested elsewhere.
        pass
    heap_destroy(head)
    heap_destroy(machine.state)


comptime TESTS = __functions_in_module()
