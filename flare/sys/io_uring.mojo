"""Drives io_uring by system call: submissions and completions by two rings.

A ring is a handle to heap state, because the kernel shares its memory. One
thread uses it. Layouts: `linux/io_uring.h`.
"""

from std.atomic import Atomic, Ordering
from std.ffi import external_call

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy

from .file import close_descriptor, result_or_errno
from .memory import at_address, map_shared, unmap

comptime _SETUP = 425
comptime _ENTER = 426
comptime _REGISTER = 427

comptime _SETUP_CQSIZE: UInt32 = 1 << 3
comptime _SETUP_SINGLE_ISSUER: UInt32 = 1 << 12
comptime _SETUP_DEFER_TASKRUN: UInt32 = 1 << 13
comptime _FEATURE_SINGLE_MMAP: UInt32 = 1
comptime _FEATURE_EXT_ARG: UInt32 = 1 << 8
comptime _FEATURE_NO_IOWAIT: UInt32 = 1 << 17
comptime _ENTER_GETEVENTS = 1
comptime _ENTER_EXT_ARG = 8
comptime _ENTER_REGISTERED_RING = 16
comptime _ENTER_NO_IOWAIT = 128
comptime _REGISTER_RING_DESCRIPTORS = 20
comptime _UNREGISTER_RING_DESCRIPTORS = 21

comptime OP_POLL_ADD: UInt8 = 6
"""Waits for readiness."""
comptime OP_SENDMSG: UInt8 = 9
"""Sends from several places."""
comptime OP_ACCEPT: UInt8 = 13
"""Accepts connections."""
comptime OP_ASYNC_CANCEL: UInt8 = 14
"""Cancels another operation."""
comptime OP_CONNECT: UInt8 = 16
"""Connects a socket."""
comptime OP_CLOSE: UInt8 = 19
"""Closes a descriptor."""
comptime OP_SEND: UInt8 = 26
"""Sends octets."""
comptime OP_RECV: UInt8 = 27
"""Receives octets."""

comptime SQE_BUFFER_SELECT: UInt8 = 1 << 5
"""The kernel picks a buffer from a buffer ring."""
comptime SQE_SKIP_SUCCESS: UInt8 = 1 << 6
"""A success makes no completion."""
comptime ACCEPT_MULTISHOT: UInt16 = 1
"""One submission accepts many connections."""
comptime RECV_MULTISHOT: UInt16 = 2
"""One submission receives many times."""
comptime POLL_MULTISHOT: UInt32 = 1
"""One submission reports readiness many times."""
comptime CQE_BUFFER: UInt32 = 1
"""The completion names a buffer."""
comptime CQE_MORE: UInt32 = 2
"""More completions of the submission will follow."""


@fieldwise_init
struct SubmissionEntry(TrivialRegisterPassable):
    """The `struct io_uring_sqe`: one operation to submit."""

    var opcode: UInt8
    """The operation."""
    var flags: UInt8
    """How to treat the submission."""
    var io_priority: UInt16
    """Bits that depend on the operation."""
    var descriptor: Int32
    """The descriptor."""
    var offset: UInt64
    """An offset, or a second address."""
    var address: UInt64
    """Memory that the operation uses."""
    var length: UInt32
    """The length of that memory."""
    var operation_flags: UInt32
    """Flags that depend on the operation."""
    var user_data: UInt64
    """Handed back with each completion."""
    var buffer_group: UInt16
    """The buffer ring to pick from."""
    var personality: UInt16
    """Not used here."""
    var splice_descriptor: Int32
    """Not used here."""
    var address_3: UInt64
    """Not used here."""
    var padding: UInt64
    """Not used here."""

    def __init__(out self, opcode: UInt8, descriptor: Int32, user_data: UInt64):
        """Creates an operation whose other fields are zero.

        Args:
            opcode: The operation.
            descriptor: The descriptor.
            user_data: Returned with each completion.
        """
        self = Self(
            opcode, 0, 0, descriptor, 0, 0, 0, 0, user_data, 0, 0, 0, 0, 0
        )


@fieldwise_init
struct CompletionEntry(TrivialRegisterPassable):
    """The `struct io_uring_cqe`: the result of a submission."""

    var user_data: UInt64
    """The submission's `user_data`."""
    var result: Int32
    """The result, or the negated errno."""
    var flags: UInt32
    """`CQE_MORE`, `CQE_BUFFER` and the buffer's id in the upper half."""


