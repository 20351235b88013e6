"""Keeps words per thread: its reactor, its recycler, whether it may wait, and
its stacks.

In a linked program they are a thread-local symbol: two instructions, where a
pthread key costs a call. `mojo run` loads code without a linker, and its loader
gives such a symbol one place for all threads; there a key finds the words. If
the program calls a driver library, both use the words of the library.
"""

from std.ffi import _Global, external_call
from std.os import abort
from std.sys import inlined_assembly
from std.sys.info import CompilationTarget

from flare.core import (
    PointerTo,
    Recycler,
    RecyclerState,
    heap_create,
    heap_destroy,
)

from .driver import (
    CALLS_DRIVER,
    IS_DRIVER,
    driver_tables,
    driver_thread_words,
)
from .thread import ThreadExit

comptime _DATA = (
    '.pushsection .tbss.flare_thread_cell,"awT",@nobits\n.p2align 4\n'
    ".weak flare_thread_cell\n.hidden flare_thread_cell\n"
    ".type flare_thread_cell,@object\n.size flare_thread_cell,48\n"
    "flare_thread_cell: .zero 48\n.popsection\n"
)
# This is a routine of its own, because the called code may use the stack as
# any function does. The linker defines `__ehdr_start`; the loader of `mojo
# run` does not. The octets between `data16` and the call mark the general form
# of the access; in a program, the linker replaces it by the short form.
comptime _X86 = (
    ".ifndef flare_thread_cell_address\n"
    '.pushsection .text.flare_thread_cell_address,"axG",@progbits,'
    "flare_thread_cell_address,comdat\n.p2align 4\n"
    ".weak __ehdr_start\n.hidden __ehdr_start\n"
    ".weak flare_thread_cell_address\n.hidden flare_thread_cell_address\n"
    ".type flare_thread_cell_address,@function\nflare_thread_cell_address:\n"
    "movq __ehdr_start@GOTPCREL(%rip), %rax\ntestq %rax, %rax\nje 1f\n"
    "subq $$8, %rsp\n"
    "data16\nleaq flare_thread_cell@tlsgd(%rip), %rdi\n"
    ".value 0x6666\nrex64\ncall __tls_get_addr@PLT\n"
    "addq $$8, %rsp\n1: retq\n"
    ".size flare_thread_cell_address,.-flare_thread_cell_address\n"
    ".popsection\n.endif\n"
)
# The place of the words, counted from the thread pointer. A library that is
# loaded late has such a place too: the loader keeps room for some words.
comptime _PLACE = (
    ".ifndef flare_thread_cell\n"
    + _DATA
    + ".endif\nmovq flare_thread_cell@gottpoff(%rip), $0\n"
)


struct _KeyedCell(Movable):
    # The words of one thread in a program without a linker.
    var words: Array[Int, 6]
    var key: Int
    var rounds: Int

    def __init__(out self, key: Int):
        self.words = Array[Int, 6](fill=0)
        self.key = key
        self.rounds = 0


comptime _KEY = _Global[
    StorageType=Int, "flare_thread_cell_key", _open_cell_key
]


@no_inline
def _thread_cell() -> Int:
    # 0 if the words must be found by the key, or in a library to be loaded.
    comptime if CALLS_DRIVER:
        return driver_thread_words()
    else:
        return _own_cell()


@always_inline
def _own_cell() -> Int:
    comptime if IS_DRIVER:
        return inlined_assembly[
            _PLACE + "addq %fs:0, $0\n", Int, constraints="=r,~{flags}"
        ]()
    elif CompilationTarget.has_neon():
        return inlined_assembly[
            _DATA
            + "adrp $0, :gottprel:flare_thread_cell\n"
            "ldr $0, [$0, #:gottprel_lo12:flare_thread_cell]\n"
            "mrs x9, tpidr_el0\nadd $0, $0, x9\n",
            Int,
            constraints="=r,~{x9}",
        ]()
    else:
        inlined_assembly[_DATA + _X86, NoneType, constraints=""]()
        return external_call["flare_thread_cell_address", Int]()


@always_inline
def thread_word() -> PointerTo[Int]:
    """Returns the address of the calling thread's word, at first zero.

    Returns:
        The address, valid on this thread until it ends.
    """
    var address = _thread_cell()
    if address == 0:
        address = _other_cell()
    return PointerTo[Int](unsafe_from_address=address)


def thread_may_begin_loop() -> Bool:
    """Returns whether a wait may give the calling thread a loop.

    Returns:
        False from `set_thread_may_begin_loop(False)` to the opposite.
    """
    return thread_word()[unsafe_offset=2] == 0


def set_thread_may_begin_loop(is_allowed: Bool):
    """Sets whether a wait may create a loop for the calling thread.

    Args:
        is_allowed: Whether a wait may create a loop; True by default.
    """
    thread_word()[unsafe_offset=2] = 0 if is_allowed else 1


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
    """Sets the recycler of the calling thread.

    Args:
        recycler: The recycler, or `None`.
    """
    thread_word()[unsafe_offset=1] = Int(
        recycler.value().state
    ) if recycler else 0


@no_inline
def thread_words_place() -> Int:
    """Returns where the words of a thread are in the driver library.

    Returns:
        The place, counted from the thread pointer: the same for all threads.
    """
    return inlined_assembly[
        _PLACE, Int, constraints="=r", has_side_effect=False
    ]()


@no_inline
def _other_cell() -> Int:
    comptime if CALLS_DRIVER:
        # Without the library, no other code of flare looks for these words.
        return driver_thread_words() if driver_tables() else _keyed_cell()
    else:
        return _keyed_cell()


def _open_cell_key() -> Int:
    return ThreadExit.open(_on_thread_exit)


@no_inline
def _keyed_cell() -> Int:
    var key: Int
    try:
        key = _KEY.get_or_create_ptr()[]
    except:
        key = -1
    if key < 0:
        abort("flare: the process has no thread key left")
    var found = ThreadExit.get(key)
    if found == 0:
        found = Int(heap_create(_KeyedCell(key)))
        if ThreadExit.set(key, found) < 0:
            abort("flare: no memory for the words of a thread")
    return found


def _on_thread_exit(address: Int) abi("C"):
    var cell = PointerTo[_KeyedCell](unsafe_from_address=address)
    cell[].rounds += 1
    # The functions of other keys, which may run later in this round, still
    # need the words. POSIX promises four rounds.
    if cell[].rounds < 3 and ThreadExit.set(cell[].key, address) == 0:
        return
    heap_destroy(cell)
