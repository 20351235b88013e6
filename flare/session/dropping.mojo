"""Drops a session for certain, also if its client has left meanwhile."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http import Request
from flare.http.exchange import Exchange
from flare.runtime import deadline_in, spawn
from flare.runtime.fiber import Fiber
from flare.runtime.wait import waiting_fiber

from .keeping import SessionKeeping

comptime DROP_MS_MAX = 5_000
"""How long the store may take."""


struct _Drop[K: SessionKeeping](Movable):
    var keeping: PointerTo[Self.K]
    var exchange: Exchange
    var cookie: String
    var parent: Fiber
    var error: Optional[Error]
    var is_done: Bool

    def __init__(
        out self,
        keeping: PointerTo[Self.K],
        req: Request,
        cookie: StringSlice,
        parent: Fiber,
    ):
        self.keeping = keeping
        self.exchange = req.unsafe_exchange()
        self.cookie = String(cookie)
        self.parent = parent
        self.error = None
        self.is_done = False


def drop_for_certain[
    K: SessionKeeping
](keeping: PointerTo[K], req: Request, cookie: StringSlice) raises:
    """Drops a session, and waits for its end. A client that signs out and leaves
    cancels its handler, but must not stay signed in: so the drop has a fiber of
    its own.

    Parameters:
        K: The type of the place for sessions.

    Args:
        keeping: The place.
        req: The request, which stays open until then.
        cookie: The value of the cookie.

    Raises:
        The error of the store.
    """
    var parent = waiting_fiber("wait")
    var drop = heap_create(_Drop[K](keeping, req, cookie, parent))

    def run() raises {var drop}:
        try:
            with deadline_in(DROP_MS_MAX):
                drop[].keeping[].drop(
                    Request(unsafe_exchange=drop[].exchange), drop[].cookie
                )
        except e:
            drop[].error = e^
        drop[].is_done = True
        drop[].parent.wake()

    try:
        spawn(run).detach()
    except e:
        heap_destroy(drop)
        raise e^
    # A cancellation wakes it early.
    while not drop[].is_done:
        parent.suspend()
    var error = Optional[Error](None)
    swap(error, drop[].error)
    heap_destroy(drop)
    if error:
        raise error.take()
