"""Builds HTTP/1.1 messages from the grammar, now and then slightly wrong."""

from .random import Random


def append_text(mut octets: List[UInt8], text: StringSlice):
    """Appends a text to a message.

    Args:
        octets: The message.
        text: What to append.
    """
    octets.extend(text.as_bytes())


def request(mut random: Random) -> List[UInt8]:
    """Builds one to three requests.

    Args:
        random: Decides about every part.

    Returns:
        The octets.
    """
    var octets = List[UInt8]()
    for _ in range(random.between(1, 3)):
        if random.chance(5):
            append_text(octets, "\r\n")
        append_text(octets, random.pick(_methods()))
        if random.chance(70):
            append_text(octets, random.pick(_targets()))
        else:
            _append_long_target(octets, random)
        append_text(
            octets,
            " HTTP/1.0\r\n" if random.chance(10) else " HTTP/1.1\r\n",
        )
        if not random.chance(3):
            _append_host(octets, random)
        _append_rest(octets, random, not random.chance(40))
    return octets^


def response(mut random: Random) -> List[UInt8]:
    """Builds one response, perhaps behind 1xx responses.

    Args:
        random: Decides about every part.

    Returns:
        The octets.
    """
    var octets = List[UInt8]()
    while random.chance(15):
        append_text(octets, "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n")
    append_text(octets, "HTTP/1.0 " if random.chance(10) else "HTTP/1.1 ")
    # 204, 304 and the like have no body.
    var status = random.pick(_statuses())
    append_text(octets, status)
    var has_body = status.startswith("200") or status.startswith("404")
    _append_rest(octets, random, has_body or random.chance(10))
    if random.chance(5):
        append_text(octets, "HTTP/1.1 200 OK\r\n\r\n")
    if random.chance(20):
        return _oddly_written(octets, random)
    return octets^


def _oddly_written(octets: List[UInt8], mut random: Random) -> List[UInt8]:
    # Lines that end with LF alone, that are folded, or sizes behind which
    # blanks stand.
    var odd = List[UInt8]()
    var percent = random.between(1, 60)
    for i in range(len(octets)):
        var ends = octets[i] == 13 and i + 1 < len(octets)
        if ends and octets[i + 1] == 10 and random.chance(percent):
            if random.chance(20):
                append_text(odd, "\r\n\t" if random.chance(50) else "\n  ")
            if random.chance(20):
                append_text(odd, "  ")
            if random.chance(60):
                continue
        odd.append(octets[i])
    return odd^


def _append_rest(mut octets: List[UInt8], mut random: Random, has_body: Bool):
    for _ in range(random.below(4)):
        if random.chance(80):
            append_text(octets, random.pick(_fields()))
        else:
            _append_long_field(octets, random)
    if random.chance(4):
        append_text(octets, random.pick(_conflicts()))
    if not has_body:
        append_text(octets, "\r\n")
        return
    var body = random.octets(random.below(40))
    if random.chance(50):
        append_text(octets, String("Content-Length: ", len(body), "\r\n\r\n"))
        octets.extend(Span(body))
        return
    append_text(octets, random.pick(_codings()))
    append_text(octets, "\r\n")
    _append_chunks(octets, random, body)


# Parsers take runs of octets by blocks: long ones cross the edges of several.
def _append_long_target(mut octets: List[UInt8], mut random: Random):
    append_text(octets, "/")
    _append_run(octets, random, "abcdef/.~21")
    while random.chance(60):
        append_text(octets, "?")
        _append_run(octets, random, "abcdef=&/21")


def _append_run(
    mut octets: List[UInt8], mut random: Random, members: StaticString
):
    octets.extend(Span(random.octets_of(members, random.below(100))))
    if random.chance(10):
        append_text(octets, "%2f" if random.chance(80) else "%2")


def _append_host(mut octets: List[UInt8], mut random: Random):
    if random.chance(70):
        append_text(octets, random.pick(_hosts()))
        return
    append_text(octets, "Host: ")
    _append_run(octets, random, "abcdef.-_21")
    if random.chance(40):
        append_text(octets, ":")
        octets.extend(Span(random.octets_of("0123456789", random.below(6))))
    append_text(octets, "\r\n")


def _append_long_field(mut octets: List[UInt8], mut random: Random):
    append_text(octets, "X-")
    octets.extend(Span(random.octets_of("abc-_XYZ", random.below(80))))
    append_text(octets, ":")
    octets.extend(Span(random.octets_of("abc, ;=\t", random.below(200))))
    append_text(octets, "\r\n")


def _append_chunks(
    mut octets: List[UInt8], mut random: Random, body: List[UInt8]
):
    var at = 0
    while at < len(body):
        var size = random.between(1, len(body) - at)
        if random.chance(10):
            append_text(octets, "00")
        append_text(octets, String(hex(size, prefix="")))
        _append_extension(octets, random)
        octets.extend(Span(body)[at : at + size])
        append_text(octets, "\r\n")
        at += size
    append_text(octets, "0")
    _append_extension(octets, random)
    while random.chance(20):
        append_text(octets, random.pick(_fields()))
    append_text(octets, "\r\n")


def _append_extension(mut octets: List[UInt8], mut random: Random):
    if random.chance(15):
        append_text(octets, " \t" if random.chance(20) else "")
        append_text(octets, ';name="value"' if random.chance(50) else ";a")
    append_text(octets, "\r\n")


def _methods() -> List[StaticString]:
    return ["GET ", "POST ", "HEAD ", "OPTIONS ", "BREW ", "PUT ", "DELETE "]


def _targets() -> List[StaticString]:
    return [
        "/",
        "/a/b?c=d",
        "/%20",
        "http://a/x",
        "http://b:8?é",
        "/é?q=100%",
        "/",
        "/p",
        "/q?r",
        "*",
    ]


def _hosts() -> List[StaticString]:
    return ["Host: a\r\n", "host:a\r\n", "HOST: \ta \r\n", "Host: a:80\r\n"]


def _fields() -> List[StaticString]:
    return [
        "Accept: */*\r\n",
        "X: \r\n",
        "X-Content-Length: 7\r\n",
        "Content_Length: 7\r\n",
        "Connection: keep-alive\r\n",
        "Connection: x, ,close\r\n",
        "Connection: upgrade\r\nUpgrade: x\r\n",
        "Expect: 100-continue\r\n",
        "User-Agent: a b\tc \xc3\xa9\r\n",
        "Cookie: a=b; c=d, e\r\n",
    ]


def _codings() -> List[StaticString]:
    return [
        "Transfer-Encoding: chunked\r\n",
        "transfer-encoding:CHUNKED\r\n",
        "Transfer-Encoding: ,\t chunked ,\r\n",
        "Transfer-Encoding: chunked\r\nX: y\r\n",
    ]


def _conflicts() -> List[StaticString]:
    return [
        "Content-Length: 3\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: 3\r\nContent-Length: 03\r\n",
        "Content-Length: 3\r\n Content-Length: 4\r\n",
        "Content-Length: +3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Host: b\r\n",
        " folded\r\n",
        "Connection: close;\r\n",
        "Expect: nothing\r\n",
    ]


def _statuses() -> List[StaticString]:
    return [
        "200 OK\r\n",
        "200 OK\r\n",
        "200 OK\r\n",
        "200 OK\r\n",
        "404 Not Found\r\n",
        "204 No Content\r\n",
        "304 Not Modified\r\n",
        "299 \r\n",
        "500\r\n",
        "099 Low\r\n",
        "101 Switching Protocols\r\n",
    ]
