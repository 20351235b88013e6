"""Sends pages and files to a socket without copying them (vmsplice(2),
splice(2), sendfile(2)).

Pages in a pipe move on to a socket by reference. Pages that the socket does
not take at once are dropped from the pipe, so that it is empty between calls.
"""

from std.ffi import c_int, c_uint, external_call
from std.sys.info import num_logical_cores

from flare.core import PointerTo, heap_create, heap_destroy

from .errno import EACCES, EAGAIN, EINVAL, ENOENT, ENOSYS, EPERM
from .file import close_descriptor, result_or_errno
from .process import block_signals, set_signal_mask
from .signal import SIGPIPE
from .socket import send_octets
from .socket_constants import MSG_DONTWAIT

# The most that a user without privileges may ask for (Linux, `pipe-max-size`).
comptime _PIPE_OCTETS = 1024 * 1024
# All pipes of a user may hold 64 MiB together (`pipe-user-pages-soft`). Beyond
# that, each further one of any process holds two pages. The workers of one
# server, as many as CPUs, take at most half of it.
comptime _PIPES_OCTETS = 16 * 1024 * 1024
comptime _PIPE_OCTETS_FAIR = 256 * 1024
# Through a smaller one, calls cost more than a copy does.
comptime _PIPE_OCTETS_MIN = 64 * 1024
comptime _F_SETPIPE_SZ = 1031
comptime _F_GETPIPE_SZ = 1032
comptime _O_CLOEXEC = 0x80000
comptime _O_WRONLY = 1
comptime _O_NONBLOCK = 0x800
comptime _MSG_MORE = 0x8000
# A head that so many octets follow goes ahead alone: while the octets are sent,
# the peer wakes up and starts to read.
comptime _AFTER_LONE_HEAD_OCTETS_MIN = 512 * 1024
comptime _SPLICE_F_NONBLOCK = 2
comptime _SPLICE_F_MORE = 4
comptime _SIGNAL_WORDS = 16


struct _Phase:
    comptime CLOSED: UInt8 = 0
    comptime OPEN: UInt8 = 1
    # The system does not have it, or forbids it.
    comptime USELESS: UInt8 = 2


struct _PipeState(Movable):
    var phase: UInt8
    var ends: Array[c_int, 2]
    # Swallows what the socket did not take.
    var sink: c_int
    # The thread's signals before SIGPIPE was kept off, while it is.
    var mask: Optional[UInt64]
    # SIGPIPE may have been raised meanwhile.
    var may_be_broken: Bool

    def __init__(out self):
        self.phase = _Phase.CLOSED
        self.ends = Array[c_int, 2](fill=-1)
        self.sink = -1
        self.mask = None
        self.may_be_broken = False


# The origin travels with the address, as it does to sendmsg.
@fieldwise_init
struct _Part[origin: ImmOrigin](TrivialRegisterPassable):
    var octets: Pointer[UInt8, Self.origin]
    var octet_count: Int


