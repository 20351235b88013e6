"""Brings orders to stop to a server: signals, and words of other processes.

An order is one octet on a socket. A signal is one octet too, its number, so
that one reader serves both.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.operation import Operation, OperationKind, OperationState
from flare.sys.file import close_descriptor
from flare.sys.signal import (
    SIGINT,
    SIGTERM,
    SavedAction,
    catch_signal,
    restore_signal,
    set_signal_descriptor,
)
from flare.sys.socket import open_socket_pair, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import MSG_DONTWAIT, SOCK_STREAM

from .registry import (
    ORDER_ANSWER,
    ORDER_LEAVE,
    ORDER_RELOAD_TLS,
    ServerRegistry,
)
from ..transport.log_lines import log_line
from ..worker.worker import Worker

comptime _OCTETS_MAX = 16


struct _CaughtState(Movable):
    var descriptor_before: Int32
    var terminate_before: PointerTo[SavedAction]
    var interrupt_before: PointerTo[SavedAction]

    def __init__(out self, writer: Int32):
        self.descriptor_before = set_signal_descriptor(writer)
        self.terminate_before = catch_signal(SIGTERM)[1]
        self.interrupt_before = catch_signal(SIGINT)[1]


@fieldwise_init
struct OrderSocket(ImplicitlyCopyable):
    """The socket for orders to stop the server."""

    var reader: Int32
    """The end from which they are read."""
    var writer: Int32
    """The end to which they are written."""
    var _caught: Optional[PointerTo[_CaughtState]]

    @staticmethod
    def open(*, catches_signals: Bool) -> Optional[Self]:
        """Opens the socket.

        Args:
            catches_signals: Whether SIGTERM and SIGINT write to the socket,
                until `close`. The socket keeps signals that arrive before a
                worker reads.

        Returns:
            The socket, or none if no descriptor could be had.
        """
        var reader = Int32(-1)
        var writer = Int32(-1)
        if open_socket_pair(AF_UNIX, SOCK_STREAM, reader, writer) < 0:
            return None
        var caught = Optional[PointerTo[_CaughtState]](None)
        if catches_signals:
            caught = heap_create(_CaughtState(writer))
        return Self(reader, writer, caught)

    def close(self):
        """Restores the signals' actions, after the last read."""
        if self._caught:
            var caught = self._caught.value()
            restore_signal(SIGTERM, caught[].terminate_before)
            restore_signal(SIGINT, caught[].interrupt_before)
            _ = set_signal_descriptor(caught[].descriptor_before)
            heap_destroy(caught)
        _ = close_descriptor(self.reader)
        _ = close_descriptor(self.writer)


struct _WatchState(Movable):
    var operation: OperationState
    var octets: List[UInt8]
    var worker: Worker
    var registry: ServerRegistry
    var orders: Int
    var ending: Bool

    def __init__(out self, worker: Worker, registry: ServerRegistry):
        self.operation = OperationState(OperationKind.READ)
        self.octets = List[UInt8](length=_OCTETS_MAX, fill=0)
        self.worker = worker
        self.registry = registry.copy()
        self.orders = 0
        self.ending = False


@fieldwise_init
struct OrderWatch(TrivialRegisterPassable):
    """Reads orders to stop in a worker's loop.

    The first order starts a graceful shutdown; the second ends the server at
    once.
    """

    var _state: PointerTo[_WatchState]

    @staticmethod
    def begin(worker: Worker, reader: Int32, registry: ServerRegistry) -> Self:
        """Starts to read orders to stop.

        Args:
            worker: The worker whose loop reads them; called on its thread.
            reader: The socket from which they are read; open until `end`.
            registry: Stops the workers.

        Returns:
            The watch.
        """
        var w = heap_create(_WatchState(worker, registry))
        ref operation = w[].operation
        operation.descriptor = reader
        operation.owner = w.unsafe_bitcast[NoneType]()
        operation.complete = _on_octets
        operation.address = (
            w[].octets.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
        )
        operation.length = _OCTETS_MAX
        var watch = Self(w)
        worker.state[].reactor.submit(watch._operation())
        return watch

    def end(self):
        """Stops reading orders. Call it on the worker's thread."""
        var w = self._state
        w[].ending = True
        var reactor = w[].worker.state[].reactor
        reactor.cancel(self._operation())
        while not self._operation().is_idle():
            reactor.turn(10)
        heap_destroy(w)

    @always_inline
    def _operation(self) -> Operation:
        return Operation(
            Pointer(to=self._state[].operation).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )


def _on_octets(operation: Operation):
    var w = operation.state[].owner.value().unsafe_bitcast[_WatchState]()
    var count = operation.result()
    if w[].ending or count < 0:
        return
    var reloads = _count_of(w, count, ORDER_RELOAD_TLS)
    if reloads > 0:
        _reload_tls(w)
    var questions = _count_of(w, count, ORDER_ANSWER)
    if questions > 0:
        # A supervisor that does not read any more is ending.
        _ = send_octets(
            operation.state[].descriptor, [ORDER_ANSWER], MSG_DONTWAIT
        )
    for i in range(count):
        if w[].octets[i] == ORDER_LEAVE:
            _ = w[].registry.leave_to_another()
    # The end means that the sender of the orders is gone.
    w[].orders += count - reloads - questions if count > 0 else 2
    if w[].orders == 1:
        w[].registry.shutdown()
    elif w[].orders > 1:
        w[].registry.shutdown_now()
    if count > 0:
        w[].worker.state[].reactor.submit(operation)


def _count_of(w: PointerTo[_WatchState], count: Int, order: UInt8) -> Int:
    var found = 0
    for i in range(count):
        if w[].octets[i] == order:
            found += 1
    return found


def _reload_tls(w: PointerTo[_WatchState]):
    try:
        w[].registry.read_tls_again()
    except e:
        log_line(w[].worker.state, String("flare: TLS goes on as it was: ", e))
