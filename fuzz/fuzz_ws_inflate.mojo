"""Compressed messages come back, and all others are judged as RFC 1951 says.

Invariant: in any pieces, an inflater finds the content, or the violation, that
a naive reader of the whole message finds, with or without a context. It yields
no more content than the limit allows, and its memory does not exceed twice the
limit and a step. The messages that a deflater writes come back.
"""

from flare.core import equals

from fuzz.h1_split import cuts_of
from fuzz.harness import Histogram, run
from fuzz.inflate_model import BAD, TOO_LARGE, WHOLE, InflateModel
from fuzz.random import Random, mutate
from tests.proto_ws.text_model import BAD as BAD_TEXT
from tests.proto_ws.text_model import WHOLE as WHOLE_TEXT
from tests.proto_ws.text_model import judge_text
from tests.ws.codec_peer import CodecPeer

comptime _NOT_DEFLATE: StaticString = "a message that cannot be inflated"
comptime _TOO_LARGE: StaticString = "a message exceeds the limit"
comptime _NOT_TEXT: StaticString = "a text is not UTF-8"
comptime _WORDS: List[StaticString] = ["Hello", "é", "€", "😀", "Hello Hello "]
# Room for a step beyond the limit, doubled.
comptime _SPARE_OCTETS = 32 * 1024


def fuzz_ws_inflate(mut random: Random, mut histogram: Histogram) raises:
    """Feeds a few messages of one direction.

    Args:
        random: Draws, compresses and damages them.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var keeps_context = random.chance(50)
    var limit = 1 << 18 if random.chance(70) else random.below(600)
    var writer = CodecPeer(keeps_context=keeps_context)
    var whole = CodecPeer(keeps_context=keeps_context, octets_max=limit)
    var pieces = CodecPeer(keeps_context=keeps_context, octets_max=limit)
    var model = InflateModel(limit)
    for _ in range(1 + random.below(3)):
        var content = _content(random)
        var is_intact = True
        var coded = _coded(writer, content, random, is_intact)
        histogram.input(Span(coded))
        var verdict = model.read(Span(coded), keeps_context=keeps_context)
        var found = Span(model.content)[model.start :]
        if is_intact and verdict == WHOLE and not equals(found, Span(content)):
            raise Error("a message does not come back")
        if is_intact and verdict != WHOLE and len(content) <= limit:
            raise Error("a message is judged as ", verdict)
        var is_text = random.chance(50)
        var expected = _expected(verdict, found, limit, is_text)
        _check(whole, coded, [], is_text, found, expected)
        _check(pieces, coded, cuts_of(coded, random), is_text, found, expected)
        if expected[0] != "":
            histogram.count(expected[0])
            return
        histogram.count_whole("inflated")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_ws_inflate)


def _expected(
    verdict: UInt8, found: Span[UInt8, _], limit: Int, is_text: Bool
) -> List[String]:
    # The violations that may be reported; an empty text for none. Of a text
    # that is too large and no UTF-8, either is reported first.
    var expected = List[String]()
    if verdict == TOO_LARGE:
        expected.append(String(_TOO_LARGE))
    var content = found[: min(len(found), limit)]
    if is_text:
        var text = judge_text(content)
        if text == BAD_TEXT or (verdict == WHOLE and text != WHOLE_TEXT):
            expected.append(String(_NOT_TEXT))
            return expected^
    if verdict == WHOLE:
        expected.append(String())
    elif verdict == BAD:
        expected.append(String(_NOT_DEFLATE))
    return expected^


def _check(
    peer: CodecPeer,
    coded: List[UInt8],
    cuts: List[Int],
    is_text: Bool,
    found: Span[UInt8, _],
    expected: List[String],
) raises:
    var violation = String()
    try:
        var content = peer.inflate(Span(coded), cuts, is_text=is_text)
        if not equals(Span(content), found):
            raise Error("it is another content")
    except e:
        var text = String(e)
        var at = text.find(": ")
        if at < 0:
            raise e^
        violation = String(text[byte = at + 2 :])
    if violation not in expected:
        raise Error("judged as '", violation, "', not '", expected[0], "'")
    var limit = Int(peer.check[].octets_max)
    if peer.produced_octets() > limit:
        raise Error(peer.produced_octets(), " octets are beyond the limit")
    if peer.held_octets() > 2 * limit + _SPARE_OCTETS:
        raise Error(peer.held_octets(), " octets of memory")


def _content(mut random: Random) -> List[UInt8]:
    var content = List[UInt8]()
    var kind = random.below(10)
    if kind < 5:
        for _ in range(random.below(20)):
            content.extend(
                random.pick[StaticString](materialize[_WORDS]()).as_bytes()
            )
    elif kind < 8:
        content = random.octets(random.below(300))
    elif kind == 8:
        content = List[UInt8](length=random.below(40_000), fill=random.octet())
    else:
        for _ in range(random.below(60)):
            content.append(UInt8(random.below(3)))
    return content^


def _coded(
    writer: CodecPeer,
    content: List[UInt8],
    mut random: Random,
    mut is_intact: Bool,
) raises -> List[UInt8]:
    var kind = random.below(12)
    if kind < 3:
        # The writer does not know it.
        writer.deflater.reset()
        if kind > 0:
            return _stored(content, random)
        is_intact = False
        return random.octets(random.below(12))
    var cuts = List[Int]()
    if random.chance(30):
        cuts = [random.between(0, len(content))]
    var coded = writer.deflate(Span(content), cuts)
    is_intact = kind > 7
    if not is_intact:
        writer.deflater.reset()
    if kind < 6:
        coded = mutate(Span(coded), random)
    elif kind == 6:
        coded.shrink(random.below(len(coded) + 1))
    elif kind == 7:
        # A final block instead of the first one.
        coded[0] |= 1
        if random.chance(50):
            coded.append(0)
    return coded^


def _stored(content: List[UInt8], mut random: Random) -> List[UInt8]:
    # Blocks that are not compressed, some of them final.
    var coded = List[UInt8]()
    var start = 0
    while start < len(content):
        var count = min(random.between(1, 9_000), len(content) - start)
        coded.append(UInt8(1 if random.chance(40) else 0))
        for number in [count, 0xFFFF - count]:
            coded.append(UInt8(number & 255))
            coded.append(UInt8(number >> 8))
        coded.extend(Span(content)[start : start + count])
        start += count
    # The header of an empty block, whose length the recipient adds.
    coded.append(0)
    return coded^
