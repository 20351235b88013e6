"""Stops a server on SIGTERM and SIGINT while it serves."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
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
from flare.sys.socket import open_socket_pair
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM

from .handle import ServerHandle
from .worker import Worker
from .worker_state import WorkerState


struct _WatchState(Movable):
    var operation: OperationState
    var octets: List[UInt8]
    var reader: Int32
    var writer: Int32
    var descriptor_before: Int32
    var terminate_before: PointerTo[SavedAction]
    var interrupt_before: PointerTo[SavedAction]
    # None while no loop reads.
    var worker: Optional[Worker]
    var handle: ServerHandle
    var signals: Int
    var ending: Bool

    def __init__(
        out self,
        reader: Int32,
        writer: Int32,
        handle: ServerHandle,
    ):
        self.operation = OperationState(OperationKind.READ)
        self.octets = List[UInt8](length=16, fill=0)
        self.reader = reader
        self.writer = writer
        self.descriptor_before = set_signal_descriptor(writer)
        self.terminate_before = catch_signal(SIGTERM)[1]
        self.interrupt_before = catch_signal(SIGINT)[1]
        self.worker = None
        self.handle = handle.copy()
        self.signals = 0
        self.ending = False


@fieldwise_init
struct SignalWatch(TrivialRegisterPassable):
    """Watches for the signals that end a server.

    The first one shuts the server down, the second ends it at once. They are
    caught before the first worker serves and until the last one has ended;
    what comes before a loop reads waits for it.
    """

    var _state: PointerTo[_WatchState]

    @staticmethod
    def open(handle: ServerHandle) -> Optional[Self]:
        """Takes over SIGTERM and SIGINT until `close`.

        Args:
            handle: Stops the server.

        Returns:
            The watch, or none if no descriptor could be had.
        """
        var reader = Int32(-1)
        var writer = Int32(-1)
        if open_socket_pair(AF_UNIX, SOCK_STREAM, reader, writer) < 0:
            return None
        return Self(heap_create(_WatchState(reader, writer, handle)))

    def begin(self, worker: Worker):
        """Acts on signals from now on.

        Args:
            worker: The worker whose loop reads them.
        """
        var w = self._state
        w[].worker = worker
        ref operation = w[].operation
        operation.descriptor = w[].reader
        operation.owner = w.unsafe_bitcast[NoneType]()
        operation.complete = _on_signal
        operation.address = (
            w[].octets.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
        )
        operation.length = 16
        worker.state[].reactor.submit(self._operation())

    def end(self):
        """Ends what `begin` began; called on the worker's thread."""
        var w = self._state
        w[].ending = True
        var reactor = w[].worker.value().state[].reactor
        reactor.cancel(self._operation())
        while not self._operation().is_idle():
            reactor.turn(10)
        w[].worker = None

    def close(self):
        """Gives the signals their actions back; no loop reads any more."""
        var w = self._state
        restore_signal(SIGTERM, w[].terminate_before)
        restore_signal(SIGINT, w[].interrupt_before)
        _ = set_signal_descriptor(w[].descriptor_before)
        _ = close_descriptor(w[].reader)
        _ = close_descriptor(w[].writer)
        heap_destroy(w)

    @always_inline
    def _operation(self) -> Operation:
        return Operation(
            Pointer(to=self._state[].operation).unsafe_origin_cast[
                MutUntrackedOrigin
            ]()
        )


def _on_signal(operation: Operation):
    var w = operation.state[].owner.value().unsafe_bitcast[_WatchState]()
    if operation.result() <= 0 or w[].ending:
        return
    w[].signals += operation.result()
    if w[].signals == 1:
        w[].handle.shutdown()
    else:
        w[].handle.shutdown_now()
    w[].worker.value().state[].reactor.submit(operation)
