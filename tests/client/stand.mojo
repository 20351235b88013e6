"""Stands in for a server: says what a test has written down, right or wrong."""

from std.memory import ArcPointer

from flare.net import SocketAddr
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import sleep
from flare.tcp import TcpListener, TcpStream

comptime OK_ANSWER: StaticString = (
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
)
"""A response after which the connection can be used again."""

comptime CONTINUE: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"
"""An interim response, behind which content comes."""


struct Ending:
    """Names what the stand-in does behind an answer."""

    comptime KEEP = 0
    """It waits for the next request."""
    comptime CLOSE = 1
    """It closes."""
    comptime RESET = 2
    """It breaks the connection off."""
    comptime HOLD = 3
    """It says no more, and waits until the client closes."""
    comptime CLOSE_UNASKED = 4
    """It closes before it has read anything."""


@fieldwise_init
struct Reply(Copyable, Movable):
    """Holds one answer."""

    var octets: String
    """What is said, whatever was asked."""
    var ending: Int
    """What is done then, one of `Ending`."""


struct Seen(Movable):
    """Holds what the stand-in has seen."""

    var requests: List[String]
    """Each request, head and content."""
    var connections: Int
    """How many connections came."""
    var open: Int
    """How many of them are open."""

    def __init__(out self):
        """Has seen nothing."""
        self.requests = List[String]()
        self.connections = 0
        self.open = 0


struct Stand(Movable):
    """Owns a stand-in that answers one request after the other."""

    var port: UInt16
    """Where it listens."""
    var seen: ArcPointer[Seen]
    """What it has seen."""
    var serving: JoinHandle[NoneType]
    """Its fiber."""

    def __init__(out self, var replies: List[Reply]) raises:
        """Begins to listen.

        Args:
            replies: What is answered, in order.

        Raises:
            Error: If it cannot listen.
        """
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        self.port = listener.local_address().port
        self.seen = ArcPointer(Seen())
        var seen = self.seen

        def serve() raises {var listener^, var replies^, var seen^}:
            _serve(listener, replies, seen)

        self.serving = spawn(serve^)

    def url(self, path: StringSlice = "") -> String:
        """Names it.

        Args:
            path: What stands behind the port.

        Returns:
            A URL.
        """
        return String("http://127.0.0.1:", self.port, path)

    def connections(self) -> Int:
        """Counts the connections that came.

        Returns:
            The count.
        """
        return self.seen[].connections

    def request(self, index: Int) raises -> String:
        """Gives a request that came.

        Args:
            index: Which one, from 0.

        Returns:
            Its text.

        Raises:
            Error: If fewer came.
        """
        if index >= len(self.seen[].requests):
            raise Error("there were ", len(self.seen[].requests), " requests")
        return self.seen[].requests[index]

    def join(deinit self) raises:
        """Waits until all was answered.

        Raises:
            Error: What it failed with.
        """
        self.serving^.join()


def ok_answers(count: Int) -> List[Reply]:
    """Makes answers that are all right.

    Args:
        count: How many.

    Returns:
        The answers.
    """
    return List[Reply](length=count, fill=Reply(String(OK_ANSWER), Ending.KEEP))


def redirect_to(location: StringSlice, status: Int = 302) -> Reply:
    """Makes an answer that points elsewhere.

    Args:
        location: Where to.
        status: The status.

    Returns:
        The answer.
    """
    return Reply(
        String(
            "HTTP/1.1 ",
            status,
            " X\r\nLocation: ",
            location,
            "\r\nContent-Length: 3\r\n\r\nabc",
        ),
        Ending.KEEP,
    )


def read_some(stream: TcpStream) raises -> String:
    """Reads once.

    Args:
        stream: The connection.

    Returns:
        What came; empty if the client has closed.

    Raises:
        Error: What reading fails with.
    """
    var piece = List[UInt8](length=65536, fill=0)
    var count = stream.read(Span(piece))
    return String(unsafe_from_utf8=Span(piece)[0:count])


def read_request(stream: TcpStream) raises -> String:
    """Reads one request, with the content that its head announces.

    Args:
        stream: The connection.

    Returns:
        Its text; empty if the client has closed.

    Raises:
        Error: What reading fails with.
    """
    var text = List[UInt8]()
    var piece = List[UInt8](length=65536, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            return String()
        text.extend(Span(piece)[0:count])
        var whole = String(unsafe_from_utf8=Span(text))
        var end = whole.find("\r\n\r\n")
        if end < 0:
            continue
        if whole.find("Transfer-Encoding: chunked") >= 0:
            if whole.endswith("0\r\n\r\n") or whole.find("\r\n0\r\n") >= 0:
                return whole
            continue
        var length = 0
        var at = whole.find("Content-Length: ")
        if at >= 0 and whole.find("Expect:") < 0:
            var rest = String(whole[byte = at + 16 :])
            length = Int(String(rest[byte = : rest.find("\r\n")]))
        if len(text) >= end + 4 + length:
            return whole


def _serve(
    listener: TcpListener, replies: List[Reply], seen: ArcPointer[Seen]
) raises:
    var stream = Optional[TcpStream](None)
    var is_asked_on = False
    for reply in replies:
        while True:
            if not stream:
                stream = listener.accept()
                seen[].connections += 1
                seen[].open += 1
                if reply.ending == Ending.CLOSE_UNASKED:
                    break
            var request = String()
            try:
                if is_asked_on:
                    request = read_some(stream.value())
                else:
                    request = read_request(stream.value())
            except e:
                if "net.reset" not in String(e):
                    raise e^
            if request.byte_length() > 0:
                seen[].requests.append(request)
                break
            stream = None
            seen[].open -= 1
        try:
            stream.value().write_all(reply.octets.as_bytes())
            if reply.ending == Ending.HOLD:
                while read_request(stream.value()).byte_length() > 0:
                    sleep(0)
        except e:
            # A client that has read enough resets.
            if "net." not in String(e):
                raise e^
        is_asked_on = reply.octets == String(CONTINUE)
        if reply.ending == Ending.KEEP:
            continue
        if reply.ending == Ending.RESET:
            stream.value().set_linger(0)
        stream = None
        seen[].open -= 1
