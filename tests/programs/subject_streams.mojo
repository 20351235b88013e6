"""Holds the streams of the server under test that have no end of their own."""

from flare.http import Request, Response, ResponseStream, UpgradedStream
from flare.runtime import Event


def events(req: Request) raises -> Response:
    return Response.stream(_wait_for_events).with_header(
        "Content-Type", "text/event-stream"
    )


def polite(req: Request) raises -> Response:
    return Response.upgrade("raw", _say_goodbye)


def _wait_for_events(req: Request, stream: ResponseStream) raises:
    stream.flush()
    Event().wait()


def _say_goodbye(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=1000, fill=0)
    try:
        while stream.read(Span(piece)) > 0:
            pass
    except e:
        if not stream.is_stopping():
            raise e^
        stream.write_all("goodbye".as_bytes())
