"""Puts the record of a request into the ring of its worker.

It runs on the worker's thread for each request. So it copies octets, and leaves
formatting to the writing thread.
"""

from std.sys import size_of

from flare.core import OctetPointer, copy_octets, equals_ignoring_case
from flare.http.exchange import Exchange
from flare.message import FieldLine, Method
from flare.runtime.octet_ring import OctetRing

from .access_facts import (
    AccessEvent,
    AccessFacts,
    AccessFields,
    AccessTexts,
    TRACE_ID_OCTETS,
)

comptime FACTS_OCTETS = size_of[AccessFacts]()
"""The length of the facts, before the texts."""
comptime USER_AGENT_OCTETS_MAX = 256
"""The most octets of User-Agent that a record keeps. Those of browsers have
about 120.
"""
comptime REFERER_OCTETS_MAX = 512
"""The most octets of Referer that a record keeps."""
comptime REQUEST_ID_OCTETS_MAX = 64
"""The most octets of X-Request-Id that a record keeps; a UUID has 36."""
comptime ROUTE_OCTETS_MAX = 256
"""The most octets of a route's pattern that a record keeps."""
comptime METHOD_OCTETS_MAX = 32
"""The most octets of a method without number that a record keeps."""

comptime _Octets = Span[UInt8, ImmUntrackedOrigin]
comptime _USER_AGENT: StaticString = "user-agent"
comptime _REFERER: StaticString = "referer"
comptime _REQUEST_ID: StaticString = "x-request-id"
comptime _TRACE_PARENT: StaticString = "traceparent"
# `00-`, 32 digits of the trace, `-`, 16 of its parent, `-`, 2 of flags.
comptime _TRACE_PARENT_OCTETS = 55


@fieldwise_init
struct _Views(TrivialRegisterPassable):
    var target: _Octets
    var method: _Octets
    var route: _Octets
    var user_agent: _Octets
    var referer: _Octets
    var request_id: _Octets
    var trace_id: _Octets

    @always_inline
    def __init__(out self):
        var none = _Octets()
        self = Self(none, none, none, none, none, none, none)


def put_record(
    ring: OctetRing,
    exchange: Exchange,
    event: AccessEvent,
    fields: AccessFields,
    target_octets_max: Int,
) -> Bool:
    """Puts a record into a ring.

    Args:
        ring: The ring of the worker.
        exchange: The request.
        event: How it ended.
        fields: The fields to keep.
        target_octets_max: The most octets of the request target to keep.

    Returns:
        False if there is no room.
    """
    ref x = exchange[]
    var facts = AccessFacts()
    facts.outcome = event.outcome
    facts.worker = event.worker
    facts.has_client = event.has_client
    facts.client = event.client
    facts.request_id = x.request_id
    if x.started_ns != 0:
        facts.duration_ns = max(event.outcome.ended_ns - x.started_ns, 0)
    if event.has_version:
        facts.version_major = UInt8(x.head.version.major)
        facts.version_minor = UInt8(x.head.version.minor)
    var views = _Views()
    views.request_id = event.request_id
    if event.is_named:
        facts.request_octets = x.content.received
        facts.method = x.head.method.id
        _view_head(exchange, fields, views)
    facts.target_octets = Int32(len(views.target))
    ref texts = facts.texts
    texts.target = UInt16(min(len(views.target), target_octets_max))
    texts.method = UInt16(min(len(views.method), METHOD_OCTETS_MAX))
    texts.route = UInt16(min(len(views.route), ROUTE_OCTETS_MAX))
    texts.user_agent = UInt16(min(len(views.user_agent), USER_AGENT_OCTETS_MAX))
    texts.referer = UInt16(min(len(views.referer), REFERER_OCTETS_MAX))
    texts.request_id = UInt16(min(len(views.request_id), REQUEST_ID_OCTETS_MAX))
    texts.trace_id = UInt16(len(views.trace_id))
    var entry = ring.reserve(FACTS_OCTETS + texts.total())
    if not entry:
        return False
    entry.unsafe_value().unsafe_bitcast[AccessFacts]()[] = facts
    _copy_texts(
        entry.unsafe_value().unsafe_offset(FACTS_OCTETS), views, facts.texts
    )
    ring.publish()
    return True


