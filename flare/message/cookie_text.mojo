"""Parses the fields Cookie and Set-Cookie (RFC 6265bis section 5).

Parsing is more lenient than writing, because clients and servers must accept
cookies that others send. Octets that are not UTF-8 are skipped: they cannot be
stored as text.
"""

from flare.core import (
    OctetSet,
    SPACE,
    TAB,
    equals,
    equals_lower,
    find_member,
    find_octet,
)

from .cookie import (
    COOKIE_ATTRIBUTE_OCTETS_MAX,
    COOKIE_OCTETS_MAX,
    Cookie,
    SameSite,
)
from .cookie_date import parse_cookie_date
from .field_line import FieldSection
from .syntax_error import SyntaxError

comptime COOKIES_MAX = 512
"""The most cookies that `parse_cookie_header` returns."""
comptime _SEMICOLON: UInt8 = 59
comptime _EQUALS_SIGN: UInt8 = 61


def parse_set_cookie_header(text: StringSlice) raises -> Cookie:
    """Parses the value of a Set-Cookie field.

    Args:
        text: The value of one field; Set-Cookie fields are never joined.

    Returns:
        The cookie. A malformed attribute is left out; a `domain` is in lower
        case, without a dot in front.

    Raises:
        Error: `message.bad_cookie`, with the part, the offset and the reason,
            if clients must ignore it.
    """
    try:
        return read_set_cookie(text.as_bytes())
    except e:
        raise Error("message.bad_cookie ", e)


def read_set_cookie[
    origin: ImmOrigin
](octets: Span[UInt8, origin]) raises SyntaxError -> Cookie:
    """Parses the value of a Set-Cookie field given as octets.

    Parameters:
        origin: The origin of the octets.

    Args:
        octets: The value.

    Returns:
        The cookie.

    Raises:
        SyntaxError: If clients must ignore it.
    """
    var wrong = find_member[_CONTROL_OCTETS](octets)
    if wrong != len(octets):
        raise SyntaxError("cookie", wrong, "control octet")
    var end = find_octet(octets, _SEMICOLON)
    var pair = _Pair.of(octets[:end])
    if len(pair.name) == 0 and len(pair.value) == 0:
        raise SyntaxError("cookie", 0, "neither name nor value")
    if len(pair.name) + len(pair.value) > COOKIE_OCTETS_MAX:
        raise SyntaxError("cookie", COOKIE_OCTETS_MAX, "too long")
    var cookie = Cookie(utf8_text(pair.name), utf8_text(pair.value))
    while end < len(octets):
        var start = end + 1
        end = find_octet(octets, _SEMICOLON, start)
        _set_attribute(cookie, octets[start:end])
    return cookie^


def parse_cookie_header(text: StringSlice) raises -> List[Cookie]:
    """Parses the value of a Cookie field.

    Args:
        text: The value of the field.

    Returns:
        Names and values in order. Of two with the same name, the first has the
        longer path.

    Raises:
        Error: `message.bad_cookie` if there are more than `COOKIES_MAX`.
    """
    var cookies = List[Cookie]()
    for pair in CookiePairs(text.as_bytes()):
        if len(cookies) == COOKIES_MAX:
            raise Error("message.bad_cookie too many")
        cookies.append(Cookie(String(pair.name), String(pair.value)))
    return cookies^


@fieldwise_init
struct CookiePair[origin: ImmOrigin](ImplicitlyCopyable):
    """A view of the name and the value of a cookie in a request.

    Parameters:
        origin: The origin of the octets.
    """

    var name: StringSlice[Self.origin]
    """The name; empty if the pair has no `=`."""
    var value: StringSlice[Self.origin]
    """The value, quotation marks included."""


struct CookiePairs[origin: ImmOrigin](ImplicitlyCopyable, Iterable, Iterator):
    """Iterates over the cookies of a Cookie field without copying them.

    Parameters:
        origin: The origin of the octets.
    """

    comptime Element = CookiePair[Self.origin]
    """The type of each element."""
    comptime IteratorType[
        mut: Bool, //, view_origin: Origin[mut=mut]
    ]: Iterator = Self
    """The view itself.

    Parameters:
        mut: Whether the view may be changed.
        view_origin: The origin of the view.
    """

    var _rest: Span[UInt8, Self.origin]

    def __init__(out self, octets: Span[UInt8, Self.origin]):
        """Creates an iterator over the cookies of one field.

        Args:
            octets: The value of the field.
        """
        self._rest = octets

    def __iter__(ref self) -> Self:
        """Returns the view for a `for` loop.

        Returns:
            A copy at the same position.
        """
        return self

    def __next__(mut self) raises StopIteration -> CookiePair[Self.origin]:
        """Returns the next cookie.

        Returns:
            Views of its name and value.

        Raises:
            StopIteration: After the last one.
        """
        while len(self._rest) != 0:
            var end = find_octet(self._rest, _SEMICOLON)
            var pair = _Pair.of(self._rest[:end])
            self._rest = self._rest[min(end + 1, len(self._rest)) :]
            if len(pair.name) == 0 and len(pair.value) == 0:
                continue
            try:
                return CookiePair(
                    StringSlice(from_utf8=pair.name),
                    StringSlice(from_utf8=pair.value),
                )
            except:
                continue
        raise StopIteration()