@fieldwise_init
struct SplicePipe(TrivialRegisterPassable):
    """Sends files, and pages through a pipe that is opened when it is first
    needed."""

    var _state: PointerTo[_PipeState]

    @staticmethod
    def create() -> Self:
        """Creates a pipe that is not open yet.

        Returns:
            A handle; call `destroy` at its end.
        """
        return Self(heap_create(_PipeState()))

    def destroy(self):
        """Closes the pipe."""
        self.let_signal_through()
        self._close()
        heap_destroy(self._state)

    def is_useless(self) -> Bool:
        """Returns whether the system has refused the pipe or a call that
        sending needs.

        Returns:
            True if `send` sends nothing any more.
        """
        return self._state[].phase == _Phase.USELESS

    def send(
        self,
        descriptor: Int32,
        head: Span[mut=False, UInt8, _],
        pages: Span[mut=False, UInt8, _],
    ) -> Int:
        """Sends octets, and pages after them, without waiting.

        A peer that has left would end the process by SIGPIPE. So from now on,
        the calling thread gets no SIGPIPE until `let_signal_through`. Between
        the two, there may be many sends, and no other code runs.

        Args:
            descriptor: A connected socket whose calls do not wait.
            head: The first octets; copied.
            pages: The octets after them; not copied.

        Returns:
            The number that the kernel took of both together, with at most 1 MiB
            of the pages, or 256 KiB without a head. 0 if it took none: use an
            ordinary send then.

        Safety:
            The pages are never written again, and never freed, only unmapped:
            the peer may read them at any later time.
        """
        if self._state[].phase != _Phase.OPEN and not self._open():
            return 0
        # If an earlier send was cut off, there is room for a part only. Each page
        # that does not fit goes into the pipe and out of it in vain.
        var octets_max = _PIPE_OCTETS if len(head) > 0 else _PIPE_OCTETS_FAIR
        var filled = self._fill(pages[: min(len(pages), octets_max)])
        if filled <= 0:
            self._note(filled)
            return 0
        if not self._state[].mask:
            self._state[].mask = block_signals(SIGPIPE)
        return self._send_filled(descriptor, head, pages, filled)

    def send_file(
        self,
        descriptor: Int32,
        head: Span[mut=False, UInt8, _],
        file: Int32,
        var start: Int,
        octets: Int,
    ) -> Int:
        """Sends octets, and octets of a file after them, without waiting for
        room.

        It waits for a disk if the octets of the file are not in memory. As for
        `send`, the calling thread gets no SIGPIPE until `let_signal_through`.

        Args:
            descriptor: A connected socket whose calls do not wait.
            head: The first octets; copied.
            file: An open file.
            start: The place of the first octet of the file.
            octets: Their number.

        Returns:
            The number that the kernel took of both together. 0 if it took none
            because the file ends before `start`. Otherwise a negated errno;
            `-EAGAIN` if there is no room.
        """
        var sent = 0
        if len(head) > 0:
            sent = send_octets(descriptor, head, _head_flags(octets))
            if sent < len(head):
                return sent
        if not self._state[].mask:
            self._state[].mask = block_signals(SIGPIPE)
        var moved = result_or_errno(
            external_call["sendfile", Int](
                descriptor, file, Pointer(to=start), octets
            )
        )
        # As for the pipe, a partial transfer does not show why it ended.
        if moved < octets and moved != -EAGAIN:
            self._state[].may_be_broken = True
        return sent + moved if moved >= 0 or sent == 0 else sent

    @always_inline
    def let_signal_through(self):
        """Restores the signals of the calling thread, which must be the one
        that has sent. Pending ones of the sends are dropped.
        """
        if self._state[].mask:
            self._restore_signals()

    @no_inline
    def _restore_signals(self):
        if self._state[].may_be_broken:
            _take_pending(SIGPIPE)
            self._state[].may_be_broken = False
        set_signal_mask(self._state[].mask.value())
        self._state[].mask = None

    def _send_filled(
        self,
        descriptor: Int32,
        head: Span[mut=False, UInt8, _],
        pages: Span[mut=False, UInt8, _],
        filled: Int,
    ) -> Int:
        var sent = 0
        if len(head) > 0:
            sent = send_octets(descriptor, head, _head_flags(len(pages)))
            if sent < len(head):
                self._drop(filled)
                return max(sent, 0)
        # More may fit, but a peer that reads all the while would hold us here.
        var more = filled < len(pages)
        var moved = self._move(descriptor, filled, more)
        if moved < filled:
            # After a partial transfer, the result does not show why it ended.
            if moved != -EAGAIN:
                self._state[].may_be_broken = True
            self._drop(filled - max(moved, 0))
            self._note(moved)
        return sent + max(moved, 0)

    def _fill(self, pages: Span[mut=False, UInt8, _]) -> Int:
        var part = _Part(pages.unsafe_ptr(), len(pages))
        return result_or_errno(
            external_call["vmsplice", Int](
                self._state[].ends[1],
                Pointer(to=part),
                Int(1),
                c_uint(_SPLICE_F_NONBLOCK),
            )
        )

    def _move(self, descriptor: Int32, octets: Int, more: Bool) -> Int:
        return _splice(
            self._state[].ends[0],
            descriptor,
            octets,
            _SPLICE_F_NONBLOCK | (_SPLICE_F_MORE if more else 0),
        )

    def _drop(self, var octets: Int):
        while octets > 0:
            var dropped = _splice(
                self._state[].ends[0],
                self._state[].sink,
                octets,
                _SPLICE_F_NONBLOCK,
            )
            if dropped <= 0:
                # Octets left in the pipe would precede the next content.
                self._close()
                return
            octets -= dropped

    def _note(self, result: Int):
        # These errors come from system call filters, and from systems without
        # this kind of splice. A shortage, or a lack of room, may be over next
        # time.
        if (
            result == -EPERM
            or result == -ENOSYS
            or result == -EINVAL
            or result == -EACCES
            or result == -ENOENT
        ):
            self._give_up()

    def _give_up(self):
        self._close()
        self._state[].phase = _Phase.USELESS

    @no_inline
    def _open(self) -> Bool:
        if self._state[].phase == _Phase.USELESS:
            return False
        var opened = external_call["pipe2", c_int](
            Pointer(to=self._state[].ends),
            c_int(_O_CLOEXEC | _O_NONBLOCK),
        )
        if opened < 0:
            return False
        var sink = result_or_errno(
            Int(
                external_call["open", c_int, num_fixed_args=2](
                    StaticString("/dev/null").unsafe_ptr(),
                    c_int(_O_WRONLY | _O_CLOEXEC),
                )
            )
        )
        if sink < 0:
            self._close()
            self._note(sink)
            return False
        self._state[].sink = c_int(sink)
        self._state[].phase = _Phase.OPEN
        if self._resize() < _PIPE_OCTETS_MIN:
            self._give_up()
        return self._state[].phase == _Phase.OPEN

    def _resize(self) -> Int:
        var pipe = self._state[].ends[1]
        var share = min(_PIPES_OCTETS // num_logical_cores(), _PIPE_OCTETS)
        for wanted in [max(share, _PIPE_OCTETS_FAIR), _PIPE_OCTETS_FAIR]:
            var room = _pipe_call(pipe, _F_SETPIPE_SZ, wanted)
            if room >= 0:
                return room
        return _pipe_call(pipe, _F_GETPIPE_SZ, 0)

    def _close(self):
        ref s = self._state[]
        for i in range(2):
            if s.ends[i] >= 0:
                _ = close_descriptor(s.ends[i])
                s.ends[i] = -1
        if s.sink >= 0:
            _ = close_descriptor(s.sink)
            s.sink = -1
        if s.phase == _Phase.OPEN:
            s.phase = _Phase.CLOSED


def _pipe_call(pipe: c_int, command: Int, argument: Int) -> Int:
    return Int(
        external_call["fcntl", c_int, num_fixed_args=2](
            pipe, c_int(command), argument
        )
    )


def _head_flags(octets_after_it: Int) -> Int:
    if octets_after_it < _AFTER_LONE_HEAD_OCTETS_MIN:
        return MSG_DONTWAIT | _MSG_MORE
    return MSG_DONTWAIT


def _splice(source: c_int, target: c_int, octets: Int, flags: Int) -> Int:
    return result_or_errno(
        external_call["splice", Int](
            source, Int(0), target, Int(0), octets, c_uint(flags)
        )
    )


def _take_pending(signal: Int):
    var mask = Array[UInt64, _SIGNAL_WORDS](fill=0)
    mask[0] = UInt64(1) << UInt64(signal - 1)
    var no_time = Array[Int, 2](fill=0)
    _ = external_call["sigtimedwait", c_int](
        mask.unsafe_ptr(), Int(0), no_time.unsafe_ptr()
    )
