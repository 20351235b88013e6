"""Stores the cookies that servers set (RFC 6265bis sections 5.7 and 5.8).

The current time is an argument; the store asks no clock. Each domain has its
own list of cookies, so a request only looks at the lists of its host and of
the domains above it.

A server may set cookies as fast as it likes, so a full store must not cost
more than an empty one. Three measures keep the cost of one cookie constant.
All lists are searched for expired cookies only if one has expired since the
last search (`_next_end`). The least recently used cookies are queued for all
coming evictions (`_stalest`). A cookie that is used later only moves to the
end, so the queue stays right. And `SecureCookies` finds the Secure cookies
that a new one would hide.
"""

from flare.core import equals, find_octet

from .cookie import COOKIE_ATTRIBUTE_OCTETS_MAX, Cookie
from .cookie_rules import (
    NEVER,
    CookieContext,
    CookieLimits,
    StoredCookie,
    check_octets,
    check_prefix,
    check_same_site,
    expires_at,
    is_sent,
)
from .cookie_scope import (
    default_path,
    domain_matches,
    is_address,
    path_matches,
)
from .cookie_text import read_set_cookie
from .public_suffix import PublicSuffixes
from .secure_cookies import SecureCookies
from .syntax_error import SyntaxError
from .url import Url

comptime _DOT: UInt8 = 46
# The part of a URL from which a cookie takes its path.
comptime _PATH_OCTETS_MAX = 8 * 1024


