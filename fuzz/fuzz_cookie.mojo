"""Cookies are kept, sent and thrown away as by a plain list that follows the RFC.

Invariant: a store answers each request as the model does, whatever was set
where, when and on whose behalf; a date is read in any dress and order; what is
written is read again, and holds no octet that would end its field. Any octets
yield a cookie or a `SyntaxError`.
"""

from flare.message import (
    Cookie,
    CookieContext,
    CookieLimits,
    CookiePairs,
    CookieStore,
    HttpDate,
    PublicSuffixes,
    SameSite,
    Url,
    parse_cookie_date,
    parse_set_cookie_header,
    read_set_cookie,
)

from fuzz.cookie_model import CookieModel
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime NOW = 1_700_000_000
comptime _Octets = List[UInt8]


def fuzz_cookie(mut random: Random, mut histogram: Histogram) raises:
    """Does one of four things with drawn cookies.

    Args:
        random: Draws and damages.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var kind = random.below(10)
    if kind < 4:
        _check_store(random, histogram)
    elif kind < 6:
        _check_date(random, histogram)
    elif kind < 8:
        _check_written(random, histogram)
    else:
        _check_any(random, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_cookie)


@fieldwise_init
struct _Target(Copyable, Movable):
    var is_secure: Bool
    var host: StaticString
    var path: StaticString

    def url(self) raises -> Url:
        var host = String(self.host)
        if self.host == "::1":
            host = "[::1]"
        return Url.parse(
            String(
                "https" if self.is_secure else "http", "://", host, self.path
            )
        )


def _check_store(mut random: Random, mut histogram: Histogram) raises:
    var limits = CookieLimits()
    if random.chance(50):
        limits.cookies_per_domain_max = random.between(1, 3)
        limits.cookies_max = random.between(2, 5)
    var store = CookieStore(limits, PublicSuffixes.parse("co.test\n"))
    var model = CookieModel(limits.cookies_per_domain_max, limits.cookies_max)
    var now = NOW
    var sent = 0
    # A few places that are visited again, so that cookies come back.
    var targets = List[_Target]()
    for _ in range(random.between(1, 4)):
        targets.append(_draw_target(random))
    for _ in range(random.between(4, 20)):
        var target = random.pick(targets)
        var url = target.url()
        var context = _draw_context(random)
        now += random.pick([0, 0, 0, 0, 1, 5, 5, 40_000_000])
        if random.chance(40):
            var mine = store.header(url, now, context)
            var theirs = model.header(
                target.is_secure,
                String(target.host),
                String(target.path),
                now,
                context,
            )
            if mine != theirs:
                raise Error("sends '", mine, "', not '", theirs, "' to ", url)
            sent += Int(Bool(mine))
            continue
        var text = _draw_set_cookie(random)
        histogram.input(Span(text))
        var is_kept = True
        try:
            store.receive(url, Span(text), now, context)
        except:
            is_kept = False
        var is_wanted = False
        if is_kept or _is_cookie(text):
            is_wanted = model.insert(
                target.is_secure,
                String(target.host),
                String(target.path),
                read_set_cookie(Span(text)),
                now,
                context,
            )
        if is_kept != is_wanted:
            raise Error("kept: ", is_kept, ", and should be: ", is_wanted)
        if len(store) != len(model.cookies):
            raise Error("has ", len(store), ", not ", len(model.cookies))
    histogram.count_whole("cookies were sent" if sent > 0 else "none was sent")


def _is_cookie(text: _Octets) -> Bool:
    try:
        _ = read_set_cookie(Span(text))
        return True
    except:
        return False


def _draw_target(mut random: Random) -> _Target:
    return _Target(
        random.chance(50),
        random.pick(
            [
                StaticString("a.test"),
                "b.a.test",
                "ba.test",
                "test",
                "co.test",
                "x.co.test",
                "1.2.3.4",
                "::1",
            ]
        ),
        random.pick([StaticString("/"), "/p", "/p/", "/p/q", "/pq", "/p/q/r/"]),
    )


def _draw_context(mut random: Random) -> CookieContext:
    if random.chance(85):
        return materialize[CookieContext.SAME_SITE]()
    if random.chance(50):
        return materialize[CookieContext.NAVIGATION]()
    return materialize[CookieContext.CROSS_SITE]()


def _draw_set_cookie(mut random: Random) -> _Octets:
    var text = String(
        random.pick(
            [
                StaticString("a="),
                "a=",
                "b=",
                "B=",
                "",
                "__Host-a=",
                "__SECURE-a=",
                "=__host-",
                "=",
            ]
        )
    )
    text.write(random.below(4))
    for _ in range(random.below(3) + random.below(2)):
        text += random.pick(
            [
                StaticString("; Path=/"),
                ";path=/p",
                ";Path=/p/",
                ";Path=no",
                ";Domain=a.test",
                "; domain=.A.Test",
                ";Domain=test",
                ";Domain=co.test",
                ";Domain=b.a.test",
                ";Domain=1.2.3.4",
                ";Domain=3.4",
                ";Domain=",
                ";Secure",
                "; secure ",
                ";HttpOnly",
                ";SameSite=Strict",
                ";samesite=none",
                ";SameSite=Lax",
                ";Max-Age=0",
                ";Max-Age=5",
                ";Max-Age=-1",
                ";Max-Age=99999999999999999999",
                ";Max-Age=x",
                ";Expires=Thu, 01 Jan 1970 00:00:00 GMT",
                ";Expires=Tue, 14 Nov 2023 22:13:25 GMT",
                ";Expires=1 Jan 2999 0:0:0",
                ";x=y",
            ]
        )
    return _Octets(text.as_bytes())


def _check_date(mut random: Random, mut histogram: Histogram) raises:
    var months: StaticString = "janfebmaraprmayjunjulaugsepoctnovdec"
    var year = random.between(1590, 2200)
    var month = random.between(1, 12)
    var day = random.between(0, 33)
    var hour = random.below(26)
    var minute = random.below(62)
    var second = random.below(62)
    var is_short = random.chance(30) and 1970 <= year <= 2069
    var parts: List[String] = [
        String(hour, ":", minute, ":", second),
        String("0" if day < 10 else "", day),
        String(months[byte = 3 * month - 3 : 3 * month]),
        String(
            "0" if is_short and year % 100 < 10 else "",
            year % 100 if is_short else year,
        ),
    ]
    var text = _Octets()
    for i in range(4):
        # Two digits are a day first, so the year of two comes behind it.
        var at = 0
        if not is_short:
            at = random.below(len(parts))
        elif i > 0 and random.chance(50):
            at = 0
        text.extend(Span(random.octets_of(" \t,-/;@[{", random.between(1, 3))))
        if random.chance(20):
            text.extend("GMT ".as_bytes())
        text.extend(parts.pop(at).as_bytes())
    var is_whole = random.chance(70)
    if not is_whole:
        text = mutate(text, random)
    histogram.input(Span(text))
    var date = parse_cookie_date(Span(text))
    if date and (
        date.value().seconds < -11644473600
        or date.value().seconds > HttpDate.SECONDS_MAX
    ):
        raise Error("a date outside all years")
    if not is_whole:
        return histogram.count("a damaged date")
    var exists = (
        year >= 1601
        and 1 <= day <= _days_of(year, month)
        and hour < 24
        and minute < 60
        and second < 60
    )
    if Bool(date) != exists:
        raise Error("read: ", Bool(date), ", and exists: ", exists)
    if not exists:
        return histogram.count_whole("no date")
    var days = 0
    for y in range(1601, year):
        days += 366 if _is_leap(y) else 365
    for m in range(1, month):
        days += _days_of(year, m)
    var expected = (days + day - 1 - 134774) * 86400
    expected += hour * 3600 + minute * 60 + second
    if date.value().seconds != expected:
        raise Error("another second: ", date.value())
    histogram.count_whole("a date")


def _is_leap(year: Int) -> Bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_of(year: Int, month: Int) -> Int:
    if month == 2:
        return 29 if _is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _check_written(mut random: Random, mut histogram: Histogram) raises:
    var cookie = Cookie(
        _draw_text(random, "ab_-.!#$%&'*+^`|~"),
        _draw_text(random, "aZ09!#$%&'()*+-./:<=>?@[]^_`{|}~"),
        secure=random.chance(50),
        http_only=random.chance(50),
        same_site=random.pick(
            [
                materialize[SameSite.DEFAULT](),
                materialize[SameSite.LAX](),
                materialize[SameSite.STRICT](),
                materialize[SameSite.NONE](),
            ]
        ),
    )
    if random.chance(50):
        cookie.path = "/" + _draw_text(random, 'ab/ =,"')
    if random.chance(50):
        cookie.domain = _draw_text(random, "ab.-")
    if random.chance(50):
        cookie.max_age = random.between(-5, 100)
    if random.chance(50):
        cookie.expires = HttpDate(random.below(4_000_000_000))
    if random.chance(10):
        cookie.name = random.pick(["__Host-x", "__secure-x"])
    var text: String
    try:
        text = cookie.to_set_cookie()
    except e:
        if not String(e).startswith("message.bad_cookie cookie"):
            raise Error("another error: ", e)
        return histogram.count("not written")
    histogram.input(text.as_bytes())
    for b in text.as_bytes():
        if b < 32 or b > 126:
            raise Error("octet ", b, " is written")
    var read = parse_set_cookie_header(text)
    # A dot in front of a domain is no part of it, and its case does not count.
    var domain = cookie.domain.lower()
    if domain.startswith("."):
        var bare = String(domain[byte=1:])
        domain = bare^
    # Blanks at the end of a path are none of it.
    var path = String(cookie.path.rstrip())
    if (
        read.name != cookie.name
        or read.value != cookie.value
        or read.domain != domain
        or read.path != path
        or read.max_age.or_else(-99) != cookie.max_age.or_else(-99)
        or Bool(read.expires) != Bool(cookie.expires)
        or read.secure != cookie.secure
        or read.http_only != cookie.http_only
        or read.same_site != cookie.same_site
    ):
        raise Error("it is read otherwise: ", read.to_set_cookie())
    if read.expires and read.expires.value() != cookie.expires.value():
        raise Error("another date")
    histogram.count_whole("written and read")


def _draw_text(mut random: Random, members: StaticString) -> String:
    var octets = random.octets_of(members, random.below(6))
    if random.chance(8):
        octets.append(random.interesting_octet())
    return String(from_utf8_lossy=Span(octets))


def _check_any(mut random: Random, mut histogram: Histogram) raises:
    var octets = mutate(_draw_set_cookie(random), random)
    if random.chance(30):
        octets = random.octets(random.below(30))
    histogram.input(Span(octets))
    var pairs = 0
    for pair in CookiePairs(Span(octets)):
        pairs += 1
        for b in pair.name.as_bytes():
            if b == 59 or b == 61:
                raise Error("a name has a divider")
        for b in pair.value.as_bytes():
            if b == 59:
                raise Error("a value has a divider")
        if not pair.name and not pair.value:
            raise Error("a pair is empty")
    if not _is_cookie(octets):
        return histogram.count("no cookie")
    var cookie = read_set_cookie(Span(octets))
    for text in [cookie.name, cookie.value, cookie.path, cookie.domain]:
        _ = StringSlice(from_utf8=text.as_bytes())
        for b in text.as_bytes():
            if b < 32 and b != 9 or b == 127 or b == 59:
                raise Error("a control octet is kept")
    histogram.count_whole("any cookie")
