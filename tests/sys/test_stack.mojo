"""Tests for `flare.sys.stack`: each stack has its own end."""

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
from flare.sys.stack import (
    RESERVED_OCTETS,
    StackRange,
    running_stack,
    set_running_stack,
    stack_pointer,
)
from flare.sys.thread_cell import thread_word
from flare.sys.thread import join_thread, start_thread

from tests.asserting import assert_equal, assert_false, assert_true

comptime _OCTETS = 1 << 17
comptime _GUARD = 1 << 16


def test_range_holds_its_lowest_address_and_not_the_one_behind() raises:
    var range = StackRange(100, 200)
    for row in [(99, False), (100, True), (199, True), (200, False)]:
        assert_equal(range.holds(row[0]), row[1])
    assert_false(StackRange(0, 0).holds(0))
    assert_false(StackRange(0, 0).holds(-1))


def test_stack_of_a_thread_ends_where_the_system_says() raises:
    var here = running_stack()
    assert_true(here.holds(stack_pointer()))
    assert_true(here.high - here.low > 512 * 1024)
    for _ in range(3):
        var seen = heap_create(_Seen())
        var thread = start_thread(_look, seen.unsafe_bitcast[NoneType]())
        assert_equal(thread[0], 0)
        join_thread(thread[1])
        assert_true(seen[].stack.holds(seen[].pointer))
        assert_false(here.holds(seen[].pointer))
        assert_false(seen[].stack.holds(stack_pointer()))
        heap_destroy(seen)
    assert_equal(running_stack().low, here.low)


def test_stack_of_a_fiber_is_what_was_announced() raises:
    var fiber = _Fiber()
    var base = fiber.context()[].base
    var before = set_running_stack(thread_word(), Int(fiber.context()))
    resume_stack(fiber.context())
    assert_equal(set_running_stack(thread_word(), before), Int(fiber.context()))
    assert_equal(fiber.seen[].stack.high, base + _OCTETS)
    assert_equal(fiber.seen[].stack.low, base + _GUARD + RESERVED_OCTETS)
    assert_true(fiber.seen[].stack.holds(fiber.seen[].pointer))
    # Of a stack that is no larger, half is reserved.
    fiber.context()[].guard_octets = _OCTETS - 8192
    before = set_running_stack(thread_word(), Int(fiber.context()))
    resume_stack(fiber.context())
    _ = set_running_stack(thread_word(), before)
    assert_equal(fiber.seen[].stack.low, base + _OCTETS - 4096)
    fiber.close()


def test_stack_that_was_not_announced_is_taken_for_a_small_one() raises:
    var fiber = _Fiber()
    resume_stack(fiber.context())
    assert_true(fiber.seen[].stack.holds(fiber.seen[].pointer))
    var octets = fiber.seen[].pointer - fiber.seen[].stack.low
    assert_true(octets > 0 and octets <= 64 * 1024 - RESERVED_OCTETS + 4096)
    fiber.close()


struct _Seen(Movable):
    var stack: StackRange
    var pointer: Int
    var context: StackContext

    def __init__(out self):
        self.stack = StackRange(0, 0)
        self.pointer = 0
        self.context = StackContext(0, 0, 0)


struct _Fiber:
    var seen: PointerTo[_Seen]

    def __init__(out self):
        emit_switch()
        self.seen = heap_create(_Seen())
        self.seen[].context = StackContext(
            map_stack(_OCTETS, _GUARD), _OCTETS, _GUARD
        )
        prepare_stack(self.context(), _look_again, Int(self.seen))

    def context(self) -> PointerTo[StackContext]:
        return PointerTo[StackContext](
            unsafe_from_address=Int(Pointer(to=self.seen[].context))
        )

    def close(self):
        _ = unmap(self.context()[].base, _OCTETS)
        heap_destroy(self.seen)


@no_inline
def _note(seen: PointerTo[_Seen]):
    seen[].stack = running_stack()
    seen[].pointer = stack_pointer()


def _look(argument: Erased) abi("C") -> Optional[Erased]:
    _note(argument.unsafe_bitcast[_Seen]())
    return None


def _look_again(stack: Int) abi("C"):
    var context = PointerTo[StackContext](unsafe_from_address=stack)
    var seen = PointerTo[_Seen](unsafe_from_address=context[].argument)
    arrive_on_stack(context)
    while True:
        _note(seen)
        suspend_stack(context)


comptime TESTS = __functions_in_module()
