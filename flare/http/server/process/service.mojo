"""Speaks for a server to the service manager that started its process."""

from std.memory import ArcPointer

from flare.sys.thread import Lock

from .notify_socket import NotifySocket


struct _ServiceState(Movable):
    # Guards the fields below.
    var lock: Lock
    var socket: NotifySocket
    # How long the server may take to stop; 0 before `serve`.
    var stop_ms: Int

    def __init__(out self):
        self.lock = Lock.create()
        self.socket = NotifySocket()
        self.stop_ms = 0

    def __deinit__(deinit self):
        self.lock.destroy()


struct Service(Copyable, Movable):
    """Sends a server's notifications to systemd, on any thread. Copies share
    one state.
    """

    var _state: ArcPointer[_ServiceState]

    def __init__(out self):
        """Creates a service that sends no notifications."""
        self._state = ArcPointer(_ServiceState())

    def set_socket(self, socket: NotifySocket):
        """Sets the socket for notifications to systemd.

        Args:
            socket: The socket.
        """
        var state = self._state
        state[].lock.acquire()
        state[].socket = socket.copy()
        state[].lock.release()

    def socket(self) -> NotifySocket:
        """Returns the socket for notifications to systemd.

        Returns:
            The socket; one without a receiver before `set_socket`.
        """
        var state = self._state
        state[].lock.acquire()
        var socket = state[].socket.copy()
        state[].lock.release()
        return socket^

    def set_stop_ms(self, stop_ms: Int):
        """Sets how long the server may take to stop.

        Args:
            stop_ms: Milliseconds from the order to the end of the process.
        """
        var state = self._state
        state[].lock.acquire()
        state[].stop_ms = stop_ms
        state[].lock.release()

    def say_ready(self):
        """Sends READY=1: all workers serve."""
        _ = self.socket().try_send("READY=1")

    def say_stopping(self):
        """Sends STOPPING=1, and how long requests in flight may take."""
        var state = self._state
        state[].lock.acquire()
        var stop_ms = state[].stop_ms
        state[].lock.release()
        var text = String("STOPPING=1")
        if stop_ms > 0:
            text.write("\nEXTEND_TIMEOUT_USEC=", stop_ms * 1000)
        _ = self.socket().try_send(text)

    def say_who_goes_on(self, process: Int):
        """Sends MAINPID: another process is the service from now on.

        Args:
            process: Its id.
        """
        _ = self.socket().try_send(String("MAINPID=", process))
