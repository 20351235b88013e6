"""Makes contents and judges errors for the tests of this package."""

from flare.http.encoding import ContentCoding, ContentDecoder, EncodingError


def all_codings() -> List[ContentCoding]:
    """Lists every coding that codes.

    Returns:
        The codings.
    """
    return [
        ContentCoding.GZIP,
        ContentCoding.DEFLATE,
        ContentCoding.BROTLI,
        ContentCoding.ZSTD,
    ]


def mixed_octets(count: Int) -> List[UInt8]:
    """Makes octets of which some repeat and some do not.

    Args:
        count: How many.

    Returns:
        The octets, always the same.
    """
    var octets = List[UInt8](capacity=count)
    var state: UInt64 = 1
    for i in range(count):
        state = state * 6364136223846793005 + 1442695040888963407
        octets.append(UInt8(state >> 56) if i % 64 < 16 else UInt8(i % 64))
    return octets^


def same(a: Span[UInt8, _], b: Span[UInt8, _]) -> Bool:
    """Compares octets.

    Args:
        a: Octets.
        b: Octets.

    Returns:
        True if they are equal.
    """
    if len(a) != len(b):
        return False
    for i in range(len(a)):
        if a[i] != b[i]:
            return False
    return True


def octets_of(text: StringSlice) -> List[UInt8]:
    """Reads octets that are written in hexadecimal.

    Args:
        text: Pairs of digits; blanks are skipped.

    Returns:
        The octets.
    """
    var octets = List[UInt8]()
    var high = -1
    for b in text.as_bytes():
        var digit = Int(b) - 48
        if digit < 0:
            continue
        if digit > 9:
            digit = (Int(b) | 32) - 87
        if high < 0:
            high = digit
        else:
            octets.append(UInt8(high * 16 + digit))
            high = -1
    return octets^


def decoded_in_pieces(
    decoder: ContentDecoder, octets: Span[UInt8, _], input: Int, room: Int
) raises -> List[UInt8]:
    """Decodes octets in pieces of a fixed size.

    Args:
        decoder: What decodes them.
        octets: The coded octets.
        input: How many come at a time.
        room: How many are taken at a time.

    Returns:
        The content.

    Raises:
        What the decoder raises.
    """
    var content = List[UInt8]()
    var into = List[UInt8](length=room, fill=0)
    var start = 0
    while True:
        var end = min(start + input, len(octets))
        var progress = decoder.decode(octets[start:end], Span(into))
        content.extend(Span(into)[: progress.produced])
        start += progress.consumed
        if start == len(octets) and progress.produced < room:
            decoder.end()
            return content^


def kind_of(e: Error) -> Int:
    """Tells which error of content codings came.

    Args:
        e: The error.

    Returns:
        Its kind, or -1 if it is another one.
    """
    var error = EncodingError.of(e)
    return error.value().kind if error else -1
