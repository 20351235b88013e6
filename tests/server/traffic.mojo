"""Makes up the traffic of a simulated run: clients, requests, and their luck.

Each request has a number of its own. The handler counts how often it ran for
that number and answers with the number and the content, so that an answer which
is missing, doubled, swapped or damaged shows.
"""

from flare.core import PointerTo
from flare.http.builders import no_content, ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.runtime.backends.simulated_faults import Draws
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.wait import sleep


@fieldwise_init
struct NumberedHandler(Handler):
    """Answers `/<kind>/<number>/<milliseconds>` and counts its runs."""

    var runs: PointerTo[List[Int]]
    """How often it ran for each number."""

    def serve(self, req: Request) raises -> Response:
        """Answers one request.

        Args:
            req: The request.

        Returns:
            Its number and its content.

        Raises:
            Error: For requests of the kind `raise`.
        """
        var parts = req.path.split("/")
        var kind = String(parts[1])
        var number = Int(parts[2])
        self.runs[][number] += 1
        var wait_ms = Int(parts[3])
        if kind == "late":
            sleep(wait_ms)
        var content = String(req.text())
        if kind == "raise":
            raise Error("on purpose")
        if wait_ms > 0 and kind != "late":
            sleep(wait_ms)
        if kind == "none":
            return no_content()
        if kind == "large":
            return ok(String(number, ":", "l" * 50_000))
        return ok(String(number, ":", content))


@fieldwise_init
struct PlannedRequest(Copyable, Movable):
    """Holds a request and what must come of it."""

    var octets: String
    """The request."""
    var number: Int
    """Its number."""
    var is_head: Bool
    """Its method is HEAD."""
    var status: Int
    """The status of its answer."""
    var content: String
    """The content of its answer."""
    var is_last: Bool
    """The server closes the connection after it."""


struct Client(Copyable, Movable):
    """Sends pipelined requests in pieces, and may leave at any time."""

    var peer: Peer
    """Its end of the connection."""
    var requests: List[PlannedRequest]
    """What it sends."""
    var unsent: String
    """What it has not sent yet."""
    var received: List[UInt8]
    """What has arrived."""
    var ends_early: Bool
    """It ends its side when all is sent."""
    var leaves_at: Int
    """It breaks the connection when only so many octets are unsent; -1 if it
    stays."""
    var has_left: Bool
    """It broke the connection."""

    def __init__(out self, peer: Peer, var requests: List[PlannedRequest]):
        """Begins before the first octet.

        Args:
            peer: Its end of the connection.
            requests: What it sends.
        """
        self.peer = peer
        self.unsent = String()
        for request in requests:
            self.unsent += request.octets
        self.requests = requests^
        self.received = []
        self.ends_early = False
        self.leaves_at = -1
        self.has_left = False

    def send_some(mut self, mut draws: Draws):
        """Sends a piece of what is left.

        Args:
            draws: Decides how much.
        """
        var length = self.unsent.byte_length()
        var count = 1 + draws.below(min(length, 3000))
        if draws.strikes(300):
            count = length
        elif draws.strikes(300):
            count = 1 + draws.below(min(length, 5))
        self.peer.send(self.unsent[byte=:count])
        var unsent = String(self.unsent[byte=count:])
        self.unsent = unsent^
        length -= count
        if self.leaves_at >= length:
            self.peer.reset()
            self.has_left = True
            self.unsent = ""
        elif length == 0 and self.ends_early:
            self.peer.end_sending()


def plan_requests(
    mut draws: Draws, mut next_number: Int
) -> List[PlannedRequest]:
    """Makes up one to ten requests of a connection.

    Args:
        draws: Decides everything.
        next_number: The number of the next request; counted up.

    Returns:
        The requests.
    """
    var requests = List[PlannedRequest]()
    for _ in range(1 + draws.below(10)):
        requests.append(_plan(draws, next_number))
        next_number += 1
        if requests[len(requests) - 1].is_last:
            break
    return requests^


def _plan(mut draws: Draws, number: Int) -> PlannedRequest:
    var kinds: List[StaticString] = [
        "echo",
        "echo",
        "late",
        "raise",
        "none",
        "large",
    ]
    var kind = String(kinds[draws.below(len(kinds))])
    var wait_ms = draws.below(40) if draws.strikes(400) else 0
    var method = String("GET")
    var content = String()
    if draws.strikes(150):
        method = "HEAD"
    elif draws.strikes(500):
        method = "POST"
        var count = draws.below(12)
        if draws.strikes(100):
            count = 5000 + draws.below(20_000)
        elif draws.strikes(60):
            # More than the server reads ahead of a handler.
            count = 70_000 + draws.below(100_000)
            kind = "late"
            wait_ms = 100 + draws.below(400)
        for i in range(count):
            content += chr(97 + (number + i) % 26)
    var target = String("/", kind, "/", number, "/", wait_ms)
    var is_last = draws.strikes(80)
    var version = String("1.1")
    var fields = String("Host: a\r\n")
    if is_last and draws.strikes(500):
        version = "1.0"
    elif is_last:
        fields += "Connection: close\r\n"
    var framed = content
    if content != "":
        if version == "1.1" and draws.strikes(200):
            fields += "Expect: 100-continue\r\n"
        if version == "1.1" and draws.strikes(500):
            fields += "Transfer-Encoding: chunked\r\n"
            framed = _chunked(content, draws)
        else:
            fields += String("Content-Length: ", content.byte_length(), "\r\n")
    var status = 200
    var answer = String(number, ":", content)
    if kind == "raise":
        status = 500
        answer = "Internal Server Error"
    elif kind == "none":
        status = 204
        answer = ""
    elif kind == "large":
        answer = String(number, ":", "l" * 50_000)
    if method == "HEAD":
        answer = ""
    return PlannedRequest(
        String(method, " ", target, " HTTP/", version, "\r\n", fields, "\r\n")
        + framed,
        number,
        method == "HEAD",
        status,
        answer,
        is_last,
    )


def _chunked(content: String, mut draws: Draws) -> String:
    var text = String()
    var at = 0
    while at < content.byte_length():
        var count = 1 + draws.below(min(content.byte_length() - at, 9000))
        text += hex(count, prefix="") + "\r\n"
        text += String(content[byte = at : at + count]) + "\r\n"
        at += count
    return text + "0\r\n\r\n"
