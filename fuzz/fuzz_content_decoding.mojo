"""Coded content is decoded alike whole and in pieces, and never beyond limits.

Invariant: any octets give the same content or the same kind of error however
they are cut and however much room there is; what was coded comes back; the
front of a coded content is truncated, and what follows its end is refused;
no more content comes out than the limits allow.
"""

from flare.core import equals
from flare.http.encoding import (
    ContentCoding,
    ContentDecoder,
    DecodingLimits,
    EncodingError,
    compress,
)

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate, splice

comptime _ROOM_OCTETS = 64 * 1024


@fieldwise_init
struct _Outcome(Movable):
    var content: List[UInt8]
    var kind: Int


def fuzz_content_decoding(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one coded content.

    Args:
        random: Draws, codes and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var content = _content(random)
    var codings = List[ContentCoding]()
    var coded = content.copy()
    var has_members = random.chance(30)
    for _ in range(2 if random.chance(15) else 1):
        var coding = ContentCoding(random.between(1, 4))
        coded = _coded(Span(coded), coding, random, has_members)
        codings.append(coding)
    var what = random.below(10)
    var cut = random.below(max(len(coded), 1))
    if what < 2:
        coded.shrink(cut)
    elif what == 2:
        coded.extend(Span(_tail(random)))
    elif what < 6:
        coded = mutate(Span(coded), random)
    elif what == 6:
        var other = _coded(Span(content), codings[0], random, has_members)
        if random.chance(50):
            # The front of a header, behind which a header follows.
            other.shrink(min(random.between(1, 6), len(other)))
            if random.chance(50):
                other = [0x28, 0xB5, 0x2F, 0xFD, 0x20]
            other.extend(Span(coded))
            coded = other^
        else:
            coded = splice(Span(coded), Span(other), random)
    histogram.input(Span(coded))
    var limits = DecodingLimits(
        ratio_free_octets=Int.MAX, decoded_octets_max=1 << 20
    )
    var whole = _decoded(codings, Span(coded), limits, random, whole=True)
    var pieces = _decoded(codings, Span(coded), limits, random, whole=False)
    if not _are_alike(whole.kind, pieces.kind, len(codings)):
        raise Error("whole it ends as ", whole.kind, ", cut as ", pieces.kind)
    # Behind an error it is not defined how much came before it.
    if whole.kind < 0 and not equals(Span(whole.content), Span(pieces.content)):
        raise Error("cut it is another content")
    if what >= 7 and (
        whole.kind >= 0 or not equals(Span(whole.content), Span(content))
    ):
        raise Error("what was coded does not come back")
    # Cut between two members it may be a whole content.
    var may_be_whole = has_members or len(coded) == 0
    if what < 2 and whole.kind != EncodingError.TRUNCATED:
        if whole.kind >= 0 or not may_be_whole:
            raise Error("a front is not truncated but ", whole.kind)
    if what == 2 and whole.kind != EncodingError.TRAILING_OCTETS:
        raise Error("what follows the end is not refused but ", whole.kind)
    _check_limits(codings, Span(coded), random)
    if whole.kind < 0:
        histogram.count_whole("decoded")
    else:
        histogram.count(String("kind ", whole.kind))


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_content_decoding)


def _are_alike(whole: Int, pieces: Int, codings: Int) -> Bool:
    if (whole < 0) != (pieces < 0):
        return False
    # Which of two mistakes shows first depends on how far a step goes: of two
    # codings either may fail first, and the limit is looked at behind a step.
    return (
        whole == pieces
        or codings > 1
        or whole == EncodingError.TOO_LARGE
        or pieces == EncodingError.TOO_LARGE
    )


def _content(mut random: Random) -> List[UInt8]:
    var content = List[UInt8]()
    for _ in range(random.below(4)):
        var kind = random.below(3)
        if kind == 0:
            content.extend(Span(random.octets(random.below(40))))
        elif kind == 1:
            content.extend(Span(random.octets_of("abc ", random.below(60))))
        else:
            content.extend(
                Span(
                    List[UInt8](length=random.below(2000), fill=random.octet())
                )
            )
    return content^


