"""Loads libpq, the client library of PostgreSQL, at first use."""

from std.ffi import _Global, c_int

from flare.core import Erased, PointerTo

from .dynamic_library import OptionalErased
from .libpq_connection import PgConnection
from .libpq_functions import LIBPQ_NAMES, Addresses, LibpqState, address_of
from .pg_parameters import CStringTable

comptime _LIBRARY = _Global["flare_libpq", _load_for_the_process]
comptime _VERBOSE = c_int(2)


@fieldwise_init
struct Libpq(TrivialRegisterPassable):
    """A handle to the loaded library."""

    var state: PointerTo[LibpqState]
    """The library."""

    def version(self) -> Int:
        """Returns the version.

        Returns:
            The version, as 150018 for 15.18.
        """
        return self.state[].version

    def start(
        self, keywords: CStringTable, values: CStringTable
    ) -> Optional[PgConnection]:
        """Begins to open a connection.

        It may read files and look up names, so it blocks.

        Args:
            keywords: The names of the parameters.
            values: Their values.

        Returns:
            The connection, which the caller finishes also if it has failed;
            `None` without memory.
        """
        var names = keywords.pointers()
        var texts = values.pointers()
        var opened = self.state[].functions.function[
            "PQconnectStartParams",
            def(Addresses, Addresses, c_int) thin abi("C") -> OptionalErased,
        ]()(address_of(names), address_of(texts), c_int(0))
        _ = names^
        _ = texts^
        if not opened:
            return None
        var connection = PgConnection(self.state, opened.value())
        # The default one writes to the standard error stream.
        _ = self.state[].functions.function[
            "PQsetNoticeReceiver",
            def(
                Erased,
                def(OptionalErased, Erased) thin abi("C") -> None,
                OptionalErased,
            ) thin abi("C") -> OptionalErased,
        ]()(opened.value(), _ignore_notice, OptionalErased(None))
        # An error of connecting has its code in the text alone.
        _ = self.state[].functions.function[
            "PQsetErrorVerbosity", def(Erased, c_int) thin abi("C") -> c_int
        ]()(opened.value(), _VERBOSE)
        return connection


def libpq() -> Optional[Libpq]:
    """Returns the library of the process, and loads it the first time.

    Returns:
        The library; `None` if the machine has none of version 14 or later.
    """
    try:
        var state = _LIBRARY.get_or_create_ptr()
        if state[].version == 0:
            return None
        return Libpq(state.unsafe_origin_cast[MutUntrackedOrigin]())
    except:
        return None


def _load_for_the_process() -> LibpqState:
    comptime for i in range(1, len(LIBPQ_NAMES)):
        var state = LibpqState(comptime (LIBPQ_NAMES[i - 1]))
        if state.version > 0:
            return state^
    return LibpqState(comptime (LIBPQ_NAMES[len(LIBPQ_NAMES) - 1]))


def _ignore_notice(argument: OptionalErased, result: Erased) abi("C") -> None:
    pass
