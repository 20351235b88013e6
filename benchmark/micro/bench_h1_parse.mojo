"""Measures the HTTP/1.1 machine: one exchange of a server, part by part.

Run: mojo build -I . benchmark/micro/bench_h1_parse.mojo, then the program.
Prints nanoseconds per exchange, the best of nine rounds.
"""

from std.benchmark import black_box, keep
from std.time import perf_counter_ns

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h1 import (
    BodyLength,
    H1Event,
    H1Limits,
    H1Machine,
    H1State,
    Head,
    Role,
)

comptime _ROUNDS = 9
comptime _TURNS = 200_000

comptime _WRK: StaticString = (
    "GET /plaintext HTTP/1.1\r\n"
    "Host: 127.0.0.1:8080\r\n"
    "Accept: text/plain,text/html;q=0.9,application/xhtml+xml;q=0.9\r\n"
    "Connection: keep-alive\r\n\r\n"
)

comptime _BROWSER: StaticString = (
    "GET /products/1234?ref=home&lang=en HTTP/1.1\r\n"
    "Host: shop.example.com\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101"
    " Firefox/128.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    "\r\n"
    "Accept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)

comptime _POST: StaticString = (
    "POST /echo HTTP/1.1\r\n"
    "Host: localhost:8080\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 13\r\n\r\n"
    '{"answer":42}'
)

comptime _DATE: StaticString = "Sun, 06 Nov 1994 08:49:37 GMT"
comptime _CONTENT: StaticString = "Hello, World!"


struct Bench:
    """Holds one connection and what it writes into."""

    var machine: H1Machine
    """The server."""
    var head: PointerTo[Head]
    """The head of the current request."""
    var output: PointerTo[Buffer]
    """What the server sends."""
    var fields: HeaderMap
    """The fields of every response."""

    def __init__(out self) raises:
        """Makes a server with nothing received.

        Raises:
            Error: Never.
        """
        var state = heap_create(H1State(Role.SERVER, H1Limits()))
        self.machine = H1Machine(state)
        self.head = heap_create(Head())
        self.output = heap_create(Buffer(capacity=4096))
        self.fields = HeaderMap()
        self.fields.append("Content-Type", "text/plain")
        self.fields.append("Server", "flare")

    def __deinit__(deinit self):
        """Frees the connection."""
        heap_destroy(self.machine.state)
        heap_destroy(self.head)
        heap_destroy(self.output)

    @no_inline
    def receive(self, octets: Span[UInt8, _]) raises:
        """Reads one request.

        Args:
            octets: A whole request.

        Raises:
            Error: If it is not whole.
        """
        var window = octets
        while True:
            var event = self.machine.next_event(window, self.head)
            window = window[event.consumed :]
            if event.kind == H1Event.END_OF_MESSAGE:
                return
            if event.kind == H1Event.NEED_OCTETS:
                raise Error("not a whole request")

    @no_inline
    def answer(self) raises:
        """Writes one response.

        Raises:
            Error: If none is awaited.
        """
        self.output[].clear()
        self.machine.send_response_head(
            200,
            self.fields,
            BodyLength.known(_CONTENT.byte_length()),
            _DATE.as_bytes(),
            self.output,
        )
        self.machine.send_data(_CONTENT.as_bytes(), self.output)
        self.machine.send_end(self.output)

    @no_inline
    def forget(self):
        """Makes the connection as good as new."""
        self.machine.state[] = H1State(Role.SERVER, H1Limits())

    def measure(self, name: StaticString, request: StaticString) raises:
        """Prints what receiving and answering one request costs.

        Args:
            name: What to call it.
            request: A whole request.

        Raises:
            Error: If it is not a whole request.
        """
        var octets = List[UInt8](request.as_bytes())
        var receive = Int.MAX
        var forget = Int.MAX
        var both = Int.MAX
        for _ in range(_ROUNDS):
            var t0 = perf_counter_ns()
            for _ in range(_TURNS):
                self.forget()
            var t1 = perf_counter_ns()
            for _ in range(_TURNS):
                self.receive(black_box(Span(octets)))
                self.forget()
            var t2 = perf_counter_ns()
            for _ in range(_TURNS):
                self.receive(black_box(Span(octets)))
                self.answer()
                keep(len(self.output[]))
            var t3 = perf_counter_ns()
            forget = min(forget, t1 - t0)
            receive = min(receive, t2 - t1)
            both = min(both, t3 - t2)
        _print(name, receive - forget, both)


def _print(name: StaticString, receive: Int, both: Int):
    var receive_ns = Float64(receive) / Float64(_TURNS)
    var both_ns = Float64(both) / Float64(_TURNS)
    print(
        name,
        ": receive ",
        round(receive_ns, 1),
        " ns, answer ",
        round(both_ns - receive_ns, 1),
        " ns, both ",
        round(both_ns, 1),
        " ns",
        sep="",
    )


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a request is not understood.
    """
    var bench = Bench()
    bench.measure("wrk, 3 fields    ", _WRK)
    bench.measure("browser, 5 fields", _BROWSER)
    bench.measure("POST, 13 octets  ", _POST)