@fieldwise_init
struct _TimedWait(TrivialRegisterPassable):
    var signal_mask: UInt64
    var signal_mask_octets: UInt32
    var minimum_wait_us: UInt32
    var timeout_address: UInt64
    var seconds: Int
    var nanoseconds: Int


struct UringState(Movable):
    """The parts of a ring. Only `Uring` uses it."""

    var descriptor: Int32
    """The ring's descriptor."""
    var enter_descriptor: Int
    """The descriptor, or its index when it is registered."""
    var enter_flags: Int
    """Flags that every enter call carries."""
    var wait_flags: Int
    """Flags that an enter call carries if it collects completions."""
    var rings: Int
    """The address of the mapping of both rings."""
    var rings_octets: Int
    """The length of that mapping."""
    var entries: Int
    """How many submissions fit."""
    var submissions: PointerTo[SubmissionEntry]
    """The submission entries."""
    var submission_head: PointerTo[UInt32]
    """How many submissions the kernel has taken."""
    var submission_tail: PointerTo[UInt32]
    """How many submissions were made."""
    var completion_head: PointerTo[UInt32]
    """How many completions were taken."""
    var completion_tail: PointerTo[UInt32]
    """How many completions the kernel made."""
    var completion_mask: UInt32
    """Turns a count into an index."""
    var completions: PointerTo[CompletionEntry]
    """The completion entries."""
    var submission_order: PointerTo[UInt32]
    """The entry of each place of the submission ring."""
    var used: Int
    """How many entries hold submissions. Those that the kernel has taken are
    used again from the first on, so that few of them stay in the caches."""
    var tail: UInt32
    """The local copy of the submission tail."""
    var unsubmitted: Int
    """Entries that no enter call has carried yet."""
    var timed_wait: _TimedWait
    """The argument of a wait with a time limit."""

    def __init__(out self, words: PointerTo[UInt32], descriptor: Int32):
        """Creates the state from the offsets that the kernel filled in.

        Args:
            words: `struct io_uring_params` as 32-bit words.
            descriptor: The ring's descriptor.
        """
        self.descriptor = descriptor
        self.enter_descriptor = Int(descriptor)
        self.enter_flags = 0
        self.wait_flags = _ENTER_GETEVENTS
        self.entries = Int(words[])
        var completion_entries = Int(words[unsafe_offset=1])
        self.rings_octets = max(
            Int(words[unsafe_offset=16]) + self.entries * 4,
            Int(words[unsafe_offset=25]) + completion_entries * 16,
        )
        self.rings = map_shared(self.rings_octets, descriptor, 0)
        var submissions = map_shared(self.entries * 64, descriptor, 0x10000000)
        self.submissions = at_address(submissions).unsafe_bitcast[
            SubmissionEntry
        ]()
        var base = at_address(self.rings)
        self.submission_head = _word(base, words[unsafe_offset=10])
        self.submission_tail = _word(base, words[unsafe_offset=11])
        self.completion_head = _word(base, words[unsafe_offset=20])
        self.completion_tail = _word(base, words[unsafe_offset=21])
        self.completion_mask = UInt32(completion_entries - 1)
        self.completions = base.unsafe_offset(
            Int(words[unsafe_offset=25])
        ).unsafe_bitcast[CompletionEntry]()
        self.submission_order = _word(base, words[unsafe_offset=16])
        self.used = 0
        self.tail = 0
        self.unsubmitted = 0
        self.timed_wait = _TimedWait(0, 0, 0, 0, 0, 0)

    def is_mapped(self) -> Bool:
        """Returns whether the memory that is shared with the kernel is there.

        Returns:
            False if a part of it could not be mapped.
        """
        return self.rings > 0 and Int(self.submissions) > 0


@always_inline
def _word(base: OctetPointer, offset: UInt32) -> PointerTo[UInt32]:
    return base.unsafe_offset(Int(offset)).unsafe_bitcast[UInt32]()


@always_inline
def _enter(
    descriptor: Int,
    submit: Int,
    wait: Int,
    flags: Int,
    argument: Int,
    size: Int,
) -> Int:
    return result_or_errno(
        external_call["syscall", Int, num_fixed_args=1](
            Int(_ENTER), descriptor, submit, wait, flags, argument, size
        )
    )