struct CookieStore(Copyable, Movable, Sized):
    """Stores cookies within limits."""

    var limits: CookieLimits
    """Limits on the stored and sent cookies."""
    var suffixes: PublicSuffixes
    """The domains for which no cookie is accepted."""
    var _domains: Dict[String, List[StoredCookie]]
    var _count: Int
    # Counts what happens, so that order does not depend on the clock.
    var _clock: Int
    # No cookie expires before this second.
    var _next_end: Int
    # The stalest cookie is the last. One that was used or removed since is
    # passed over; when the line is empty, all cookies line up again.
    var _stalest: List[_Place]
    var _secure: SecureCookies

    def __init__(
        out self,
        limits: CookieLimits = CookieLimits(),
        var suffixes: PublicSuffixes = PublicSuffixes(),
    ):
        """Creates an empty store.

        Args:
            limits: Bounds on the stored and sent cookies.
            suffixes: The domains for which no cookie is accepted.
        """
        self.limits = limits
        self.suffixes = suffixes^
        self._domains = Dict[String, List[StoredCookie]]()
        self._count = 0
        self._clock = 0
        self._next_end = NEVER
        self._stalest = List[_Place]()
        self._secure = SecureCookies()

    def __len__(self) -> Int:
        """Returns the number of cookies, including expired ones that were not
        removed yet.

        Returns:
            The number.
        """
        return self._count

    def receive(
        mut self,
        url: Url,
        set_cookie: Span[UInt8, _],
        now_seconds: Int,
        context: CookieContext = CookieContext.SAME_SITE,
    ) raises SyntaxError:
        """Stores the cookie that a server sets, or removes it.

        Args:
            url: The URL of the request.
            set_cookie: The value of one Set-Cookie field.
            now_seconds: The current time, in seconds since 1970.
            context: The site that caused the request.

        Raises:
            SyntaxError: If the cookie must be ignored.
        """
        self.insert(url, read_set_cookie(set_cookie), now_seconds, context)

    def insert(
        mut self,
        url: Url,
        var cookie: Cookie,
        now_seconds: Int,
        context: CookieContext = CookieContext.SAME_SITE,
    ) raises SyntaxError:
        """Stores a cookie as if a server had set it (section 5.7).

        Args:
            url: The URL of the request.
            cookie: The cookie.
            now_seconds: The current time, in seconds since 1970.
            context: The site that caused the request.

        Raises:
            SyntaxError: If the cookie must be ignored.
        """
        check_octets(cookie)
        var host = url.host().as_bytes()
        var is_host_only = self._check_domain(host, cookie)
        if is_host_only:
            cookie.domain = String(url.host())
        var has_root_path = cookie.path == "/"
        if not cookie.path:
            # The bound on Path applies to a long URL too: each prefix of a
            # path is looked up. And no cookie causes a scan of the whole URL.
            var front = url.path().as_bytes()
            if len(front) <= _PATH_OCTETS_MAX:
                front = default_path(front)
            if len(front) > COOKIE_ATTRIBUTE_OCTETS_MAX:
                raise SyntaxError(
                    "cookie", COOKIE_ATTRIBUTE_OCTETS_MAX, "too long"
                )
            cookie.path = String(StringSlice(unsafe_from_utf8=front))
            if not cookie.path:
                cookie.path = "/"
        if cookie.secure and not url.is_secure():
            raise SyntaxError("cookie", 0, "Secure over an open connection")
        if (
            not cookie.secure
            and not url.is_secure()
            and self._secure.would_be_hidden_by(cookie)
        ):
            raise SyntaxError("cookie", 0, "would hide a Secure one")
        check_same_site(cookie, context)
        check_prefix(cookie, is_host_only and has_root_path)
        self._keep(cookie^, is_host_only, now_seconds)

    def set(mut self, var cookie: Cookie, now_seconds: Int) raises SyntaxError:
        """Stores a cookie of the program, without the checks for servers.

        Args:
            cookie: The cookie. Without a domain, only `all` returns it.
            now_seconds: The current time, in seconds since 1970.

        Raises:
            SyntaxError: If name or value would break the Cookie field.
        """
        check_octets(cookie)
        if not cookie.path:
            cookie.path = "/"
        if cookie.domain.startswith("."):
            var bare = String(cookie.domain[byte=1:])
            cookie.domain = bare^
        cookie.domain = cookie.domain.lower()
        self._keep(cookie^, False, now_seconds)

    def restore(
        mut self, var stored: StoredCookie, now_seconds: Int
    ) raises SyntaxError:
        """Stores a cookie that another store has had.

        Args:
            stored: The cookie, with its domain and its path. The fields that
                order it among others are not used.
            now_seconds: The current time, in seconds since 1970.

        Raises:
            SyntaxError: If no server could have set it.
        """
        ref cookie = stored.cookie
        check_octets(cookie)
        var is_host_only = stored.is_host_only
        if cookie.domain in self.suffixes:
            if not is_host_only:
                raise SyntaxError("cookie domain", 0, "a public suffix")
        elif not is_host_only and is_address(cookie.domain.as_bytes()):
            raise SyntaxError("cookie domain", 0, "an address")
        check_prefix(cookie, is_host_only and cookie.path == "/")
        self._keep(stored.cookie.copy(), is_host_only, now_seconds)

    def header(
        mut self,
        url: Url,
        now_seconds: Int,
        context: CookieContext = CookieContext.SAME_SITE,
    ) -> String:
        """Returns the value of the Cookie field for a request (section 5.8.3).

        Args:
            url: The URL of the request.
            now_seconds: The current time, in seconds since 1970.
            context: The site that causes the request.

        Returns:
            The value: longer paths first, then older cookies; empty if no
            cookie applies.
        """
        self._clock += 1
        var found = List[_Found]()
        var host = url.host().as_bytes()
        var host_is_address = is_address(host)
        var start = 0
        while start < len(host):
            var name = String(StringSlice(unsafe_from_utf8=host[start:]))
            try:
                ref cookies = self._domains[name]
                for i in range(len(cookies)):
                    ref stored = cookies[i]
                    if (
                        stored.is_host_only
                        and start > 0
                        or stored.expires_at <= now_seconds
                        or stored.cookie.secure
                        and not url.is_secure()
                        or not is_sent(stored.cookie, context)
                        or not path_matches(
                            url.path().as_bytes(),
                            stored.cookie.path.as_bytes(),
                        )
                    ):
                        continue
                    stored.used = self._clock
                    found.append(_Found(stored))
            except:
                # No cookie has this domain.
                debug_assert(name not in self._domains, "a list is lost")
            if host_is_address:
                break
            start = find_octet(host, _DOT, start) + 1
        sort(found, _is_before)
        return _joined(found, self.limits.header_octets_max)

    def all(self, now_seconds: Int) -> List[Cookie]:
        """Returns copies of all cookies, for any host.

        Args:
            now_seconds: The current time, in seconds since 1970.

        Returns:
            The cookies that have not expired, the oldest first.
        """
        var found = self.stored(now_seconds)
        var copies = List[Cookie](capacity=len(found))
        for stored in found:
            copies.append(stored.cookie.copy())
        return copies^

    def stored(self, now_seconds: Int) -> List[StoredCookie]:
        """Returns copies of all cookies, with the store's information.

        Args:
            now_seconds: The current time, in seconds since 1970.

        Returns:
            The cookies that have not expired, the oldest first.
        """
        var found = List[StoredCookie]()
        for cookies in self._domains.values():
            for stored in cookies:
                if stored.expires_at > now_seconds:
                    found.append(stored.copy())
        sort(found, _is_older)
        return found^

    def remove_expired(mut self, now_seconds: Int):
        """Removes the expired cookies.

        Args:
            now_seconds: The current time, in seconds since 1970.
        """
        if now_seconds < self._next_end:
            return
        var next_end = NEVER
        for name in self._domain_names():
            next_end = min(next_end, self._sweep(name, now_seconds))
        self._next_end = next_end

    def clear(mut self):
        """Removes all cookies."""
        self._domains.clear()
        self._count = 0
        self._next_end = NEVER
        self._stalest = List[_Place]()
        self._secure.clear()

    def _check_domain(
        self, host: Span[UInt8, _], mut cookie: Cookie
    ) raises SyntaxError -> Bool:
        # True if the cookie is for the host alone.
        if cookie.domain.startswith("."):
            var bare = String(cookie.domain[byte=1:])
            cookie.domain = bare^
        cookie.domain = cookie.domain.lower()
        var domain = cookie.domain.as_bytes()
        if (
            len(domain) == 0
            or equals(host, domain)
            and (is_address(host) or cookie.domain in self.suffixes)
        ):
            return True
        if cookie.domain in self.suffixes:
            raise SyntaxError("cookie domain", 0, "a public suffix")
        if not domain_matches(host, domain):
            raise SyntaxError("cookie domain", 0, "not that of the server")
        return False

    def _keep(
        mut self, var cookie: Cookie, is_host_only: Bool, now_seconds: Int
    ):
        self._clock += 1
        var end = expires_at(cookie, now_seconds)
        var stored = StoredCookie(
            cookie^, is_host_only, end, self._clock, self._clock
        )
        var domain = stored.cookie.domain
        self._secure.add(stored.cookie)
        ref cookies = self._domains.setdefault(domain, List[StoredCookie]())
        for i in range(len(cookies)):
            if cookies[i].is_same(stored):
                # Order of creation outlives a new value.
                stored.created = cookies[i].created
                self._secure.remove(cookies.pop(i).cookie)
                self._count -= 1
                break
        cookies.append(stored^)
        self._count += 1
        if end <= now_seconds:
            _ = self._sweep(domain, now_seconds)
        else:
            self._next_end = min(self._next_end, end)
        self._make_room(domain, now_seconds)

    def _make_room(mut self, domain: String, now_seconds: Int):
        # The order of section 5.7: first expired cookies; then, in a domain
        # with too many, those without Secure; then the least recently used
        # ones.
        if self._count_of(domain) > self.limits.cookies_per_domain_max:
            _ = self._sweep(domain, now_seconds)
            var bound = max(self.limits.cookies_per_domain_max, 1)
            while self._count_of(domain) > bound:
                self._evict(domain)
        if self._count > self.limits.cookies_max:
            self.remove_expired(now_seconds)
            while self._count > max(self.limits.cookies_max, 0):
                self._evict_one_of_all()

    def _count_of(self, domain: String) -> Int:
        try:
            return len(self._domains[domain])
        except:
            return 0

    def _evict(mut self, domain: String):
        try:
            ref cookies = self._domains[domain]
            var victim = 0
            for i in range(1, len(cookies)):
                if cookies[i].goes_before(cookies[victim]):
                    victim = i
            self._secure.remove(cookies.pop(victim).cookie)
            self._count -= 1
        except:
            debug_assert(False, "a domain without cookies has too many")

    def _evict_one_of_all(mut self):
        # Each place is visited once, and skipped only if its cookie was used
        # or removed since. So an eviction needs no search of the store.
        while self._count > 0:
            if len(self._stalest) == 0:
                self._line_up()
            if self._remove_unused(self._stalest.pop()):
                return

    def _line_up(mut self):
        for item in self._domains.items():
            for stored in item.value:
                self._stalest.append(
                    _Place(item.key, stored.created, stored.used)
                )
        sort(self._stalest, _is_fresher)

    def _remove_unused(mut self, place: _Place) -> Bool:
        try:
            ref cookies = self._domains[place.domain]
            for i in range(len(cookies)):
                if cookies[i].created != place.created:
                    continue
                if cookies[i].used != place.used:
                    return False
                self._secure.remove(cookies.pop(i).cookie)
                self._count -= 1
                if len(cookies) == 0:
                    _ = self._domains.pop(place.domain)
                return True
        except:
            debug_assert(place.domain not in self._domains, "a list is lost")
        return False

    def _sweep(mut self, domain: String, now_seconds: Int) -> Int:
        # The second in which the first of those that stay expires.
        var next_end = NEVER
        try:
            ref cookies = self._domains[domain]
            var kept = 0
            for i in range(len(cookies)):
                var end = cookies[i].expires_at
                if end <= now_seconds:
                    continue
                next_end = min(next_end, end)
                if kept != i:
                    cookies.swap_elements(kept, i)
                kept += 1
            self._count -= len(cookies) - kept
            while len(cookies) > kept:
                self._secure.remove(cookies.pop().cookie)
            if kept == 0:
                _ = self._domains.pop(domain)
        except:
            debug_assert(domain not in self._domains, "a list is lost")
        return next_end

    def _domain_names(self) -> List[String]:
        var names = List[String](capacity=len(self._domains))
        for name in self._domains.keys():
            names.append(name)
        return names^


