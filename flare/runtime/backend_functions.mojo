"""Erases the type of a backend, for calls outside a turn."""

from flare.core import Erased, heap_destroy
from flare.sys.socket_address import SocketAddressStorage

from .backend import Backend, Completions
from .operation import Operation


@fieldwise_init
struct SystemCalls(TrivialRegisterPassable):
    """The methods of a backend that use a socket at once, and never wait."""

    var open_socket: def(Erased, Int) thin -> Int
    """Opens a socket that is to be connected."""
    var is_silent: def(Erased, Int32) thin -> Bool
    """Returns whether nothing has arrived."""
    var send_at_once: def(
        Erased, Int32, Span[UInt8, ImmUntrackedOrigin]
    ) thin -> Int
    """Sends without waiting."""
    var receive_at_once: def(
        Erased, Int32, Span[UInt8, MutUntrackedOrigin]
    ) thin -> Int
    """Receives without waiting."""
    var accept_now: def(Erased, Int32) thin -> Int
    """Accepts a connection that is already waiting."""

    @staticmethod
    @always_inline
    def of[B: Backend]() -> Self:
        """Returns the methods of a backend type.

        Parameters:
            B: The type of the backend.

        Returns:
            Its methods.
        """
        return Self(
            _open_socket[B],
            _is_silent[B],
            _send_at_once[B],
            _receive_at_once[B],
            _accept_now[B],
        )


@fieldwise_init
struct BackendFunctions(TrivialRegisterPassable):
    """The methods of a backend; the first argument is its erased address."""

    var submit: def(Erased, Operation, Completions) thin -> None
    """Starts an operation."""
    var calls: SystemCalls
    """Those that use a socket at once."""
    var hold_back: def(Erased, Int32, Bool) thin -> None
    """Sets whether new connections may enter a listen queue."""
    var turn_away: def(
        Erased, Int32, mut Int32, Span[UInt8, ImmStaticOrigin]
    ) thin -> Int
    """Answers a waiting client, and closes the connection."""
    var close: def(Erased, Int32) thin -> None
    """Closes a descriptor."""
    var reset: def(Erased, Int32) thin -> None
    """Closes a descriptor with a reset."""
    var end_sending: def(Erased, Int32) thin -> None
    """Ends the stream to the peer."""
    var peer_address: def(Erased, Int32, mut SocketAddressStorage) thin -> Int
    """Reads the address of a peer."""
    var now_ns: def(Erased) thin -> Int
    """Reads the clock."""
    var destroy: def(Erased) thin -> None
    """Frees the backend."""

    @staticmethod
    def of[B: Backend]() -> Self:
        """Returns the methods of a backend type.

        Parameters:
            B: The type of the backend.

        Returns:
            Its methods.
        """
        return Self(
            _submit[B],
            SystemCalls.of[B](),
            _hold_back[B],
            _turn_away[B],
            _close[B],
            _reset[B],
            _end_sending[B],
            _peer_address[B],
            _now_ns[B],
            _destroy[B],
        )


def _submit[
    B: Backend
](backend: Erased, operation: Operation, completions: Completions):
    backend.unsafe_bitcast[B]()[].submit(operation, completions)


def _open_socket[B: Backend](backend: Erased, family: Int) -> Int:
    return backend.unsafe_bitcast[B]()[].open_socket(family)


def _is_silent[B: Backend](backend: Erased, descriptor: Int32) -> Bool:
    return backend.unsafe_bitcast[B]()[].is_silent(descriptor)


def _send_at_once[
    B: Backend
](
    backend: Erased, descriptor: Int32, octets: Span[UInt8, ImmUntrackedOrigin]
) -> Int:
    return backend.unsafe_bitcast[B]()[].send_at_once(descriptor, octets)


def _receive_at_once[
    B: Backend
](
    backend: Erased, descriptor: Int32, into: Span[UInt8, MutUntrackedOrigin]
) -> Int:
    return backend.unsafe_bitcast[B]()[].receive_at_once(descriptor, into)


def _accept_now[B: Backend](backend: Erased, listener: Int32) -> Int:
    return backend.unsafe_bitcast[B]()[].accept_now(listener)


def _hold_back[B: Backend](backend: Erased, listener: Int32, held: Bool):
    backend.unsafe_bitcast[B]()[].hold_back(listener, held)


def _turn_away[
    B: Backend
](
    backend: Erased,
    listener: Int32,
    mut spare: Int32,
    answer: Span[UInt8, ImmStaticOrigin],
) -> Int:
    return backend.unsafe_bitcast[B]()[].turn_away(listener, spare, answer)


def _close[B: Backend](backend: Erased, descriptor: Int32):
    backend.unsafe_bitcast[B]()[].close(descriptor)


def _reset[B: Backend](backend: Erased, descriptor: Int32):
    backend.unsafe_bitcast[B]()[].reset(descriptor)


def _end_sending[B: Backend](backend: Erased, descriptor: Int32):
    backend.unsafe_bitcast[B]()[].end_sending(descriptor)


def _peer_address[
    B: Backend
](backend: Erased, descriptor: Int32, mut address: SocketAddressStorage) -> Int:
    return backend.unsafe_bitcast[B]()[].peer_address(descriptor, address)


def _now_ns[B: Backend](backend: Erased) -> Int:
    return backend.unsafe_bitcast[B]()[].now_ns()


def _destroy[B: Backend](backend: Erased):
    var typed = backend.unsafe_bitcast[B]()
    typed[].destroy()
    heap_destroy(typed)
