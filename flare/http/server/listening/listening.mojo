"""Stores the addresses of a server, and what happens to its sockets."""

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
    # A `serve` has ended: the sockets that it has shut down must be opened
    # again.
    var has_stopped: Bool
    # Another process continues to listen.
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
    """The addresses of a server, for any thread."""

    var _state: ArcPointer[_ListeningState]

    def __init__(out self):
        """Creates an empty list."""
        self._state = ArcPointer(_ListeningState())

    def addresses(self) -> List[StreamAddr]:
        """Returns the addresses.

        Returns:
            The addresses, in the order in which they were added.
        """
        var state = self._state
        state[].lock.acquire()
        var addresses = state[].addresses.copy()
        state[].lock.release()
        return addresses^

    def add(self, var address: StreamAddr, var file: Optional[SocketFile]):
        """Adds an address.

        Args:
            address: The address.
            file: The file to remove when the server stops.
        """
        var state = self._state
        state[].lock.acquire()
        state[].addresses.append(address^)
        state[].files.append(file^)
        state[].lock.release()

    def set_file(self, index: Int, var file: Optional[SocketFile]):
        """Sets the file of an address.

        Args:
            index: The index of the address.
            file: The file to remove when the server stops.
        """
        var state = self._state
        state[].lock.acquire()
        state[].files[index] = file^
        state[].lock.release()

    def remove_files(self):
        """Removes the paths, so that no client finds a path without a server.
        """
        var state = self._state
        state[].lock.acquire()
        _remove(state[].files)
        state[].lock.release()

    def note_stop(self):
        """Records that `serve` returns."""
        var state = self._state
        state[].lock.acquire()
        state[].has_stopped = True
        state[].lock.release()

    def has_stopped(self) -> Bool:
        """Returns whether an earlier `serve` has shut sockets down.

        Returns:
            True after one has ended.
        """
        var state = self._state
        state[].lock.acquire()
        var stopped = state[].has_stopped
        state[].lock.release()
        return stopped

    def report_to(self, descriptor: Int32):
        """Sets the socket to notify when the server serves.

        Args:
            descriptor: The socket; it is closed after that.
        """
        var state = self._state
        state[].lock.acquire()
        state[].ready = descriptor
        state[].lock.release()

    def report_ready(self):
        """Notifies the process that has passed the sockets."""
        var state = self._state
        state[].lock.acquire()
        if state[].ready >= 0:
            # A process that no longer reads has given up.
            _ = send_octets(state[].ready, [_READY], MSG_DONTWAIT)
            _ = close_descriptor(state[].ready)
            state[].ready = -1
        state[].lock.release()

    def pass_on(self, descriptor: Int32, name: String):
        """Adds a socket to pass to a successor.

        Args:
            descriptor: The socket.
            name: Its name.
        """
        var state = self._state
        state[].lock.acquire()
        if len(state[].passed) > 0:
            state[].passed_names += ":"
        state[].passed_names += name
        state[].passed.append(descriptor)
        state[].lock.release()

    def pass_nothing_on(self):
        """Removes the sockets to pass, because they will close."""
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
        """Starts a program with the sockets, while none of them can close.

        Args:
            channel: The channel by which the program reports that it serves.
            command: Its path and its arguments.
            variables: Additions to its environment, as `NAME=value`.

        Returns:
            The result of `SuccessorChannel.start`.

        Raises:
            An error `http.not_serving` if the server is not serving.
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
        """Records that another process takes over; its paths stay."""
        var state = self._state
        state[].lock.acquire()
        state[].handed_over = True
        for i in range(len(state[].files)):
            state[].files[i] = None
        state[].lock.release()

    def has_handed_over(self) -> Bool:
        """Returns whether another process has taken over.

        Returns:
            True after `note_hand_over`.
        """
        var state = self._state
        state[].lock.acquire()
        var handed_over = state[].handed_over
        state[].lock.release()
        return handed_over

    def fork(self) -> Int:
        """Forks the process while no other thread changes this state.

        Returns:
            The result of `fork_process`.
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
