"""Makes up the requests of simulated clients, and what must come of them."""

from flare.core import write_escaped
from flare.runtime.backends.simulated_faults import Draws

from .handler import (
    CONTENT_OCTETS_MAX,
    DEADLINE_MS,
    HUGE_OCTETS,
    LARGE_OCTETS,
)
from .ledger import Activity
from .letters import letters, raised
from .streams import FAREWELL

comptime WAIT_MS_MAX = 40
"""The longest that most handlers wait."""


@fieldwise_init
struct PlannedRequest(Copyable, Movable):
    """Holds a request and what must come of it."""

    var octets: String
    """The request."""
    var number: Int
    """Its number."""
    var kind: String
    """What the handler does."""
    var is_head: Bool
    """Its method is HEAD."""
    var status: Int
    """The status of its answer."""
    var content: String
    """The content of its answer."""
    var is_last: Bool
    """The server closes the connection after it."""
    var expects: Bool
    """It waits for 100 (Continue), though its client does not."""

    def reads(self) -> Bool:
        """Tells whether the handler reads the content before it answers.

        Returns:
            False if it is not asked for, or not until the head is out.
        """
        return self.kind != "unread" and self.kind != "mirror"

    def line(self) -> String:
        """Describes the request.

        Returns:
            Its request line, without octets that are no text, and more.
        """
        var end = max(self.octets.find("\r\n"), 0)
        var line = String()
        write_escaped(self.octets.as_bytes()[: min(end, 60)], line)
        if self.expects:
            line += ", expects 100"
        if self.is_last:
            line += ", last"
        return line + String(", ", self.octets.byte_length(), " octets")


def plan_requests(
    mut draws: Draws,
    mut next_number: Int,
    count_max: Int,
    first: Activity,
    spawns: Int,
) -> List[PlannedRequest]:
    """Makes up the requests of a connection.

    Args:
        draws: Decides everything.
        next_number: The number of the next request; counted up.
        count_max: How many there may be.
        first: What the handler of the first one shall do for a while.
        spawns: In how many of 1,000 a handler spawns for no other reason.

    Returns:
        The requests, at least one.
    """
    var requests = List[PlannedRequest]()
    for i in range(1 + draws.below(count_max)):
        if i == 0 and first != Activity.ANY:
            requests.append(_plan_stream(draws, next_number, first))
        elif draws.strikes(30):
            requests.append(_plan_bad(draws, next_number))
        elif draws.strikes(350):
            requests.append(_plan_stream(draws, next_number, Activity.ANY))
        else:
            requests.append(_plan(draws, next_number, spawns))
        next_number += 1
        if requests[len(requests) - 1].is_last:
            break
    return requests^


def _plan(mut draws: Draws, number: Int, spawns: Int) -> PlannedRequest:
    var kind = String("spawn") if draws.strikes(spawns) else _draw_kind(draws)
    var wait_ms = draws.below(WAIT_MS_MAX) if draws.strikes(400) else 0
    if kind == "deadline" and wait_ms == DEADLINE_MS:
        wait_ms += 1
    var method = String("GET")
    var content = String()
    if draws.strikes(150):
        method = "HEAD"
    elif draws.strikes(500):
        method = "POST"
        var count = draws.below(12)
        if draws.strikes(130):
            count = 10_000 + draws.below(22_000)
        elif draws.strikes(60):
            # More than the server reads ahead of a handler.
            count = 70_000 + draws.below(100_000)
            kind = "late"
            wait_ms = 100 + draws.below(400)
        elif draws.strikes(110):
            count = CONTENT_OCTETS_MAX + 1 + draws.below(60_000)
            kind = "over"
        content = letters(number, count)
    # What follows content that is refused is not read.
    var is_last = kind == "over" or draws.strikes(80)
    var version = String("1.1")
    var fields = String("Host: a\r\n")
    if is_last and kind != "over" and draws.strikes(500):
        version = "1.0"
    elif is_last:
        fields += "Connection: close\r\n"
    var framed = content
    var expects = False
    if content != "":
        expects = version == "1.1" and kind != "over" and draws.strikes(200)
        if expects:
            fields += "Expect: 100-continue\r\n"
        if version == "1.1" and draws.strikes(500):
            fields += "Transfer-Encoding: chunked\r\n"
            framed = chunked(content, draws)
        else:
            fields += String("Content-Length: ", content.byte_length(), "\r\n")
    var target = String("/", kind, "/", number, "/", wait_ms)
    var octets = String(
        method, " ", target, " HTTP/", version, "\r\n", fields, "\r\n"
    )
    var status = 200
    if kind == "raise":
        status = 500
    elif kind == "none":
        status = 204
    elif kind == "over":
        status = 413
    return PlannedRequest(
        octets + framed,
        number,
        kind,
        method == "HEAD",
        status,
        "" if method == "HEAD" else _answer(kind, number, wait_ms, content),
        is_last,
        expects,
    )


def _draw_kind(mut draws: Draws) -> String:
    var kinds: List[StaticString] = [
        "echo",
        "echo",
        "echo",
        "late",
        "raise",
        "none",
        "large",
        "unread",
        "deadline",
        "spawn",
        "stubborn",
    ]
    if draws.strikes(20):
        return "huge"
    return String(kinds[draws.below(len(kinds))])


