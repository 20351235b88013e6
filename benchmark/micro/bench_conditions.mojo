"""Measures decisions about conditional requests, ranges and siblings."""

from std.benchmark import black_box

from measure import measure

from flare.http import (
    AcceptEncoding,
    ByteRanges,
    ConditionResult,
    ContentCoding,
    ETag,
    HeaderMap,
    HttpDate,
    Method,
    Validators,
    evaluate_conditions,
)
from flare.http.files import MediaTypes, Siblings

comptime _NOW = 1_700_000_000


def main() raises:
    """Prints the figures.

    Raises:
        Error: Never.
    """
    var tag = ETag.strong("0123456789abcdef0123456789abcdef")
    var validators = Validators(tag, HttpDate(946_684_800))
    var plain = _browser_fields()
    var with_tag = _browser_fields()
    with_tag.append("If-None-Match", tag.text())
    with_tag.append("If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT")
    var with_date = _browser_fields()
    with_date.append("If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT")

    def no_condition(i: Int) raises {imm} -> Int:
        return _decide(plain, validators)

    measure("conditions/none among seven fields", no_condition)

    def matching_tag(i: Int) raises {imm} -> Int:
        return _decide(with_tag, validators)

    measure("conditions/If-None-Match that matches", matching_tag)

    def matching_date(i: Int) raises {imm} -> Int:
        return _decide(with_date, validators)

    measure("conditions/If-Modified-Since that matches", matching_date)
    var one: StaticString = "bytes=1000-1999"
    var three: StaticString = "bytes=0-99, 1000-1099, -100"

    def one_range(i: Int) raises {imm} -> Int:
        return len(ByteRanges.of(black_box(one).as_bytes(), 100_000))

    measure("ranges/one", one_range)

    def three_ranges(i: Int) raises {imm} -> Int:
        return len(ByteRanges.of(black_box(three).as_bytes(), 100_000))

    measure("ranges/three", three_ranges)
    var siblings = Siblings.NONE.with_coding(ContentCoding.BROTLI)
    siblings = siblings.with_coding(ContentCoding.GZIP)

    def choose(i: Int) raises {imm} -> Int:
        var accepted = AcceptEncoding.of(black_box(plain.view()))
        return siblings.choose(accepted).number

    measure("siblings/of a browser", choose)
    var types = MediaTypes()

    def find_type(i: Int) raises {imm} -> Int:
        return types.of(black_box(StaticString("a/app.js"))).byte_length()

    measure("media_types/of a name", find_type)


def _browser_fields() raises -> HeaderMap:
    var fields = HeaderMap()
    fields.append("Host", "example.org")
    fields.append("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:120.0)")
    fields.append("Accept", "text/css,*/*;q=0.1")
    fields.append("Accept-Language", "en-US,en;q=0.5")
    fields.append("Accept-Encoding", "gzip, deflate, br, zstd")
    fields.append("Referer", "https://example.org/")
    fields.append("Sec-Fetch-Dest", "style")
    return fields^


def _decide(fields: HeaderMap, validators: Validators) -> Int:
    var result = evaluate_conditions(
        Method.GET, black_box(fields.view()), validators, _NOW
    )
    return Int(result == ConditionResult.NOT_MODIFIED)
