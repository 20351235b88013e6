"""Defines a cookie, and writes it as a Set-Cookie field (RFC 6265bis).

Every octet is checked, so that no value can smuggle in an attribute or a
field. Cookies that all clients would ignore are refused, so that the sender
learns it at once.
"""

from flare.core import (
    OctetSet,
    equals_ignoring_case,
    find_member,
    is_token,
    write_escaped,
)

from .date import HttpDate
from .syntax_error import SyntaxError

comptime COOKIE_OCTETS_MAX = 4096
"""The bound on name and value of a cookie together (RFC 6265bis section 5.6).
"""
comptime COOKIE_ATTRIBUTE_OCTETS_MAX = 1024
"""The bound on the value of an attribute (RFC 6265bis section 5.6)."""


@fieldwise_init
struct SameSite(Equatable, TrivialRegisterPassable, Writable):
    """The requests from other sites with which a cookie is sent."""

    comptime DEFAULT = Self(0)
    """No attribute; clients treat it much like `LAX`."""
    comptime STRICT = Self(1)
    """No requests from other sites."""
    comptime LAX = Self(2)
    """Navigations from other sites, with a safe method."""
    comptime NONE = Self(3)
    """All requests; requires `secure`."""

    var _value: UInt8

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two rules are equal.

        Args:
            other: The other rule.

        Returns:
            True if both are equal.
        """
        return self._value == other._value

    @staticmethod
    def of(octets: Span[UInt8, _]) -> Self:
        """Parses the value of the attribute SameSite.

        Args:
            octets: The value, in any case.

        Returns:
            The rule; `DEFAULT` for an unknown value.
        """
        if equals_ignoring_case(octets, "strict".as_bytes()):
            return Self.STRICT
        if equals_ignoring_case(octets, "lax".as_bytes()):
            return Self.LAX
        if equals_ignoring_case(octets, "none".as_bytes()):
            return Self.NONE
        return Self.DEFAULT

    def write_to(self, mut writer: Some[Writer]):
        """Writes the value of the attribute.

        Args:
            writer: The destination.
        """
        if self == Self.STRICT:
            writer.write("Strict")
        elif self == Self.LAX:
            writer.write("Lax")
        elif self == Self.NONE:
            writer.write("None")
        else:
            writer.write("Default")


struct Cookie(Copyable, Movable, Writable):
    """A cookie: name, value and attributes.

    The fields may have any content; it is checked when the cookie is sent.
    """

    var name: String
    """The name."""
    var value: String
    """The value; quotation marks around it are part of it. Encode octets that
    are not visible ASCII with `percent_encoded`.
    """
    var domain: String
    """The attribute Domain: the host and its subdomains. If empty, the cookie
    is for the host alone.
    """
    var path: String
    """The attribute Path; left out if empty."""
    var max_age: Optional[Int]
    """The attribute Max-Age, in seconds; the cookie expires at once if it is
    not positive. It takes precedence over `expires`.
    """
    var expires: Optional[HttpDate]
    """The attribute Expires."""
    var secure: Bool
    """Whether the cookie has the attribute Secure: for TLS only."""
    var http_only: Bool
    """Whether the cookie has the attribute HttpOnly: hidden from the scripts
    of a page.
    """
    var same_site: SameSite
    """The attribute SameSite."""

    def __init__(
        out self,
        var name: String,
        var value: String,
        *,
        var domain: String = String(),
        var path: String = String(),
        max_age: Optional[Int] = None,
        expires: Optional[HttpDate] = None,
        secure: Bool = False,
        http_only: Bool = False,
        same_site: SameSite = SameSite.DEFAULT,
    ):
        """Creates a cookie.

        Args:
            name: The name.
            value: The value.
            domain: The attribute Domain; left out if empty.
            path: The attribute Path; left out if empty.
            max_age: The attribute Max-Age, in seconds.
            expires: The attribute Expires.
            secure: The attribute Secure.
            http_only: The attribute HttpOnly.
            same_site: The attribute SameSite.
        """
        self.name = name^
        self.value = value^
        self.domain = domain^
        self.path = path^
        self.max_age = max_age
        self.expires = expires
        self.secure = secure
        self.http_only = http_only
        self.same_site = same_site

    def to_set_cookie(self) raises -> String:
        """Returns the value of a Set-Cookie field.

        Returns:
            The name, the value and the attributes.

        Raises:
            Error: `message.bad_cookie`, with the part, the offset and the
                reason.
        """
        try:
            self.check()
        except e:
            raise Error("message.bad_cookie ", e)
        var text = String(self.name, "=", self.value)
        if self.path:
            text.write("; Path=", self.path)
        if self.domain:
            text.write("; Domain=", self.domain)
        if self.max_age:
            text.write("; Max-Age=", self.max_age.value())
        if self.expires:
            text.write("; Expires=", self.expires.value())
        if self.secure:
            text.write("; Secure")
        if self.http_only:
            text.write("; HttpOnly")
        if self.same_site != SameSite.DEFAULT:
            text.write("; SameSite=", self.same_site)
        return text^

    def check(self) raises SyntaxError:
        """Raises an error if the cookie cannot be sent or clients would ignore
        it.

        Raises:
            SyntaxError: With the place and the reason.
        """
        var name = self.name.as_bytes()
        if not is_token(name):
            raise SyntaxError("cookie name", 0, "not a token")
        _check_value(self.value.as_bytes())
        if len(name) + self.value.byte_length() > COOKIE_OCTETS_MAX:
            raise SyntaxError("cookie", COOKIE_OCTETS_MAX, "too long")
        var path = self.path.as_bytes()
        if len(path) > 0 and path[0] != UInt8(ord("/")):
            raise SyntaxError("cookie path", 0, "does not begin with a slash")
        _check_attribute["cookie path", _PATH_OCTETS](path)
        _check_attribute["cookie domain", _DOMAIN_OCTETS](
            self.domain.as_bytes()
        )
        if self.same_site == SameSite.NONE and not self.secure:
            raise SyntaxError("cookie", 0, "SameSite=None wants Secure")
        var prefix = CookiePrefix.of(name)
        if prefix != CookiePrefix.NO_PREFIX and not self.secure:
            raise SyntaxError("cookie name", 0, "its prefix wants Secure")
        if prefix == CookiePrefix.HOST and (self.domain or self.path != "/"):
            raise SyntaxError("cookie name", 0, "its prefix wants Path=/ alone")

    def write_to(self, mut writer: Some[Writer]):
        """Writes the cookie as in a request, with octets escaped that are
        unsafe for a terminal.

        Args:
            writer: The destination.
        """
        write_escaped(self.name.as_bytes(), writer)
        writer.write("=")
        write_escaped(self.value.as_bytes(), writer)


@fieldwise_init
struct CookiePrefix(Equatable, TrivialRegisterPassable):
    """The requirements of a cookie name's prefix (RFC 6265bis section 4.1.3).
    """

    comptime NO_PREFIX = Self(0)
    """No requirements."""
    comptime SECURE = Self(1)
    """`__Secure-` requires the attribute Secure."""
    comptime HOST = Self(2)
    """`__Host-` requires Secure, Path=/ and no Domain."""

    var _value: UInt8

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two prefixes are equal.

        Args:
            other: The other prefix.

        Returns:
            True if both are equal.
        """
        return self._value == other._value

    @staticmethod
    def of(name: Span[UInt8, _]) -> Self:
        """Returns the prefix of a name, ignoring case: servers may ignore case,
        so clients must too.

        Args:
            name: The name of a cookie, or the value of a cookie without a
                name.

        Returns:
            The prefix.
        """
        if _has_prefix(name, "__secure-"):
            return Self.SECURE
        if _has_prefix(name, "__host-"):
            return Self.HOST
        return Self.NO_PREFIX


