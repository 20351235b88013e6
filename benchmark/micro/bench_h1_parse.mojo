"""Measures how long the HTTP/1.1 machine takes to read a head.

What is timed is all that stands between received octets and a `REQUEST_HEAD`
or `RESPONSE_HEAD` event: every check of syntax, framing, Host and target. The
messages are those of `requests/`, or of the directory given as argument.
"""

from std.benchmark import black_box
from std.sys import argv

from requests import Messages, REQUESTS
from measure import measure

from flare.core import PointerTo, heap_create
from flare.message import Method
from flare.proto.h1 import H1Limits, H1Machine, H1State, Head, HttpEvent, Role
from flare.proto.h1.state import SideState

comptime MULTIPLICATIONS = 1000
"""How many follow each other."""


@fieldwise_init
struct Reader(ImplicitlyCopyable):
    """Reads head after head on one connection."""

    var machine: H1Machine
    """The machine."""
    var head: PointerTo[Head]
    """Receives the heads."""
    var kind: UInt8
    """The event that a head makes."""
    var response: UInt8
    """The state of the response side before a head."""

    @staticmethod
    def of(role: UInt8) -> Self:
        """Makes a connection.

        Args:
            role: Which end reads.

        Returns:
            A reader of requests for a server, of responses for a client.
        """
        var state = heap_create(H1State(role, H1Limits()))
        state[].method = Method.GET
        var is_server = role == Role.SERVER
        if not is_server:
            state[].request = SideState.DONE
        return Self(
            H1Machine(state),
            heap_create(Head()),
            HttpEvent.REQUEST_HEAD if is_server else HttpEvent.RESPONSE_HEAD,
            SideState.IDLE if is_server else SideState.AWAITED,
        )

    @always_inline
    def read(self, octets: Span[UInt8, _]) raises -> Int:
        """Reads one head as if the exchange before were complete.

        Args:
            octets: The whole message.

        Returns:
            The count of its field lines.

        Raises:
            Error: If it is refused or not whole.
        """
        ref s = self.machine.state[]
        s.response = self.response
        if self.kind == HttpEvent.REQUEST_HEAD:
            s.request = SideState.IDLE
        var event = self.machine.next_event(octets, self.head)
        if event.kind != self.kind or event.consumed != len(octets):
            raise Error("not one whole head")
        return len(self.head[].lines)


def measure_messages(
    name: String, directory: String, role: UInt8, names: List[String]
) raises:
    """Prints the line of one kind of message.

    Args:
        name: What to call it.
        directory: Where the messages lie.
        role: Which end reads.
        names: The messages; more than one are read in turn.

    Raises:
        Error: If a message is missing or refused.
    """
    var messages = Messages(directory, names)
    var reader = Reader.of(role)

    def read(i: Int) raises {imm} -> Int:
        return reader.read(messages.at(i))

    measure(String("h1_parse/", name), read, octets=messages.octets())


def measure_clock() raises:
    """Prints the line of a chain of multiplications, each of which needs the
    result of the one before: it takes three cycles on x86-64 processors of the
    last decade, so that it tells how fast the core ran.

    Raises:
        Error: Never.
    """
    var factor = black_box(3)

    def multiply(i: Int) raises {imm} -> Int:
        var product = i
        for _ in range(MULTIPLICATIONS):
            product *= factor
        return product

    measure("h1_parse/clock", multiply, operations=MULTIPLICATIONS)


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a message is missing or refused.
    """
    var directory = String("benchmark/micro/requests")
    if len(argv()) > 1:
        directory = String(argv()[1])
    for name in materialize[REQUESTS]():
        measure_messages(String(name), directory, Role.SERVER, [String(name)])
    measure_messages(
        "mixed", directory, Role.SERVER, ["browser", "wrk", "api", "curl"]
    )
    measure_messages("response", directory, Role.CLIENT, ["response"])
    measure_clock()
