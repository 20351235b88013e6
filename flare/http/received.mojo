"""Stores a received content, its trailers and its timings.

The block comes from the thread's recycler and returns to it. So a client that
drops its responses allocates no memory once warm.
"""

from flare.core import (
    BlockKind,
    Buffer,
    Erased,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.message import HeaderMap
from flare.sys.thread_cell import thread_recycler

from .timings import ExchangeTimings
from .version import HttpVersion

comptime _KEPT_OCTETS_MAX = 64 * 1024


struct ReceivedState(Movable):
    """A received content and its details."""

    var content: Buffer
    """The octets."""
    var trailers: HeaderMap
    """The trailer fields, which followed the content."""
    var url: Buffer
    """The URL that was answered, after all redirects."""
    var codings: Buffer
    """The codings that were decoded, as in Content-Encoding."""
    var version: HttpVersion
    """The version of HTTP that was spoken."""
    var redirects: Int
    """How many redirects were followed."""
    var attempts: Int
    """How often the last request was sent."""
    var timings: ExchangeTimings
    """How long each phase took."""

    def __init__(out self):
        """Creates an empty block."""
        self.content = Buffer()
        self.trailers = HeaderMap()
        self.url = Buffer()
        self.codings = Buffer()
        self.version = HttpVersion.HTTP_1_1
        self.redirects = 0
        self.attempts = 1
        self.timings = ExchangeTimings()


struct Received(Movable):
    """Owns the block of a received content."""

    var state: PointerTo[ReceivedState]
    """The block."""

    def __init__(out self):
        """Creates the owner of an unused block, new or recycled."""
        var recycler = thread_recycler()
        var block = Optional[Erased](None)
        if recycler:
            block = recycler.value().take(BlockKind.RECEIVED)
        if block:
            self.state = block.value().unsafe_bitcast[ReceivedState]()
        else:
            self.state = heap_create(ReceivedState())

    def __deinit__(deinit self):
        """Returns the block to the thread."""
        ref s = self.state[]
        var recycler = thread_recycler()
        if recycler and s.content.capacity() <= _KEPT_OCTETS_MAX:
            s.content.clear()
            s.url.clear()
            s.codings.clear()
            s.trailers = HeaderMap()
            s.version = HttpVersion.HTTP_1_1
            s.redirects = 0
            s.attempts = 1
            s.timings = ExchangeTimings()
            if recycler.value().give(
                BlockKind.RECEIVED,
                self.state.unsafe_bitcast[NoneType](),
                _destroy,
            ):
                return
        heap_destroy(self.state)


def _destroy(block: Erased):
    heap_destroy(block.unsafe_bitcast[ReceivedState]())
