"""Loads a library of the system at first use, and finds its functions.

The library is not linked: a program that does not use it runs on a machine
without it. A loaded library stays loaded, because its function pointers and
objects live as long as the process.
"""

from std.collections.string.string_span import get_static_string
from std.ffi import c_int, external_call
from std.sys.info import CompilationTarget

from flare.core import Erased

comptime OptionalErased = Optional[Erased]
"""A pointer of C that may be NULL."""

comptime _RTLD_NOW = 2


struct LibraryFunctions[names: List[StaticString]](Movable):
    """The addresses of one library's functions.

    Parameters:
        names: The functions' names in C.
    """

    comptime COUNT = len(Self.names)
    """How many functions there are."""

    var addresses: Array[Int, Self.COUNT]
    """The addresses, in the order of their names; 0 for what was not found."""
    var is_loaded: Bool
    """Whether the library and all of its functions were found."""

    def __init__(out self, name: StringSlice):
        """Loads a library.

        Args:
            name: Its file name, or its path.
        """
        self.addresses = Array[Int, Self.COUNT](fill=0)
        self.is_loaded = False
        var file_name = String(name)
        # The types are those of `OwnedDLHandle`: a program may use both, and a
        # function of C has one signature in a program.
        var handle = external_call["dlopen", OptionalErased](
            Optional(file_name.as_c_string_span()), c_int(_RTLD_NOW)
        )
        if not handle:
            return
        comptime for i in range(Self.COUNT):
            # The library brings the ones that it stands on, which are searched
            # with it.
            var address = _symbol(handle.value(), comptime (Self.names[i]))
            self.addresses[i] = address
            if address == 0:
                return
        self.is_loaded = True

    @staticmethod
    def first_of[candidates: List[StaticString]]() -> Self:
        """Loads the first library that is there and has all the functions.

        Parameters:
            candidates: File names or paths, in the order in which to try them.

        Returns:
            The functions; none of them is loaded if no library has all.
        """
        comptime for i in range(1, len(candidates)):
            var functions = Self(comptime (candidates[i - 1]))
            if functions.is_loaded:
                return functions^
        return Self(comptime (candidates[len(candidates) - 1]))

    @always_inline
    def function[name: StaticString, F: TrivialRegisterPassable](self) -> F:
        """Finds a function of a library that is loaded.

        Parameters:
            name: Its name in C.
            F: Its type in C, as `def(…) thin abi("C") -> R`.

        Returns:
            The function.
        """
        comptime index = _index_of[Self.names](name)
        comptime assert index >= 0, "the list of functions lacks this one"
        var address = self.addresses[index]
        return Pointer(to=address).unsafe_bitcast[F]()[]


def library_names[
    linux: StaticString, macos: StaticString
]() -> List[StaticString]:
    """Returns the names under which a library is tried.

    Parameters:
        linux: Its file name on Linux.
        macos: Its file name on macOS.

    Returns:
        File names and paths, in the order in which to try them.
    """
    comptime if CompilationTarget.is_macos():
        # The loader of macOS looks into none of the package managers' folders.
        comptime homebrew = get_static_string["/opt/homebrew/lib/", macos]()
        comptime intel = get_static_string["/usr/local/lib/", macos]()
        comptime macports = get_static_string["/opt/local/lib/", macos]()
        return [macos, homebrew, intel, macports]
    else:
        return [linux]


@no_inline
def _symbol(handle: Erased, name: StaticString) -> Int:
    var text = String(name)
    var found = external_call["dlsym", OptionalErased](
        Optional(handle), text.as_c_string_span()
    )
    return Int(found.value()) if found else 0


def _index_of[names: List[StaticString]](name: StaticString) -> Int:
    comptime for i in range(len(names)):
        if name == comptime (names[i]):
            return i
    return -1
