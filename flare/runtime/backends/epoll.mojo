"""Drives epoll: makes the system call when the descriptor is ready.

Descriptors are registered edge-triggered. A send is tried at once, because a
socket nearly always has room; only if it has none, its descriptor is watched
for room. A receive waits for the first edge. Descriptors that are known to be
still ready are tried again each turn without asking the kernel, a bounded
number of times.

A transient operation (`OperationState.transient`) is tried at once instead.
Its descriptor is registered only while an operation waits on it. In between,
any other reactor may use the descriptor, and it may be closed without
informing this one.
"""

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy
from flare.sys.epoll import (
    EPOLLIN,
    EPOLLOUT,
    epoll_add,
    epoll_modify,
    epoll_remove,
    epoll_wait,
    open_epoll,
)
from flare.sys.errno import EAGAIN, EBADF, EBUSY, EINPROGRESS, EINTR
from flare.sys.file import close_descriptor
from flare.sys.socket import (
    accept_socket,
    connect_socket,
    receive_octets,
    send_octets,
    send_two,
    set_non_blocking,
    socket_option,
)
from flare.sys.socket_address import SocketAddressStorage
from flare.sys.socket_constants import (
    MSG_DONTWAIT,
    MSG_PEEK,
    SO_ERROR,
    SOL_SOCKET,
)
from flare.runtime.backend import Completions, complete
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.operation import (
    CANCELLED,
    NO_BUFFERS,
    Completion,
    Operation,
    OperationKind,
)

from .epoll_interest import (
    ACCEPT_EVENTS,
    ALL_EVENTS,
    READ_EVENTS,
    Interest,
)
from .epoll_state import EVENTS_MAX, EpollBackendState
from .kernel_backend import KernelBackend
from .uncopied_sending import send_file, send_sealed

comptime _ACCEPTS_PER_TURN = 64


