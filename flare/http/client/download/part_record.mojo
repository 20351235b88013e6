"""Decides whether a part of a file may be continued, and keeps a record of its
origin.

Two answers belong together only if a strong validator shows that they are of
the same representation (RFC 9110 section 13.1.5). The record of a part has this
validator and the URL, each on a line of its own.
"""

from flare.core import equals, find_octet
from flare.message import ETag, HeaderMap, HttpDate

comptime RECORD_OCTETS_MAX = 16 * 1024
"""The longest record that is written or read."""
comptime _LINE_FEED: UInt8 = 10
comptime _QUOTE: UInt8 = 34
# Content that was changed shortly before it was sent may have been changed again
# in the same second. The two clocks may also differ (RFC 9110 section 8.8.2.2).
comptime _STRONG_AFTER_SECONDS = 60


@no_inline
def strong_validator(fields: HeaderMap, now_seconds: Int) -> String:
    """Returns the validator of a response that suits If-Range.

    Args:
        fields: The header section.
        now_seconds: The current time, in seconds since 1970.

    Returns:
        A strong entity tag; without any tag, a modification date that is strong
        by RFC 9110 section 8.8.2.2. Empty if there is neither.
    """
    var sent_tag = fields.get("etag")
    if sent_tag:
        var tag = ETag.parse(sent_tag.value().as_bytes())
        if not tag or tag.value().is_weak() or fields.count("etag") > 1:
            return String()
        return String(tag.value())
    var modified = _date(fields, "last-modified", now_seconds)
    var sent = _date(fields, "date", now_seconds)
    if (
        not modified
        or not sent
        or sent.value().seconds - modified.value().seconds
        < _STRONG_AFTER_SECONDS
    ):
        return String()
    return String(modified.value())


@no_inline
def agrees(
    validator: String,
    fields: HeaderMap,
    now_seconds: Int,
    *,
    requires_tag: Bool,
) -> Bool:
    """Returns whether a response is of the representation that a validator
    identifies.

    Args:
        validator: The validator.
        fields: The header section of the response.
        now_seconds: The current time, in seconds since 1970.
        requires_tag: Whether a tag must be repeated. A 206 repeats it (RFC 9110
            section 15.3.7), but not the date.

    Returns:
        False if the response has another validator.
    """
    var tag = fields.get("etag")
    if _is_tag(validator):
        if not tag:
            return not requires_tag
        return equals(tag.value().as_bytes(), validator.as_bytes())
    if tag:
        return False
    if not fields.contains("last-modified"):
        return True
    var modified = _date(fields, "last-modified", now_seconds)
    var own = HttpDate.parse(validator.as_bytes(), now_seconds)
    return Bool(modified) and Bool(own) and modified.value() == own.value()


def record_of(validator: String, url: String) -> List[UInt8]:
    """Writes a record.

    Args:
        validator: The validator.
        url: The URL.

    Returns:
        The octets; none if the record would be too long to be read.
    """
    var record = List[UInt8]()
    var count = validator.byte_length() + url.byte_length() + 2
    if count <= RECORD_OCTETS_MAX:
        record.reserve(count)
        record.extend(validator.as_bytes())
        record.append(_LINE_FEED)
        record.extend(url.as_bytes())
        record.append(_LINE_FEED)
    return record^


def validator_in(
    record: Span[UInt8, _], url: String, now_seconds: Int
) -> String:
    """Reads a record.

    Args:
        record: The octets of the file, unchecked. A program that was killed may
            have left fewer.
        url: The URL that is asked now.
        now_seconds: The current time, in seconds since 1970.

    Returns:
        The validator; empty if the record is incomplete, or of another URL.
    """
    var end = find_octet(record, _LINE_FEED)
    var count = url.byte_length()
    if (
        len(record) != end + count + 2
        or not equals(record[end + 1 : end + 1 + count], url.as_bytes())
        or record[len(record) - 1] != _LINE_FEED
    ):
        return String()
    var validator = record[:end]
    # A tag may have octets that are not UTF-8.
    var tag = ETag.parse(validator)
    if tag:
        return String() if tag.value().is_weak() else String(tag.value())
    if not HttpDate.parse(validator, now_seconds):
        return String()
    return String(StringSlice(unsafe_from_utf8=validator))


def _is_tag(validator: String) -> Bool:
    return (
        validator.byte_length() > 0
        and validator.as_bytes().unsafe_get(0) == _QUOTE
    )


def _date(
    fields: HeaderMap, name: StaticString, now_seconds: Int
) -> Optional[HttpDate]:
    var value = fields.get(name)
    if not value or fields.count(name) > 1:
        return None
    return HttpDate.parse(value.value().as_bytes(), now_seconds)
