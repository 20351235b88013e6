"""Writes response heads (RFC 9112 section 4, RFC 9110 section 15)."""

from flare.core import Buffer, PointerTo
from flare.message import (
    FieldName,
    HeaderMap,
    Status,
    allows_content,
    status_line,
)

from ..head import BodyKind
from .body_length import BodyLength
from .connection import H1State
from .error import H1Error
from .grammar import ConnectionOption
from .head_writer import (
    FRAMING_OCTETS_MAX,
    finish_head,
    put,
    put_decimal,
    put_framing,
    put_octets,
)
from .send_plan import SendPlan
from .state import SideInput, SideState, next_state


def write_informational(
    state: PointerTo[H1State],
    status: Int,
    fields: HeaderMap,
    output: PointerTo[Buffer],
) raises H1Error:
    """Writes a 1xx response. For an HTTP/1.0 client, it writes no octets.

    Args:
        state: A server's connection.
        status: 100 or 102 to 199.
        fields: The fields, such as Link.
        output: The destination.

    Raises:
        H1Error: If the response may not be sent now, or the fields contain
            framing.
    """
    ref s = state[]
    if status < 100 or status > 199 or status == 101:
        raise H1Error.local("not an informational status")
    if (
        next_state[False](s.response, SideInput.INFORMATIONAL_HEAD)
        == SideState.ILLEGAL
    ):
        raise H1Error.local("no response is awaited")
    var plan = SendPlan.of(fields, BodyLength.NONE)
    if plan.content_length >= 0:
        raise H1Error.local("Content-Length in an informational response")
    # RFC 9110 section 15.2: never to an HTTP/1.0 client.
    if s.version_minor == 0:
        return
    s.advance_response(SideInput.INFORMATIONAL_HEAD)
    var target = output[].reserve(FRAMING_OCTETS_MAX + len(fields.wire()))
    var at = _put_status_line(target, status)
    finish_head(output, target, at, fields, plan)


def write_response_head(
    state: PointerTo[H1State],
    status: Int,
    fields: HeaderMap,
    body: BodyLength,
    date: Span[UInt8, _],
    output: PointerTo[Buffer],
) raises H1Error:
    """Writes a final response head, and sets how its body ends.

    Args:
        state: A server's connection.
        status: 101 or 200 to 599.
        fields: The fields of the caller.
        body: The length of the body.
        date: The value of Date; empty for no such line.
        output: The destination.

    Raises:
        H1Error: If the response may not be sent now, or the fields contradict
            the body.
    """
    ref s = state[]
    if status == 101:
        return _write_switch(state, fields, date, output)
    if status < 200 or status > 599:
        raise H1Error.local("not a final status")
    if (
        next_state[False](s.response, SideInput.RESPONSE_HEAD)
        == SideState.ILLEGAL
    ):
        raise H1Error.local("no response is awaited")
    var is_bodiless = s.is_bodiless or not allows_content(status)
    var plan = SendPlan.of(fields, _stated_length(status, is_bodiless, body))
    _settle_body(s, status, is_bodiless, plan)
    var persists = (
        s.keep_alive
        and not s.is_last
        and plan.body != BodyKind.UNTIL_CLOSE
        and plan.options & ConnectionOption.CLOSE == 0
    )
    s.keep_alive = persists
    s.is_bodiless = is_bodiless
    s.send_body = plan.body
    s.send_left = plan.content_length
    s.advance_response(SideInput.RESPONSE_HEAD)
    var target = output[].reserve(FRAMING_OCTETS_MAX + len(fields.wire()))
    var at = _put_status_line(target, status)
    at = _put_date(target, at, fields, date)
    at = put_framing(target, at, plan)
    if not persists:
        if plan.options & ConnectionOption.CLOSE == 0:
            at = put["Connection: close\r\n"](target, at)
    elif s.version_minor == 0:
        if plan.options & ConnectionOption.KEEP_ALIVE == 0:
            at = put["Connection: keep-alive\r\n"](target, at)
    finish_head(output, target, at, fields, plan)


@always_inline
def _stated_length(
    status: Int, is_bodiless: Bool, body: BodyLength
) -> BodyLength:
    # That no content is sent does not show how much GET would get (RFC 9110
    # section 8.6). The caller's fields may state it.
    if is_bodiless and body.octets == 0 and status != Status.NO_CONTENT:
        return BodyLength.NONE
    return body


@always_inline
def _settle_body(
    s: H1State, status: Int, is_bodiless: Bool, mut plan: SendPlan
) raises H1Error:
    if status == Status.NO_CONTENT:
        # RFC 9110 section 8.6 and RFC 9112 section 6.1: neither field.
        plan.content_length = -1
        plan.is_chunked_stated = False
        plan.body = BodyKind.NONE
    elif is_bodiless:
        # The fields describe the answer to GET.
        if plan.is_chunked_stated and s.version_minor == 0:
            plan.is_chunked_stated = False
        plan.body = BodyKind.NONE
    elif plan.body == BodyKind.NONE:
        if plan.content_length > 0:
            raise H1Error.local("Content-Length without a body")
        plan.content_length = 0
    elif plan.body == BodyKind.CHUNKED and s.version_minor == 0:
        # RFC 9112 section 6.1: no transfer coding to an HTTP/1.0 client.
        plan.is_chunked_stated = False
        plan.body = BodyKind.UNTIL_CLOSE


def _write_switch(
    state: PointerTo[H1State],
    fields: HeaderMap,
    date: Span[UInt8, _],
    output: PointerTo[Buffer],
) raises H1Error:
    # RFC 9110 section 7.8: only what was offered, and only in HTTP/1.1.
    ref s = state[]
    if not s.wants_upgrade or s.receive_body != BodyKind.NONE:
        raise H1Error.local("101 to a request that cannot be upgraded")
    if not s.allows(SideInput.UPGRADE, SideInput.UPGRADE):
        raise H1Error.local("no response is awaited")
    if not fields.has_known(FieldName.UPGRADE):
        raise H1Error.local("101 without Upgrade")
    var plan = SendPlan.of(fields, BodyLength.NONE)
    if plan.content_length >= 0:
        raise H1Error.local("Content-Length in a 101 response")
    if plan.options & ConnectionOption.CLOSE != 0:
        raise H1Error.local("101 that closes the connection")
    s.advance_request(SideInput.UPGRADE)
    s.advance_response(SideInput.UPGRADE)
    var target = output[].reserve(FRAMING_OCTETS_MAX + len(fields.wire()))
    var at = _put_status_line(target, 101)
    at = _put_date(target, at, fields, date)
    if plan.options & ConnectionOption.UPGRADE == 0:
        at = put["Connection: upgrade\r\n"](target, at)
    finish_head(output, target, at, fields, plan)


@always_inline
def _put_status_line(target: PointerTo[UInt8], status: Int) -> Int:
    var line = status_line(status)
    if line.byte_length() > 0:
        return put_octets(target, 0, line.as_bytes())
    var at = put["HTTP/1.1 "](target, 0)
    at = put_decimal(target, at, status)
    return put[" \r\n"](target, at)


@always_inline
def _put_date(
    target: PointerTo[UInt8],
    at: Int,
    fields: HeaderMap,
    date: Span[UInt8, _],
) -> Int:
    # An IMF-fixdate has 29 octets; anything longer would pass the room.
    if len(date) != 29 or fields.has_known(FieldName.DATE):
        return at
    var end = put["Date: "](target, at)
    end = put_octets(target, end, date[0:29])
    return put["\r\n"](target, end)
