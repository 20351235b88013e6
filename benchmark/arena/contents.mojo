"""Reads contents: counts their octets, or sends them back."""

from flare.http import Request, Response, ResponseStream, ok

comptime CONTENT_OCTETS_MAX = 32 * 1024 * 1024
comptime PIECE_OCTETS = 64 * 1024
# What is echoed with a length, even if it came without one.
comptime WHOLE_OCTETS_MAX = 128 * 1024


def upload(req: Request) raises -> Response:
    """Answers with the length of the content, of which it keeps nothing."""
    req.body.set_octets_max(CONTENT_OCTETS_MAX)
    var piece = List[UInt8](length=PIECE_OCTETS, fill=0)
    var total = 0
    while True:
        var count = req.body.read(Span(piece))
        if count == 0:
            return ok(String(total))
        total += count


def echo(req: Request) raises -> Response:
    """Answers with the content: short ones whole, long ones while they come."""
    req.body.set_octets_max(CONTENT_OCTETS_MAX)
    var declared = req.body.declared_octets()
    var room = min(declared.or_else(PIECE_OCTETS), WHOLE_OCTETS_MAX)
    var start = List[UInt8](capacity=room)
    # One octet more than is kept whole shows that there are more.
    while len(start) <= WHOLE_OCTETS_MAX:
        var old = len(start)
        start.resize(old + PIECE_OCTETS, 0)
        var count = req.body.read(Span(start)[old:])
        start.resize(old + count, 0)
        if count == 0:
            var response = Response(200, start^)
            response.headers.set("Content-Type", "application/octet-stream")
            return response^

    def send_back(req: Request, stream: ResponseStream) raises {var start^}:
        stream.write_all(start)
        var piece = List[UInt8](length=PIECE_OCTETS, fill=0)
        while True:
            var count = req.body.read(Span(piece))
            if count == 0:
                return
            stream.write_all(Span(piece)[:count])

    return Response.stream(send_back^, length=declared)
