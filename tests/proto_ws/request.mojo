"""Parses heads for the tests of the handshake."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.message import Method
from flare.proto.h1 import H1Limits, H1Machine, H1State, Head, HttpEvent, Role
from flare.proto.h1.scan import window_of
from flare.proto.h1.state import SideState
from flare.proto.ws import (
    WsClientOffer,
    WsServerPolicy,
    answer_handshake,
)

comptime SAMPLE_KEY: StaticString = "dGhlIHNhbXBsZSBub25jZQ=="
"""The key of the example in RFC 6455 section 1.3."""
comptime SAMPLE_ACCEPT: StaticString = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
"""The value that accepts it."""


struct ParsedHead(Movable):
    """Owns a head and its octets."""

    var head: PointerTo[Head]
    """The head."""
    var octets: List[UInt8]
    """The window in which it was reported."""

    def __init__(out self, role: UInt8, text: StringSlice) raises:
        """Parses a head.

        Args:
            role: Which end receives it.
            text: The head; LF stands for CR LF.

        Raises:
            Error: If it is not a legal head.
        """
        self.head = heap_create(Head())
        self.octets = List[UInt8]()
        for octet in text.as_bytes():
            if octet == 10:
                self.octets.append(13)
            self.octets.append(octet)
        var machine = H1Machine(heap_create(H1State(role, H1Limits())))
        if role == Role.CLIENT:
            machine.state[].method = Method.GET
            machine.state[].request = SideState.DONE
            machine.state[].response = SideState.AWAITED
            machine.state[].wants_upgrade = True
        var event = machine.next_event(Span(self.octets), self.head)
        heap_destroy(machine.state)
        if (
            event.kind != HttpEvent.REQUEST_HEAD
            and event.kind != HttpEvent.RESPONSE_HEAD
        ):
            raise Error("no head, but ", HttpEvent.name(event.kind))

    def __deinit__(deinit self):
        """Frees the head."""
        heap_destroy(self.head)


def request(fields: StringSlice) -> String:
    """Makes the head of a legal handshake, and more.

    Args:
        fields: Further field lines, each with its LF.

    Returns:
        The head.
    """
    return String(
        (
            "GET /chat HTTP/1.1\nHost: example.com\nUpgrade: websocket\n"
            "Connection: Upgrade\nSec-WebSocket-Version: 13\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n"
        ),
        fields,
        "\n",
    )


def response(fields: StringSlice) -> String:
    """Makes the head of a legal answer, and more.

    Args:
        fields: Further field lines, each with its LF.

    Returns:
        The head.
    """
    return String(
        (
            "HTTP/1.1 101 Switching Protocols\nUpgrade: WebSocket\n"
            "Connection: upgrade\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\n"
        ),
        fields,
        "\n",
    )


def answer_to(text: StringSlice, policy: WsServerPolicy) raises -> String:
    """Answers a request.

    Args:
        text: The head; LF stands for CR LF.
        policy: The server's.

    Returns:
        `ok`, the protocol and the extension, or the status and the reason.

    Raises:
        Error: If the head is no legal one of HTTP/1.1.
    """
    var parsed = ParsedHead(Role.SERVER, text)
    var result: String
    try:
        var answer = answer_handshake(
            parsed.head[], window_of(Span(parsed.octets)), policy
        )
        result = String("ok ", answer.accept)
        if answer.protocol.byte_length() > 0:
            result += String(", ", answer.protocol)
        if answer.deflate:
            result += String(", ", answer.deflate.value())
    except e:
        result = String(e.status, " ", e.reason)
    _ = parsed^
    return result^


def verdict_on(text: StringSlice, offer: WsClientOffer) raises -> String:
    """Checks a response.

    Args:
        text: The head; LF stands for CR LF.
        offer: The client's.

    Returns:
        `ok`, the protocol and the extension, or the reason of the failure.

    Raises:
        Error: If the head is no legal one of HTTP/1.1.
    """
    var parsed = ParsedHead(Role.CLIENT, text)
    var result: String
    try:
        var agreement = offer.check_response(
            parsed.head[], window_of(Span(parsed.octets))
        )
        result = String("ok")
        if agreement.protocol.byte_length() > 0:
            result += String(", ", agreement.protocol)
        if agreement.deflate:
            result += String(", ", agreement.deflate.value())
    except e:
        result = String(e.reason)
        if e.status != 0:
            result = "a client answers with no status"
    _ = parsed^
    return result^
