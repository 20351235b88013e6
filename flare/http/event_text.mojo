"""Writes events as text (text/event-stream, the HTML standard section 9.2)."""

from flare.core import CR, LF


def write_event(
    data: StringSlice,
    *,
    name: StringSlice,
    id: Optional[String],
    retry_ms: Optional[Int],
) raises -> String:
    """Returns the text of an event.

    Args:
        data: The data. Each CR, LF or CR LF in it ends a line, and the client
            sees LF in its place.
        name: The type of the event; empty for `message`.
        id: The Last-Event-ID of the client when it connects again. If it is
            empty, the client forgets the last one.
        retry_ms: How long the client waits before it connects again, in
            milliseconds.

    Returns:
        The lines, and the empty one that ends the event.

    Raises:
        Error: `http.bad_event` if name or id contain NUL, CR or LF: a client
            would ignore such an id, and a line end would begin another field.
            So it is if `retry_ms` is negative.
    """
    var text = String(capacity_bytes=data.byte_length() + 64)
    if name.byte_length() > 0:
        _check_line(name, "name")
        text.write("event: ", name, "\n")
    if id:
        _check_line(id.value(), "id")
        text.write("id: ", id.value(), "\n")
    if retry_ms:
        if retry_ms.value() < 0:
            raise Error("http.bad_event retry_ms is negative")
        text.write("retry: ", retry_ms.value(), "\n")
    _write_lines(data.as_bytes(), text)
    text.write("\n")
    return text^


def _write_lines(data: Span[UInt8, _], mut text: String):
    var start = 0
    for at in range(len(data) + 1):
        var is_end = at == len(data)
        if not is_end and data[at] != CR and data[at] != LF:
            continue
        # The LF of a CR LF has ended no line of its own.
        if not is_end and data[at] == LF and at > 0 and data[at - 1] == CR:
            start = at + 1
            continue
        text.write("data: ", StringSlice(unsafe_from_utf8=data[start:at]), "\n")
        start = at + 1


def _check_line(text: StringSlice, field: StaticString) raises:
    for octet in text.as_bytes():
        if octet == 0 or octet == CR or octet == LF:
            raise Error("http.bad_event NUL, CR or LF in the ", field)
