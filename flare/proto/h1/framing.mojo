"""Determines the end of a message from the fields of its head.

If RFC 9112 section 6.3 allows a recipient to repair or refuse, a server
refuses: request smuggling exploits recipients that repair differently. So
Content-Length occurs at most once and contains digits only. A repeated or
listed value is refused, although RFC 9110 section 8.6 allows merging equal
ones. Content-Length never occurs beside Transfer-Encoding, and the only
transfer coding is one `chunked`.

A client merges equal values of Content-Length, and lets Transfer-Encoding
override them. That is safe for responses: such a response is the last one on
its connection, and its views show the clean form only (`mending`).
"""

from std.sys.intrinsics import likely, unlikely

from flare.core import (
    PointerTo,
    equals_lower,
    find_octet,
    is_token,
)
from flare.message import (
    FieldName,
    Method,
    RequestTarget,
    allows_content,
    valid_host,
)
from flare.message.list_grammar import COMMA, trim_blanks

from ..head import BodyKind, Head
from .error import H1Error
from .grammar import (
    ConnectionOption,
    decimal_value,
    parse_connection,
    parse_content_length,
)
from .limits import H1Limits
from .mending import mend_target
from .plain_host import is_plain_host
from .scan import Window, not_visible, scan

comptime _SEMICOLON: UInt8 = 59

comptime _PRESENT: UInt8 = 1
comptime _CHUNKED: UInt8 = 2
comptime _UNKNOWN: UInt8 = 4


@always_inline
def is_framing(id: UInt8) -> Bool:
    """Returns whether `note_field` must see a field of a header section.

    Args:
        id: A constant of `FieldName`.

    Returns:
        True if the field affects framing, routing or persistence.
    """
    comptime SET = (
        FieldName.bit(FieldName.HOST)
        | FieldName.bit(FieldName.CONTENT_LENGTH)
        | FieldName.bit(FieldName.TRANSFER_ENCODING)
        | FieldName.bit(FieldName.CONNECTION)
        | FieldName.bit(FieldName.EXPECT)
    )
    return (SET >> UInt64(id & 63)) & 1 == 1


@no_inline
def note_field(
    head: PointerTo[Head], id: UInt8, value: Span[UInt8, _], index: Int
) raises H1Error:
    """Records one field line for which `is_framing` is true.

    Args:
        head: The head being read.
        id: The field.
        value: Its value without the blanks around it.
        index: The index of the line.

    Raises:
        H1Error: If the value or a repetition is invalid.
    """
    if id == FieldName.HOST:
        # In a response it says nothing.
        if head[].host >= 0 and head[].status == 0:
            raise H1Error.broken["more than one Host"]()
        head[].host = index
    elif id == FieldName.CONNECTION:
        head[].options |= parse_connection(value)
    elif id == FieldName.CONTENT_LENGTH:
        _note_content_length(head, value)
    elif id == FieldName.TRANSFER_ENCODING:
        _note_transfer_encoding(head, value)
    elif id == FieldName.EXPECT:
        # RFC 9110 section 10.1.1; whether it counts is decided at the end of
        # the head, where version and body are known.
        head[].expects_continue = not _has(head[], id) and equals_lower(
            value, StaticString("100-continue").as_bytes()
        )


@always_inline
def is_plain_head(window: Window, head: PointerTo[Head]) -> Bool:
    """Returns whether a request head needs no further check.

    Args:
        window: The received octets.
        head: The head, read to its end; `take_plain_request_line` took its
            request line.

    Returns:
        True if `finish_request` would find no error, no body, and a connection
        that persists.
    """
    ref h = head[]
    comptime DECIDING = (
        FieldName.bit(FieldName.CONTENT_LENGTH)
        | FieldName.bit(FieldName.TRANSFER_ENCODING)
        | FieldName.bit(FieldName.EXPECT)
    )
    comptime OPTIONS = ConnectionOption.CLOSE | ConnectionOption.UPGRADE
    if h.known & DECIDING != 0 or h.options & OPTIONS != 0:
        return False
    debug_assert(
        h.target.form == RequestTarget.ORIGIN_FORM and h.version.minor == 1,
        "not a plain request line",
    )
    return _is_host_plain(window, h)