@fieldwise_init
struct _Place(Copyable, Movable):
    """The place of a cookie, and when it was used."""

    var domain: String
    var created: Int
    var used: Int


@fieldwise_init
struct _Found(Copyable, Movable):
    """A cookie as in a request, and its place among the others."""

    var text: String
    var path_octets: Int
    var created: Int

    def __init__(out self, stored: StoredCookie):
        ref cookie = stored.cookie
        # A cookie without a name is sent without the sign (section 5.8.3).
        if cookie.name:
            self.text = String(cookie.name, "=", cookie.value)
        else:
            self.text = cookie.value
        self.path_octets = cookie.path.byte_length()
        self.created = stored.created


def _is_before(a: _Found, b: _Found) -> Bool:
    if a.path_octets != b.path_octets:
        return a.path_octets > b.path_octets
    return a.created < b.created


def _is_fresher(a: _Place, b: _Place) -> Bool:
    if a.used != b.used:
        return a.used > b.used
    return a.created > b.created


def _is_older(a: StoredCookie, b: StoredCookie) -> Bool:
    return a.created < b.created


def _joined(found: List[_Found], octets_max: Int) -> String:
    var text = String()
    for cookie in found:
        var divider = 2 if text else 0
        if (
            text.byte_length() + divider + cookie.text.byte_length()
            > octets_max
        ):
            continue
        if text:
            text += "; "
        text += cookie.text
    return text^
