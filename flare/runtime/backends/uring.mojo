"""Drives io_uring: submissions and completions by shared rings.

One enter call per turn carries all submissions and waits. Receives complete in
buffers of a ring from which the kernel chooses. Each entry is refilled from
the pool as soon as its completion is read, so a request that keeps its buffer
never starves the ring.
"""

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy
from flare.sys.errno import EAGAIN
from flare.sys.io_uring import (
    ACCEPT_MULTISHOT,
    CQE_BUFFER,
    CQE_MORE,
    OP_ACCEPT,
    OP_ASYNC_CANCEL,
    OP_CLOSE,
    OP_CONNECT,
    OP_POLL_ADD,
    OP_RECV,
    OP_SEND,
    OP_SENDMSG,
    POLL_MULTISHOT,
    RECV_MULTISHOT,
    SQE_BUFFER_SELECT,
    SQE_SKIP_SUCCESS,
    SubmissionEntry,
    Uring,
)
from flare.sys.io_uring_buffers import BufferRing
from flare.sys.splice_pipe import SplicePipe
from flare.sys.two_part_message import TwoPartMessages
from flare.runtime.backend import Completions, complete
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.operation import (
    NO_BUFFERS,
    POLL_OUT,
    Completion,
    Operation,
    OperationKind,
)

from .kernel_backend import KernelBackend
from .uncopied_sending import send_file, send_sealed

comptime _SUBMISSIONS = 1024
comptime _COMPLETIONS = 8192
comptime _RING_BUFFERS = 512
# The kernel chooses the buffer that was offered first, so each is reused only
# after all others, and few stay in the caches. After a ring has run dry, twice
# as many are offered.
comptime _OFFERED_AT_FIRST = 64
# How often receives try again in one turn: enough for some thirty thousand.
comptime _TRIES_MAX = 64
# The share of the offered buffers that so many receives must have missed.
comptime _WIDENING_SHARE = 4
# The token of submissions whose completion is ignored.
comptime _UNWATCHED: UInt64 = 0

comptime _MSG_NOSIGNAL: UInt32 = 0x4000
comptime _SOCK_CLOEXEC: UInt32 = 0x80000


struct UringBackendState(Movable):
    """The state of the rings. Only `UringBackend` uses it."""

    var ring: Uring
    """Submissions and completions."""
    var buffer_ring: BufferRing
    """The buffers the kernel picks from."""
    var buffers: BufferPool
    """The pool of receive buffers."""
    var messages: TwoPartMessages
    """Describes sends to the kernel."""
    var pipe: SplicePipe
    """Takes sealed pages and files to sockets."""
    var lent: List[Optional[OctetPointer]]
    """The buffer of each id of the ring."""
    var unused: List[Int]
    """Ids that have no buffer: more than are offered, or the pool was empty."""
    var offered_max: Int
    """How many buffers the kernel may pick from."""
    var unserved: List[Completion]
    """Receives that found the ring of buffers empty."""
    var awaited_room: Int
    """How many sends of files wait for room, by a poll in the ring."""
    var cancelled_sends: List[UInt64]
    """Cancelled sends that have not ended. If the peer has ended its stream,
    the kernel retries a send. A cancellation may miss it at that time, and the
    kernel may then never end it.
    """

    def __init__(
        out self, ring: Uring, buffer_ring: BufferRing, buffers: BufferPool
    ):
        """Creates the backend from its parts.

        Args:
            ring: Submissions and completions.
            buffer_ring: An empty ring of buffers.
            buffers: The pool of receive buffers.
        """
        self.ring = ring
        self.buffer_ring = buffer_ring
        self.buffers = buffers
        self.messages = TwoPartMessages.create()
        self.pipe = SplicePipe.create()
        self.lent = List[Optional[OctetPointer]](
            length=_RING_BUFFERS, fill=None
        )
        self.unused = List[Int](capacity=_RING_BUFFERS)
        self.offered_max = _OFFERED_AT_FIRST
        self.unserved = List[Completion]()
        self.awaited_room = 0
        self.cancelled_sends = List[UInt64]()


