"""Describes what a reactor is asked to do, and what became of it.

An operation lives in the heap block of whoever waits for it (a fiber, a
connection) and never moves: the kernel's answer finds it by its address. A
submission carries the address and a sequence number; an answer whose number is
not the operation's present one is stale and is dropped.
"""

from flare.core import Erased, OctetPointer, PointerTo

comptime OperationFunction = def(Operation) thin -> None
"""What a completion calls."""


@fieldwise_init
struct OperationKind(Equatable, TrivialRegisterPassable):
    """Names what an operation does."""

    comptime RECEIVE = Self(0)
    """Receive octets into a buffer that the backend picks."""
    comptime READ = Self(1)
    """Receive octets into the buffer that the operation names."""
    comptime SEND = Self(2)
    """Send octets; the result may be less than was asked."""
    comptime ACCEPT = Self(3)
    """Accept a connection; the result is its descriptor."""
    comptime CONNECT = Self(4)
    """Connect a socket to the address at `address`."""
    comptime POLL = Self(5)
    """Wait for readiness; `length` is the set of poll events."""

    var value: UInt8
    """The number of the kind."""


comptime POLL_IN = 1
"""Readiness to read."""
comptime POLL_OUT = 4
"""Readiness to write."""
comptime POLL_PEER_CLOSED = 0x2000
"""The peer will send no more."""

comptime CANCELLED = -125
"""The result of an operation that was cancelled (ECANCELED)."""
comptime TIMED_OUT = -110
"""The result of a wait whose deadline passed (ETIMEDOUT)."""
comptime NO_BUFFERS = -105
"""The result of a receive that found no free buffer (ENOBUFS)."""
comptime NO_FIBER = -35
"""The result of a wait on a loop thread outside a fiber (EDEADLK)."""

comptime _IDLE: UInt8 = 0
comptime _QUEUED: UInt8 = 1
comptime _IN_FLIGHT: UInt8 = 2

comptime ADDRESS_BITS = 48
"""Bits of a user address: 48 on aarch64, 47 on x86-64. The kernel gives higher
ones only to who asks for them."""
comptime _ALIGNMENT_BITS = 6
comptime SEQUENCE_BITS = 64 - (ADDRESS_BITS - _ALIGNMENT_BITS)
"""Bits of a token that hold the sequence number."""
comptime _SEQUENCE_MASK: UInt64 = (1 << SEQUENCE_BITS) - 1


@align(64)
struct OperationState(Movable):
    """Holds one operation. Only the owner and the reactor touch it."""

    var kind: OperationKind
    """What to do."""
    var phase: UInt8
    """Whether it is idle, queued or in flight."""
    var multishot: Bool
    """One submission completes many times (`ACCEPT`, `RECEIVE`, `POLL`): until
    it fails, or until the backend finds that it should be submitted again."""
    var cancel_requested: Bool
    """The reactor was asked to end it."""
    var transient: Bool
    """The descriptor may go to another reactor, or be closed without this one,
    once nothing is in flight: the backend keeps nothing about it."""
    var tried_again: Bool
    """The backend has submitted it once more by itself: when it completes says
    nothing of whether it came before another."""
    var second_is_sealed: Bool
    """For `SEND`: the octets at `second` lie in `SealedPages`, of which the
    kernel needs no copy."""
    var is_non_blocking: Bool
    """For `SEND`: calls on the socket do not wait any more, because the backend
    needed that for sealed pages. A block whose `second_is_sealed` is ever set
    names one socket all its life, or this is set back with the socket."""
    var descriptor: Int32
    """The socket."""
    var sequence: UInt32
    """Grows with every submission."""
    var result: Int32
    """What the last completion reported: a count, a descriptor or a negated
    errno."""
    var buffer: Optional[OctetPointer]
    """The buffer that a `RECEIVE` filled, if it brought octets; whoever takes
    it gives it back."""
    var address: Optional[OctetPointer]
    """The octets to send or the place to read into."""
    var length: Int
    """How many octets, or the set of poll events. For `RECEIVE` the most that
    may come, 0 for as many as the buffer holds."""
    var second: Optional[OctetPointer]
    """For `SEND`: octets that go out behind those at `address`, if any."""
    var second_length: Int
    """How many of them; the result counts both."""
    var next: Optional[PointerTo[OperationState]]
    """The next operation in the reactor's submit list."""
    var owner: Optional[Erased]
    """Whose operation it is; `complete` knows the type."""
    var complete: OperationFunction
    """Called for each completion, never inside a submission."""

    def __init__(out self, kind: OperationKind = OperationKind.READ):
        """Makes an idle operation that belongs to nobody.

        Args:
            kind: What to do.
        """
        self.kind = kind
        self.phase = _IDLE
        self.multishot = False
        self.cancel_requested = False
        self.transient = False
        self.tried_again = False
        self.second_is_sealed = False
        self.is_non_blocking = False
        self.descriptor = -1
        self.sequence = 0
        self.result = 0
        self.buffer = None
        self.address = None
        self.length = 0
        self.second = None
        self.second_length = 0
        self.next = None
        self.owner = None
        self.complete = _ignore


