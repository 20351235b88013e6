"""Compresses the content of a response while it is sent.

A streamed content is compressed and flushed at each write, so that it arrives
as early as without compression. A long content that is complete is compressed
in pieces; other fibers run in between.
"""

from flare.core import (
    Erased,
    OctetPointer,
    PointerTo,
    heap_create,
    heap_destroy,
)
from flare.http.body import Body
from flare.http.exchange import CUT_OFF, Exchange, ExchangeState, StreamFilter
from flare.http.response_stream import carry
from flare.http.stream_function import ExchangeTask
from flare.runtime import sleep
from flare.sys.coding_step import CodingFlush

from .coding import ContentCoding
from .content_encoder import ContentEncoder

comptime _PIECE_OCTETS = 64 * 1024
# About what an encoder allocates at the default level.
comptime _ZLIB_OCTETS = 300 * 1024
comptime _ENCODER_OCTETS = 2 * 1024 * 1024


struct CompressedBody(ExchangeTask):
    """Writes a content in compressed form."""

    var content: Body
    """The content, whole or a stream."""
    var coding: ContentCoding
    """The coding."""
    var level: Int
    """The compression level."""

    def __init__(
        out self, var content: Body, coding: ContentCoding, level: Int
    ):
        """Takes ownership of a content.

        Args:
            content: The content, whole or a stream.
            coding: The coding.
            level: The compression level.
        """
        self.content = content^
        self.coding = coding
        self.level = level

    @staticmethod
    def run(task: PointerTo[Self], exchange: Exchange) raises capturing:
        """Writes the compressed content.

        Args:
            task: The content.
            exchange: The exchange.

        Raises:
            The errors of the streaming function and of writing, and an
            EncodingError.
        """
        var filter = heap_create(
            _FilterState(ContentEncoder(task[].coding, task[].level))
        )
        # It lives until the response is over: a fiber that the function has
        # left behind may still be about to write.
        exchange[].stream.filter = StreamFilter(
            filter.unsafe_bitcast[NoneType](), _write, _release, 0
        )
        if task[].content.is_stream():
            task[].content.run_stream(exchange)
        else:
            _write_pieces(filter, exchange, task)
        filter[].has_ended = True
        _send(
            filter,
            exchange,
            Span[UInt8, ImmUntrackedOrigin](),
            CodingFlush.FINISH,
        )

    @staticmethod
    def held_octets(task: PointerTo[Self]) -> Int:
        """Returns how much memory the content and its encoder need.

        Args:
            task: The content.

        Returns:
            The number of octets.
        """
        ref content = task[].content
        var held = _ENCODER_OCTETS
        if task[].coding == ContentCoding.GZIP or (
            task[].coding == ContentCoding.DEFLATE
        ):
            held = _ZLIB_OCTETS
        if content.is_stream():
            return held + content.held_octets()
        # Sealed content belongs to the program, and many answers share it.
        return held if content.is_sealed() else held + len(content)


struct _FilterState(Movable):
    var encoder: ContentEncoder
    var coded: List[UInt8]
    var is_writing: Bool
    var is_broken: Bool
    var has_ended: Bool
    var is_released: Bool

    def __init__(out self, var encoder: ContentEncoder):
        self.encoder = encoder^
        self.coded = List[UInt8]()
        self.is_writing = False
        self.is_broken = False
        self.has_ended = False
        self.is_released = False


def _write_pieces(
    filter: PointerTo[_FilterState],
    exchange: Exchange,
    task: PointerTo[CompressedBody],
) raises:
    var octets = task[].content.octets()
    var start = 0
    while start < len(octets):
        var end = min(start + _PIECE_OCTETS, len(octets))
        _send(filter, exchange, octets[start:end], CodingFlush.NONE)
        start = end
        sleep(0)


def _write(
    owner: Erased, exchange: Erased, octets: OctetPointer, count: Int
) raises -> Int:
    var filter = owner.unsafe_bitcast[_FilterState]()
    var x = exchange.unsafe_bitcast[ExchangeState]()
    if count == 0:
        return carry(x, octets, 0)
    if filter[].has_ended:
        raise Error("http.stream_over the response has ended")
    var taken = min(count, _PIECE_OCTETS)
    _send(filter, x, Span(unsafe_ptr=octets, length=taken), CodingFlush.SYNC)
    return taken


def _release(owner: Erased):
    var filter = owner.unsafe_bitcast[_FilterState]()
    # A fiber in the middle of a write frees it afterwards.
    filter[].is_released = True
    if not filter[].is_writing:
        heap_destroy(filter)


@no_inline
def _send(
    filter: PointerTo[_FilterState],
    exchange: Exchange,
    octets: Span[UInt8, _],
    flush: Int,
) raises:
    if filter[].is_writing:
        raise Error("http.stream_busy another fiber writes the response")
    # A piece that got lost makes all that follows worthless.
    if filter[].is_broken:
        raise Error(CUT_OFF, ": a write before failed")
    filter[].is_writing = True
    filter[].is_broken = True
    try:
        filter[].encoder.append(octets, filter[].coded, flush)
        if exchange[].stream.filter:
            exchange[].stream.filter.unsafe_value().taken_octets += len(octets)
        var sent = 0
        while sent < len(filter[].coded):
            sent += carry(
                exchange,
                filter[]
                .coded.unsafe_ptr()
                .unsafe_offset(sent)
                .unsafe_origin_cast[MutUntrackedOrigin](),
                len(filter[].coded) - sent,
            )
        filter[].is_broken = False
    finally:
        filter[].is_writing = False
        filter[].coded.clear()
        if filter[].is_released:
            heap_destroy(filter)
