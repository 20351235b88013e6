"""Handshakes are accepted as RFC 6455 asks, and as both ends understand them.

Invariant: a server refuses a request for the first part that a plain judge of
the parts refuses, with its status, and the client that made an accepted request
accepts the answer, with the protocol and the compression that the server chose.
A client accepts no answer to another key, and nothing that it did not offer. Any
head that is legal HTTP yields an answer or a refusal.
"""

from flare.message import HeaderMap
from flare.proto.h1 import Role
from flare.proto.h1.scan import window_of
from flare.proto.ws import (
    DeflateParameters,
    DeflatePolicy,
    WsClientOffer,
    WsOrigins,
    WsServerPolicy,
    answer_handshake,
    client_key,
)

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate
from tests.proto_ws.request import ParsedHead, answer_to, verdict_on

comptime _ORIGIN: StaticString = "https://a.example"


def fuzz_ws_handshake(mut random: Random, mut histogram: Histogram) raises:
    """Shakes hands once.

    Args:
        random: Draws the request, the policy and the damage.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var key = client_key(Span(random.octets(16)))
    var request = Request(random, key)
    var policy = request.policy(random)
    histogram.input(request.text.as_bytes())
    if random.chance(20):
        _check_damaged(request, policy, random, histogram)
        return
    var answer = answer_to(request.text, policy)
    if request.refusal != "":
        if not answer.startswith(request.refusal):
            raise Error("answered ", answer, " and not ", request.refusal)
        histogram.count_whole(String("refused: ", request.refusal))
        return
    if not answer.startswith("ok "):
        raise Error("refused a legal request: ", answer)
    _check_client(request, policy, key, random)
    histogram.count_whole("accepted")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_ws_handshake)


struct Request(Movable):
    """Holds a request, and the status that it deserves."""

    var text: String
    """The head; LF stands for CR LF."""
    var refusal: String
    """The status, or nothing."""
    var protocols: List[String]
    """The protocols that are offered."""
    var has_deflate: Bool
    """Whether compression is offered."""
    var _origins: Int

    def __init__(out self, mut random: Random, key: String):
        """Draws a request, each part of which may be wrong.

        Args:
            random: Draws it.
            key: The key of a legal one.
        """
        self.refusal = String()
        self.protocols = []
        self.has_deflate = random.chance(50)
        self._origins = random.below(3)
        self.text = String()
        var lines = List[String]()
        # In the order in which a server looks at them.
        self._draw_offer(random, lines)
        var method = String("GET")
        if random.chance(4):
            method = random.pick[String](["POST", "PUT", "get", "HEAD"])
            self._refuse("400 the method")
        self._draw_content(random, lines)
        self._draw_version(random, lines)
        self._draw_origin(random, lines)
        self._draw_key(random, key, lines)
        self._draw_protocols(random, lines)
        if self.has_deflate:
            lines.append("Sec-WebSocket-Extensions: permessage-deflate")
        lines.append("Host: a.example")
        self.text = String(method, " / HTTP/1.1\n")
        while len(lines) > 0:
            self.text += lines.pop(random.below(len(lines))) + "\n"
        self.text += "\n"

    def policy(self, mut random: Random) -> WsServerPolicy:
        """Draws the policy of a server that judges as this request expects.

        Args:
            random: Draws the rest.

        Returns:
            The policy.
        """
        var origins = WsOrigins()
        if self._origins == 1:
            origins = WsOrigins.listed(["http://x.example", String(_ORIGIN)])
        elif self._origins == 2:
            origins = WsOrigins.any()
        var protocols = List[String]()
        for name in ["p3", "p1", "p2"]:
            if random.chance(50):
                protocols.append(String(name))
        var deflate = Optional[DeflatePolicy](None)
        if random.chance(70):
            deflate = DeflatePolicy.dedicated(12)
        return WsServerPolicy(
            origins=origins^, protocols=protocols^, deflate=deflate
        )

    def _refuse(mut self, refusal: String):
        if self.refusal == "":
            self.refusal = refusal

    def _draw_offer(mut self, mut random: Random, mut lines: List[String]):
        var upgrade = random.pick[String](
            ["websocket", "WebSocket", "h2c, websocket", ",websocket,"]
        )
        if random.chance(4):
            upgrade = random.pick[String](["h2c", "websocke", "web socket"])
            self._refuse("426 no offer")
        var connection = random.pick[String](
            ["Upgrade", "upgrade", "keep-alive, Upgrade", "upgrade,"]
        )
        if random.chance(4):
            connection = random.pick[String](["keep-alive", "upgrad"])
            self._refuse("426 no offer")
        lines.append("Upgrade: " + upgrade)
        lines.append("Connection: " + connection)

    def _draw_content(mut self, mut random: Random, mut lines: List[String]):
        if random.chance(5):
            lines.append("Content-Length: 0")
        elif random.chance(4):
            lines.append(
                random.pick[String](
                    ["Content-Length: 3", "Transfer-Encoding: chunked"]
                )
            )
            self._refuse("400 a handshake with content")

    def _draw_version(mut self, mut random: Random, mut lines: List[String]):
        lines.append("Sec-WebSocket-Version: 13")
        if random.chance(4):
            _ = lines.pop()
            self._refuse("426 the version")
            var other = random.pick[String](["8", "13, 8", "0x0D", "", "113"])
            if random.chance(80):
                lines.append("Sec-WebSocket-Version: " + other)
            if random.chance(50):
                lines.append("Sec-WebSocket-Version: 13")
                lines.append("Sec-WebSocket-Version: 13")

    def _draw_origin(mut self, mut random: Random, mut lines: List[String]):
        if random.chance(30):
            return
        var origin = String(_ORIGIN)
        var is_right = True
        if random.chance(30):
            is_right = False
            origin = random.pick[String](
                [
                    "https://b.example",
                    "null",
                    "https://a.example.b",
                    "https://a.exampl",
                    "https://a.example:1",
                    "https://a.example@b.example",
                    "a.example",
                ]
            )
        lines.append("Origin: " + origin)
        if random.chance(5):
            lines.append("Origin: " + origin)
            is_right = False
        if not is_right and self._origins != 2:
            self._refuse("403 the origin")

    def _draw_key(
        mut self, mut random: Random, key: String, mut lines: List[String]
    ):
        lines.append("Sec-WebSocket-Key: " + key)
        if not random.chance(6):
            return
        self._refuse("400 no key")
        var kind = random.below(6)
        if kind == 0:
            lines.append("Sec-WebSocket-Key: " + key)
            return
        _ = lines.pop()
        if kind == 1:
            lines.append("Sec-WebSocket-Key: " + key + "=")
        elif kind == 2:
            lines.append("Sec-WebSocket-Key: =" + String(key[byte=1:]))
        elif kind == 3:
            lines.append("Sec-WebSocket-Key: " + String(key[byte=:22]))
        elif kind == 4:
            lines.append(
                "Sec-WebSocket-Key: "
                + String(key[byte=:11])
                + "-"
                + String(key[byte=12:])
            )

    def _draw_protocols(mut self, mut random: Random, mut lines: List[String]):
        var count = random.below(4)
        if random.chance(4):
            count = random.between(15, 18)
        if count == 0:
            return
        var list = String()
        for i in range(count):
            var name = String("p", random.below(5))
            list += name if i == 0 else String(", ", name)
            self.protocols.append(name^)
        if count > 16:
            self._refuse("400 too many subprotocols")
        elif random.chance(4):
            list += random.pick[String]([", a b", ", {}", ", \xe9"])
            if count == 16:
                self._refuse("400 too many subprotocols")
            self._refuse("400 a subprotocol")
        lines.append("Sec-WebSocket-Protocol: " + list)


def _check_client(
    request: Request,
    policy: WsServerPolicy,
    key: String,
    mut random: Random,
) raises:
    var parsed = ParsedHead(Role.SERVER, request.text)
    var answer = answer_handshake(
        parsed.head[], window_of(Span(parsed.octets)), policy
    )
    _ = parsed^
    if answer.protocol != _first_of(policy.protocols, request.protocols):
        raise Error("the protocol is ", answer.protocol)
    if Bool(answer.deflate) != (request.has_deflate and Bool(policy.deflate)):
        raise Error("compression is chosen otherwise")
    var fields = HeaderMap()
    answer.add_fields(fields)
    var text = String("HTTP/1.1 101 x\n")
    for i in range(len(fields)):
        text += String(fields.name(i), ": ", fields.value(i), "\n")
    text += "\n"
    var offer = _offer(request, key)
    var expected = String("ok")
    if answer.protocol != "":
        expected += String(", ", answer.protocol)
    if answer.deflate:
        expected += String(", ", answer.deflate.value())
    var verdict = verdict_on(text, offer)
    if verdict != expected:
        raise Error("the client says ", verdict, " and not ", expected)
    # Another key, and nothing offered.
    var other = _offer(request, client_key(Span(random.octets(16))))
    verdict = verdict_on(text, other)
    if verdict != "the accept value is wrong":
        raise Error("an answer to another key: ", verdict)
    var plain = WsClientOffer(key)
    verdict = verdict_on(text, plain)
    if (verdict == "ok") != (expected == "ok"):
        raise Error("the client says ", verdict, " to more than it offered")


def _offer(request: Request, key: String) -> WsClientOffer:
    var deflate = List[DeflateParameters]()
    if request.has_deflate:
        deflate.append(DeflateParameters(client_window_bits=None))
    return WsClientOffer(
        key, protocols=request.protocols.copy(), deflate=deflate^
    )


def _first_of(spoken: List[String], offered: List[String]) -> String:
    for name in spoken:
        if name in offered:
            return name
    return String()


def _check_damaged(
    request: Request,
    policy: WsServerPolicy,
    mut random: Random,
    mut histogram: Histogram,
) raises:
    var octets = mutate(request.text.as_bytes(), random)
    histogram.input(Span(octets))
    var answer: String
    try:
        answer = answer_to(StringSlice(unsafe_from_utf8=Span(octets)), policy)
    except:
        histogram.count("damaged: no request")
        return
    if answer.startswith("ok "):
        histogram.count("damaged: accepted")
        return
    if not (
        answer.startswith("400 ")
        or answer.startswith("403 ")
        or answer.startswith("426 ")
    ):
        raise Error("answered ", answer)
    histogram.count("damaged: refused")
