"""Finds the trace of the request for which a function works."""

from flare.message import HeaderMap, TraceContext

from .span import RequestSpan


def current_trace() -> Optional[TraceContext]:
    """Returns the span of the request for which the caller works.

    It is found in the handler, in the functions that it calls, and in the
    fibers that those spawn. Jobs of `blocking` run on another thread and do
    not find it: call this function before.

    Returns:
        The span; `None` without `Tracing` around the handler.
    """
    var span = RequestSpan.current()
    if not span:
        return None
    return span.value().state[].facts.context


def trace_fields(mut headers: HeaderMap) raises:
    """Sets the fields by which another server continues the current trace (W3C
    Trace Context, section 3). They replace those of another trace. Without a
    current one, the fields stay as they are.

    `HttpClient` calls it for each request if its configuration has
    `field_source=trace_fields`.

    Args:
        headers: The fields of a request to send.

    Raises:
        Error: `message.headers_too_large`.
    """
    var span = RequestSpan.current()
    if not span:
        return
    ref state = span.value().state[]
    headers.set("traceparent", state.facts.context.traceparent())
    if state.trace_state.byte_length() > 0:
        headers.set("tracestate", state.trace_state)
    else:
        # One that a proxy would forward belongs to another trace.
        _ = headers.remove("tracestate")