@always_inline
def _is_host_plain(window: Window, h: Head) -> Bool:
    if likely(h.has_plain_host):
        return True
    if h.host < 0:
        return False
    ref line = h.lines.unsafe_get(h.host)
    return is_plain_host(window, Int(line.value_start), Int(line.value_octets))


@no_inline
def finish_request(
    window: Window, head: PointerTo[Head], limits: H1Limits
) raises H1Error:
    """Checks a request head as a whole, and sets how its body ends.

    Args:
        window: The received octets.
        head: The head, read to its end.
        limits: The limit of the body.

    Raises:
        H1Error: If the head contradicts itself or announces too much.
    """
    ref h = head[]
    var codings = h.progress.codings
    if codings != 0:
        if h.content_length >= 0:
            raise H1Error.broken["Content-Length beside Transfer-Encoding"]()
        _check_codings(h)
        h.body = BodyKind.CHUNKED
    elif h.content_length > 0:
        if h.content_length > limits.body_octets_max:
            raise H1Error.broken["Content-Length exceeds the body limit"]()
        h.body = BodyKind.LENGTH
    if h.host >= 0:
        if not _is_host_plain(window, h) and not valid_host(
            _value(window, h, h.host)
        ):
            raise H1Error.broken["Host is not valid"]()
    elif h.version.minor > 0:
        raise H1Error.broken["Host is missing"]()
    if h.target.form == RequestTarget.NONE:
        _read_target(window, h)
    _set_persistence(h)
    if h.version.minor == 0 or h.body == BodyKind.NONE:
        h.expects_continue = False
    elif not h.expects_continue and _has(h, FieldName.EXPECT):
        raise H1Error.broken["Expect is not 100-continue"]()


def finish_response(
    head: PointerTo[Head], request_method: Method, limits: H1Limits
) raises H1Error:
    """Checks a response head as a whole, and sets how its body ends.

    Args:
        head: The head, read to its end.
        request_method: The method of the request it answers.
        limits: The limit of the body.

    Raises:
        H1Error: If the head contradicts itself or announces too much.
    """
    ref h = head[]
    if h.progress.codings != 0:
        _check_codings(h)
        if h.content_length >= 0:
            # RFC 9112 section 6.3 rule 3.
            h.content_length = -1
            h.progress.is_odd = True
    h.expects_continue = False
    _set_persistence(h)
    var status = h.status
    if request_method == Method.HEAD or not allows_content(status):
        # RFC 9112 section 6.3 rule 1. A sender that thinks otherwise may
        # follow up with octets: the connection is not used again.
        if status < 200 or status == 204:
            if h.content_length > 0 or h.progress.codings != 0:
                h.keep_alive = False
        return
    if request_method == Method.CONNECT and status < 300:
        return
    if h.progress.codings != 0:
        h.body = BodyKind.CHUNKED
    elif h.content_length > limits.body_octets_max:
        raise H1Error.broken["Content-Length exceeds the body limit"]()
    elif h.content_length > 0:
        h.body = BodyKind.LENGTH
    elif h.content_length < 0:
        h.body = BodyKind.UNTIL_CLOSE
        h.keep_alive = False


@always_inline
def _read_target(window: Window, mut h: Head) raises H1Error:
    if h.method == Method.CONNECT:
        # An origin server has no tunnel to offer (RFC 9110 section 9.3.6).
        raise H1Error.broken["CONNECT to an origin server"]()
    var received = window[h.target_start :][: h.target_octets]
    var ascii_octets = scan[not_visible](received, 0, len(received))
    if unlikely(ascii_octets < len(received)):
        mend_target(received, h)
    var target = h.target_text(window).as_bytes()
    try:
        h.target = RequestTarget.parse(target, h.method)
    except:
        raise H1Error.broken["request target is not valid"]()
    ref t = h.target
    if t.form == RequestTarget.ABSOLUTE_FORM:
        if Int(t.authority_start + t.authority_octets) > ascii_octets:
            raise H1Error.broken["request target is not valid"]()
        _replace_host(h)


