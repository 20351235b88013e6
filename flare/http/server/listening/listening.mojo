"""Remembers where a server listens, and what is to become of its sockets."""

from std.memory import ArcPointer

from flare.http.stream_address import StreamAddr
from flare.sys.file import close_descriptor
from flare.sys.process import fork_process
from flare.sys.socket import send_octets
from flare.sys.socket_constants import MSG_DONTWAIT
from flare.sys.thread import Lock
from flare.unix.socket_file import SocketFile

from .successor import SuccessorChannel

comptime _READY: UInt8 = 1


struct _ListeningState(Movable):
    # Guards the fields below.
    var lock: Lock
    var addresses: List[StreamAddr]
    # The file of each address, if it has one and the server removes it.
    var files: List[Optional[SocketFile]]
    # A `serve` has ended: what it has shut down has to be opened again.
    var has_stopped: Bool
    # Another process goes on to listen.
    var handed_over: Bool
    # The sockets that another process would get; none before `serve`.
    var passed: List[Int32]
    var passed_names: String
    # A socket that is told when the server serves, or -1.
    var ready: Int32

    def __init__(out self):
        self.lock = Lock.create()
        self.addresses = List[StreamAddr]()
        self.files = List[Optional[SocketFile]]()
        self.has_stopped = False
        self.handed_over = False
        self.passed = List[Int32]()
        self.passed_names = String()
        self.ready = -1

    def __deinit__(deinit self):
        if self.ready >= 0:
            _ = close_descriptor(self.ready)
        self.lock.destroy()


struct Listening(Copyable, Movable):
    """Knows the addresses of a server, from any thread."""

    var _state: ArcPointer[_ListeningState]

    def __init__(out self):
        """Knows of no address."""
        self._state = ArcPointer(_ListeningState())

    def addresses(self) -> List[StreamAddr]:
        """Tells where the server listens.

        Returns:
            The addresses, in the order in which they were added.
        """
        var state = self._state
        state[].lock.acquire()
        var addresses = state[].addresses.copy()
        state[].lock.release()
        return addresses^

    def add(self, var address: StreamAddr, var file: Optional[SocketFile]):
        """Notes one more address.

        Args:
            address: The address.
            file: What to remove when the server stops.
        """
        var state = self._state
        state[].lock.acquire()
        state[].addresses.append(address^)
        state[].files.append(file^)
        state[].lock.release()

    def set_file(self, index: Int, var file: Optional[SocketFile]):
        """Notes that an address has another file.

        Args:
            index: Which address, from 0.
            file: What to remove when the server stops.
        """
        var state = self._state
        state[].lock.acquire()
        state[].files[index] = file^
        state[].lock.release()

    def remove_files(self):
        """Removes the paths: nobody shall find one where nobody accepts."""
        var state = self._state
        state[].lock.acquire()
        _remove(state[].files)
        state[].lock.release()

    def note_stop(self):
        """Notes that `serve` returns."""
        var state = self._state
        state[].lock.acquire()
        state[].has_stopped = True
        state[].lock.release()

    def has_stopped(self) -> Bool:
        """Tells whether sockets have been shut down by an earlier `serve`.

        Returns:
            True once one has ended.
        """
        var state = self._state
        state[].lock.acquire()
        var stopped = state[].has_stopped
        state[].lock.release()
        return stopped

    def report_to(self, descriptor: Int32):
        """Notes who wants to know when the server serves.

        Args:
            descriptor: A socket; it is closed then.
        """
        var state = self._state
        state[].lock.acquire()
        state[].ready = descriptor
        state[].lock.release()

    def report_ready(self):
        """Tells whoever has passed the sockets that the server serves."""
        var state = self._state
        state[].lock.acquire()
        if state[].ready >= 0:
            # Who does not read any more has given up.
            _ = send_octets(state[].ready, [_READY], MSG_DONTWAIT)
            _ = close_descriptor(state[].ready)
            state[].ready = -1
        state[].lock.release()

    def pass_on(self, descriptor: Int32, name: String):
        """Notes a socket that another process would get.

        Args:
            descriptor: The socket.
            name: What it is called.
        """
        var state = self._state
        state[].lock.acquire()
        if len(state[].passed) > 0:
            state[].passed_names += ":"
        state[].passed_names += name
        state[].passed.append(descriptor)
        state[].lock.release()

    def pass_nothing_on(self):
        """Notes that the sockets are about to close."""
        var state = self._state
        state[].lock.acquire()
        state[].passed.clear()
        state[].passed_names = String()
        state[].lock.release()

    def start_successor(
        self,
        mut channel: SuccessorChannel,
        command: List[String],
        variables: List[String],
    ) raises -> Int:
        """Starts a program that gets the sockets, while none of them closes.

        Args:
            channel: Where the program says that it serves.
            command: Its path and its arguments.
            variables: More of its environment, as `NAME=value`.

        Returns:
            What `SuccessorChannel.start` returns.

        Raises:
            An error `http.not_serving` if the server does not serve.
        """
        var state = self._state
        state[].lock.acquire()
        var serves = len(state[].passed) > 0
        var process = -1
        if serves:
            process = channel.start(
                command, state[].passed, state[].passed_names, variables
            )
        state[].lock.release()
        if not serves:
            raise Error("http.not_serving nothing to hand over")
        return process

    def note_hand_over(self):
        """Notes that another process goes on; its paths stay."""
        var state = self._state
        state[].lock.acquire()
        state[].handed_over = True
        for i in range(len(state[].files)):
            state[].files[i] = None
        state[].lock.release()

    def has_handed_over(self) -> Bool:
        """Tells whether another process goes on in place of this one.

        Returns:
            True after `note_hand_over`.
        """
        var state = self._state
        state[].lock.acquire()
        var handed_over = state[].handed_over
        state[].lock.release()
        return handed_over

    def fork(self) -> Int:
        """Forks the process while no other thread changes what is known here.

        Returns:
            What `fork_process` returns.
        """
        var state = self._state
        state[].lock.acquire()
        var process = fork_process()
        state[].lock.release()
        return process


def _remove(mut files: List[Optional[SocketFile]]):
    for i in range(len(files)):
        if files[i]:
            files[i].value().remove()
            files[i] = None
