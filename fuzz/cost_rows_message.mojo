"""Feeds targets, URLs, queries, forms, cookies, parameters and conditions."""

from flare.http.client.call.redirect import redirection
from flare.http.ranges import ByteRanges, RangeKind
from flare.message import (
    CookieLimits,
    CookiePairs,
    CookieStore,
    FormFields,
    FormLimits,
    Method,
    QueryParameters,
    RequestTarget,
    Url,
    parse_cookie_date,
    percent_decode,
    percent_encoded,
    equals_decoded,
    resolve_reference,
    read_set_cookie,
)
from flare.message.etag import lists_etag
from flare.message.parameters import FieldParameters
from flare.message.percent import escaped_percents

from .cost_row import CostRow, numbered, repeated, text_of

comptime _NOW = 1_700_000_000


def message_rows() -> List[CostRow]:
    """Lists what is measured.

    Returns:
        The rows.
    """
    comptime target = repeated["a/%41", "/", "?a=%41"]
    comptime dots = repeated["../a/./", "http://a/b/c/"]
    comptime climbing = repeated["../", "/a/"]
    comptime pairs = repeated["a=%41+&"]
    comptime names = numbered["n", "=1&"]
    comptime escapes = repeated["%41%"]
    comptime cookies = numbered["n", "=1; "]
    comptime attributes = repeated["; Path=/; Expires=1", "a=b"]
    comptime parameters = numbered[";n", '="\\""', "a/b"]
    return [
        CostRow("request target", 1 << 14, target, _target),
        CostRow("URL with dots", 1 << 14, dots, _url),
        CostRow("reference with dots", 1 << 14, climbing, _reference),
        CostRow("base with a long path", 1 << 13, repeated["a/", "/"], _base),
        CostRow(
            "redirection", 1 << 13, repeated["é \\b\\%2e.\\c/", "/"], _redirect
        ),
        CostRow("query", 1 << 17, pairs, _query),
        CostRow("query of names", 1 << 17, names, _query_name),
        CostRow("form", 1 << 17, pairs, _form, heap_factor_max=40),
        CostRow("percent decoding", 1 << 17, escapes, _decode),
        CostRow("percent encoding", 1 << 17, repeated["\x01é"], _encode),
        CostRow("cookies of a request", 1 << 15, cookies, _cookies),
        CostRow("Set-Cookie", 1 << 15, attributes, _set_cookie),
        CostRow("cookie date", 1 << 15, repeated["1:2:3 40 x"], _cookie_date),
        CostRow(
            "cookies of one domain",
            1 << 14,
            numbered["n", "=1"],
            _one_jar,
        ),
        CostRow(
            "cookies of many domains",
            1 << 11,
            numbered["n", "=1"],
            _jar_of_many,
            heap_factor_max=80,
        ),
        CostRow(
            "cookies below a long path",
            1 << 13,
            numbered["n", "=1"],
            _jar_below_long_path,
        ),
        CostRow("parameters", 1 << 16, parameters, _parameters),
        CostRow("list of tags", 1 << 18, repeated['W/"a" , '], _tags),
        CostRow("ranges", 1 << 18, repeated[" ,", "bytes=0-0"], _ranges),
    ]


def _target(octets: List[UInt8]) raises:
    _ = RequestTarget.parse(Span(octets), Method.GET)


def _url(octets: List[UInt8]) raises:
    _ = Url.parse(text_of(octets))


def _reference(octets: List[UInt8]) raises:
    _ = resolve_reference(Url.parse("http://a/b/c?d"), text_of(octets))


def _base(octets: List[UInt8]) raises:
    var base = Url.parse(String("http://a", text_of(octets)))
    _ = resolve_reference(base, "../../b")
    _ = resolve_reference(base, text_of(octets))


def _redirect(octets: List[UInt8]) raises:
    _ = redirection(Url.parse("http://a/b/c"), Method.GET, 302, text_of(octets))


def _query(octets: List[UInt8]) raises:
    var length = 0
    for parameter in QueryParameters(Span(octets)):
        length += parameter.name().byte_length()
        length += parameter.value().byte_length()
    if length != len(octets) * 3 // 7 and len(octets) % 7 == 0:
        raise Error("decoded to ", length)


def _query_name(octets: List[UInt8]) raises:
    var query = QueryParameters(Span(octets))
    if query.get("m") or len(query.values("n1000000")) > 0:
        raise Error("found what is not there")


def _form(octets: List[UInt8]) raises:
    var limits = FormLimits()
    limits.octets_max = len(octets)
    limits.fields_max = len(octets)
    var form = FormFields.parse(Span(octets), limits)
    _ = form.get("b")
    _ = form.encoded()


def _decode(octets: List[UInt8]) raises:
    var decoded = List[UInt8]()
    percent_decode[plus_is_blank=True](Span(octets), decoded)
    if not equals_decoded[plus_is_blank=True](Span(octets), Span(decoded)):
        raise Error("decoded to something else")
    _ = escaped_percents(text_of(octets))


def _encode(octets: List[UInt8]) raises:
    _ = percent_encoded(text_of(octets))


def _cookies(octets: List[UInt8]) raises:
    var count = 0
    for pair in CookiePairs(Span(octets)):
        count += pair.name.byte_length()
    if count < len(octets) // 2:
        raise Error("not read to its end")


def _set_cookie(octets: List[UInt8]) raises:
    _ = read_set_cookie(Span(octets))


def _cookie_date(octets: List[UInt8]) raises:
    _ = parse_cookie_date(Span(octets))


def _one_jar(octets: List[UInt8]) raises:
    # A domain holds 50: each one more takes the place of another.
    var store = CookieStore()
    var url = Url.parse("https://a.example/")
    for i in range(len(octets) // 11):
        store.receive(url, Span(octets)[11 * i : 11 * i + 11], _NOW)
    _ = store.header(url, _NOW)


def _jar_below_long_path(octets: List[UInt8]) raises:
    var store = CookieStore()
    store.receive(
        Url.parse("https://a.example/"), "s=1; Secure".as_bytes(), _NOW
    )
    var url = Url.parse(String("http://a.example/", String("/") * len(octets)))
    for i in range(len(octets) // 11):
        try:
            store.receive(url, Span(octets)[11 * i : 11 * i + 11], _NOW)
        except:
            continue


def _jar_of_many(octets: List[UInt8]) raises:
    # Half of them fill the jar, the others each take the place of one.
    var count = len(octets) // 11
    var limits = CookieLimits()
    limits.cookies_max = count // 2
    var store = CookieStore(limits)
    for i in range(count):
        var url = Url.parse(String("https://a", i, ".example/"))
        store.receive(url, Span(octets)[11 * i : 11 * i + 11], _NOW)
    if len(store) != count // 2:
        raise Error("the jar holds ", len(store))


def _parameters(octets: List[UInt8]) raises:
    var parameters = FieldParameters(Span(octets))
    var count = 0
    while True:
        var parameter = parameters.next()
        if not parameter:
            break
        count += len(parameter.value().value())
    if count == 0 or parameters.find("m"):
        raise Error("not read to its end")


def _tags(octets: List[UInt8]) raises:
    if lists_etag[strong=False](Span(octets), '"b"'.as_bytes()):
        raise Error("found what is not there")
    if not lists_etag[strong=False](Span(octets), '"a"'.as_bytes()):
        raise Error("not read to its end")


def _ranges(octets: List[UInt8]) raises:
    if ByteRanges.of(Span(octets), 1000).kind != RangeKind.PARTIAL:
        raise Error("not read to its end")
