"""Stands in for a WebSocket server: says what a test has written down, right or
wrong."""

from flare.io import Reader, Writer
from flare.net import SocketAddr
from flare.proto.ws import WsOpcode, accept_value
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import sleep
from flare.tcp import TcpListener
from flare.tls import TlsListener
from flare.ws import WsFrame

from tests.tls.certificates import server_config

comptime ACCEPTED: StaticString = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Accept: $ACCEPT\r\n"
)
"""The start of a head that accepts; an empty line must follow."""


struct Behavior:
    """Names what the stand-in does behind its answer."""

    comptime ECHO = 0
    """It echoes data, and answers a Close."""
    comptime MUTE = 1
    """It reads, and says no more."""
    comptime HANG_UP = 2
    """It closes."""
    comptime PONG = 3
    """It echoes data, and answers a Close and pings."""
    comptime DEAF = 4
    """It reads only after 200 ms."""
    comptime FEED = 5
    """It answers nothing, and sends messages as fast as they are read."""


struct StandIn(Movable):
    """Owns a server that serves one connection."""

    var port: UInt16
    """Where it listens."""
    var serving: JoinHandle[String]
    """Its fiber."""

    def __init__(
        out self,
        head: String,
        var first: List[UInt8] = [],
        *,
        behavior: Int = Behavior.ECHO,
        before: String = "",
        is_proxy: Bool = False,
        is_secure: Bool = False,
    ) raises:
        """Begins to listen.

        Args:
            head: The response; `$ACCEPT` stands for the right value.
            first: Octets that arrive with the head.
            behavior: One of `Behavior`.
            before: The response to an earlier request, on a connection of its
                own; empty for none.
            is_proxy: Whether it is asked for a tunnel first, and answers in
                the place of the host.
            is_secure: Whether it speaks TLS.

        Raises:
            Error: If it cannot listen.
        """
        if is_secure:
            var secure = TlsListener.bind(
                SocketAddr.localhost(0), server_config()
            )
            self.port = secure.local_address().port

            def serve_tls() raises {
                var secure^, var head, var first^, var behavior
            } -> String:
                var stream = secure.accept(timeout_ms=5_000)
                stream.set_read_timeout_ms(5_000)
                return _serve(stream, head, first, behavior)

            self.serving = spawn(serve_tls^)
            return
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        self.port = listener.local_address().port

        def serve() raises {
            var listener^,
            var head,
            var first^,
            var behavior,
            var before,
            var is_proxy,
        } -> String:
            if before.byte_length() > 0:
                var earlier = listener.accept(timeout_ms=5_000)
                _ = _read_head(earlier)
                earlier.write_all(before.as_bytes())
            var stream = listener.accept(timeout_ms=5_000)
            stream.set_read_timeout_ms(5_000)
            if not is_proxy:
                return _serve(stream, head, first, behavior)
            var asked = String(
                unsafe_from_utf8=Span(_read_head(stream)[0])
            ).split("\r\n")[0]
            stream.write_all("HTTP/1.1 200 OK\r\n\r\n".as_bytes())
            return String(asked, " ", _serve(stream, head, first, behavior))

        self.serving = spawn(serve^)

    def url(self) -> String:
        """Names it.

        Returns:
            A URL of ws.
        """
        return String("ws://127.0.0.1:", self.port, "/")

    def seen(deinit self) raises -> String:
        """Waits until the client has gone.

        Returns:
            The frames of the client: opcode, length and short payload of each,
            as `1:5 hello 8:2 (1000)`. Then `plain` if one was not masked,
            `same key` if two had the same key, `cut` if one is not whole, and
            `reset` if the client has reset. The request for a tunnel comes
            first, and `Digest` if the request had such credentials.

        Raises:
            Error: What it failed with.
        """
        return self.serving^.join()


def server_frame(first: UInt8, payload: StringSlice) -> List[UInt8]:
    """Makes a short frame of a server.

    Args:
        first: The first octet: FIN, reserved bits, opcode.
        payload: At most 125 octets.

    Returns:
        The frame.
    """
    var octets: List[UInt8] = [first, UInt8(payload.byte_length())]
    octets.extend(payload.as_bytes())
    return octets^


def close_frame(code: Int) -> List[UInt8]:
    """Makes the Close of a server.

    Args:
        code: The code.

    Returns:
        The frame.
    """
    return [UInt8(0x88), UInt8(2), UInt8(code >> 8), UInt8(code & 255)]


