"""Sums up the contents that the server under test receives."""

from flare.http import Request, Response, ResponseStream, ok
from flare.runtime import deadline_in, sleep, spawn
from flare.runtime.task import JoinHandle

# A whole number of periods of the content that is streamed out.
comptime PIECE_OCTETS = 251 * 256


@fieldwise_init
struct Adler(ImplicitlyCopyable):
    """Sums octets up as zlib.adler32 does (RFC 1950)."""

    var count: Int
    var low: UInt32
    var high: UInt32

    def __init__(out self):
        self = Self(0, 1, 0)

    def add(mut self, octets: Span[UInt8, _]):
        self.count += len(octets)
        for octet in octets:
            self.low = (self.low + UInt32(octet)) % 65521
            self.high = (self.high + self.low) % 65521

    def text(self) -> String:
        return String(self.count, " ", (self.high << 16) | self.low)


def sum_up(req: Request) raises -> Response:
    return ok(sum_of(req, 0).text())


def sum_up_slowly(req: Request) raises -> Response:
    return ok(sum_of(req, Int(req.param("ms"))).text())


def sum_with_trailer(req: Request) raises -> Response:
    var sum = sum_of(req, 0)
    var stated = req.body.trailers().get("X-Sum")
    var text = String(sum.text(), " ")
    if stated:
        text += stated.value()

    def write(req: Request, stream: ResponseStream) raises {var text}:
        stream.write_text(text)
        stream.set_trailer("X-Octets", String(text.byte_length()))
        if req.query.byte_length() > 0:
            stream.set_trailer(req.query, "1")

    return Response.stream(write)


def nibble(req: Request) raises -> Response:
    """Reads less in a turn of the loop than arrives, so that some is always
    left."""
    req.body.set_octets_max(1 << 40)
    var sum = Adler()
    var piece = List[UInt8](length=1000, fill=0)
    while True:
        sleep(0)
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(sum.text())
        sum.add(Span(piece)[:count])


def share(req: Request) raises -> Response:
    """Lets two fibers read the same content; each octet must reach one."""
    req.body.set_octets_max(1 << 40)
    var handles = List[JoinHandle[Int]]()
    for _ in range(2):
        var body = req.body

        def read() raises {var body} -> Int:
            var total = 0
            var piece = List[UInt8](length=700, fill=0)
            while True:
                try:
                    var count = body.read(Span(piece))
                    if count == 0:
                        return total
                    total += count
                except e:
                    if "another fiber" not in String(e):
                        raise e^
                    sleep(0)

        handles.append(spawn[unsafe_borrows=True](read^))
    var first = handles.pop(0).join()
    return ok(String(first + handles.pop(0).join()))


def regret(req: Request) raises -> Response:
    """Waits for the whole content, reads the start of it, and waits again."""
    try:
        with deadline_in(20):
            _ = req.body.octets()
    except:
        pass
    var piece = List[UInt8](length=10, fill=0)
    var count = req.body.read(Span(piece))
    var whole = req.body.octets()
    for i in range(count):
        if whole[i] != piece[i]:
            raise Error("an octet differs")
    return ok(String(len(whole)))


def sum_of(req: Request, pause_ms: Int) raises -> Adler:
    req.body.set_octets_max(1 << 40)
    var sum = Adler()
    var piece = List[UInt8](length=PIECE_OCTETS, fill=0)
    while True:
        if pause_ms > 0:
            sleep(pause_ms)
        var count = req.body.read(Span(piece))
        if count == 0:
            return sum
        sum.add(Span(piece)[:count])
