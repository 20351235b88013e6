"""Defines the rules for storing and sending cookies (RFC 6265bis).

They concern one cookie alone. The store decides rules that involve others.
"""

from flare.core import OctetSet, find_member

from .cookie import Cookie, CookiePrefix, SameSite
from .syntax_error import SyntaxError

comptime COOKIE_SECONDS_MAX = 400 * 86400
"""The longest life of a cookie (RFC 6265bis section 5.5)."""
comptime NEVER = Int.MAX
"""The end of a cookie that never expires."""


@fieldwise_init
struct CookieLimits(ImplicitlyCopyable):
    """Limits on the stored and sent cookies."""

    var cookies_per_domain_max: Int
    """The most cookies of one domain; at least 1."""
    var cookies_max: Int
    """The most cookies in all; at least 1."""
    var header_octets_max: Int
    """The longest Cookie field; cookies that do not fit are left out."""

    def __init__(out self):
        """Creates limits with the least that a client should offer (RFC
        6265bis section 6.1), and a field that fits usual header sections.
        """
        self.cookies_per_domain_max = 50
        self.cookies_max = 3000
        self.header_octets_max = 32768


@fieldwise_init
struct CookieContext(ImplicitlyCopyable):
    """The site that causes a request (RFC 6265bis section 5.2)."""

    comptime SAME_SITE = Self(True, False)
    """The site itself, or the program."""
    comptime NAVIGATION = Self(False, True)
    """Another site, through a link that was followed with a safe method."""
    comptime CROSS_SITE = Self(False, False)
    """Another site, in any other way."""

    var is_same_site: Bool
    """Whether the request goes to the site that causes it."""
    var is_navigation: Bool
    """Whether the request replaces the page and its method is safe."""


@fieldwise_init
struct StoredCookie(Copyable, Movable):
    """A cookie with the store's information about it."""

    var cookie: Cookie
    """The cookie. Its domain and path are those that apply. They are not
    empty, except for a cookie without a host.
    """
    var is_host_only: Bool
    """Whether the cookie excludes subdomains."""
    var expires_at: Int
    """The second at which it expires; `Int.MAX` if never."""
    var created: Int
    """Orders cookies by age; unique."""
    var used: Int
    """Orders cookies by when they were last sent or set."""

    def is_same(self, other: Self) -> Bool:
        """Returns whether a cookie replaces another one.

        Args:
            other: The other cookie, of the same domain.

        Returns:
            True if name, path and `is_host_only` are the same.
        """
        return (
            self.cookie.name == other.cookie.name
            and self.cookie.path == other.cookie.path
            and self.is_host_only == other.is_host_only
        )

    def goes_before(self, other: Self) -> Bool:
        """Returns whether this cookie is evicted before another one.

        Args:
            other: The other cookie.

        Returns:
            True if it lacks Secure, or was used earlier.
        """
        if self.cookie.secure != other.cookie.secure:
            return other.cookie.secure
        return self.is_staler(other)

    def is_staler(self, other: Self) -> Bool:
        """Returns whether this cookie was unused for longer than another one.

        Args:
            other: The other cookie.

        Returns:
            True if it was; of two sent together, if it is older.
        """
        if self.used != other.used:
            return self.used < other.used
        return self.created < other.created


def check_octets(cookie: Cookie) raises SyntaxError:
    """Raises an error if a cookie would appear as several in a request, or as
    none.

    Args:
        cookie: The cookie, possibly made by the program.

    Raises:
        SyntaxError: At a separator or a control octet.
    """
    var name = cookie.name.as_bytes()
    var wrong = find_member[_NAME_DIVIDERS](name)
    if wrong != len(name):
        raise SyntaxError("cookie name", wrong, "forbidden octet")
    var value = cookie.value.as_bytes()
    wrong = find_member[_DIVIDERS](value)
    if wrong != len(value):
        raise SyntaxError("cookie value", wrong, "forbidden octet")


def _dividers(members: StaticString) -> OctetSet:
    var set = OctetSet.of(members)
    for b in range(32):
        # A tab may stand within a value.
        if b != 9:
            set.add(UInt8(b))
    set.add(127)
    return set


comptime _DIVIDERS = _dividers(";")
comptime _NAME_DIVIDERS = _dividers(";=")


def expires_at(cookie: Cookie, now_seconds: Int) -> Int:
    """Returns the second at which a cookie expires (section 5.7 steps 6 and
    7).

    Args:
        cookie: The cookie.
        now_seconds: The current time, in seconds since 1970.

    Returns:
        The second; at most 400 days ahead, or `NEVER`.
    """
    if cookie.max_age:
        var seconds = cookie.max_age.value()
        if seconds <= 0:
            return now_seconds
        return now_seconds + min(seconds, COOKIE_SECONDS_MAX)
    if cookie.expires:
        return min(
            cookie.expires.value().seconds, now_seconds + COOKIE_SECONDS_MAX
        )
    return NEVER


def is_sent(cookie: Cookie, context: CookieContext) -> Bool:
    """Returns whether SameSite allows sending a cookie (section 5.8.3).

    Args:
        cookie: The cookie.
        context: The site that causes the request.

    Returns:
        True if the request gets the cookie.
    """
    if context.is_same_site or cookie.same_site == SameSite.NONE:
        return True
    return context.is_navigation and cookie.same_site != SameSite.STRICT


def check_same_site(cookie: Cookie, context: CookieContext) raises SyntaxError:
    """Raises an error if SameSite forbids storing a cookie (section 5.7 steps
    18 and 19).

    Args:
        cookie: The cookie.
        context: The site that caused the request.

    Raises:
        SyntaxError: If the cookie must be ignored.
    """
    if cookie.same_site == SameSite.NONE:
        if not cookie.secure:
            raise SyntaxError("cookie", 0, "SameSite=None wants Secure")
    elif not context.is_same_site and not context.is_navigation:
        raise SyntaxError("cookie", 0, "SameSite, and another site asked")


def check_prefix(cookie: Cookie, is_for_whole_host: Bool) raises SyntaxError:
    """Raises an error if a cookie breaks its name's prefix (section 5.7 steps
    20 to 22).

    Args:
        cookie: The cookie.
        is_for_whole_host: Whether it has no domain and the attribute Path is
            `/`.

    Raises:
        SyntaxError: If the cookie must be ignored.
    """
    if not cookie.name:
        # Servers that split at the first `=` would read a name.
        if CookiePrefix.of(cookie.value.as_bytes()) != CookiePrefix.NO_PREFIX:
            raise SyntaxError("cookie value", 0, "looks like a prefix")
        return
    var prefix = CookiePrefix.of(cookie.name.as_bytes())
    if prefix == CookiePrefix.NO_PREFIX:
        return
    if not cookie.secure:
        raise SyntaxError("cookie name", 0, "its prefix wants Secure")
    if prefix == CookiePrefix.HOST and not is_for_whole_host:
        raise SyntaxError("cookie name", 0, "its prefix wants Path=/ alone")