def _read_head[S: Reader](stream: S) raises -> Tuple[List[UInt8], List[UInt8]]:
    """Reads a head, and returns it and the octets behind it."""
    var piece = List[UInt8](length=65_536, fill=0)
    var octets = List[UInt8]()
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            raise Error("no request")
        octets.extend(Span(piece)[:count])
        var end = String(unsafe_from_utf8=Span(octets)).find("\r\n\r\n")
        if end >= 0:
            return (
                List[UInt8](Span(octets)[:end]),
                List[UInt8](Span(octets)[end + 4 :]),
            )


def _serve[
    S: Reader & Writer
](stream: S, head: String, first: List[UInt8], behavior: Int) raises -> String:
    var received = _read_head(stream)
    var request = String(unsafe_from_utf8=Span(received[0]))
    var octets = received[1].copy()
    var seen = _Seen()
    if "Authorization: Digest" in request:
        seen.text = " Digest"
    var key = request.find("Sec-WebSocket-Key: ") + 19
    var answer = List[UInt8](
        head.replace(
            "$ACCEPT", accept_value(request.as_bytes()[key : key + 24])
        ).as_bytes()
    )
    answer.extend(Span(first))
    stream.write_all(Span(answer))
    if behavior == Behavior.DEAF:
        sleep(200)
    if behavior == Behavior.HANG_UP:
        return "hung up"
    var piece = List[UInt8](length=65_536, fill=0)
    try:
        while not seen.has_closed:
            seen.take(octets, stream, behavior)
            if seen.has_closed and behavior != Behavior.MUTE:
                break
            var count = stream.read(Span(piece))
            if count == 0:
                break
            octets.extend(Span(piece)[:count])
        if behavior == Behavior.FEED:
            while True:
                stream.write_all(Span(server_frame(0x81, "on and on")))
        if behavior == Behavior.MUTE:
            while stream.read(Span(piece)) > 0:
                pass
    except e:
        if behavior == Behavior.FEED:
            return seen.text.copy()
        if "net.reset" not in String(e):
            raise e^
        seen.text += " reset"
    if len(octets) > 0:
        seen.text += " cut"
    return String(seen.text.removeprefix(" "))


struct _Seen(Movable):
    var text: String
    var keys: List[UInt32]
    var has_closed: Bool

    def __init__(out self):
        self.text = String()
        self.keys = List[UInt32]()
        self.has_closed = False

    def take[
        W: Writer
    ](mut self, mut octets: List[UInt8], stream: W, behavior: Int) raises:
        while len(octets) > 0:
            # A compressed message stays one, although it is not inflated.
            var first = octets[0]
            octets[0] = first & 0xBF
            var decoded = WsFrame.decode_one(Span(octets))
            if not decoded.is_whole():
                octets[0] = first
                return
            self._note_key(octets)
            octets = List[UInt8](Span(octets)[decoded.consumed :])
            var frame = decoded.take_frame()
            self._note(frame)
            if behavior == Behavior.MUTE or behavior == Behavior.FEED:
                continue
            if behavior == Behavior.PONG and frame.opcode == WsOpcode.PING:
                first = 0x80 | WsOpcode.PONG
            if frame.opcode == WsOpcode.PONG:
                continue
            var answer = frame.encode()
            answer[0] = first
            stream.write_all(Span(answer))

    def _note_key(mut self, octets: List[UInt8]):
        var length = octets[1] & 127
        if octets[1] & 128 == 0:
            self.text += " plain"
            return
        var at = 2
        if length == 126:
            at = 4
        elif length == 127:
            at = 10
        var key = UInt32(0)
        for i in range(4):
            key = key << 8 | UInt32(octets[at + i])
        for other in self.keys:
            if other == key:
                self.text += " same key"
        self.keys.append(key)

    def _note(mut self, frame: WsFrame):
        var count = len(frame.payload)
        self.text += String(" ", frame.opcode, ":", count)
        if frame.opcode == WsOpcode.CLOSE:
            self.has_closed = True
            if count >= 2:
                self.text += String(
                    " (",
                    Int(frame.payload[0]) << 8 | Int(frame.payload[1]),
                    ")",
                )
        elif count > 0 and count <= 32:
            self.text += " " + String(unsafe_from_utf8=Span(frame.payload))
