"""Puts the record of a request into the ring of its worker.

It runs on the worker's thread for each request. So it copies octets, and leaves
formatting to the writing thread.
"""

from std.sys import size_of

from flare.core import OctetPointer, copy_octets, equals_ignoring_case
from flare.http.exchange import Exchange
from flare.http.request_values import find_value
from flare.http.spans.span import OpenSpan
from flare.message import FieldLine, Method, TraceContext
from flare.message.trace_context import (
    TRACE_ID_OCTETS,
    TRACE_ID_START,
    has_valid_ids,
    write_trace_id,
)
from flare.runtime.octet_ring import OctetRing

from .access_facts import (
    AccessEvent,
    AccessFacts,
    AccessFields,
    AccessTexts,
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
    var own_trace = TraceContext(0, 0, 0, False)
    var has_own_trace = False
    if fields.has(AccessFields.TRACE_ID) and x.app.values:
        # The server's own trace, which an untrusted client does not choose.
        var span = find_value[OpenSpan](x.app.values)
        if span:
            own_trace = span.unsafe_value()[].span.state[].facts.context
            has_own_trace = True
    facts.target_octets = Int32(len(views.target))
    ref texts = facts.texts
    texts.target = UInt16(min(len(views.target), target_octets_max))
    texts.method = UInt16(min(len(views.method), METHOD_OCTETS_MAX))
    texts.route = UInt16(min(len(views.route), ROUTE_OCTETS_MAX))
    texts.user_agent = UInt16(min(len(views.user_agent), USER_AGENT_OCTETS_MAX))
    texts.referer = UInt16(min(len(views.referer), REFERER_OCTETS_MAX))
    texts.request_id = UInt16(min(len(views.request_id), REQUEST_ID_OCTETS_MAX))
    texts.trace_id = UInt16(len(views.trace_id))
    if has_own_trace:
        texts.trace_id = UInt16(TRACE_ID_OCTETS)
    var entry = ring.reserve(FACTS_OCTETS + texts.total())
    if not entry:
        return False
    entry.unsafe_value().unsafe_bitcast[AccessFacts]()[] = facts
    var last = _copy_texts(
        entry.unsafe_value().unsafe_offset(FACTS_OCTETS), views, facts.texts
    )
    if has_own_trace:
        write_trace_id(
            Span[UInt8, MutUntrackedOrigin](
                unsafe_ptr=last, length=TRACE_ID_OCTETS
            ),
            own_trace,
        )
    else:
        _ = _copy(last, views.trace_id, facts.texts.trace_id)
    ring.publish()
    return True


@always_inline
def _copy_texts(
    to: OctetPointer, views: _Views, texts: AccessTexts
) -> OctetPointer:
    # All but the last one, for which it returns the place.
    var at = to
    at = _copy(at, views.target, texts.target)
    at = _copy(at, views.method, texts.method)
    at = _copy(at, views.route, texts.route)
    at = _copy(at, views.user_agent, texts.user_agent)
    at = _copy(at, views.referer, texts.referer)
    return _copy(at, views.request_id, texts.request_id)


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
        valid.
    """
    if not has_valid_ids(value):
        return _Octets()
    return value.unsafe_subspan(offset=TRACE_ID_START, length=TRACE_ID_OCTETS)
