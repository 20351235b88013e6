"""Feeds forms with files, content codings, and what negotiates them."""

from flare.http.encoding import (
    AcceptEncoding,
    ContentCoding,
    ContentDecoder,
    DecodingLimits,
    compress,
    decodable_codings,
    decompress,
)
from flare.proto.multipart import (
    MultipartEvent,
    MultipartLimits,
    MultipartMachine,
)

from .cost_row import CostRow, numbered, repeated

comptime _PART: StaticString = (
    '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n'
)


def content_rows() -> List[CostRow]:
    """Lists what is measured.

    Returns:
        The rows.
    """
    comptime near_ends = repeated["\r\n--\r\n--a\r\n-", _PART, "\r\n--b--\r\n"]
    comptime parts = repeated[_PART + "x\r\n", "", "--b--\r\n"]
    comptime head = numbered[
        "; n",
        '="\\""',
        '--b\r\nContent-Disposition: form-data; name="a"',
        "\r\n\r\nx\r\n--b--\r\n",
    ]
    var rows: List[CostRow] = [
        CostRow("content of a part", 1 << 17, near_ends, _form[1 << 30]),
        CostRow("content of a part, by octets", 1 << 14, near_ends, _form[1]),
        CostRow("parts of a form", 1 << 17, parts, _form[1 << 30]),
        CostRow("parts, octet by octet", 1 << 14, parts, _form[1]),
        CostRow("head of a part", 1 << 14, head, _form[1 << 30]),
        CostRow("head of a part, by octets", 1 << 13, head, _form[1]),
        CostRow(
            "Accept-Encoding",
            1 << 15,
            repeated["gzip;q=0.001, *, br;q=1.000,"],
            _accept,
        ),
    ]
    for coding in decodable_codings():
        if coding == ContentCoding.GZIP:
            rows.append(_coded[ContentCoding.GZIP]("gzip"))
        elif coding == ContentCoding.DEFLATE:
            rows.append(_coded[ContentCoding.DEFLATE]("deflate"))
        elif coding == ContentCoding.BROTLI:
            rows.append(_coded[ContentCoding.BROTLI]("br"))
        elif coding == ContentCoding.ZSTD:
            rows.append(_coded[ContentCoding.ZSTD]("zstd"))
    return rows^


def _coded[coding: ContentCoding](var name: String) -> CostRow:
    return CostRow(name^, 1 << 16, numbered["", ","], _code[coding])


def _form[step: Int](octets: List[UInt8]) raises:
    var limits = MultipartLimits()
    limits.parts_max = len(octets)
    limits.part_head_octets_max = 1 << 20
    limits.part_head_lines_max = 1 << 20
    var machine = MultipartMachine("b".as_bytes(), limits)
    var start = 0
    var end = min(step, len(octets))
    while True:
        var event = machine.next_event(Span(octets)[start:end])
        start += event.consumed
        if event.kind == MultipartEvent.END:
            return
        if event.kind == MultipartEvent.NEED_OCTETS:
            if end == len(octets):
                raise Error("not read to its end")
            end = min(end + step, len(octets))


def _accept(octets: List[UInt8]) raises:
    var accepted = AcceptEncoding()
    accepted.add(Span(octets))
    _ = accepted.best(decodable_codings())


def _code[coding: ContentCoding](octets: List[UInt8]) raises:
    var coded = compress(Span(octets), coding)
    if len(decompress(Span(coded), coding)) != len(octets):
        raise Error("decoded to something else")
    # Octet by octet, into little room.
    var decoder = ContentDecoder([coding], DecodingLimits())
    var room = List[UInt8](length=4096, fill=0)
    var start = 0
    var end = 0
    while True:
        var progress = decoder.decode(Span(coded)[start:end], Span(room))
        start += progress.consumed
        if progress.produced < len(room):
            if end == len(coded):
                return
            end = min(end + 16, len(coded))
