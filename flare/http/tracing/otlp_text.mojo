"""Writes spans as JSON (OpenTelemetry Protocol, OTLP/HTTP with JSON encoding).
"""

from flare.core.text_buffer import TextBuffer
from flare.http.server.records.access_text import append_json
from flare.message import Method
from flare.message.trace_context import (
    SPAN_ID_OCTETS,
    TRACE_ID_OCTETS,
    write_digits,
    write_trace_id,
)

from flare.http.spans.span_facts import SpanFacts

comptime _Octets = Span[UInt8, ImmUntrackedOrigin]
comptime _TAIL: StaticString = "]}]}]}"


def begin_spans(mut text: TextBuffer, service_name: StringSlice):
    """Begins a request to export spans.

    Args:
        text: The text, empty.
        service_name: The name of the program.
    """
    text.append('{"resourceSpans":[{"resource":{"attributes":[')
    _append_text(text, "service.name", service_name.as_bytes())
    text.append(",")
    _append_text(text, "telemetry.sdk.name", "flare".as_bytes())
    text.append(",")
    _append_text(text, "telemetry.sdk.language", "mojo".as_bytes())
    text.append(']},"scopeSpans":[{"scope":{"name":"flare"},"spans":[')


def end_spans(mut text: TextBuffer):
    """Ends a request to export spans.

    Args:
        text: The text.
    """
    text.append(_TAIL)


def append_span(
    mut text: TextBuffer,
    facts: SpanFacts,
    texts: _Octets,
    offset_ns: Int,
):
    """Appends a span.

    Its name and attributes are those of the semantic conventions for HTTP
    servers.

    Args:
        text: The text.
        facts: The facts.
        texts: Path, route and `tracestate`, in this order.
        offset_ns: The wall clock minus the monotonic clock.
    """
    var path = texts[: Int(facts.texts.path)]
    var rest = texts[Int(facts.texts.path) :]
    var route = rest[: Int(facts.texts.route)]
    var trace_state = rest[Int(facts.texts.route) :]
    text.append('{"traceId":"')
    write_trace_id(_room(text, TRACE_ID_OCTETS), facts.context)
    text.advance(TRACE_ID_OCTETS)
    text.append('","spanId":"')
    _append_id(text, facts.context.span_id)
    if len(trace_state) > 0:
        text.append('","traceState":')
        append_json(text, trace_state)
    else:
        text.append('"')
    if facts.parent_id != 0:
        text.append(',"parentSpanId":"')
        _append_id(text, facts.parent_id)
        text.append('"')
    text.append(',"name":')
    _append_name(text, facts.method, route)
    # 2 is SPAN_KIND_SERVER. Numbers of 64 bits are strings in this encoding.
    text.append(',"kind":2,"startTimeUnixNano":"')
    text.append_decimal(facts.started_ns + offset_ns)
    text.append('","endTimeUnixNano":"')
    text.append_decimal(facts.ended_ns + offset_ns)
    text.append('","attributes":[')
    _append_attributes(text, facts, path, route)
    text.append("]")
    # Faults of clients are no errors of a server's span: 2 is STATUS_CODE_ERROR.
    if facts.status >= 500:
        text.append(',"status":{"code":2}')
    text.append("}")


def _append_attributes(
    mut text: TextBuffer,
    facts: SpanFacts,
    path: _Octets,
    route: _Octets,
):
    _append_text(
        text, "http.request.method", _method_of(facts.method).as_bytes()
    )
    text.append(",")
    _append_text(text, "url.path", path)
    text.append(",")
    var scheme: StaticString = "https" if facts.is_secure else "http"
    _append_text(text, "url.scheme", scheme.as_bytes())
    if len(route) > 0:
        text.append(",")
        _append_text(text, "http.route", route)
    text.append(',{"key":"network.protocol.version","value":{"stringValue":"')
    text.append_decimal(Int(facts.version_major))
    if facts.version_major < 2:
        text.append(".")
        text.append_decimal(Int(facts.version_minor))
    text.append('"}}')
    if facts.status != 0:
        text.append(',{"key":"http.response.status_code","value":{"intValue":"')
        text.append_decimal(Int(facts.status))
        text.append('"}}')
    if facts.was_cancelled:
        text.append(",")
        _append_text(text, "error.type", "cancelled".as_bytes())
    elif facts.status >= 500:
        text.append(',{"key":"error.type","value":{"stringValue":"')
        text.append_decimal(Int(facts.status))
        text.append('"}}')


def _append_name(mut text: TextBuffer, method: Method, route: _Octets):
    if len(route) == 0:
        text.append('"')
        text.append(_name_part(method))
        text.append('"')
        return
    var name = String(_name_part(method), " ")
    name += StringSlice(unsafe_from_utf8=route)
    append_json(text, name.as_bytes())


def _name_part(method: Method) -> StaticString:
    return "HTTP" if method == Method.OTHER else method.name()


def _method_of(method: Method) -> StaticString:
    return "_OTHER" if method == Method.OTHER else method.name()


def _append_text(
    mut text: TextBuffer, key: StaticString, value: Span[UInt8, _]
):
    text.append('{"key":"')
    text.append(key)
    text.append('","value":{"stringValue":')
    append_json(text, value)
    text.append("}}")


def _room(mut text: TextBuffer, count: Int) -> Span[UInt8, MutUntrackedOrigin]:
    return Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=text.reserve(count), length=count
    )


def _append_id(mut text: TextBuffer, id: UInt64):
    write_digits(_room(text, SPAN_ID_OCTETS), id)
    text.advance(SPAN_ID_OCTETS)