@fieldwise_init
struct UringBackend(KernelBackend):
    """Performs operations with io_uring."""

    var state: PointerTo[UringBackendState]
    """The heap state."""

    @staticmethod
    def open(buffers: BufferPool) -> Tuple[Int, Optional[Self]]:
        """Creates the rings; fails if the kernel lacks a feature that flare
        uses.

        Args:
            buffers: The pool of receive buffers.

        Returns:
            0 and the backend, or the negated errno and none.
        """
        var opened = Uring.open(_SUBMISSIONS, _COMPLETIONS)
        if not opened[1]:
            return (opened[0], None)
        var ring = opened[1].value()
        var buffer_ring = BufferRing.open(ring, 0, _RING_BUFFERS)
        if not buffer_ring[1]:
            ring.close()
            return (buffer_ring[0], None)
        var backend = Self(
            heap_create(
                UringBackendState(ring, buffer_ring[1].value(), buffers)
            )
        )
        for id in range(_RING_BUFFERS):
            backend.state[].unused.append(id)
        backend._refill()
        return (0, backend)

    @always_inline
    def submit(self, operation: Operation, completions: Completions):
        """Queues a submission; the next `collect` carries it.

        Args:
            operation: The operation.
            completions: For a send of sealed pages or of a file, which is
                tried at once.
        """
        ref o = operation.state[]
        var entry = SubmissionEntry(0, o.descriptor, operation.token())
        var kind = o.kind
        if kind == OperationKind.RECEIVE:
            entry.opcode = OP_RECV
            entry.flags = SQE_BUFFER_SELECT
            entry.length = UInt32(min(o.length, 0x7FFFF000))
            if o.multishot:
                entry.io_priority = RECV_MULTISHOT
        elif kind == OperationKind.SEND:
            entry.operation_flags = _MSG_NOSIGNAL
            if o.second:
                if o.uncopied.is_sealed and self._send_sealed(
                    operation, completions
                ):
                    return
                entry.opcode = OP_SENDMSG
                entry.address = self._describe(operation)
                entry.length = 1
            elif o.uncopied.sends_file:
                self._send_file(operation, completions)
                return
            else:
                entry.opcode = OP_SEND
                entry.address = UInt64(Int(o.address.unsafe_value()))
                entry.length = UInt32(min(o.length, 0x7FFFF000))
        elif kind == OperationKind.READ:
            entry.opcode = OP_RECV
            entry.address = UInt64(Int(o.address.unsafe_value()))
            entry.length = UInt32(min(o.length, 0x7FFFF000))
        elif kind == OperationKind.ACCEPT:
            entry.opcode = OP_ACCEPT
            entry.operation_flags = _SOCK_CLOEXEC
            if o.multishot:
                entry.io_priority = ACCEPT_MULTISHOT
        elif kind == OperationKind.CONNECT:
            entry.opcode = OP_CONNECT
            entry.address = UInt64(Int(o.address.unsafe_value()))
            entry.offset = UInt64(o.length)
        else:
            entry.opcode = OP_POLL_ADD
            entry.operation_flags = UInt32(o.length)
            if o.multishot:
                entry.length = POLL_MULTISHOT
        self.state[].ring.push(entry)

    def flush(self):
        """Passes the queued operations to the kernel."""
        self.state[].pipe.let_signal_through()
        if not self.state[].ring.has_submitted_all():
            _ = self.state[].ring.submit()
        self._forget_taken()

    def cancel(self, operation: Operation, completions: Completions):
        """Queues a cancellation.

        Args:
            operation: The operation.
            completions: The list for operations that complete at once.
        """
        if operation.state[].kind == OperationKind.SEND:
            for done in completions[]:
                if done.operation == operation:
                    # The ring has never had it.
                    return
            self.state[].cancelled_sends.append(operation.token())
        else:
            self._cancel(operation.token())

    def collect(self, timeout_ms: Int, completions: Completions):
        """Submits the queued operations, waits, and reads the completions.

        Args:
            timeout_ms: The longest wait; 0 only looks, -1 waits without limit.
            completions: The list to which they are added.
        """
        var ring = self.state[].ring
        self.state[].pipe.let_signal_through()
        # Receives that found no buffer must find those returned since.
        if self._offers_too_few():
            self._refill()
        for token in self.state[].cancelled_sends:
            # If it fails, its completion ends the wait, and it is retried.
            self._cancel(token)
        _ = ring.enter(0 if timeout_ms == 0 else 1, timeout_ms)
        self._forget_taken()
        self._read_completions(completions)
        if len(self.state[].unserved) > 0:
            self._serve_again(completions)
        if self._offers_too_few():
            self._refill()

    @always_inline
    def _read_completions(self, completions: Completions):
        var ring = self.state[].ring
        var count = ring.ready()
        for i in range(count):
            var entry = ring.peek(i)
            if entry.user_data == _UNWATCHED:
                continue
            var buffer = Optional[OctetPointer](None)
            if entry.flags & CQE_BUFFER != 0:
                var id = Int(entry.flags >> 16)
                buffer = self.state[].lent[id]
                self.state[].lent[id] = None
                self.state[].unused.append(id)
                self.state[].buffers.offer(-1)
            if len(self.state[].cancelled_sends) > 0:
                self._forget_cancelled(entry.user_data)
            if self.state[].awaited_room > 0 and self._has_room(
                entry.user_data, Int(entry.result), completions
            ):
                continue
            var completion = Completion(
                Operation.from_token(entry.user_data),
                Operation.sequence_of(entry.user_data),
                entry.result,
                entry.flags & CQE_MORE != 0,
                buffer,
            )
            if entry.result == NO_BUFFERS and _asks_on(completion):
                self.state[].unserved.append(completion)
            else:
                completions[].append(completion)
        ring.take(count)

    @no_inline
    def _serve_again(self, completions: Completions):
        """Retries receives that found the ring empty, while the pool has
        buffers: a turn later, their deadlines might have passed.
        """
        var asked = 0
        for _ in range(_TRIES_MAX):
            # A few that have emptied the ring need no larger one.
            if len(self.state[].unserved) >= (
                self.state[].offered_max // _WIDENING_SHARE
            ):
                self._widen()
            else:
                self._refill()
            var tried = min(
                _RING_BUFFERS - len(self.state[].unused),
                len(self.state[].unserved) - asked,
            )
            if tried == 0:
                break
            for i in range(asked, asked + tried):
                var operation = self.state[].unserved[i].operation
                operation.state[].tried_again = True
                # For one buffer: the ring may be empty because this receive
                # emptied it, and would again.
                var multishot = operation.state[].multishot
                operation.state[].multishot = False
                self.submit(operation, completions)
                operation.state[].multishot = multishot
            asked += tried
            _ = self.state[].ring.enter(0, 0)
            self._forget_taken()
            # A receive that finds the ring empty again comes after the others.
            self._read_completions(completions)
        completions[].extend(Span(self.state[].unserved)[asked:])
        self.state[].unserved.clear()

    def _widen(self):
        self._refill()
        # If the pool is short of buffers, no more can be offered.
        if not self._offers_too_few():
            self.state[].offered_max = min(
                2 * self.state[].offered_max, _RING_BUFFERS
            )
            self._refill()

    def close(self, descriptor: Int32):
        """Queues the closing of a descriptor.

        Args:
            descriptor: The descriptor.
        """
        var entry = SubmissionEntry(OP_CLOSE, descriptor, _UNWATCHED)
        entry.flags = SQE_SKIP_SUCCESS
        self.state[].ring.push(entry)

    def destroy(self):
        """Closes the rings and gives the buffers back."""
        _ = self.state[].ring.submit()
        self.state[].ring.close()
        self.state[].buffer_ring.close()
        self.state[].messages.destroy()
        self.state[].pipe.destroy()
        for buffer in self.state[].lent:
            if buffer:
                self.state[].buffers.offer(-1)
                self.state[].buffers.give(buffer.value())
        heap_destroy(self.state)

    def _cancel(self, token: UInt64):
        var entry = SubmissionEntry(OP_ASYNC_CANCEL, -1, _UNWATCHED)
        entry.address = token
        entry.flags = SQE_SKIP_SUCCESS
        self.state[].ring.push(entry)

    @no_inline
    def _forget_cancelled(self, token: UInt64):
        ref tokens = self.state[].cancelled_sends
        for i in reversed(range(len(tokens))):
            if tokens[i] == token:
                _ = tokens.pop(i)

    @no_inline
    def _send_sealed(
        self, operation: Operation, completions: Completions
    ) -> Bool:
        # The ring has no operation for it that does not take a thread.
        var sent = send_sealed(self.state[].pipe, operation)
        if sent > 0:
            complete(operation, sent, False, completions)
        else:
            # No completion makes sure that `flush` is next.
            self.state[].pipe.let_signal_through()
        return sent > 0

    @no_inline
    def _send_file(self, operation: Operation, completions: Completions):
        var sent = send_file(self.state[].pipe, operation)
        # Handlers may run before the next `flush`.
        self.state[].pipe.let_signal_through()
        if sent != -EAGAIN:
            complete(operation, sent, False, completions)
            return
        # The ring can splice a file only by a thread of its own.
        self.state[].awaited_room += 1
        var entry = SubmissionEntry(
            OP_POLL_ADD, operation.state[].descriptor, operation.token()
        )
        entry.operation_flags = POLL_OUT
        self.state[].ring.push(entry)

    @no_inline
    def _has_room(
        self, token: UInt64, result: Int, completions: Completions
    ) -> Bool:
        """Returns whether a completion ends the wait of a file for room, and
        sends more of the file then.

        Returns:
            False if the completion is of another operation.
        """
        var operation = Operation.from_token(token)
        ref o = operation.state[]
        if (
            o.kind != OperationKind.SEND
            or not o.uncopied.sends_file
            or not operation.matches(Operation.sequence_of(token))
        ):
            return False
        self.state[].awaited_room -= 1
        if result < 0:
            complete(operation, result, False, completions)
        else:
            self._send_file(operation, completions)
        return True

    @no_inline
    def _describe(self, operation: Operation) -> UInt64:
        var messages = self.state[].messages
        while messages.is_used_up():
            if self.state[].ring.submit() <= 0:
                _ = self.state[].ring.enter(0, 0)
            self._forget_taken()
        ref o = operation.state[]
        return messages.take(
            o.address.value(), o.length, o.second.value(), o.second_length
        )

    @always_inline
    def _forget_taken(self):
        if self.state[].ring.has_submitted_all():
            self.state[].messages.clear()

    @always_inline
    def _offers_too_few(self) -> Bool:
        return _RING_BUFFERS - len(self.state[].unused) < (
            self.state[].offered_max
        )

    def _refill(self):
        var given = False
        while self._offers_too_few():
            var buffer = self.state[].buffers.take()
            if not buffer:
                break
            var id = self.state[].unused.pop()
            self.state[].lent[id] = buffer
            self.state[].buffers.offer(1)
            self.state[].buffer_ring.give(
                id, buffer.value(), self.state[].buffers.buffer_octets()
            )
            given = True
        if given:
            self.state[].buffer_ring.publish()


def _asks_on(completion: Completion) -> Bool:
    # The kernel has ended it: a cancellation that came after it found nothing.
    var operation = completion.operation
    return (
        operation.matches(completion.sequence)
        and operation.state[].kind == OperationKind.RECEIVE
        and not operation.state[].cancel_requested
    )
