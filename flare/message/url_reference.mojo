"""Resolves references such as `../a?b` against a URL (RFC 3986 section 5)."""

from flare.core import COLON, OctetSet, find_member, find_octet

from ._uri_grammar import NUMBER_SIGN, QUESTION_MARK, SLASH
from .url import Url

comptime _DOT: UInt8 = 46
comptime _SCHEME_OCTETS = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-."
)


def resolve_reference(base: Url, reference: StringSlice) raises -> Url:
    """Returns the URL to which a reference on a page leads.

    It is as strict as `Url.parse`; `resolve_location` parses references of
    servers.

    Args:
        base: The URL of the page.
        reference: An absolute URL, or a part of one.

    Returns:
        The URL, without `.` and `..` segments; the fragment is that of the
        reference.

    Raises:
        Error: `message.bad_url` if `Url` does not accept the result.
    """
    var r = reference.as_bytes()
    if len(r) > Url.OCTETS_MAX:
        raise Error("message.bad_url reference: too long")
    if _has_scheme(r):
        return _without_dots(Url.parse(reference))
    var text = List[UInt8]()
    text.extend(base.scheme().as_bytes())
    text.append(COLON)
    if len(r) >= 2 and r[0] == SLASH and r[1] == SLASH:
        text.extend(r)
        return _without_dots(Url.parse(_text_of(text)))
    text.append(SLASH)
    text.append(SLASH)
    text.extend(base.authority().as_bytes())
    var path_octets = min(
        find_octet(r, QUESTION_MARK), find_octet(r, NUMBER_SIGN)
    )
    var rest = r[path_octets:]
    if path_octets != 0:
        # It is parsed before `..` removes segments, so that these are checked
        # too.
        text.extend(Span(_merged(base, r[:path_octets])))
        text.extend(rest)
        return _without_dots(Url.parse(_text_of(text)))
    if len(rest) != 0 and rest[0] == QUESTION_MARK:
        text.extend(base.path().as_bytes())
    else:
        text.extend(base.target().as_bytes())
    text.extend(rest)
    return Url.parse(_text_of(text))


def _has_scheme(reference: Span[UInt8, _]) -> Bool:
    var end = find_member[_SCHEME_OCTETS, False](reference)
    if end == 0 or end == len(reference) or reference[end] != COLON:
        return False
    return (reference[0] | 32) - 97 < 26


def _merged(base: Url, path: Span[UInt8, _]) -> List[UInt8]:
    # A path that does not begin with a slash takes the place of what follows
    # the last slash of the base (section 5.2.3).
    var merged = List[UInt8]()
    if path[0] != SLASH:
        var base_path = base.path().as_bytes()
        var end = len(base_path)
        while end > 0 and base_path[end - 1] != SLASH:
            end -= 1
        merged.extend(base_path[:end])
    merged.extend(path)
    return merged^


def _without_dots(url: Url) raises -> Url:
    var text = List[UInt8](url.text().as_bytes())
    var target = url.target().as_bytes()
    var rear_octets = len(target)
    var fragment = url.fragment()
    if fragment:
        rear_octets += fragment.unsafe_value().byte_length() + 1
    var rear = List[UInt8](Span(text)[len(text) - rear_octets :])
    text.shrink(len(text) - rear_octets)
    var path_octets = url.path().byte_length()
    _add_without_dots(text, Span(rear)[:path_octets])
    text.extend(Span(rear)[path_octets:])
    return Url.parse(_text_of(text))


def _add_without_dots(mut text: List[UInt8], path: Span[UInt8, _]):
    # Section 5.2.4, one segment at a time. `path` begins with a slash.
    var root = len(text)
    var i = 0
    while i < len(path):
        var end = i + 1
        while end < len(path) and path[end] != SLASH:
            end += 1
        var segment = path[i + 1 : end]
        var is_dot = len(segment) == 1 and segment[0] == _DOT
        var is_parent = (
            len(segment) == 2 and segment[0] == _DOT and segment[1] == _DOT
        )
        if is_parent:
            while len(text) > root and text.pop() != SLASH:
                pass
        if not is_dot and not is_parent:
            text.extend(path[i:end])
        elif end == len(path):
            # The last segment names a folder, and folders end with a slash.
            text.append(SLASH)
        i = end


def _text_of(octets: List[UInt8]) -> StringSlice[origin_of(octets)]:
    return StringSlice(unsafe_from_utf8=Span(octets))