def _ignore(operation: Operation):
    pass


@fieldwise_init
struct Operation(Equatable, TrivialRegisterPassable):
    """Names an operation in its owner's heap block."""

    var state: PointerTo[OperationState]
    """The operation."""

    @always_inline
    def is_idle(self) -> Bool:
        """Returns whether the operation may be changed and submitted.

        Returns:
            True before the submission and after the final completion.
        """
        return self.state[].phase == _IDLE

    @always_inline
    def is_in_flight(self) -> Bool:
        """Returns whether the backend holds the operation.

        Returns:
            True between the submission and the final completion.
        """
        return self.state[].phase == _IN_FLIGHT

    @always_inline
    def result(self) -> Int:
        """Reads what the last completion reported.

        Returns:
            A count, a descriptor or a negated errno.
        """
        return Int(self.state[].result)

    @always_inline
    def mark_queued(self):
        """Notes that the reactor's submit list holds the operation."""
        self.state[].phase = _QUEUED
        self.state[].cancel_requested = False
        self.state[].tried_again = False
        self.state[].sequence += 1

    @always_inline
    def mark_in_flight(self):
        """Notes that the backend holds the operation."""
        self.state[].phase = _IN_FLIGHT

    @always_inline
    def mark_idle(self):
        """Notes that the final completion has come."""
        self.state[].phase = _IDLE

    @always_inline
    def token(self) -> UInt64:
        """Packs address and sequence number for the kernel.

        Returns:
            The token.
        """
        return Self.token_of(Int(self.state), self.state[].sequence)

    @staticmethod
    @always_inline
    def token_of(address: Int, sequence: UInt32) -> UInt64:
        """Packs address and sequence number for the kernel.

        Args:
            address: Where the operation's block lies; its lowest six bits are
                zero by alignment.
            sequence: The number of the submission.

        Returns:
            The token.
        """
        debug_assert(
            address >> ADDRESS_BITS == 0
            and address & ((1 << _ALIGNMENT_BITS) - 1) == 0,
            "no token has room for the address ",
            address,
        )
        return (UInt64(address) << (SEQUENCE_BITS - _ALIGNMENT_BITS)) | (
            UInt64(sequence) & _SEQUENCE_MASK
        )

    @staticmethod
    @always_inline
    def sequence_of(token: UInt64) -> UInt32:
        """Reads the sequence number out of a token.

        Args:
            token: What `token` returned.

        Returns:
            The bits of the number that a token has room for.
        """
        return UInt32(token & _SEQUENCE_MASK)

    @staticmethod
    @always_inline
    def from_token(token: UInt64) -> Self:
        """Finds the operation of a token.

        Args:
            token: What `token` returned while the operation lived.

        Returns:
            The operation.
        """
        return Self(
            PointerTo[OperationState](
                unsafe_from_address=Int(
                    (token >> SEQUENCE_BITS) << _ALIGNMENT_BITS
                )
            )
        )

    @always_inline
    def matches(self, sequence: UInt32) -> Bool:
        """Returns whether an answer belongs to the present submission.

        Args:
            sequence: The number that the answer carries.

        Returns:
            False for an answer that is stale.
        """
        return (
            self.state[].phase == _IN_FLIGHT
            and UInt64(self.state[].sequence) & _SEQUENCE_MASK
            == UInt64(sequence) & _SEQUENCE_MASK
        )


@fieldwise_init
struct Completion(ImplicitlyCopyable):
    """Reports what became of a submission."""

    var operation: Operation
    """Which operation."""
    var sequence: UInt32
    """Which submission of it."""
    var result: Int32
    """A count, a descriptor or a negated errno."""
    var more: Bool
    """The submission goes on; False makes this the final completion."""
    var buffer: Optional[OctetPointer]
    """The buffer that was filled, if the backend picked one."""
