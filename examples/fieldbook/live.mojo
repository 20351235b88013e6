"""Sends changes to the pages that are open, on all workers."""

from flare.http import EventStream, event_stream
from flare.prelude import *
from flare.runtime import Overflow, deadline_in

from people import Person
from services import Services

# Then the browser connects again, which checks its session again.
comptime STREAM_MS = 10 * 60 * 1000


def watch(person: Person) raises -> Response:
    return event_stream(follow)


def follow(req: Request, events: EventStream) raises:
    ref common = State[Services].of(req)[].common
    # A page that is too slow connects again, and asks for the list again.
    var feed = common.changes.subscribe(overflow=Overflow.CLOSE)
    # From here on no change is missed, so the page asks for the list now.
    events.send("now", name="ready")
    common.counts.watchers.add(1)
    try:
        with deadline_in(STREAM_MS):
            while True:
                var change = feed.next()
                if not change:
                    return
                events.send(change.value().json, name=change.value().kind)
    except e:
        var error = NetError.of(e)
        if not error or error.value().kind != NetError.TIMEOUT:
            raise e^
    finally:
        common.counts.watchers.add(-1)