@always_inline
def _copy_texts(to: OctetPointer, views: _Views, texts: AccessTexts):
    var at = to
    at = _copy(at, views.target, texts.target)
    at = _copy(at, views.method, texts.method)
    at = _copy(at, views.route, texts.route)
    at = _copy(at, views.user_agent, texts.user_agent)
    at = _copy(at, views.referer, texts.referer)
    at = _copy(at, views.request_id, texts.request_id)
    _ = _copy(at, views.trace_id, texts.trace_id)


@always_inline
def _copy(to: OctetPointer, octets: _Octets, count: UInt16) -> OctetPointer:
    if count > 0:
        copy_octets(to, octets.unsafe_ptr(), Int(count))
    return to.unsafe_offset(Int(count))


@always_inline
def _view_head(exchange: Exchange, fields: AccessFields, mut views: _Views):
    ref x = exchange[]
    var window = x.window()
    views.target = x.head.target_text(window).as_bytes()
    if x.head.method == Method.OTHER:
        views.method = x.head.method_text(window).as_bytes()
    if fields.has(AccessFields.ROUTE):
        views.route = rebind[_Octets](x.route.as_bytes())
    if fields.bits & ~AccessFields.ROUTE == 0:
        return
    for line in x.head.lines:
        # The lengths of the names tell most lines apart.
        if line.name_octets == 10:
            if fields.has(AccessFields.USER_AGENT) and _has_name(
                window, line, _USER_AGENT
            ):
                views.user_agent = _value_of(window, line)
        elif line.name_octets == 7:
            if fields.has(AccessFields.REFERER) and _has_name(
                window, line, _REFERER
            ):
                views.referer = _value_of(window, line)
        elif line.name_octets == 12:
            # The one in the answer is the server's own choice.
            if (
                fields.has(AccessFields.REQUEST_ID)
                and len(views.request_id) == 0
                and _has_name(window, line, _REQUEST_ID)
            ):
                views.request_id = _value_of(window, line)
        elif (
            line.name_octets == 11
            and fields.has(AccessFields.TRACE_ID)
            and _has_name(window, line, _TRACE_PARENT)
        ):
            views.trace_id = trace_id_of(_value_of(window, line))


@always_inline
def _has_name(window: _Octets, line: FieldLine, name: StaticString) -> Bool:
    return equals_ignoring_case(
        window.unsafe_subspan(
            offset=Int(line.name_start), length=Int(line.name_octets)
        ),
        name.as_bytes(),
    )


@always_inline
def _value_of(window: _Octets, line: FieldLine) -> _Octets:
    return window.unsafe_subspan(
        offset=Int(line.value_start), length=Int(line.value_octets)
    )


def trace_id_of(value: _Octets) -> _Octets:
    """Returns the trace id of a `traceparent` (W3C Trace Context, section 3.2).

    Args:
        value: The value of the field.

    Returns:
        A view of 32 lower-case hexadecimal digits; empty if the value is not
        valid in version 00.
    """
    if len(value) != _TRACE_PARENT_OCTETS:
        return _Octets()
    var octets = value.unsafe_ptr()
    var trace = octets.unsafe_load[width=TRACE_ID_OCTETS](3)
    var parent = octets.unsafe_load[width=16](36)
    comptime DASH = UInt8(ord("-"))
    if (
        octets[unsafe_offset=0] != 48
        or octets[unsafe_offset=1] != 48
        or octets[unsafe_offset=2] != DASH
        or octets[unsafe_offset=35] != DASH
        or octets[unsafe_offset=52] != DASH
        or not _are_digits(trace)
        or not _are_digits(parent)
        or not _are_digits(octets.unsafe_load[width=2](53))
        # A trace, or a parent, of zeros only is none.
        or trace.eq(48).reduce_and()
        or parent.eq(48).reduce_and()
    ):
        return _Octets()
    return value.unsafe_subspan(offset=3, length=TRACE_ID_OCTETS)


@always_inline
def _are_digits[lanes: SIMDLength](x: SIMD[DType.uint8, lanes]) -> Bool:
    return ((x.ge(48) & x.le(57)) | (x.ge(97) & x.le(102))).reduce_and()