@fieldwise_init
struct Uring(TrivialRegisterPassable):
    """Submits operations to the kernel and collects their results."""

    var state: PointerTo[UringState]
    """The heap state."""

    @staticmethod
    def open(
        entries: Int, completion_entries: Int
    ) -> Tuple[Int, Optional[Self]]:
        """Sets a ring up for the calling thread.

        Args:
            entries: Submissions between two enter calls; a power of two.
            completion_entries: Completions that fit; a power of two.

        Returns:
            0 and the ring, or the negated errno and none.
        """
        # The words lie on the heap: the kernel writes them, which the compiler
        # cannot see.
        var words = heap_create(_Parameters())
        var begin = PointerTo[UInt32](unsafe_from_address=Int(words))
        begin[unsafe_offset=1] = UInt32(completion_entries)
        begin[unsafe_offset=2] = (
            _SETUP_CQSIZE | _SETUP_SINGLE_ISSUER | _SETUP_DEFER_TASKRUN
        )
        var descriptor = result_or_errno(
            external_call["syscall", Int, num_fixed_args=1](
                Int(_SETUP), entries, Int(begin), Int(0), Int(0), Int(0), Int(0)
            )
        )
        var problem = descriptor if descriptor < 0 else 0
        var features = Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
            begin.unsafe_offset(5)
        )
        comptime NEEDED = _FEATURE_SINGLE_MMAP | _FEATURE_EXT_ARG
        if problem == 0 and features & NEEDED != NEEDED:
            _ = close_descriptor(Int32(descriptor))
            problem = -38  # ENOSYS: the kernel is older than what is used
        if problem != 0:
            heap_destroy(words)
            return (problem, None)
        var ring = Self(heap_create(UringState(begin, Int32(descriptor))))
        heap_destroy(words)
        if not ring.state[].is_mapped():
            ring.close()
            return (-12, None)
        ring._register_descriptor()
        # Else who waits for peers counts as waiting for a disk, which system
        # monitors show as a core that is busy.
        if features & _FEATURE_NO_IOWAIT != 0:
            ring.state[].wait_flags |= _ENTER_NO_IOWAIT
        return (0, ring)

    def close(self):
        """Closes the ring. The kernel cancels operations in flight."""
        self._unregister_descriptor()
        _ = close_descriptor(self.state[].descriptor)
        if self.state[].rings > 0:
            _ = unmap(self.state[].rings, self.state[].rings_octets)
        if Int(self.state[].submissions) > 0:
            _ = unmap(Int(self.state[].submissions), self.state[].entries * 64)
        heap_destroy(self.state)

    def _register_descriptor(self):
        # A registered ring saves the kernel a look-up at each enter call.
        var update = heap_create(_DescriptorUpdate())
        update[].descriptor = UInt64(Int(self.state[].descriptor))
        var done = self.register(_REGISTER_RING_DESCRIPTORS, Int(update), 1)
        if done == 1:
            var index = Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
                Pointer(to=update[].offset)
            )
            self.state[].enter_descriptor = Int(index)
            self.state[].enter_flags = _ENTER_REGISTERED_RING
        heap_destroy(update)

    def _unregister_descriptor(self):
        # The thread holds what it has registered, and has room for few: a ring
        # that is only closed lives as long as its thread.
        if self.state[].enter_flags & _ENTER_REGISTERED_RING == 0:
            return
        var update = heap_create(_DescriptorUpdate())
        update[].offset = UInt32(self.state[].enter_descriptor)
        _ = self.register(_UNREGISTER_RING_DESCRIPTORS, Int(update), 1)
        heap_destroy(update)

    def register(self, what: Int, argument: Int, count: Int) -> Int:
        """Registers an object with the ring, or removes it.

        Args:
            what: An opcode of `io_uring_register(2)`.
            argument: The address of the object's description.
            count: The number of objects.

        Returns:
            The opcode's result, or the negated errno.

        Safety:
            The memory at the address is as the opcode requires.
        """
        return result_or_errno(
            external_call["syscall", Int, num_fixed_args=1](
                Int(_REGISTER),
                Int(self.state[].descriptor),
                what,
                argument,
                count,
                Int(0),
                Int(0),
            )
        )

    @always_inline
    def push(self, entry: SubmissionEntry):
        """Queues a submission; the next `enter` carries it.

        Args:
            entry: The operation.
        """
        ref s = self.state[]
        while s.used == s.entries:
            # A kernel that takes none wants its completions looked at first.
            if self.submit() <= 0:
                _ = self.enter(0, 0)
        s.submissions[unsafe_offset=s.used] = entry
        var place = Int(s.tail) & (s.entries - 1)
        s.submission_order[unsafe_offset=place] = UInt32(s.used)
        s.used += 1
        s.tail += 1
        s.unsubmitted += 1
        Atomic[UInt32].store[ordering=Ordering.RELEASE](
            s.submission_tail, s.tail
        )

    def submit(self) -> Int:
        """Submits the queued operations without waiting.

        Returns:
            How many the kernel took, or the negated errno.
        """
        ref s = self.state[]
        var taken = _enter(
            s.enter_descriptor, s.unsubmitted, 0, s.enter_flags, 0, 0
        )
        if taken > 0:
            self._count_taken(taken)
        return taken

    @always_inline
    def _count_taken(self, count: Int):
        ref s = self.state[]
        s.unsubmitted -= count
        if s.unsubmitted == 0:
            s.used = 0

    def enter(self, wait: Int, timeout_ms: Int) -> Int:
        """Submits the queued operations and waits for completions.

        Args:
            wait: How many completions to wait for; 0 only looks.
            timeout_ms: The longest wait; -1 waits without limit.

        Returns:
            How many submissions the kernel took, or the negated errno.
        """
        ref s = self.state[]
        var flags = s.enter_flags | s.wait_flags
        var taken: Int
        if timeout_ms >= 0 and wait > 0:
            s.timed_wait.seconds = timeout_ms // 1000
            s.timed_wait.nanoseconds = timeout_ms % 1000 * 1_000_000
            s.timed_wait.timeout_address = UInt64(
                Int(Pointer(to=s.timed_wait.seconds))
            )
            taken = _enter(
                s.enter_descriptor,
                s.unsubmitted,
                wait,
                flags | _ENTER_EXT_ARG,
                Int(Pointer(to=s.timed_wait)),
                24,
            )
        else:
            taken = _enter(s.enter_descriptor, s.unsubmitted, wait, flags, 0, 0)
        if taken >= 0:
            self._count_taken(taken)
        else:
            # An interrupted or expired wait has submitted all the same.
            var head = Atomic[UInt32].load[ordering=Ordering.ACQUIRE](
                s.submission_head
            )
            self._count_taken(s.unsubmitted - Int(s.tail - head))
        return taken

    @always_inline
    def has_submitted_all(self) -> Bool:
        """Returns whether the kernel has taken every submission.

        Returns:
            True if it needs nothing any more that only submissions name.
        """
        return self.state[].unsubmitted == 0

    @always_inline
    def ready(self) -> Int:
        """Returns the number of completions that can be taken.

        Returns:
            The count.
        """
        ref s = self.state[]
        return Int(
            Atomic[UInt32].load[ordering=Ordering.ACQUIRE](s.completion_tail)
            - s.completion_head[]
        )

    @always_inline
    def peek(self, index: Int) -> CompletionEntry:
        """Reads a completion that is ready.

        Args:
            index: Its index, below `ready()`.

        Returns:
            The completion.
        """
        ref s = self.state[]
        var at = (s.completion_head[] + UInt32(index)) & s.completion_mask
        return s.completions[unsafe_offset=Int(at)]

    @always_inline
    def take(self, count: Int):
        """Returns completion entries to the kernel.

        Args:
            count: The number of entries, from the front; at most `ready()`.
        """
        ref s = self.state[]
        Atomic[UInt32].store[ordering=Ordering.RELEASE](
            s.completion_head, s.completion_head[] + UInt32(count)
        )


struct _Parameters(Movable):
    var words: Array[UInt32, 30]

    def __init__(out self):
        self.words = Array[UInt32, 30](fill=0)


struct _DescriptorUpdate(Movable):
    var offset: UInt32
    var reserved: UInt32
    var descriptor: UInt64

    def __init__(out self):
        self.offset = 0xFFFFFFFF
        self.reserved = 0
        self.descriptor = 0