def _replace_host(mut h: Head):
    # RFC 9112 section 3.2.2: the authority in the target replaces Host. The
    # Host line shows it too, so that no reader of the fields can route by the
    # other one.
    if h.host < 0:
        return
    ref line = h.lines[h.host]
    line.value_start = UInt32(h.target_start) + h.target.authority_start
    line.value_octets = h.target.authority_octets


@always_inline
def _has(h: Head, id: UInt8) -> Bool:
    return h.known & FieldName.bit(id) != 0


@always_inline
def _value(window: Window, h: Head, index: Int) -> Window[window.origin]:
    ref line = h.lines[index]
    var start = Int(line.value_start)
    return window[start : start + Int(line.value_octets)]


def _check_codings(h: Head) raises H1Error:
    if h.version.minor == 0:
        # RFC 9112 section 6.1: the message may have passed a recipient that
        # does not know the field.
        raise H1Error.broken["Transfer-Encoding in HTTP/1.0"]()
    if h.progress.codings & _UNKNOWN != 0:
        raise H1Error.broken["transfer coding is not chunked"]()
    if h.progress.codings & _CHUNKED == 0:
        raise H1Error.broken["Transfer-Encoding is empty"]()


@always_inline
def _set_persistence(mut h: Head):
    var closes = h.options & ConnectionOption.CLOSE != 0
    if h.version.minor > 0:
        h.keep_alive = not closes
        h.wants_upgrade = h.options & ConnectionOption.UPGRADE != 0 and _has(
            h, FieldName.UPGRADE
        )
    else:
        h.keep_alive = (
            h.options & ConnectionOption.KEEP_ALIVE != 0 and not closes
        )


@always_inline
def _note_content_length(
    head: PointerTo[Head], value: Span[UInt8, _]
) raises H1Error:
    ref h = head[]
    if h.status == 0:
        if h.content_length >= 0:
            raise H1Error.broken["more than one Content-Length"]()
        h.content_length = parse_content_length(value)
        return
    var length = decimal_value(value)
    if likely(length >= 0 and h.content_length < 0):
        h.content_length = length
    else:
        _merge_content_lengths(head, value)


@no_inline
def _merge_content_lengths(
    head: PointerTo[Head], value: Span[UInt8, _]
) raises H1Error:
    # RFC 9110 section 8.6: one number, over several lines or in a list.
    ref h = head[]
    var start = 0
    while True:
        var end = find_octet(value, COMMA, start)
        var length = parse_content_length(trim_blanks(value[start:end]))
        if h.content_length >= 0 and length != h.content_length:
            raise H1Error.broken["two different Content-Lengths"]()
        h.progress.is_odd = h.progress.is_odd or h.content_length >= 0
        h.content_length = length
        if end == len(value):
            return
        start = end + 1


def _note_transfer_encoding(
    head: PointerTo[Head], value: Span[UInt8, _]
) raises H1Error:
    var codings = head[].progress.codings | _PRESENT
    var start = 0
    while True:
        var end = find_octet(value, COMMA, start)
        var coding = trim_blanks(value[start:end])
        if len(coding) > 0:
            if codings & _CHUNKED != 0:
                raise H1Error.broken["chunked is repeated or not last"]()
            var semicolon = find_octet(coding, _SEMICOLON)
            var name = trim_blanks(coding[0:semicolon])
            if not is_token(name):
                raise H1Error.broken["transfer coding is not a token"]()
            if not equals_lower(name, StaticString("chunked").as_bytes()):
                codings |= _UNKNOWN
            elif semicolon < len(coding):
                # RFC 9112 section 7.1 defines none and calls it an error.
                raise H1Error.broken["chunked with parameters"]()
            else:
                codings |= _CHUNKED
        if end == len(value):
            break
        start = end + 1
    head[].progress.codings = codings
