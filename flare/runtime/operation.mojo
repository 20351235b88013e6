"""Describes operations for a reactor, and their results.

An operation lies in the heap block of its owner (a fiber, a connection) and
never moves: the kernel's answer refers to it by address. A submission has the
address and a sequence number. If an answer's number is not the operation's
present one, the answer is stale and is dropped.
"""

from flare.core import Erased, OctetPointer, PointerTo

comptime OperationFunction = def(Operation) thin -> None
"""The function that a completion calls."""


@fieldwise_init
struct OperationKind(Equatable, TrivialRegisterPassable):
    """The kinds of operations."""

    comptime RECEIVE = Self(0)
    """Receive octets into a buffer chosen by the backend."""
    comptime READ = Self(1)
    """Receive octets into the operation's own buffer."""
    comptime SEND = Self(2)
    """Send octets; the result may be less than requested."""
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
"""The peer has ended its stream."""

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
"""The number of bits of a user address: 48 on aarch64, 47 on x86-64. The
kernel uses higher addresses only on request.
"""
comptime _ALIGNMENT_BITS = 6
comptime SEQUENCE_BITS = 64 - (ADDRESS_BITS - _ALIGNMENT_BITS)
"""The number of bits of the sequence number in a token."""
comptime _SEQUENCE_MASK: UInt64 = (1 << SEQUENCE_BITS) - 1


@fieldwise_init
struct FileRange(TrivialRegisterPassable):
    """Octets of an open file."""

    var descriptor: Int32
    """The file; -1 for no file."""
    var start: Int
    """The place of the first octet."""
    var octets: Int
    """Their number."""

    @always_inline
    def __init__(out self):
        """Creates an empty range of no file."""
        self.descriptor = -1
        self.start = 0
        self.octets = 0


struct UncopiedPart(TrivialRegisterPassable):
    """The part of a send that the kernel need not copy."""

    var is_sealed: Bool
    """Whether the octets at `second` lie in `SealedPages`."""
    var is_non_blocking: Bool
    """Whether calls on the socket no longer block, because the backend needed
    that for sealed pages or a file. A block that ever sends these keeps one
    socket all its life, or resets this field with the socket.
    """
    var sends_file: Bool
    """Whether octets of `file` follow those at `address`, instead of `second`.
    """
    var file: FileRange
    """The octets of a file. The result counts both. A result of 0 means that the file ends before them,
    and a negated errno may come from the file. Before the owner closes the file
    during the send, it sets `descriptor` to -1: the send ends with `CANCELLED`.
    """

    def __init__(out self):
        """Creates an empty part."""
        self.is_sealed = False
        self.is_non_blocking = False
        self.sends_file = False
        self.file = FileRange()


@align(64)
struct OperationState(Movable):
    """One operation. Only its owner and the reactor use it."""

    var kind: OperationKind
    """The kind."""
    var phase: UInt8
    """Whether it is idle, queued or in flight."""
    var multishot: Bool
    """Whether one submission completes many times (`ACCEPT`, `RECEIVE`,
    `POLL`): until it fails, or until the backend needs a new submission.
    """
    var cancel_requested: Bool
    """Whether the reactor was asked to end it."""
    var transient: Bool
    """Whether the descriptor may move to another reactor, or be closed without
    this one, once no operation is in flight. The backend then keeps no state
    about it.
    """
    var tried_again: Bool
    """Whether the backend has submitted it again on its own. The time of its
    completion then does not show whether it came before another.
    """
    var descriptor: Int32
    """The socket."""
    var sequence: UInt32
    """Increases with every submission."""
    var result: Int32
    """The result of the last completion: a number, a descriptor or a negated
    errno.
    """
    var buffer: Optional[OctetPointer]
    """The buffer that a `RECEIVE` filled, if octets arrived. Its user returns
    it to the pool.
    """
    var address: Optional[OctetPointer]
    """The octets to send or the place to read into."""
    var length: Int
    """The number of octets, or the set of poll events. For `RECEIVE` the most
    octets to receive; 0 for as many as the buffer holds.
    """
    var second: Optional[OctetPointer]
    """For `SEND`: octets to send after those at `address`, if any."""
    var second_length: Int
    """Their number; the result counts both."""
    var uncopied: UncopiedPart
    """For `SEND`: the part that the kernel need not copy."""
    var next: Optional[PointerTo[OperationState]]
    """The next operation in the reactor's submit list."""
    var owner: Optional[Erased]
    """The owner; `complete` knows its type."""
    var complete: OperationFunction
    """Called for each completion, never during a submission."""

    def __init__(out self, kind: OperationKind = OperationKind.READ):
        """Creates an idle operation without an owner.

        Args:
            kind: The kind.
        """
        self.kind = kind
        self.phase = _IDLE
        self.multishot = False
        self.cancel_requested = False
        self.transient = False
        self.tried_again = False
        self.descriptor = -1
        self.sequence = 0
        self.result = 0
        self.buffer = None
        self.address = None
        self.length = 0
        self.second = None
        self.second_length = 0
        self.uncopied = UncopiedPart()
        self.next = None
        self.owner = None
        self.complete = _ignore


def _ignore(operation: Operation):
    pass


@fieldwise_init
struct Operation(Equatable, TrivialRegisterPassable):
    """A handle to an operation in its owner's heap block."""

    var state: PointerTo[OperationState]
    """The operation."""

    @always_inline
    def is_idle(self) -> Bool:
        """Returns whether the operation is idle, so that it may be changed and
        submitted.

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
        """Returns the result of the last completion.

        Returns:
            A number, a descriptor or a negated errno.
        """
        return Int(self.state[].result)

    @always_inline
    def mark_queued(self):
        """Marks the operation as queued in the reactor's submit list."""
        self.state[].phase = _QUEUED
        self.state[].cancel_requested = False
        self.state[].tried_again = False
        self.state[].sequence += 1

    @always_inline
    def mark_in_flight(self):
        """Marks the operation as held by the backend."""
        self.state[].phase = _IN_FLIGHT

    @always_inline
    def mark_idle(self):
        """Marks the operation as idle, after its final completion."""
        self.state[].phase = _IDLE

    @always_inline
    def token(self) -> UInt64:
        """Returns address and sequence number as one word for the kernel.

        Returns:
            The token.
        """
        return Self.token_of(Int(self.state), self.state[].sequence)

    @staticmethod
    @always_inline
    def token_of(address: Int, sequence: UInt32) -> UInt64:
        """Returns address and sequence number as one word for the kernel.

        Args:
            address: The address of the operation's block; its lowest six bits
                are zero by alignment.
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
        """Returns the sequence number in a token.

        Args:
            token: The result of `token`.

        Returns:
            The bits of the number that fit in a token.
        """
        return UInt32(token & _SEQUENCE_MASK)

    @staticmethod
    @always_inline
    def from_token(token: UInt64) -> Self:
        """Returns the operation of a token.

        Args:
            token: The result of `token`; the operation must still live.

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
            sequence: The number in the answer.

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
    """The result of a submission."""

    var operation: Operation
    """The operation."""
    var sequence: UInt32
    """The sequence number of the submission."""
    var result: Int32
    """A number, a descriptor or a negated errno."""
    var more: Bool
    """Whether further completions of the submission follow."""
    var buffer: Optional[OctetPointer]
    """The buffer that was filled, if the backend picked one."""
