"""Takes over the listening sockets that were opened for this process.

systemd opens them for a service with sockets, and a server for its successor.
The names show the difference: sockets of a server belong to this process alone
once that server has ended; all others are only lent.
"""

from flare.http.stream_address import StreamAddr
from flare.net import RawSocket
from flare.sys.errno import errno_name
from flare.sys.passed_descriptors import (
    PASSED_FIRST,
    PASSED_MAX,
    close_on_exec,
    take_passed_descriptors,
)
from flare.sys.process import process_id
from flare.sys.socket import local_socket_address, socket_option
from flare.sys.socket_address import SocketAddressStorage
from flare.sys.socket_constants import (
    SOCK_STREAM,
    SOL_SOCKET,
    SO_ACCEPTCONN,
    SO_TYPE,
)
from flare.sys.socket_file import FileIdentity, identify_file
from flare.unix import UnixAddr
from flare.unix.socket_file import MODE_DEFAULT, SocketFile


comptime OWN_NAME: StaticString = "flare.own."
"""The prefix of the name under which a server passes a socket on for good; the
permissions of its path follow.
"""
comptime READY_NAME: StaticString = "flare.ready"
"""The name of the socket to notify once the new server serves."""
comptime _BAD: StaticString = "http.bad_activation "


struct TakenListener(Movable):
    """A listening socket that another process has opened."""

    var socket: RawSocket
    """The socket."""
    var address: StreamAddr
    """Its address."""
    var file: Optional[SocketFile]
    """The file of the socket, which is removed when the listener is closed."""
    var mode: Int
    """The permissions of the file."""
    var name: String
    """The name with which it was passed."""
    var is_lent: Bool
    """Whether the other process keeps the socket open."""

    def __init__(out self, var socket: RawSocket, var address: StreamAddr):
        """Creates the description of a socket that the other process keeps open
        and that has no file.

        Args:
            socket: The socket.
            address: Its address.
        """
        self.socket = socket^
        self.address = address^
        self.file = None
        self.mode = MODE_DEFAULT
        self.name = String()
        self.is_lent = True


struct TakenListeners(Movable):
    """The listening sockets that were passed to this process."""

    var listeners: List[TakenListener]
    """The sockets, in their order."""
    var ready: Int32
    """A socket that is told when a server serves, or -1."""

    def __init__(out self):
        """Creates an empty list, for a process to which no socket was passed.
        """
        self.listeners = List[TakenListener]()
        self.ready = -1


def take_listeners() raises -> TakenListeners:
    """Takes over the sockets that were passed to this process.

    Returns:
        The listeners; none if no socket was passed to it.

    Raises:
        An error `http.bad_activation` if a descriptor is no listening socket
        of streams.
    """
    var taken = TakenListeners()
    var passed = take_passed_descriptors()
    if passed.process != String(process_id()):
        return taken^
    var count: Int
    try:
        count = Int(passed.count)
    except e:
        raise Error(_BAD, "LISTEN_FDS is no number: ", e)
    if count < 1 or count > PASSED_MAX:
        raise Error(_BAD, "LISTEN_FDS is not 1 to 1,024")
    var names = List[String]()
    for name in passed.names.split(":"):
        names.append(String(name))
    while len(names) < count:
        names.append(String())
    for i in range(count):
        var closing = close_on_exec(PASSED_FIRST + Int32(i))
        if closing < 0:
            raise Error(_BAD, "descriptor ", 3 + i, ": ", errno_name(-closing))
    var ready = Int32(-1)
    for i in range(count):
        var descriptor = PASSED_FIRST + Int32(i)
        if names[i] == READY_NAME:
            ready = descriptor
        else:
            taken.listeners.append(_take(descriptor, names[i]))
    taken.ready = ready
    return taken^


def _take(descriptor: Int32, name: String) raises -> TakenListener:
    var listens = 0
    var type = 0
    _ = socket_option(descriptor, SOL_SOCKET, SO_ACCEPTCONN, listens)
    _ = socket_option(descriptor, SOL_SOCKET, SO_TYPE, type)
    var storage = SocketAddressStorage()
    var found = local_socket_address(descriptor, storage)
    var address = Optional[StreamAddr](None)
    if listens != 0 and type == SOCK_STREAM and found == 0:
        address = StreamAddr.from_storage(storage)
    if not address:
        raise Error(
            _BAD, "descriptor ", descriptor, " is no listening stream socket"
        )
    var socket = RawSocket(unsafe_descriptor=descriptor)
    if not address.value().is_unix():
        # Accepted sockets inherit it.
        socket.set_no_delay(True)
    var taken = TakenListener(socket^, address.value().copy())
    taken.name = name.copy()
    taken.is_lent = not name.startswith(OWN_NAME)
    if not taken.is_lent and taken.address.is_unix():
        taken.file = _file_of(taken.address.unix_address())
        try:
            taken.mode = Int(name[byte = OWN_NAME.byte_length() :])
        except:
            raise Error(
                _BAD, "descriptor ", descriptor, " has a name without a mode"
            )
    return taken^


def _file_of(name: UnixAddr) -> Optional[SocketFile]:
    if name.is_abstract() or name.is_unnamed():
        return None
    var path = String(StringSlice(unsafe_from_utf8=name.octets()))
    var identity = FileIdentity()
    if identify_file(path, identity) < 0 or not identity.is_socket:
        return None
    return SocketFile(path, identity)
