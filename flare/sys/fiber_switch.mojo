"""Switches between stacks: the only machine code in the library.

On x86, the switch is inlined at each place. As a function, it would have calls
without returns and returns without calls, and the processor would mispredict
later returns. Every register that the surrounding code may use is declared as
overwritten, so that only live ones are spilled. On ARM, it is a routine that
is emitted once per program. MXCSR, the x87 control word and FPCR are not
saved, because no code here changes them.
"""

from std.ffi import external_call
from std.sys import inlined_assembly
from std.sys.defines import is_defined
from std.sys.info import CompilationTarget

from flare.core import PointerTo

from .driver import CALLS_DRIVER
from .memory import prefetch_lines

# The callee-saved registers that a compiler may reserve are saved on the
# stack, below the red zone of a function without calls. The only operand is
# the context. Every return is through the same operand, so it is in place
# again.
comptime _X86_LEAVE = (
    "leaq -128(%rsp), %rsp\npushq %rbp\npushq %rbx\n"
    "leaq 1f(%rip), %rcx\npushq %rcx\n"
)
comptime _X86_ARRIVE = (
    "popq %rcx\njmpq *%rcx\n1:\npopq %rbx\npopq %rbp\nleaq 128(%rsp), %rsp\n"
)
comptime _X86_RESUME = (
    _X86_LEAVE + "movq %rsp, 8(%rdi)\nmovq (%rdi), %rsp\n" + _X86_ARRIVE
)
comptime _X86_SUSPEND = (
    _X86_LEAVE + "movq %rsp, (%rdi)\nmovq 8(%rdi), %rsp\n" + _X86_ARRIVE
)
comptime _X86_CONSTRAINTS = (
    "{rdi},~{rax},~{rcx},~{rdx},~{rsi},~{r8},~{r9},~{r10},~{r11},~{r12},~{r13},"
    "~{r14},~{r15},~{xmm0},~{xmm1},~{xmm2},~{xmm3},~{xmm4},~{xmm5},~{xmm6},"
    "~{xmm7},~{xmm8},~{xmm9},~{xmm10},~{xmm11},~{xmm12},~{xmm13},~{xmm14},"
    "~{xmm15},~{xmm16},~{xmm17},~{xmm18},~{xmm19},~{xmm20},~{xmm21},~{xmm22},"
    "~{xmm23},~{xmm24},~{xmm25},~{xmm26},~{xmm27},~{xmm28},~{xmm29},~{xmm30},"
    "~{xmm31},~{k0},~{k1},~{k2},~{k3},~{k4},~{k5},~{k6},~{k7},~{memory},"
    "~{dirflag},~{fpsr},~{flags}"
)
comptime _ARM = (
    "sub sp, sp, #160\n"
    "stp x19, x20, [sp, #0]\nstp x21, x22, [sp, #16]\n"
    "stp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\n"
    "stp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\n"
    "stp d8, d9, [sp, #96]\nstp d10, d11, [sp, #112]\n"
    "stp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\n"
    "mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
    "ldp x19, x20, [sp, #0]\nldp x21, x22, [sp, #16]\n"
    "ldp x23, x24, [sp, #32]\nldp x25, x26, [sp, #48]\n"
    "ldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\n"
    "ldp d8, d9, [sp, #96]\nldp d10, d11, [sp, #112]\n"
    "ldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\n"
    "add sp, sp, #160\nmov x0, x2\nret\n"
)
comptime _HEAD = (
    ".ifndef flare_fiber_switch\n"
    '.pushsection .text.flare_fiber_switch,"axG",@progbits,'
    "flare_fiber_switch,comdat\n.p2align 4\n"
    ".weak flare_fiber_switch\n.hidden flare_fiber_switch\n"
    ".type flare_fiber_switch,@function\nflare_fiber_switch:\n"
)
comptime _TAIL = (
    ".size flare_fiber_switch,.-flare_fiber_switch\n.popsection\n.endif\n"
)

comptime FiberEntry = def(Int) abi("C") thin -> None
"""The function a fresh stack begins with, given the address of its context; it
never returns."""

# A driver library announces nothing, and fibers switch there and here.
comptime _ANNOUNCES = is_defined["ASAN"]() and not CALLS_DRIVER
# The stack of a WebSocket that waits for a message has 2.8 KiB. With these, it
# still dirties one page only.
comptime _COLOURS = 10
comptime _COLOUR_OCTETS = 128
# The memory that a waiting handler uses on its stack.
comptime _PREFETCHED_LINES = 16


