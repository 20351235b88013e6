"""Runs a test on every kernel interface, and makes connected pairs."""

from std.memory import ArcPointer

from flare.net import SocketAddr
from flare.runtime.backend import BackendKind
from flare.runtime.current import set_current_reactor
from flare.runtime.private_loop import begin_private_loop, end_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.tcp import TcpListener, TcpStream

from tests.asserting import assert_equal

comptime Shared = ArcPointer[TcpStream]
"""A stream that several fibers hold."""
comptime SharedListener = ArcPointer[TcpListener]
"""A listener that several fibers hold."""


def on_each_backend(test: def() raises thin -> None) raises:
    """Runs a test in a private loop on io_uring and in one on epoll.

    Args:
        test: The test; nothing of it waits when it returns.

    Raises:
        Error: What the test raised, with the backend's name.
    """
    for kind in [BackendKind.IO_URING, BackendKind.EPOLL]:
        end_private_loop()
        var begun = begin_private_loop(ReactorConfig(backend=kind))
        assert_equal(begun[0], 0, String(kind))
        try:
            test()
        except e:
            # Fibers of the test may still wait: their loop is left alone.
            set_current_reactor(None)
            raise Error(kind, ": ", e)
        end_private_loop()


@fieldwise_init
struct Ends(Movable):
    """Holds both ends of a connection."""

    var client: TcpStream
    """The end that connected."""
    var server: TcpStream
    """The end that was accepted."""

    def into_client(deinit self) -> TcpStream:
        """Drops the server.

        Returns:
            The client.
        """
        return self.client^

    def into_server(deinit self) -> TcpStream:
        """Drops the client.

        Returns:
            The server.
        """
        return self.server^


def connected() raises -> Ends:
    """Connects two streams over the loopback address.

    Returns:
        Both ends.

    Raises:
        Error: If that fails.
    """
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    # The kernel completes the connect before anybody accepts.
    var client = TcpStream.connect(listener.local_address())
    var server = listener.accept()
    return Ends(client^, server^)


@fieldwise_init
struct SharedEnds(Movable):
    """Holds both ends of a connection for several fibers."""

    var client: Shared
    """The end that connected."""
    var server: Shared
    """The end that was accepted."""


def connected_shared() raises -> SharedEnds:
    """Connects two streams that several fibers may hold.

    Returns:
        Both ends.

    Raises:
        Error: If that fails.
    """
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = Shared(TcpStream.connect(listener.local_address()))
    return SharedEnds(client, Shared(listener.accept()))


def octets_of(text: StringSlice) -> List[UInt8]:
    """Copies the octets of a text.

    Args:
        text: The text.

    Returns:
        Its octets.
    """
    return List(text.as_bytes())


def pattern(count: Int) -> List[UInt8]:
    """Makes octets whose order shows.

    Args:
        count: How many.

    Returns:
        The octets.
    """
    var octets = List[UInt8](length=count, fill=0)
    for i in range(count):
        octets[i] = UInt8((i ^ (i >> 8) ^ (i >> 16) * 5) & 255)
    return octets^


def read_to_end(stream: TcpStream, piece_octets: Int) raises -> List[UInt8]:
    """Reads until the peer ends.

    Args:
        stream: What to read.
        piece_octets: The size of each read.

    Returns:
        Everything that came.

    Raises:
        Error: What `read` raises.
    """
    var all = List[UInt8]()
    var piece = List[UInt8](length=piece_octets, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            return all^
        all.extend(Span(piece)[0:count])
