"""Writes records of requests as lines of JSON, Common Log Format and Combined
Log Format.
"""

from flare.core.civil_date import CivilDate
from flare.core.text_buffer import TextBuffer
from flare.message import Method

from .access_record import AccessRecord
from .access_text import (
    append_common,
    append_digits,
    append_json,
    append_number,
)

comptime _SECONDS_PER_DAY = 86_400
comptime _MONTHS: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"


def append_common_line(mut line: TextBuffer, record: AccessRecord):
    """Appends a record in Common Log Format: `host - - [time] "request" status
    octets`.

    Args:
        line: The destination.
        record: The record.
    """
    _append_client(line, record)
    line.append(" - - [")
    _append_common_time(line, record.unix_seconds)
    line.append('] "')
    var method = _method_of(record)
    if len(method) == 0:
        # The request was refused before its head was complete.
        line.append("-")
    else:
        append_common(line, method)
        line.append(" ")
        append_common(line, record.target().as_bytes())
        line.append(" HTTP/")
        append_number(line, record.version.major)
        line.append(".")
        append_number(line, record.version.minor)
    line.append('" ')
    append_number(line, record.status)
    line.append(" ")
    append_number(line, record.response_octets)


def append_combined_line(mut line: TextBuffer, record: AccessRecord):
    """Appends a record in Combined Log Format: Common Log Format, then the
    quoted values of Referer and User-Agent.

    Args:
        line: The destination.
        record: The record.
    """
    append_common_line(line, record)
    line.append(" ")
    _append_common_text(line, record.referer().as_bytes())
    line.append(" ")
    _append_common_text(line, record.user_agent().as_bytes())


def append_json_line(mut line: TextBuffer, record: AccessRecord):
    """Appends a record as a JSON object of one line, whose keys are always all
    there.

    Args:
        line: The destination.
        record: The record.
    """
    line.append('{"time":"')
    _append_time(line, record.unix_us())
    line.append('","worker":')
    append_number(line, record.worker)
    line.append(',"id":')
    append_number(line, record.request_id)
    line.append(',"client":')
    if record.client():
        line.append('"')
        _append_client(line, record)
        line.append('","port":')
        append_number(line, Int(record.client().value().port))
    else:
        line.append('null,"port":null')
    line.append(',"tls":')
    if record.is_secure():
        line.append('true,"version":"')
    else:
        line.append('false,"version":"')
    append_number(line, record.version.major)
    line.append(".")
    append_number(line, record.version.minor)
    line.append('","method":')
    _append_json_text(line, _method_of(record))
    line.append(',"target":')
    _append_json_text(line, record.target().as_bytes())
    line.append(',"target_octets":')
    append_number(line, record.target_octets)
    line.append(',"route":')
    _append_json_text(line, record.route().as_bytes())
    line.append(',"status":')
    append_number(line, record.status)
    line.append(',"end":"')
    line.append(record.end().name())
    line.append('","duration_us":')
    append_number(line, record.duration_us())
    line.append(',"request_octets":')
    append_number(line, record.request_octets())
    line.append(',"response_octets":')
    append_number(line, record.response_octets)
    line.append(',"user_agent":')
    _append_json_text(line, record.user_agent().as_bytes())
    line.append(',"request_id":')
    _append_json_text(line, record.request_id_text().as_bytes())
    line.append(',"trace_id":')
    _append_json_text(line, record.trace_id().as_bytes())
    line.append("}")


def _method_of(record: AccessRecord) -> Span[UInt8, origin_of(record)]:
    if record.method == Method.OTHER:
        return rebind[Span[UInt8, origin_of(record)]](
            record.method_text().as_bytes()
        )
    var name = record.method.name()
    return Span[UInt8, origin_of(record)](
        unsafe_ptr=name.unsafe_ptr().unsafe_origin_cast[origin_of(record)](),
        length=name.byte_length(),
    )


def _append_client(mut line: TextBuffer, record: AccessRecord):
    var client = record.client()
    if not client:
        line.append("-")
        return
    var ip = client.value().ip
    if not ip.is_v4():
        var text = String(ip)
        line.append(text.as_bytes())
        return
    var number = ip.v4_number()
    for shift in [24, 16, 8, 0]:
        if shift < 24:
            line.append(".")
        append_number(line, Int((number >> UInt32(shift)) & 255))


def _append_common_text(mut line: TextBuffer, octets: Span[UInt8, _]):
    if len(octets) == 0:
        return line.append('"-"')
    line.append('"')
    append_common(line, octets)
    line.append('"')


def _append_json_text(mut line: TextBuffer, octets: Span[UInt8, _]):
    if len(octets) == 0:
        line.append("null")
    else:
        append_json(line, octets)


def _append_common_time(mut line: TextBuffer, unix_seconds: Int):
    # `10/Oct/2000:13:55:36 +0000`.
    var date = CivilDate.from_days(unix_seconds // _SECONDS_PER_DAY)
    append_digits[2](line, date.day)
    line.append("/")
    line.append(_MONTHS.as_bytes()[3 * (date.month - 1) :][:3])
    line.append("/")
    append_digits[4](line, date.year)
    line.append(":")
    _append_time_of_day(line, unix_seconds)
    line.append(" +0000")


def _append_time(mut line: TextBuffer, unix_us: Int):
    # RFC 3339.
    var unix_seconds = unix_us // 1_000_000
    var date = CivilDate.from_days(unix_seconds // _SECONDS_PER_DAY)
    append_digits[4](line, date.year)
    line.append("-")
    append_digits[2](line, date.month)
    line.append("-")
    append_digits[2](line, date.day)
    line.append("T")
    _append_time_of_day(line, unix_seconds)
    line.append(".")
    append_digits[6](line, unix_us % 1_000_000)
    line.append("Z")


def _append_time_of_day(mut line: TextBuffer, unix_seconds: Int):
    var second = unix_seconds % _SECONDS_PER_DAY
    append_digits[2](line, second // 3600)
    line.append(":")
    append_digits[2](line, second // 60 % 60)
    line.append(":")
    append_digits[2](line, second % 60)
