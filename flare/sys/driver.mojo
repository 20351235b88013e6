"""Finds the functions of the driver library, which was compiled before the
program.

Servers and clients contain much code that is the same in every program, and
takes most of the time of a build. A wheel brings that code as a shared library
beside the libraries of the Mojo runtime. A program then contains thin
functions, which call the library through tables of function pointers. Program
and library see the same structs on the heap. The digest in the name of the
file covers the sources and the compiler, so that no program loads a library
with other layouts.

`comptime if CALLS_DRIVER` decides between the two. In the package of a wheel,
`tools/driver_library.py` has left only the calls: the compiler would spend as
much time on code that is not used. That package cannot compile everything into
a program; the wheel has another one for this.
"""

from std.collections.string.string_span import get_static_string
from std.sys import exit, inlined_assembly, stderr
from std.sys.defines import get_defined_string
from std.sys.info import CompilationTarget

from flare.core import Erased, PointerTo

from .dynamic_library import LibraryFunctions
from .installed_driver import INSTALLED_DRIVER

comptime _DRIVER = get_defined_string["FLARE_DRIVER", INSTALLED_DRIVER]()
comptime IS_DRIVER = _DRIVER == "self"
"""Whether this code is compiled for the driver library."""
comptime CALLS_DRIVER = _DRIVER != "whole" and not IS_DRIVER
"""Whether this program calls the driver library."""
comptime ASSERTS_ALL = get_defined_string["ASSERT", "safe"]() == "all"
"""Whether the program is built with all assertions, which no library has."""
comptime _FILE = get_static_string["libflare_driver_", _DRIVER, ".so"]()
comptime TextView = StringSlice[ImmUnsafeAnyOrigin]
"""A text, as functions in tables take it. The caller keeps it until they
return."""
comptime OctetView = Span[UInt8, ImmUnsafeAnyOrigin]
"""Octets, as functions in tables take them."""
comptime MutOctetView = Span[UInt8, MutUnsafeAnyOrigin]
"""Octets to write to, as functions in tables take them."""

# The status that a shell gives for a program that cannot start.
comptime _NO_LIBRARY_STATUS = 127
comptime _FUNCTION: StaticString = "flare_driver"
# The first word is the place of the thread's words, counted from the thread
# pointer; the second the address of the tables. Both are 0 until the library
# is loaded; the second is 1 if it is missing.
comptime _WORDS = (
    ".ifndef flare_driver_words\n"
    '.pushsection .bss.flare_driver_words,"aw",@nobits\n.p2align 3\n'
    ".weak flare_driver_words\n.hidden flare_driver_words\n"
    ".type flare_driver_words,@object\n.size flare_driver_words,16\n"
    "flare_driver_words: .zero 16\n.popsection\n.endif\n"
)
comptime _MISSING = 1


@fieldwise_init
struct DriverTables(ImplicitlyCopyable):
    """The tables of a driver library."""

    var thread_words: Int
    """The place of a thread's words, counted from its thread pointer."""
    var json: Erased
    """The `JsonFunctions`."""
    var router: Erased
    """The `RouterFunctions`."""
    var server: Erased
    """The `ServerFunctions`."""
    var client: Erased
    """The `ClientFunctions`."""
    var stream: Erased
    """The `StreamFunctions`."""
    var upgrade: Erased
    """The `UpgradeFunctions`."""
    var download: Erased
    """The `DownloadFunctions`."""


def driver_tables() -> Optional[PointerTo[DriverTables]]:
    """Returns the tables of the driver library, which it loads at first use.

    Returns:
        The tables, or `None` if the library is missing.
    """
    comptime assert CALLS_DRIVER, (
        "this package has no code to compile into a program: run flare-whole"
        " instead of mojo"
    )
    comptime assert not ASSERTS_ALL, (
        "the driver library has no checks for -D ASSERT=all: run flare-whole"
        " instead of mojo"
    )
    comptime assert (
        CompilationTarget.is_x86() and CompilationTarget.is_linux()
    ), (
        "the driver library is for x86-64 Linux: for other systems, run"
        " flare-whole instead of mojo"
    )
    var address = _words()[unsafe_offset=1]
    if address == 0:
        address = _load()
    if address == _MISSING:
        return None
    return PointerTo[DriverTables](unsafe_from_address=address)


def present_driver_tables() -> PointerTo[DriverTables]:
    """Returns the tables of the driver library, for callers that cannot raise.

    Returns:
        The tables; if the library is missing, the process prints this and
        ends with status 127.
    """
    var tables = driver_tables()
    if not tables:
        print("flare:", missing_driver(), file=stderr)
        exit(_NO_LIBRARY_STATUS)
    return tables.value()


def missing_driver() -> StaticString:
    """Describes the fault of a missing library, and what the reader can do.

    Returns:
        The text of an error, without its code.
    """
    return get_static_string[
        _FILE,
        " is not among the program's libraries: build the program again, or",
        " with flare-whole instead of mojo",
    ]()


@always_inline
def text_view(text: StringSlice) -> TextView:
    """Returns a text as functions in tables take it.

    Args:
        text: The text.

    Returns:
        A view, for one call.
    """
    return TextView(unsafe_from_utf8=octet_view(text.as_bytes()))


@always_inline
def octet_view(octets: Span[UInt8, _]) -> OctetView:
    """Returns octets as functions in tables take them.

    Args:
        octets: The octets.

    Returns:
        A view, for one call.
    """
    return OctetView(
        unsafe_ptr=octets.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUnsafeAnyOrigin](),
        length=len(octets),
    )


@always_inline
def mut_octet_view(octets: Span[mut=True, UInt8, _]) -> MutOctetView:
    """Returns octets to write to as functions in tables take them.

    Args:
        octets: The octets.

    Returns:
        A view, for one call.
    """
    return MutOctetView(
        unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[MutUnsafeAnyOrigin](),
        length=len(octets),
    )


@no_inline
def driver_thread_words() -> Int:
    """Finds the calling thread's words in the driver library.

    Returns:
        Their address; 0 until the library was loaded.
    """
    return inlined_assembly[
        _WORDS
        + "movq flare_driver_words(%rip), $0\n"
        "testq $0, $0\nje 1f\naddq %fs:0, $0\n1:\n",
        Int,
        constraints="=r,~{flags}",
    ]()


@no_inline
def _words() -> PointerTo[Int]:
    return PointerTo[Int](
        unsafe_from_address=inlined_assembly[
            _WORDS + "leaq flare_driver_words(%rip), $0\n",
            Int,
            constraints="=r",
            has_side_effect=False,
        ]()
    )


@no_inline
def _load() -> Int:
    # Threads that do this at the same time get tables of the same functions.
    var library = LibraryFunctions[[_FUNCTION]](_FILE)
    var words = _words()
    if not library.is_loaded:
        words[unsafe_offset=1] = _MISSING
        return _MISSING
    var tables = library.function[
        _FUNCTION, def() thin abi("C") -> PointerTo[DriverTables]
    ]()()
    words[unsafe_offset=0] = tables[].thread_words
    words[unsafe_offset=1] = Int(tables)
    return Int(tables)