struct RequestCookies[origin: ImmOrigin](
    ImplicitlyCopyable, Iterable, Iterator
):
    """Iterates over the cookies of a request without copying them.

    An HTTP/2 client may split them into several fields (RFC 9113 section
    8.2.3); they are read as one.

    Parameters:
        origin: The origin of the request.
    """

    comptime Element = CookiePair[Self.origin]
    """The type of each element."""
    comptime IteratorType[
        mut: Bool, //, view_origin: Origin[mut=mut]
    ]: Iterator = Self
    """The view itself.

    Parameters:
        mut: Whether the view may be changed.
        view_origin: The origin of the view.
    """

    var _section: FieldSection[Self.origin]
    var _next_line: Int
    var _pairs: CookiePairs[Self.origin]

    def __init__(out self, section: FieldSection[Self.origin]):
        """Creates an iterator over the cookies of a header section.

        Args:
            section: The fields.
        """
        self._section = section
        self._next_line = 0
        self._pairs = CookiePairs(Span[UInt8, Self.origin]())

    def __iter__(ref self) -> Self:
        """Returns the view for a `for` loop.

        Returns:
            A copy at the same position.
        """
        return self

    def __next__(mut self) raises StopIteration -> CookiePair[Self.origin]:
        """Returns the next cookie.

        Returns:
            Views of its name and value.

        Raises:
            StopIteration: After the last one.
        """
        while True:
            try:
                return self._pairs.__next__()
            except:
                var line = self._section.find("Cookie", self._next_line)
                if line == len(self._section):
                    raise StopIteration()
                self._next_line = line + 1
                self._pairs = CookiePairs(self._section.value(line).as_bytes())

    def get(self, name: StringSlice) -> Optional[StringSlice[Self.origin]]:
        """Returns the value of the first cookie of a name.

        Args:
            name: The name; case-sensitive.

        Returns:
            A view of the value, or `None`.
        """
        for pair in self:
            if equals(pair.name.as_bytes(), name.as_bytes()):
                return pair.value
        return None

    def __contains__(self, name: StringSlice) -> Bool:
        """Returns whether there is a cookie of a name.

        Args:
            name: The name; case-sensitive.

        Returns:
            True if there is one, even with an empty value.
        """
        return Bool(self.get(name))


def _control_octets() -> OctetSet:
    var set = OctetSet.of("\x7f")
    for b in range(32):
        if UInt8(b) != TAB:
            set.add(UInt8(b))
    return set


comptime _CONTROL_OCTETS = _control_octets()


@fieldwise_init
struct _Pair[origin: ImmOrigin](ImplicitlyCopyable):
    var name: Span[UInt8, Self.origin]
    var value: Span[UInt8, Self.origin]

    @staticmethod
    def of(octets: Span[UInt8, Self.origin]) -> Self:
        # A pair without `=` is a value without a name.
        var equals_sign = find_octet(octets, _EQUALS_SIGN)
        if equals_sign == len(octets):
            return Self(octets[:0], _trimmed(octets))
        return Self(
            _trimmed(octets[:equals_sign]), _trimmed(octets[equals_sign + 1 :])
        )


def _trimmed[
    origin: Origin
](octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
    var start = 0
    var end = len(octets)
    while start < end and (octets[start] == SPACE or octets[start] == TAB):
        start += 1
    while start < end and (octets[end - 1] == SPACE or octets[end - 1] == TAB):
        end -= 1
    return octets[start:end]


def utf8_text(octets: Span[UInt8, _]) raises SyntaxError -> String:
    """Returns a part of a cookie as text.

    Args:
        octets: The octets.

    Returns:
        The text.

    Raises:
        SyntaxError: If they are not UTF-8.
    """
    try:
        return String(StringSlice(from_utf8=octets))
    except:
        raise SyntaxError("cookie", 0, "not UTF-8")


def _set_attribute(
    mut cookie: Cookie, octets: Span[UInt8, _]
) raises SyntaxError:
    var equals_sign = find_octet(octets, _EQUALS_SIGN)
    var name = _trimmed(octets[:equals_sign])
    var value = _trimmed(octets[min(equals_sign + 1, len(octets)) :])
    if len(value) > COOKIE_ATTRIBUTE_OCTETS_MAX:
        return
    if equals_lower(name, "expires".as_bytes()):
        var date = parse_cookie_date(value)
        if date:
            cookie.expires = date
    elif equals_lower(name, "max-age".as_bytes()):
        var seconds = _max_age_of(value)
        if seconds:
            cookie.max_age = seconds
    elif equals_lower(name, "domain".as_bytes()):
        cookie.domain = _domain_of(value)
    elif equals_lower(name, "path".as_bytes()):
        # A value that is not a path selects the default path, even after a
        # valid one.
        var is_path = len(value) > 0 and value[0] == UInt8(ord("/"))
        cookie.path = utf8_text(value[: len(value) if is_path else 0])
    elif equals_lower(name, "secure".as_bytes()):
        cookie.secure = True
    elif equals_lower(name, "httponly".as_bytes()):
        cookie.http_only = True
    elif equals_lower(name, "samesite".as_bytes()):
        cookie.same_site = SameSite.of(value)


def _max_age_of(octets: Span[UInt8, _]) -> Optional[Int]:
    var is_negative = len(octets) > 0 and octets[0] == UInt8(ord("-"))
    var digits = octets[Int(is_negative) :]
    if len(octets) == 0:
        return None
    var seconds = 0
    for b in digits:
        if b - 48 > 9:
            return None
        # More seconds than any clock will see are as good as more.
        seconds = min(seconds * 10 + Int(b - 48), _SECONDS_MAX)
    return -seconds if is_negative else seconds


comptime _SECONDS_MAX = 1 << 48


def _domain_of(octets: Span[UInt8, _]) raises SyntaxError -> String:
    var start = Int(len(octets) > 0 and octets[0] == UInt8(ord(".")))
    var domain = octets[start:]
    for i in range(len(domain)):
        if domain[i] > 127:
            raise SyntaxError("cookie domain", i, "not ASCII")
    return utf8_text(domain).lower()
