"""Reads the answers of a server naively, to compare them with what must come.

Nothing here uses the machine under test.
"""


@fieldwise_init
struct Answer(Copyable, Movable):
    """Holds one response as a client got it."""

    var status: Int
    """The status code."""
    var closes: Bool
    """It says `Connection: close`."""
    var content: String
    """The content."""
    var is_whole: Bool
    """All of it arrived."""


def read_answers(octets: Span[UInt8, _], is_head: List[Bool]) -> List[Answer]:
    """Cuts what arrived into responses; interim ones are left out.

    Args:
        octets: All that arrived on a connection.
        is_head: For each request whether its method is HEAD; further
            responses are read as answers to GET.

    Returns:
        The responses; the last one may not be whole.
    """
    var answers = List[Answer]()
    var rest = String(StringSlice(unsafe_from_utf8=octets))
    while rest.byte_length() > 0:
        var end = rest.find("\r\n\r\n")
        if end < 0 or not rest.startswith("HTTP/1.1 "):
            answers.append(Answer(0, False, rest, False))
            return answers^
        var head = String(rest[byte = : end + 2])
        var behind_head = String(rest[byte = end + 4 :])
        rest = behind_head^
        var status = _number(head, "HTTP/1.1 ")
        if status < 200:
            continue
        var length = max(_number(head, "\r\nContent-Length: "), 0)
        var index = len(answers)
        if (index < len(is_head) and is_head[index]) or status == 204:
            length = 0
        var have = min(length, rest.byte_length())
        answers.append(
            Answer(
                status,
                head.find("\r\nConnection: close\r\n") >= 0,
                String(rest[byte=:have]),
                have == length,
            )
        )
        var behind = String(rest[byte=have:])
        rest = behind^
    return answers^


def _number(head: String, before: StaticString) -> Int:
    # The digits behind a text, or -1 if the text is not there.
    var at = head.find(before)
    if at < 0:
        return -1
    var number = 0
    for octet in head.as_bytes()[at + before.byte_length() :]:
        if octet < 48 or octet > 57:
            break
        number = number * 10 + Int(octet - 48)
    return number