@fieldwise_init
struct EpollBackend(KernelBackend):
    """Performs operations on sockets when epoll reports that they are ready."""

    var state: PointerTo[EpollBackendState]
    """The heap state."""

    @staticmethod
    def open(buffers: BufferPool) -> Tuple[Int, Optional[Self]]:
        """Opens epoll.

        Args:
            buffers: The pool of receive buffers.

        Returns:
            0 and the backend, or the negated errno and none.
        """
        var opened = open_epoll()
        if opened < 0:
            return (opened, None)
        return (
            0,
            Self(heap_create(EpollBackendState(Int32(opened), buffers))),
        )

    def submit(self, operation: Operation, completions: Completions):
        """Tries an operation at once if that is likely to succeed.

        Args:
            operation: The operation.
            completions: The list for operations that complete at once.
        """
        ref o = operation.state[]
        if o.descriptor < 0:
            complete(operation, -EBADF, False, completions)
            return
        self._know(o.descriptor)
        ref interest = self.state[].interests[Int(o.descriptor)]
        if not interest.registered and o.transient:
            self._submit_transient(operation, completions)
            return
        if not o.transient:
            interest.transient = False
        elif o.kind == OperationKind.POLL:
            self._poll_beside(operation, completions)
            return
        var problem = self._register(operation)
        if problem < 0:
            complete(operation, problem, False, completions)
            return
        if o.kind == OperationKind.SEND:
            interest.writer = operation
            if interest.writable:
                self._write(o.descriptor, completions)
        elif o.kind == OperationKind.CONNECT:
            self._connect(operation, completions)
        elif o.kind == OperationKind.POLL:
            interest.poller = operation
            self._peek(o.descriptor)
            self._queue(o.descriptor)
        else:
            if o.kind == OperationKind.ACCEPT:
                _ = set_non_blocking(o.descriptor, True)
                interest.listens = True
            interest.reader = operation
            if interest.readable:
                self._queue(o.descriptor)

    def flush(self):
        """Does nothing: the kernel already has the operations."""
        pass

    def cancel(self, operation: Operation, completions: Completions):
        """Removes an operation, and completes it as cancelled.

        Args:
            operation: The operation.
            completions: The list to which its completion is added.
        """
        var descriptor = Int(operation.state[].descriptor)
        if descriptor < 0:
            # It failed when it was submitted.
            return
        ref interest = self.state[].interests[descriptor]
        if interest.reader and interest.reader.value() == operation:
            interest.reader = None
        elif interest.writer and interest.writer.value() == operation:
            interest.writer = None
        elif interest.poller and interest.poller.value() == operation:
            interest.poller = None
        else:
            return
        self._release(operation.state[].descriptor)
        complete(operation, CANCELLED, False, completions)

    def collect(self, timeout_ms: Int, completions: Completions):
        """Waits for readiness and performs the operations that have become
        possible.

        Args:
            timeout_ms: The longest wait; 0 only looks, -1 waits without limit.
            completions: The list to which completions are added.
        """
        var retries = len(self.state[].retry)
        var limit = timeout_ms
        if retries > 0 or len(completions[]) > 0:
            limit = 0
        var count = epoll_wait(
            self.state[].epoll, self.state[].events, EVENTS_MAX, limit
        )
        for i in range(retries):
            var descriptor = self.state[].retry[i]
            self.state[].interests[Int(descriptor)].queued = False
            self._advance(descriptor, completions)
        for i in range(max(count, 0)):
            ref event = self.state[].events[unsafe_offset=i]
            var descriptor = Int32(Int(event.tag() & 0xFFFFFFFF))
            var events = event.events()
            ref interest = self.state[].interests[Int(descriptor)]
            if interest.registered and interest.tag(descriptor) == event.tag():
                interest.note(events)
                self._advance(descriptor, completions)
        # Operations that were queued meanwhile come after the retries done
        # above.
        if retries > 0:
            ref retry = self.state[].retry
            for i in range(retries, len(retry)):
                retry[i - retries] = retry[i]
            retry.shrink(len(retry) - retries)

    def close(self, descriptor: Int32):
        """Closes a descriptor and forgets it.

        Args:
            descriptor: The descriptor.
        """
        self._forget(descriptor, closes=True)
        _ = close_descriptor(descriptor)

    def destroy(self):
        """Closes epoll."""
        _ = close_descriptor(self.state[].epoll)
        heap_destroy(self.state)

    def _submit_transient(self, operation: Operation, completions: Completions):
        ref o = operation.state[]
        ref interest = self.state[].interests[Int(o.descriptor)]
        interest.begin_again()
        if o.kind == OperationKind.SEND:
            interest.writer = operation
            self._write(o.descriptor, completions)
        elif o.kind == OperationKind.CONNECT:
            self._connect(operation, completions)
        elif o.kind == OperationKind.POLL:
            interest.wait_for_news(operation)
        else:
            if o.kind == OperationKind.ACCEPT:
                _ = set_non_blocking(o.descriptor, True)
                interest.listens = True
            interest.reader = operation
            interest.readable = True
            self._read(o.descriptor, completions)
        if not interest.is_used():
            return
        # Registering reports what has become ready since the attempt.
        interest.transient = True
        interest.readable = False
        var accepts = o.kind == OperationKind.ACCEPT
        var problem = self._add(
            o.descriptor, ACCEPT_EVENTS if accepts else ALL_EVENTS
        )
        if problem < 0:
            interest.begin_again()
            complete(operation, problem, False, completions)

    def _poll_beside(self, operation: Operation, completions: Completions):
        # Another fiber waits on the descriptor, so its edges are used up.
        var descriptor = operation.state[].descriptor
        ref interest = self.state[].interests[Int(descriptor)]
        if not interest.has_place_for(operation):
            complete(operation, -EBUSY, False, completions)
            return
        interest.wait_for_news(operation)
        if self._watch_room(descriptor) < 0:
            self.cancel(operation, completions)

    def _know(self, descriptor: Int32):
        while len(self.state[].interests) <= Int(descriptor):
            self.state[].interests.append(Interest())

    def _register(self, operation: Operation) -> Int:
        ref o = operation.state[]
        ref interest = self.state[].interests[Int(o.descriptor)]
        var room = o.kind == OperationKind.CONNECT
        if interest.registered:
            if room and not interest.watches_room:
                return self._watch_room(o.descriptor)
            return 0
        interest.begin_again()
        return self._add(o.descriptor, ALL_EVENTS if room else READ_EVENTS)

    def _watch_room(self, descriptor: Int32) -> Int:
        # Asked again, the kernel reports what is ready as to one that is new.
        ref interest = self.state[].interests[Int(descriptor)]
        interest.watches_room = True
        return epoll_modify(
            self.state[].epoll,
            descriptor,
            ALL_EVENTS,
            interest.tag(descriptor),
        )

    def _add(self, descriptor: Int32, events: UInt32) -> Int:
        ref interest = self.state[].interests[Int(descriptor)]
        interest.registration += 1
        var added = epoll_add(
            self.state[].epoll, descriptor, events, interest.tag(descriptor)
        )
        interest.registered = added >= 0
        interest.watches_room = events & EPOLLOUT != 0
        return added

    def _release(self, descriptor: Int32):
        ref interest = self.state[].interests[Int(descriptor)]
        if (
            interest.registered
            and interest.transient
            and not interest.is_used()
        ):
            self._forget(descriptor)

    def _forget(self, descriptor: Int32, closes: Bool = False):
        var index = Int(descriptor)
        if index < 0 or index >= len(self.state[].interests):
            return
        ref interest = self.state[].interests[index]
        if interest.registered:
            # The kernel forgets a descriptor after all processes have closed
            # it. If another process has it open, events of an old registration
            # arrive. But an event about a waiting client must not be lost.
            if not closes or interest.listens:
                _ = epoll_remove(self.state[].epoll, descriptor)
            interest.registered = False
            interest.readable = False

    def _queue(self, descriptor: Int32):
        ref interest = self.state[].interests[Int(descriptor)]
        if not interest.queued:
            interest.queued = True
            self.state[].retry.append(descriptor)

    def _advance(self, descriptor: Int32, completions: Completions):
        var index = Int(descriptor)
        if self.state[].interests[index].poller:
            self._poll(descriptor, completions)
        if (
            self.state[].interests[index].writer
            and self.state[].interests[index].writable
        ):
            self._write(descriptor, completions)
        if (
            self.state[].interests[index].reader
            and self.state[].interests[index].readable
        ):
            self._read(descriptor, completions)
        self._release(descriptor)

    def _peek(self, descriptor: Int32):
        ref interest = self.state[].interests[Int(descriptor)]
        if interest.poller.value().state[].multishot:
            return
        var octet = Array[UInt8, 1](fill=0)
        var received = receive_octets(
            descriptor, Span(octet), MSG_PEEK | MSG_DONTWAIT
        )
        interest.peekable = received >= 0 or received == -EAGAIN
        if interest.peekable:
            interest.readable = received >= 0

    def _poll(self, descriptor: Int32, completions: Completions):
        ref interest = self.state[].interests[Int(descriptor)]
        var operation = interest.poller.value()
        var wanted = UInt32(operation.state[].length)
        var events = interest.ready(wanted)
        if events == 0:
            return
        # A poller may read without this backend. Then only edges show whether
        # there is more, unless the socket can be asked.
        # A receive of another fiber still has to try.
        if (
            wanted & EPOLLIN != 0
            and not interest.peekable
            and not interest.reader
        ):
            interest.readable = False
        if not operation.state[].multishot:
            interest.poller = None
        complete(
            operation,
            Int(events),
            operation.state[].multishot,
            completions,
        )

    def _write(self, descriptor: Int32, completions: Completions):
        ref interest = self.state[].interests[Int(descriptor)]
        var operation = interest.writer.value()
        ref o = operation.state[]
        if o.kind == OperationKind.POLL:
            interest.writer = None
            complete(operation, Int(EPOLLOUT), False, completions)
            return
        if o.kind == OperationKind.CONNECT:
            interest.writer = None
            var problem = 0
            _ = socket_option(descriptor, SOL_SOCKET, SO_ERROR, problem)
            _ = set_non_blocking(descriptor, False)
            complete(operation, -problem, False, completions)
            return
        var octets = Span(unsafe_ptr=o.address.value(), length=o.length)
        var sent: Int
        if o.second:
            var second = Span(
                unsafe_ptr=o.second.value(), length=o.second_length
            )
            sent = 0
            if o.uncopied.is_sealed:
                sent = send_sealed(self.state[].pipe, operation)
                # Handlers may run before the next call.
                self.state[].pipe.let_signal_through()
            if sent == 0:
                sent = send_two(descriptor, octets, second, MSG_DONTWAIT)
        elif o.uncopied.sends_file:
            sent = send_file(self.state[].pipe, operation)
            self.state[].pipe.let_signal_through()
        else:
            sent = send_octets(descriptor, octets, MSG_DONTWAIT)
        if sent == -EAGAIN:
            interest.writable = False
            if interest.watches_room or not interest.registered:
                return
            sent = self._watch_room(descriptor)
            if sent == 0:
                return
        if sent == -EINTR:
            self._queue(descriptor)
            return
        interest.writer = None
        complete(operation, sent, False, completions)

    def _read(self, descriptor: Int32, completions: Completions):
        ref interest = self.state[].interests[Int(descriptor)]
        var operation = interest.reader.value()
        if operation.state[].kind == OperationKind.ACCEPT:
            self._accept(operation, completions)
            return
        var pooled = operation.state[].kind == OperationKind.RECEIVE
        var into: OctetPointer
        var room: Int
        if pooled:
            var buffer = self.state[].buffers.take()
            if not buffer:
                interest.reader = None
                complete(operation, NO_BUFFERS, False, completions)
                return
            into = buffer.value()
            room = self.state[].buffers.buffer_octets()
            if operation.state[].length > 0:
                room = min(room, operation.state[].length)
        else:
            into = operation.state[].address.value()
            room = operation.state[].length
        var received = receive_octets(
            descriptor, Span(unsafe_ptr=into, length=room), MSG_DONTWAIT
        )
        if received <= 0 and pooled:
            self.state[].buffers.give(into)
        if received == -EAGAIN or received == -EINTR:
            interest.readable = received == -EINTR
            if interest.readable:
                self._queue(descriptor)
            return
        # A receive that returns less than its room has emptied the socket. The
        # exceptions are the end of the stream, and octets after an urgent one.
        interest.readable = (
            received == room or interest.ended or interest.urgent
        )
        var more = operation.state[].multishot and received > 0
        if not more:
            interest.reader = None
        elif interest.readable:
            self._queue(descriptor)
        var buffer = Optional[OctetPointer](None)
        if pooled and received > 0:
            buffer = into
        completions[].append(
            Completion(
                operation,
                operation.state[].sequence,
                Int32(received),
                more,
                buffer,
            )
        )

    def _accept(self, operation: Operation, completions: Completions):
        var descriptor = operation.state[].descriptor
        ref interest = self.state[].interests[Int(descriptor)]
        for _ in range(_ACCEPTS_PER_TURN):
            var peer = SocketAddressStorage()
            var accepted = accept_socket(descriptor, peer, non_blocking=False)
            if accepted == -EAGAIN:
                interest.readable = False
                return
            if accepted == -EINTR:
                continue
            var more = operation.state[].multishot and accepted >= 0
            if not more:
                interest.reader = None
            complete(operation, accepted, more, completions)
            if not more:
                return
        self._queue(descriptor)

    def _connect(self, operation: Operation, completions: Completions):
        ref o = operation.state[]
        _ = set_non_blocking(o.descriptor, True)
        var begun = connect_socket(
            o.descriptor,
            o.address.value().unsafe_bitcast[SocketAddressStorage]()[],
        )
        if begun == -EINPROGRESS:
            ref interest = self.state[].interests[Int(o.descriptor)]
            interest.writer = operation
            interest.writable = False
            return
        _ = set_non_blocking(o.descriptor, False)
        complete(operation, begun, False, completions)
