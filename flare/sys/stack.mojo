"""Measures how much room the running stack has left.

Code that recurses as deep as an input says asks before each level. The stack of
a fiber is the one that `set_running_stack` announced; a thread knows its own.
Any other stack is taken for a small one.
"""

from std.ffi import c_int, external_call
from std.sys import inlined_assembly
from std.sys.info import CompilationTarget

from flare.core import PointerTo

from .fiber_switch import StackContext
from .thread_cell import thread_word

comptime RESERVED_OCTETS = 32 * 1024
"""The room left after the last level, at most half of the stack. It is for a
frame of a large struct, the text of an error (9 KiB), and the destructors on
the way back.
"""
comptime _UNKNOWN_STACK_OCTETS = 64 * 1024
# The size of pthread_attr_t is 56 on x86-64 and 64 on aarch64.
comptime _ATTRIBUTE_WORDS = 16

# The places of these words in the cell of a thread.
comptime _RUNNING = 3
comptime _OWN_LOW = 4
comptime _OWN_HIGH = 5


@fieldwise_init
struct StackRange(TrivialRegisterPassable):
    """The addresses of a stack that frames may use."""

    var low: Int
    """The lowest address."""
    var high: Int
    """The address after the highest one; equal to `low` if there is none."""

    @always_inline
    def holds(self, address: Int) -> Bool:
        """Returns whether an address lies within.

        Args:
            address: The address.

        Returns:
            True if the address lies in the range.
        """
        return UInt(address - self.low) < UInt(self.high - self.low)


@always_inline
def stack_pointer() -> Int:
    """Returns the address at which the running function's frame ends.

    Returns:
        The stack pointer.
    """
    comptime if CompilationTarget.has_neon():
        return inlined_assembly["mov $0, sp", Int, constraints="=r"]()
    else:
        return inlined_assembly["movq %rsp, $0", Int, constraints="=r"]()


@always_inline
def set_running_stack(words: PointerTo[Int], context: Int) -> Int:
    """Sets the stack on which a thread runs.

    Args:
        words: The calling thread's words, from `thread_word`.
        context: The address of the `StackContext`, which lives until another
            is set; 0 for the thread's own stack.

    Returns:
        The address that was set before.
    """
    var before = words[unsafe_offset=_RUNNING]
    words[unsafe_offset=_RUNNING] = context
    return before


@no_inline
def running_stack() -> StackRange:
    """Returns the running stack without the memory reserved below the last
    level.

    Returns:
        Addresses that hold the caller's frame if another level fits; a range
        that does not hold it if not.
    """
    var pointer = stack_pointer()
    var words = thread_word()
    var stack = StackRange(0, 0)
    var running = words[unsafe_offset=_RUNNING]
    if running != 0:
        stack = _frames_of(PointerTo[StackContext](unsafe_from_address=running))
    if not stack.holds(pointer):
        if words[unsafe_offset=_OWN_HIGH] == 0:
            stack = _stack_of_thread()
            words[unsafe_offset=_OWN_LOW] = stack.low
            words[unsafe_offset=_OWN_HIGH] = stack.high
        stack = StackRange(
            words[unsafe_offset=_OWN_LOW], words[unsafe_offset=_OWN_HIGH]
        )
    if not stack.holds(pointer):
        # Neither a fiber's nor the thread's: a coroutine of the program.
        stack = StackRange(
            pointer - _UNKNOWN_STACK_OCTETS, pointer + _UNKNOWN_STACK_OCTETS
        )
    var reserved = min(RESERVED_OCTETS, (stack.high - stack.low) // 2)
    return StackRange(stack.low + reserved, stack.high)


@always_inline
def _frames_of(context: PointerTo[StackContext]) -> StackRange:
    return StackRange(
        context[].base + context[].guard_octets,
        context[].base + context[].octets,
    )


def _stack_of_thread() -> StackRange:
    # In the main thread's case this reads /proc/self/maps, so it is asked once.
    var attributes = Array[UInt64, _ATTRIBUTE_WORDS](fill=0)
    var address = 0
    var octets = 0
    var thread = external_call["pthread_self", UInt64]()
    if (
        external_call["pthread_getattr_np", c_int](
            thread, attributes.unsafe_ptr()
        )
        != 0
    ):
        return StackRange(1, 1)
    _ = external_call["pthread_attr_getstack", c_int](
        attributes.unsafe_ptr(), Pointer(to=address), Pointer(to=octets)
    )
    _ = external_call["pthread_attr_destroy", c_int](attributes.unsafe_ptr())
    return StackRange(address, address + octets)
