"""Tests for `flare.sys.thread_cell`: every thread has words of its own."""

from std.testing import assert_not_equal

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.fiber_switch import (
    StackContext,
    arrive_on_stack,
    emit_switch,
    prepare_stack,
    resume_stack,
    suspend_stack,
)
from flare.sys.memory import map_stack, unmap
from flare.sys.thread import join_thread, start_thread
from flare.sys.thread_cell import thread_word

from tests.asserting import assert_equal


def test_words_of_a_thread_are_zero_at_first_and_its_own() raises:
    var before = thread_word()[]
    thread_word()[] = 5
    for _ in range(3):
        var words = heap_create(_Words())
        var thread = start_thread(_count, words.unsafe_bitcast[NoneType]())
        assert_equal(thread[0], 0)
        join_thread(thread[1])
        assert_equal(words[].first, 0)
        assert_equal(words[].second, 0)
        assert_equal(words[].after, 1)
        heap_destroy(words)
    assert_equal(thread_word()[], 5)
    thread_word()[] = before


def test_stack_that_changes_threads_finds_the_words_of_the_new_one() raises:
    emit_switch()
    var traveller = heap_create(_Traveller())
    prepare_stack(_context(traveller), _travel, Int(traveller))
    resume_stack(_context(traveller))
    assert_equal(traveller[].seen, Int(thread_word()))
    var thread = start_thread(_resume, traveller.unsafe_bitcast[NoneType]())
    assert_equal(thread[0], 0)
    join_thread(thread[1])
    assert_not_equal(traveller[].seen, Int(thread_word()))
    assert_equal(traveller[].seen, traveller[].resumer)
    _ = unmap(traveller[].context.base, traveller[].context.octets)
    heap_destroy(traveller)


@fieldwise_init
struct _Words(Movable):
    var first: Int
    var second: Int
    var after: Int

    def __init__(out self):
        self = Self(-1, -1, -1)


struct _Traveller(Movable):
    var context: StackContext
    var seen: Int
    var resumer: Int

    def __init__(out self):
        self.context = StackContext(
            map_stack(1 << 17, 1 << 16), 1 << 17, 1 << 16
        )
        self.seen = 0
        self.resumer = 0


def _context(traveller: PointerTo[_Traveller]) -> PointerTo[StackContext]:
    return PointerTo[StackContext](
        unsafe_from_address=Int(Pointer(to=traveller[].context))
    )


def _count(argument: Erased) abi("C") -> Optional[Erased]:
    var words = argument.unsafe_bitcast[_Words]()
    words[].first = thread_word()[]
    words[].second = thread_word()[unsafe_offset=1]
    thread_word()[] = 1
    words[].after = thread_word()[]
    return None


def _resume(argument: Erased) abi("C") -> Optional[Erased]:
    var traveller = argument.unsafe_bitcast[_Traveller]()
    traveller[].resumer = Int(thread_word())
    resume_stack(_context(traveller))
    return None


def _travel(stack: Int) abi("C"):
    var context = PointerTo[StackContext](unsafe_from_address=stack)
    var traveller = PointerTo[_Traveller](
        unsafe_from_address=context[].argument
    )
    arrive_on_stack(_context(traveller))
    while True:
        traveller[].seen = Int(thread_word())
        suspend_stack(_context(traveller))


comptime TESTS = __functions_in_module()
