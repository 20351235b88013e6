"""Reads and writes content bit by bit, as simulated requests ask for it.

A target is `/<kind>/<number>/<milliseconds>/<octets>/<piece>`: how much content
the answer has, and in which pieces it is read or written.
"""

from flare.core import PointerTo
from flare.http.builders import ok
from flare.http.request import Request
from flare.http.response import Response
from flare.http.response_stream import ResponseStream
from flare.http.server.exchange.request_content import READ_AHEAD_OCTETS
from flare.http.upgraded_stream import UpgradedStream

from .ledger import Ledger, pause
from .letters import letters, raised

comptime PROTOCOL: StaticString = "mirror"
"""The protocol that requests of the kind `upgrade` offer."""
comptime FAREWELL: StaticString = "bye"
"""What its server says last."""


@fieldwise_init
struct Pieces(ImplicitlyCopyable):
    """Says how content is cut."""

    var wait_ms: Int
    """How long to sleep between some of the pieces."""
    var octets: Int
    """How much there is."""
    var piece: Int
    """The size of a piece."""

    @staticmethod
    def of(req: Request) raises -> Self:
        """Reads the target of a request.

        Args:
            req: The request.

        Returns:
            What it says.

        Raises:
            Error: If it says something else.
        """
        var parts = req.path.split("/")
        return Self(Int(parts[3]), Int(parts[4]), Int(parts[5]))


def read_in_pieces(
    ledger: PointerTo[Ledger], req: Request, number: Int
) raises -> Response:
    """Reads the content bit by bit, then the trailers if it shall.

    Args:
        ledger: Counts.
        req: The request, of the kind `pieces` or `trailed`.
        number: Its number.

    Returns:
        The content, and the trailer.

    Raises:
        Error: If a wait fails.
    """
    var cut = Pieces.of(req)
    var piece = List[UInt8](length=cut.piece, fill=0)
    var text = String(number, ":")
    var reads = 0
    var octets = 0
    ledger[].uploads += 1
    try:
        while True:
            var count = req.body.read(Span(piece))
            if count == 0:
                break
            text += StringSlice(unsafe_from_utf8=Span(piece)[:count])
            octets += count
            reads += 1
            if reads % 4 == 1:
                pause(ledger, cut.wait_ms)
    except e:
        ledger[].uploads -= 1
        raise e^
    ledger[].uploads -= 1
    ledger[].note_content(octets, READ_AHEAD_OCTETS)
    if req.path.startswith("/trailed/"):
        text += String(":", req.body.trailers().get("X-Sum").value())
    return ok(text)


def write_in_pieces(
    ledger: PointerTo[Ledger], kind: String, req: Request, number: Int
) raises -> Response:
    """Answers with a function that writes the content.

    Args:
        ledger: Counts.
        kind: `lines`, `counted`, `summed`, `broken` or `mirror`.
        req: The request.
        number: Its number.

    Returns:
        The response.

    Raises:
        Error: If the target is none of these.
    """

    def write(
        req: Request, stream: ResponseStream
    ) raises {var ledger, var kind, var number}:
        ledger[].downloads += 1
        try:
            if kind == "mirror":
                _mirror(ledger, req, stream, number)
            else:
                _write(ledger, kind, req, stream, number)
        except e:
            ledger[].downloads -= 1
            raise e^
        ledger[].downloads -= 1

    var length = Optional[Int](None)
    if kind == "counted":
        length = String(number, ":").byte_length() + Pieces.of(req).octets
    return Response.stream(write^, length=length)


def upgrade(ledger: PointerTo[Ledger]) raises -> Response:
    """Answers with a function that sends back what it reads, in capitals.

    Args:
        ledger: Counts.

    Returns:
        The response.

    Raises:
        Error: Never.
    """

    def speak(req: Request, stream: UpgradedStream) raises {var ledger}:
        ledger[].upgrades += 1
        try:
            _speak(ledger, req, stream)
        except e:
            ledger[].upgrades -= 1
            raise e^
        ledger[].upgrades -= 1

    return Response.upgrade(PROTOCOL, speak)


def _write(
    ledger: PointerTo[Ledger],
    kind: String,
    req: Request,
    stream: ResponseStream,
    number: Int,
) raises:
    var cut = Pieces.of(req)
    if kind == "lines" and number % 3 == 0:
        stream.flush()
        pause(ledger, cut.wait_ms)
    var text = String(number, ":", letters(number, cut.octets))
    var octets = text.as_bytes()
    var at = 0
    var writes = 0
    while at < len(octets):
        var end = min(at + cut.piece, len(octets))
        stream.write_all(octets[at:end])
        at = end
        writes += 1
        if writes % 4 == 1:
            pause(ledger, cut.wait_ms)
    if kind == "broken":
        raise Error("on purpose")
    if kind == "summed":
        stream.set_trailer("X-Sum", String(number))


def _mirror(
    ledger: PointerTo[Ledger],
    req: Request,
    stream: ResponseStream,
    number: Int,
) raises:
    var cut = Pieces.of(req)
    stream.write_text(String(number, ":"))
    var piece = List[UInt8](length=cut.piece, fill=0)
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return
        stream.write_all(Span(piece)[:count])
        pause(ledger, cut.wait_ms // 8)


def _speak(
    ledger: PointerTo[Ledger], req: Request, stream: UpgradedStream
) raises:
    var cut = Pieces.of(req)
    var piece = List[UInt8](length=cut.piece, fill=0)
    while True:
        var count = stream.read(Span(piece))
        if count == 0:
            break
        var text = raised(StringSlice(unsafe_from_utf8=Span(piece)[:count]))
        stream.write_all(text.as_bytes())
        pause(ledger, cut.wait_ms // 8)
    stream.write_all(FAREWELL.as_bytes())
