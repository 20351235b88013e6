"""Keeps two words per thread: the reactor that it runs, and its recycler.

A `.tbss` symbol read through the thread pointer: one load, where a pthread key
costs a call.
"""

from std.sys import inlined_assembly
from std.sys.info import CompilationTarget

from flare.core import PointerTo, Recycler, RecyclerState

comptime _DATA = (
    '.pushsection .tbss.flare_thread_cell,"awT",@nobits\n.p2align 4\n'
    ".weak flare_thread_cell\n.hidden flare_thread_cell\n"
    ".type flare_thread_cell,@object\n.size flare_thread_cell,16\n"
    "flare_thread_cell: .zero 16\n.popsection\n"
)


@no_inline
def _thread_cell() -> Int:
    comptime if CompilationTarget.has_neon():
        return inlined_assembly[
            _DATA
            + "adrp $0, :gottprel:flare_thread_cell\n"
            "ldr $0, [$0, #:gottprel_lo12:flare_thread_cell]\n"
            "mrs x9, tpidr_el0\nadd $0, $0, x9\n",
            Int,
            constraints="=r,~{x9}",
        ]()
    else:
        return inlined_assembly[
            _DATA
            + "movq flare_thread_cell@gottpoff(%rip), $0\naddq %fs:0, $0\n",
            Int,
            constraints="=r,~{flags}",
        ]()


def thread_word() -> PointerTo[Int]:
    """Gives the address of the calling thread's word, at first zero.

    Returns:
        The address, valid on this thread until it ends.
    """
    return PointerTo[Int](unsafe_from_address=_thread_cell())


@always_inline
def thread_recycler() -> Optional[Recycler]:
    """Finds the recycler of the calling thread.

    Returns:
        The recycler, or none.
    """
    var word = thread_word()[unsafe_offset=1]
    if word == 0:
        return None
    return Recycler(PointerTo[RecyclerState](unsafe_from_address=word))


def set_thread_recycler(recycler: Optional[Recycler]):
    """Says which recycler the calling thread uses.

    Args:
        recycler: The recycler, or none.
    """
    thread_word()[unsafe_offset=1] = Int(
        recycler.value().state
    ) if recycler else 0
