"""Finds the Secure cookies that another cookie would hide.

Otherwise an attacker on the network could replace a cookie of TLS by one of a
plain connection (RFC 6265bis section 5.7 step 16). Cookies are looked up by
name and by each prefix of the new cookie's path. So the cost grows with that
path, not with the number of cookies.
"""

from flare.core import equals

from ._uri_grammar import SLASH
from .cookie import Cookie
from .cookie_scope import domain_matches


struct SecureCookies(Copyable, Movable):
    """An index of Secure cookies, by name, path and domain."""

    # By what `_key` makes of name and path.
    var _places: Dict[UInt64, List[_Place]]
    # How many have a name, by what `_key` makes of it.
    var _names: Dict[UInt64, Int]

    def __init__(out self):
        """Creates an empty index."""
        self._places = Dict[UInt64, List[_Place]]()
        self._names = Dict[UInt64, Int]()

    def add(mut self, cookie: Cookie):
        """Adds a cookie, if it is Secure.

        Args:
            cookie: The cookie, with the path and domain that apply.
        """
        if not cookie.secure:
            return
        var place = _Place(cookie)
        ref places = self._places.setdefault(place.key(), List[_Place]())
        places.append(place^)
        self._names.setdefault(_key(cookie.name.as_bytes()), 0) += 1

    def remove(mut self, cookie: Cookie):
        """Removes a cookie, if it is Secure.

        Args:
            cookie: The cookie, as it was added.
        """
        if not cookie.secure:
            return
        var place = _Place(cookie)
        var key = place.key()
        var name_key = _key(cookie.name.as_bytes())
        try:
            self._names[name_key] -= 1
            if self._names[name_key] == 0:
                _ = self._names.pop(name_key)
            ref places = self._places[key]
            for i in range(len(places)):
                if places[i] == place:
                    _ = places.pop(i)
                    break
            if len(places) == 0:
                _ = self._places.pop(key)
        except:
            debug_assert(False, "a Secure cookie has no place")

    def would_be_hidden_by(self, cookie: Cookie) -> Bool:
        """Returns whether a cookie would hide one of these.

        Args:
            cookie: The cookie, with the path and domain that apply.

        Returns:
            True if one has the same name, the same path or one above it, and a
            related domain: the cookie's, one above it or one below it.
        """
        var path = cookie.path.as_bytes()
        var key = _key(cookie.name.as_bytes())
        # Most names are those of no Secure cookie, and a path may be long.
        if key not in self._names:
            return False
        for i in range(len(path)):
            key = _key(path[i : i + 1], key)
            # The fronts of the path that `path_matches`.
            var is_front = (
                i + 1 == len(path) or path[i] == SLASH or path[i + 1] == SLASH
            )
            if is_front and self._has(key, cookie, i + 1):
                return True
        return False

    def clear(mut self):
        """Removes all cookies."""
        self._places.clear()
        self._names.clear()

    def _has(self, key: UInt64, cookie: Cookie, path_octets: Int) -> Bool:
        try:
            ref places = self._places[key]
            var path = cookie.path.as_bytes()[:path_octets]
            var domain = cookie.domain.as_bytes()
            for place in places:
                if (
                    place.name == cookie.name
                    and equals(place.path.as_bytes(), path)
                    and (
                        domain_matches(domain, place.domain.as_bytes())
                        or domain_matches(place.domain.as_bytes(), domain)
                    )
                ):
                    return True
        except:
            # No Secure cookie has this name and path.
            return False
        return False


@fieldwise_init
struct _Place(Copyable, Equatable, Movable):
    var name: String
    var path: String
    var domain: String

    def __init__(out self, cookie: Cookie):
        self.name = cookie.name
        self.path = cookie.path
        self.domain = cookie.domain

    def key(self) -> UInt64:
        return _key(self.path.as_bytes(), _key(self.name.as_bytes()))


def _key(octets: Span[UInt8, _], start: UInt64 = 0xCBF29CE484222325) -> UInt64:
    # It grows octet by octet (FNV-1a), so that each front of a path has a key
    # without a look at the octets before. Places of one key are compared whole.
    var key = start
    for b in octets:
        key = (key ^ UInt64(b)) * 0x100000001B3
    return key
