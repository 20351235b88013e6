"""Tests what the io_uring backend does with its rings."""

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy
from flare.runtime import NO_BUFFERS, BackendKind
from flare.runtime.operation import (
    SEQUENCE_BITS,
    Operation,
    OperationKind,
    OperationState,
)
from flare.runtime.reactor import ReactorConfig
from flare.sys.file import close_descriptor
from flare.sys.socket import open_socket_pair, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM
from tests.asserting import assert_equal, assert_true
from tests.runtime.loop import Loop

comptime _RECEIVES = 200


def test_all_that_the_pool_can_serve_are_served_in_one_turn() raises:
    # Far more than the ring offers at first.
    var receives = _Receives(256)
    assert_equal(receives.ask_all(), _RECEIVES)
    receives.give_back()
    assert_equal(receives.ask_all(), _RECEIVES)
    receives.give_back()
    receives.close()


def test_more_is_submitted_in_a_turn_than_the_ring_holds() raises:
    # Its 1,024 entries are used from the first on each time.
    var receives = _Receives(2048, each=7)
    for _ in range(3):
        assert_equal(receives.ask_all(), 7 * _RECEIVES)
        receives.give_back()
    receives.close()


def test_who_finds_the_pool_empty_is_told() raises:
    var receives = _Receives(128)
    assert_equal(receives.ask_all(), 128)
    assert_true(receives.loop.reactor.buffers().is_exhausted())
    assert_equal(receives.ask_all(), 0)
    receives.give_back()
    assert_equal(receives.ask_all(), 128)
    receives.give_back()
    receives.close()


def test_what_the_kernel_was_offered_is_counted_back() raises:
    var receives = _Receives(256)
    assert_equal(receives.ask_all(), _RECEIVES)
    var buffers = receives.loop.reactor.buffers()
    assert_equal(buffers.lent(), _RECEIVES)
    receives.give_back()
    assert_equal(buffers.lent(), 0)
    receives.loop.reactor.close()
    assert_equal(buffers.lent(), 0)
    receives.close()


def test_a_token_says_address_and_sequence() raises:
    # Up to the highest block of x86-64, and of aarch64.
    for address in [64, 0x7FFF_FFFF_FFC0, 0x8000_0000_0000, 0xFFFF_FFFF_FFC0]:
        for sequence in [0, 1, (1 << SEQUENCE_BITS) - 1]:
            var token = Operation.token_of(address, UInt32(sequence))
            assert_equal(Int(Operation.from_token(token).state), address)
            assert_equal(Int(Operation.sequence_of(token)), sequence)


def test_a_sequence_begins_again_and_leaves_the_address_alone() raises:
    var token = Operation.token_of(0xFFFF_FFFF_FFC0, UInt32.MAX)
    assert_equal(Int(Operation.from_token(token).state), 0xFFFF_FFFF_FFC0)
    token = Operation.token_of(64, UInt32(1 << SEQUENCE_BITS))
    assert_equal(Int(Operation.from_token(token).state), 64)
    assert_equal(Int(Operation.sequence_of(token)), 0)


struct _Receives(Movable):
    """Sockets on which octets wait always."""

    var loop: Loop
    var sockets: List[Int32]
    var operations: List[PointerTo[OperationState]]
    var taken: List[OctetPointer]

    def __init__(out self, buffers_max: Int, *, each: Int = 1) raises:
        self.loop = Loop(
            ReactorConfig(
                backend=BackendKind.IO_URING, receive_buffers_max=buffers_max
            )
        )
        self.taken = []
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
            for _ in range(each):
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
            self.taken.append(state[].buffer.value())
        return found

    def give_back(mut self):
        """Gives the buffers back that receives were completed in."""
        for buffer in self.taken:
            self.loop.reactor.buffers().give(buffer)
        self.taken.clear()

    def close(mut self) raises:
        self.loop.close()
        for descriptor in self.sockets:
            _ = close_descriptor(descriptor)
        for state in self.operations:
            heap_destroy(state)


comptime TESTS = __functions_in_module()