def _answer(kind: String, number: Int, wait_ms: Int, content: String) -> String:
    if kind == "raise":
        return "Internal Server Error"
    if kind == "none":
        return ""
    if kind == "over":
        return "Content Too Large"
    if kind == "large":
        return String(number, ":", "l" * LARGE_OCTETS)
    if kind == "huge":
        return String(number, ":", "h" * HUGE_OCTETS)
    if kind == "unread":
        return String(number, ":")
    if kind == "deadline":
        return String(
            number, ":", "too late" if wait_ms > DEADLINE_MS else "in time"
        )
    if kind == "spawn":
        return String(number, ":", wait_ms, content)
    return String(number, ":", content)


def _plan_bad(mut draws: Draws, number: Int) -> PlannedRequest:
    """Makes up a request that breaks the protocol, and so is the last one."""
    var heads: List[StaticString] = [
        "GET /bad HTTP/1.1\r\n\r\n",
        "GET /bad HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /bad HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
        "GET /bad HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\x7c\x03\x03\r\n\r\n",
        "GET /bad HTTP/3.0\r\nHost: a\r\n\r\n",
    ]
    var statuses: List[Int] = [400, 400, 400, 501, 400, 505]
    var row = draws.below(len(heads) + 1)
    var octets: String
    var status = 431
    if row == len(heads):
        octets = "GET /bad HTTP/1.1\r\nHost: a\r\nX: " + "x" * 9000
    else:
        octets = String(heads[row])
        status = statuses[row]
    return PlannedRequest(octets, number, "bad", False, status, "", True, False)


def chunked(content: String, mut draws: Draws) -> String:
    """Cuts content into chunks (RFC 9112 section 7.1).

    Args:
        content: The content.
        draws: Decides where.

    Returns:
        The chunks, and the last one.
    """
    var text = String()
    var at = 0
    while at < content.byte_length():
        var count = 1 + draws.below(min(content.byte_length() - at, 9000))
        text += hex(count, prefix="")
        text += "\r\n"
        text += content[byte = at : at + count]
        text += "\r\n"
        at += count
    text += "0\r\n\r\n"
    return text^


def _draw_stream_kind(mut draws: Draws, activity: Activity) -> String:
    var kinds: List[StaticString] = [
        "pieces",
        "trailed",
        "lines",
        "counted",
        "summed",
        "mirror",
        "broken",
        "upgrade",
    ]
    if activity == Activity.READS:
        return String(kinds[draws.below(2)])
    if activity == Activity.WRITES:
        return String(kinds[2 + draws.below(5)])
    if activity == Activity.SPEAKS:
        return "upgrade"
    return String(kinds[draws.below(len(kinds))])


def _plan_stream(
    mut draws: Draws, number: Int, activity: Activity
) -> PlannedRequest:
    """Makes up a request whose content or answer is a stream."""
    var kind = _draw_stream_kind(draws, activity)
    var is_last = kind == "broken" or kind == "upgrade"
    var count = draws.below(4000)
    if activity != Activity.ANY:
        # Enough to go on for a while.
        count += 4000
    if draws.strikes(140):
        # More than is read ahead, and more than lies unsent.
        count = 60_000 + draws.below(100_000)
    # Not so small that all the waits between them last for minutes.
    var piece = 1 + count // 200 + draws.below(count // 8 + 20)
    if count >= 60_000 and draws.strikes(800):
        # Long enough to be received into the memory of the handler.
        piece = 16 * 1024 + draws.below(count)
    var waits = activity != Activity.ANY or draws.strikes(300)
    var wait_ms = 1 + draws.below(WAIT_MS_MAX) if waits else 0
    var is_head = False
    var content = String()
    var written = 0
    if kind in ("lines", "counted", "summed", "broken"):
        written = count
        is_head = not is_last and draws.strikes(150)
    elif kind != "upgrade":
        content = letters(number, count)
    if kind != "broken" and kind != "upgrade":
        is_last = draws.strikes(60)
    var fields = String("Host: a\r\n")
    if is_last and kind != "upgrade":
        fields += "Connection: close\r\n"
    var framed = content
    var expects = False
    var chunked_of_1000 = 500 if piece < 16 * 1024 else 200
    if kind == "trailed" or content != "" and draws.strikes(chunked_of_1000):
        fields += "Transfer-Encoding: chunked\r\n"
        framed = chunked(content, draws)
        if kind == "trailed":
            # The last line end stands behind the trailer section.
            var chunks = String(framed[byte = : framed.byte_length() - 2])
            framed = String(chunks, "X-Sum: ", number, "\r\n\r\n")
    elif content != "":
        fields += String("Content-Length: ", count, "\r\n")
    if framed != "":
        expects = draws.strikes(200)
        if expects:
            fields += "Expect: 100-continue\r\n"
    if kind == "upgrade":
        fields += "Connection: upgrade\r\nUpgrade: mirror\r\n"
        framed = letters(number, count)
    var method = "HEAD" if is_head else ("POST" if content != "" else "GET")
    var octets = String(method, " /", kind, "/", number, "/", wait_ms, "/")
    octets += String(written, "/", piece, " HTTP/1.1\r\n", fields, "\r\n")
    var answer = String(number, ":", content, letters(number, written))
    if kind == "trailed":
        answer += String(":", number)
    elif kind == "upgrade":
        answer = raised(framed) + FAREWELL
    return PlannedRequest(
        octets + framed,
        number,
        kind,
        is_head,
        101 if kind == "upgrade" else 200,
        "" if is_head else answer,
        is_last,
        expects,
    )
