"""Reveals views that outlive their request, in builds with assertions.

A spawned fiber that outlives the request may hold a view of it. The memory of
the request is then filled with one octet that occurs in no text. It stays
unused until the last such fiber has ended.
"""

from flare.core import (
    Buffer,
    Erased,
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.http.exchange import Exchange
from flare.runtime.fiber_family import TRACKS_FAMILIES
from flare.runtime.reactor import RECEIVE_BUFFER_OCTETS, Reactor

from std.memory import unsafe_memset

from ..transport.connection_state import ConnectionState
from ..transport.log_lines import log_line_of_peer
from ..transport.worker_state import worker_of

comptime POISON: UInt8 = 0xDB
"""The octet that a view shows after its request."""


struct _Kept(Movable):
    var reactor: Reactor
    var head: Optional[OctetPointer]
    var gathered: Buffer
    var content: Buffer
    var trailers: Buffer
    var decoded: Buffer

    def __init__(out self, reactor: Reactor):
        self.reactor = reactor
        self.head = None
        self.gathered = Buffer()
        self.content = Buffer()
        self.trailers = Buffer()
        self.decoded = Buffer()


@always_inline
def poison_views(c: PointerTo[ConnectionState], x: Exchange):
    """Overwrites the memory of a finished request while fibers that its handler
    spawned still run; only with `-D ASSERT=all`.

    Args:
        c: The connection.
        x: The request.
    """
    comptime if TRACKS_FAMILIES:
        _poison(c, x)


@no_inline
def _poison(c: PointerTo[ConnectionState], x: Exchange):
    var w = worker_of(c)
    var family = w[].reactor.state[].fibers.ending_family()
    if not family or not family.value().has_others() or x[].request_id == 0:
        return
    var kept = heap_create(_Kept(w[].reactor))
    _spoil(x[].octets, x[].octet_count)
    if x[].content.view:
        _spoil(x[].content.view.value(), x[].content.view_octets)
    # A buffer with octets after the request still serves its connection.
    if x[].read_buffer and not (c[].window.is_shared and c[].window.buffer):
        kept[].head = x[].read_buffer
        x[].read_buffer = None
        _spoil(kept[].head.value(), RECEIVE_BUFFER_OCTETS)
    swap(kept[].gathered, x[].gathered)
    swap(kept[].content, x[].content.octets)
    swap(kept[].trailers, x[].content.trailers)
    x[].parameters.swap_decoded(kept[].decoded)
    _spoil_buffer(kept[].gathered)
    _spoil_buffer(kept[].content)
    _spoil_buffer(kept[].trailers)
    _spoil_buffer(kept[].decoded)
    family.value().keep(kept.unsafe_bitcast[NoneType](), _release)
    log_line_of_peer(
        w,
        String(
            "flare: worker ",
            w[].index,
            " request ",
            x[].request_id,
            (
                " ended before a fiber that it has spawned; views of it show"
                " the octet 0xDB"
            ),
        ),
    )


def _spoil(octets: OctetPointer, count: Int):
    unsafe_memset(octets, POISON, count)


def _spoil_buffer(buffer: Buffer):
    # An empty one may have no memory.
    if len(buffer) > 0:
        _spoil(buffer.unsafe_front(), len(buffer))


def _release(owner: Erased):
    var kept = owner.unsafe_bitcast[_Kept]()
    if kept[].head:
        kept[].reactor.buffers().give(kept[].head.value())
    heap_destroy(kept)
