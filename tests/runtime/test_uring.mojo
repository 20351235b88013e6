"""Tests what the io_uring backend offers the kernel."""

from std.testing import assert_equal, assert_true

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime import NO_BUFFERS, BackendKind
from flare.runtime.operation import Operation, OperationKind, OperationState
from flare.runtime.reactor import ReactorConfig
from flare.sys.file import close_descriptor
from flare.sys.socket import open_socket_pair, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM
from tests.runtime.loop import Loop

comptime _AT_FIRST = 64
comptime _RECEIVES = 200


def test_a_ring_that_ran_dry_offers_more_the_next_time() raises:
    var receives = _Receives()
    # Each time all ask at once, twice as many find a buffer.
    var found = receives.ask_all()
    assert_equal(found, _AT_FIRST)
    found = receives.ask_all()
    assert_equal(found, 2 * _AT_FIRST)
    found = receives.ask_all()
    assert_equal(found, _RECEIVES)
    receives.close()


struct _Receives(Movable):
    """Sockets on which octets wait always."""

    var loop: Loop
    var sockets: List[Int32]
    var operations: List[PointerTo[OperationState]]

    def __init__(out self) raises:
        self.loop = Loop(ReactorConfig(backend=BackendKind.IO_URING))
        self.sockets = []
        self.operations = []
        # The loop itself has things to begin with.
        self.loop.turn(0)
        var octets = List[UInt8](length=64, fill=1)
        for _ in range(_RECEIVES):
            var ours: Int32 = -1
            var theirs: Int32 = -1
            assert_equal(
                open_socket_pair(AF_UNIX, SOCK_STREAM, ours, theirs), 0
            )
            self.sockets.append(ours)
            self.sockets.append(theirs)
            assert_equal(send_octets(theirs, Span(octets)), 64)
            var state = heap_create(OperationState(OperationKind.RECEIVE))
            state[].descriptor = ours
            # One octet each time: the others wait.
            state[].length = 1
            self.operations.append(state)

    def ask_all(mut self) raises -> Int:
        """Counts the receives that find a buffer when all ask in one turn."""
        for state in self.operations:
            self.loop.reactor.submit(Operation(state))
        var found = 0
        self.loop.turn(0)
        for state in self.operations:
            assert_true(Operation(state).is_idle())
            if state[].result == NO_BUFFERS:
                continue
            assert_equal(Int(state[].result), 1)
            found += 1
            self.loop.reactor.buffers().give(state[].buffer.value())
        return found

    def close(mut self) raises:
        self.loop.close()
        for descriptor in self.sockets:
            _ = close_descriptor(descriptor)
        for state in self.operations:
            heap_destroy(state)


comptime TESTS = __functions_in_module()