struct StackContext(Movable):
    """The places at which a suspended stack and its resumer continue.

    Under AddressSanitizer, it also stores the arguments of the sanitizer's
    calls.
    """

    # The switch finds the first two by their places.
    var own: Int
    """The stack pointer of the suspended stack."""
    var resumer: Int
    """The stack pointer of the code that resumed it last."""
    var argument: Int
    """The argument of the entry function."""
    var base: Int
    """The lowest address of the stack."""
    var octets: Int
    """The length of the stack."""
    var guard_octets: Int
    """The length of the guard at its low end, which frames may not use."""
    var own_shadow: Int
    """The sanitizer's record of the suspended stack."""
    var resumer_shadow: Int
    """The sanitizer's record of the resumer."""
    var resumer_base: Int
    """The lowest address of the resumer's stack."""
    var resumer_octets: Int
    """The length of the resumer's stack."""

    def __init__(out self, base: Int, octets: Int, guard_octets: Int):
        """Creates the context of a stack that has not started.

        Args:
            base: Its lowest address.
            octets: Its length.
            guard_octets: The length of the guard at its low end.
        """
        self.own = 0
        self.resumer = 0
        self.argument = 0
        self.base = base
        self.octets = octets
        self.guard_octets = guard_octets
        self.own_shadow = 0
        self.resumer_shadow = 0
        self.resumer_base = 0
        self.resumer_octets = 0


@no_inline
def emit_switch():
    """Emits the routine into the program, if the architecture needs one. Each
    switching function calls it once.
    """
    comptime if CompilationTarget.has_neon():
        inlined_assembly[_HEAD + _ARM + _TAIL, NoneType, constraints=""]()


@always_inline
def _switch[resumes: Bool](context: PointerTo[StackContext]):
    comptime if CompilationTarget.has_neon():
        comptime if resumes:
            external_call["flare_fiber_switch", NoneType](
                _untracked(context[].resumer), context[].own, Int(context)
            )
        else:
            external_call["flare_fiber_switch", NoneType](
                _untracked(context[].own), context[].resumer, Int(context)
            )
    else:
        inlined_assembly[
            _X86_RESUME if resumes else _X86_SUSPEND,
            NoneType,
            constraints=_X86_CONSTRAINTS,
        ](context)


@always_inline
def _leave(shadow: Int, base: Int, octets: Int):
    comptime if _ANNOUNCES:
        external_call["__sanitizer_start_switch_fiber", NoneType](
            shadow, base, octets
        )


@always_inline
def _arrive(shadow: Int, base_out: Int, octets_out: Int):
    comptime if _ANNOUNCES:
        external_call["__sanitizer_finish_switch_fiber", NoneType](
            shadow, base_out, octets_out
        )


def prepare_stack(
    context: PointerTo[StackContext], entry: FiberEntry, argument: Int = 0
):
    """Prepares a new stack to run `entry` at its first resume.

    Args:
        context: The stack.
        entry: Receives the address of the context.
        argument: The value that it finds there.

    Safety:
        The stack is mapped, and no code runs on it.
    """
    context[].argument = argument
    var begin = entry
    var address = Pointer(to=begin).unsafe_bitcast[Int]()[]
    # Stack tops at one offset of their pages would share few cache sets, and
    # parked stacks would evict each other.
    var colour = context[].base // context[].octets % _COLOURS * _COLOUR_OCTETS
    var top = (context[].base + context[].octets - colour) & ~63
    comptime if CompilationTarget.has_neon():
        context[].own = top - 160
        PointerTo[Int](unsafe_from_address=top - 160 + 88)[] = address
    else:
        # After a pop and the jump, rsp % 16 is 8 as after a call. The zero
        # there is the return address at which backtraces end.
        context[].own = top - 16
        PointerTo[Int](unsafe_from_address=top - 16)[] = address
        PointerTo[Int](unsafe_from_address=top - 8)[] = 0


@always_inline
def resume_stack(context: PointerTo[StackContext]):
    """Runs a suspended stack until it suspends.

    Args:
        context: The stack.

    Safety:
        The stack is suspended or prepared, and nothing else resumes it.
    """
    _leave(
        Int(Pointer(to=context[].resumer_shadow)),
        context[].base,
        context[].octets,
    )
    _switch[True](context)
    _arrive(context[].resumer_shadow, 0, 0)


@always_inline
def _untracked(ref word: Int) -> PointerTo[Int]:
    return (
        Pointer(to=word)
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )


@always_inline
def prefetch_stack(context: PointerTo[StackContext]):
    """Prefetches the memory that a suspended stack touches first when it is
    resumed.

    Args:
        context: The stack.
    """
    prefetch_lines[_PREFETCHED_LINES](context[].own)


@always_inline
def suspend_stack(context: PointerTo[StackContext]):
    """Returns to the code that resumed the running stack.

    Args:
        context: The running stack.

    Safety:
        The caller runs on that stack.
    """
    _leave(
        Int(Pointer(to=context[].own_shadow)),
        context[].resumer_base,
        context[].resumer_octets,
    )
    _switch[False](context)
    _arrive(
        context[].own_shadow,
        Int(Pointer(to=context[].resumer_base)),
        Int(Pointer(to=context[].resumer_octets)),
    )


@always_inline
def arrive_on_stack(context: PointerTo[StackContext]):
    """Informs the sanitizer that a new stack has started to run.

    Args:
        context: The running stack.
    """
    _arrive(
        0,
        Int(Pointer(to=context[].resumer_base)),
        Int(Pointer(to=context[].resumer_octets)),
    )