def _has_prefix(octets: Span[UInt8, _], prefix: StaticString) -> Bool:
    var count = prefix.byte_length()
    return len(octets) >= count and equals_ignoring_case(
        octets[:count], prefix.as_bytes()
    )


def _range(low: Int, high: Int, without: StaticString) -> OctetSet:
    var set = OctetSet.of("")
    for b in range(low, high + 1):
        var is_left_out = False
        for octet in without.as_bytes():
            is_left_out = is_left_out or Int(octet) == b
        if not is_left_out:
            set.add(UInt8(b))
    return set


comptime _VALUE_OCTETS = _range(0x21, 0x7E, '",;\\')
comptime _PATH_OCTETS = _range(0x20, 0x7E, ";")
comptime _DOMAIN_OCTETS = OctetSet.of(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"
)
comptime _QUOTE: UInt8 = 34


def _check_value(value: Span[UInt8, _]) raises SyntaxError:
    var start = 0
    var end = len(value)
    if end >= 2 and value[0] == _QUOTE and value[end - 1] == _QUOTE:
        start = 1
        end -= 1
    var wrong = find_member[_VALUE_OCTETS, False](value[:end], start)
    if wrong != end:
        raise SyntaxError("cookie value", wrong, "forbidden octet")


def _check_attribute[
    part: StaticString, set: OctetSet
](octets: Span[UInt8, _]) raises SyntaxError:
    if len(octets) > COOKIE_ATTRIBUTE_OCTETS_MAX:
        raise SyntaxError(part, COOKIE_ATTRIBUTE_OCTETS_MAX, "too long")
    var wrong = find_member[set, False](octets)
    if wrong != len(octets):
        raise SyntaxError(part, wrong, "forbidden octet")