def _coded(
    content: Span[UInt8, _],
    coding: ContentCoding,
    mut random: Random,
    has_members: Bool,
) raises -> List[UInt8]:
    # Several members or frames are one content.
    if has_members and (
        coding == ContentCoding.GZIP or coding == ContentCoding.ZSTD
    ):
        var middle = random.below(len(content) + 1)
        var front = _coded(content[:middle], coding, random, False)
        var rear = _coded(content[middle:], coding, random, False)
        front.extend(Span(rear))
        return front^
    # Without codes, as a writer of the formats would lay it out by hand.
    if len(content) < 65536 and random.chance(30):
        if coding == ContentCoding.GZIP:
            return _stored_gzip(content, random)
        if coding == ContentCoding.DEFLATE:
            return _stored(content)
        if coding == ContentCoding.ZSTD:
            return _raw_frame(content)
    return compress(content, coding, 1)


def _stored(content: Span[UInt8, _]) -> List[UInt8]:
    var count = len(content)
    var coded: List[UInt8] = [
        1,
        UInt8(count & 255),
        UInt8(count >> 8),
        UInt8(~count & 255),
        UInt8((~count >> 8) & 255),
    ]
    coded.extend(content)
    return coded^


def _stored_gzip(content: Span[UInt8, _], mut random: Random) -> List[UInt8]:
    var flags = UInt8(random.below(8)) << 2
    var coded: List[UInt8] = [0x1F, 0x8B, 8, flags, 0, 0, 0, 0, 0, 3]
    if flags & 4 != 0:
        var extra = random.octets(random.below(9))
        coded.append(UInt8(len(extra)))
        coded.append(0)
        coded.extend(Span(extra))
    if flags & 8 != 0:
        coded.extend(Span(random.octets_of("name", random.below(5))))
        coded.append(0)
    if flags & 16 != 0:
        coded.extend(Span(random.octets_of("comment", random.below(5))))
        coded.append(0)
    coded.extend(Span(_stored(content)))
    var crc = UInt32.MAX
    for octet in content:
        crc ^= UInt32(octet)
        for _ in range(8):
            crc = (crc >> 1) ^ (UInt32(0xEDB88320) if crc & 1 == 1 else 0)
    _append_32(~crc, coded)
    _append_32(UInt32(len(content)), coded)
    return coded^


def _raw_frame(content: Span[UInt8, _]) -> List[UInt8]:
    # A window of 1 MiB and one raw block, the last one.
    var coded: List[UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0, 0x50]
    var block = len(content) << 3 | 1
    coded.append(UInt8(block & 255))
    coded.append(UInt8((block >> 8) & 255))
    coded.append(UInt8(block >> 16))
    coded.extend(content)
    return coded^


def _append_32(number: UInt32, mut octets: List[UInt8]):
    for i in range(4):
        octets.append(UInt8((number >> UInt32(8 * i)) & 255))


def _tail(mut random: Random) -> List[UInt8]:
    # Nothing begins so, neither a member nor a frame.
    var tail = random.octets(1 + random.below(5))
    tail[0] = 0x80 | random.octet()
    return tail^


def _decoded(
    codings: List[ContentCoding],
    coded: Span[UInt8, _],
    limits: DecodingLimits,
    mut random: Random,
    *,
    whole: Bool,
) raises -> _Outcome:
    var decoder = ContentDecoder(codings, limits)
    var into = List[UInt8](length=_ROOM_OCTETS, fill=0)
    var content = List[UInt8]()
    var pieces_max = 1 + random.below(30)
    var room_max = 1 + random.below(2000)
    var start = 0
    try:
        while True:
            var count = len(coded) - start
            var room = _ROOM_OCTETS
            if not whole:
                count = min(count, random.below(pieces_max + 1))
                room = 1 + random.below(room_max)
            var progress = decoder.decode(
                coded[start : start + count], Span(into)[:room]
            )
            start += progress.consumed
            content.extend(Span(into)[: progress.produced])
            if start == len(coded) and progress.produced < room:
                decoder.end()
                return _Outcome(content^, -1)
    except e:
        var error = EncodingError.of(e)
        if not error:
            raise Error("another error: ", e)
        return _Outcome(content^, error.value().kind)


def _check_limits(
    codings: List[ContentCoding], coded: Span[UInt8, _], mut random: Random
) raises:
    var limits = DecodingLimits(
        decoded_octets_max=random.below(3000),
        ratio_max=random.between(1, 20),
        ratio_free_octets=random.below(500),
    )
    var outcome = _decoded(codings, coded, limits, random, whole=False)
    var count = len(outcome.content)
    if count > limits.decoded_octets_max:
        raise Error(count, " octets of ", limits.decoded_octets_max)
    if count > limits.ratio_free_octets and count > limits.ratio_max * (
        len(coded) + 1
    ):
        raise Error(count, " octets out of ", len(coded))
