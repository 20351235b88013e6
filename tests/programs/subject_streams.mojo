"""Holds the streams of the server under test that have no end of their own."""

from flare.http import (
    EventStream,
    Request,
    Response,
    UpgradedStream,
    event_stream,
    last_event_id,
)
from flare.runtime import Event, sleep


def events(req: Request) raises -> Response:
    return event_stream(_wait_for_events)


def news(req: Request) raises -> Response:
    return event_stream(_send_news, heartbeat_ms=20)


def polite(req: Request) raises -> Response:
    return Response.upgrade("raw", _say_goodbye)


def _wait_for_events(req: Request, stream: EventStream) raises:
    Event().wait()


def _send_news(req: Request, stream: EventStream) raises:
    stream.send(last_event_id(req).or_else("none"), name="last")
    for i in range(3):
        # Long enough for a heartbeat.
        sleep(50)
        stream.send(String("line ", i, "\r\nend"), id=String(i))


def _say_goodbye(req: Request, stream: UpgradedStream) raises:
    var piece = List[UInt8](length=1000, fill=0)
    try:
        while stream.read(Span(piece)) > 0:
            pass
    except e:
        if not stream.is_stopping():
            raise e^
        stream.write_all("goodbye".as_bytes())
