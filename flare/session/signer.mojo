"""Signs values that clients keep: they can read them, but not change them."""

from flare.core.base64url import read_base64url, write_base64url
from flare.core.hmac import HmacKey, same_digest
from flare.core.sha256 import Sha256Digest
from flare.http import Cookie, Request
from flare.sys.clock import unix_seconds

from .keys import derive_keys
from .protection import (
    Protection,
    is_in_time,
    protected_cookie,
    revealed_cookie,
    text_purpose,
)

comptime _CODE_OCTETS = 32
comptime _TIME_OCTETS = 8


struct Signer(Protection):
    """Signs values with HMAC-SHA-256 (RFC 2104).

    A signed value is a text of letters, digits, `-` and `_` in base64url: the
    code, the time of signing, and the value. The code also covers the
    purpose of the value, so that a client cannot use it in place of another.

    To change keys, put the new one first: it signs, and all of them verify.
    Remove the old one when its values have expired.
    """

    var _keys: List[HmacKey]

    def __init__(out self, *, keys: List[String]) raises:
        """Creates a signer.

        Args:
            keys: 1 to 8 secrets of at least 32 octets each, such as those that
                `openssl rand -base64 32` prints. An `Encryptor` may have the
                same ones.

        Raises:
            Error: `session.bad_keys` with the bound that they break.
        """
        self._keys = List[HmacKey]()
        for key in derive_keys(keys, "flare signed value 1"):
            self._keys.append(HmacKey(key))

    def sign(self, purpose: StringSlice, value: StringSlice) raises -> String:
        """Signs a value, for a link or a field of a form.

        Args:
            purpose: The purpose of the value, such as `password reset`.
            value: The value.

        Returns:
            The signed value, in letters, digits, `-` and `_`.

        Raises:
            Never.
        """
        return self.protect(
            text_purpose(purpose), value, now_seconds=unix_seconds()
        )

    def verify(
        self,
        purpose: StringSlice,
        text: StringSlice,
        *,
        max_age_seconds: Int,
    ) -> Optional[String]:
        """Checks a text, and returns the value in it.

        Args:
            purpose: The purpose of the value.
            text: The text, from anyone.
            max_age_seconds: How old it may be, in seconds. There is no
                default, because a value without a limit can be sent again at any
                time.

        Returns:
            The value; `None` if no key has signed it for this purpose, or if
            it is too old.
        """
        return self.reveal(
            text_purpose(purpose),
            text,
            max_age_seconds=max_age_seconds,
            now_seconds=unix_seconds(),
        )

    def cookie(self, var cookie: Cookie) raises -> Cookie:
        """Signs the value of a cookie. The client can read it.

        Args:
            cookie: The cookie; its value may be any text. The signed one is
                longer by a third and 54 octets.

        Returns:
            The cookie to set: `response.set_cookie(signer.cookie(cookie^))`.

        Raises:
            Never.
        """
        return protected_cookie(self, cookie^, now_seconds=unix_seconds())

    def read(
        self, req: Request, name: StringSlice, *, max_age_seconds: Int
    ) -> Optional[String]:
        """Returns the value of a signed cookie.

        Args:
            req: The request.
            name: The name of the cookie.
            max_age_seconds: How old the signature may be, in seconds. A client
                may keep a cookie for longer than its Max-Age.

        Returns:
            The value; `None` if there is no cookie of this name with a
            signature of one of the keys, or if it is too old.
        """
        return revealed_cookie(
            self,
            req,
            name,
            max_age_seconds=max_age_seconds,
            now_seconds=unix_seconds(),
        )

    def protect(
        self, purpose: StringSlice, value: StringSlice, *, now_seconds: Int
    ) raises -> String:
        """Signs a value at a time.

        Args:
            purpose: The purpose of the value; `sign` and `cookie` mark theirs.
            value: The value.
            now_seconds: The time, in seconds since 1970.

        Returns:
            The signed value.

        Raises:
            Never.
        """
        var code = _code(self._keys[0], purpose, now_seconds, value.as_bytes())
        var octets = List[UInt8](
            capacity=_CODE_OCTETS + _TIME_OCTETS + value.byte_length()
        )
        for i in range(_CODE_OCTETS):
            octets.append(code[i])
        append_time(now_seconds, octets)
        octets.extend(value.as_bytes())
        return write_base64url(Span(octets))

    def reveal(
        self,
        purpose: StringSlice,
        text: StringSlice,
        *,
        max_age_seconds: Int,
        now_seconds: Int,
    ) -> Optional[String]:
        """Checks a text at a time, and returns the value in it.

        Args:
            purpose: The purpose of the value.
            text: The text, from anyone.
            max_age_seconds: How old it may be, in seconds.
            now_seconds: The time, in seconds since 1970.

        Returns:
            The value; `None` if the text is not right or too old.
        """
        var decoded = read_base64url(text.as_bytes())
        if not decoded or len(decoded.value()) < _CODE_OCTETS + _TIME_OCTETS:
            return None
        var octets = Span(decoded.value())
        var given = Sha256Digest(0)
        for i in range(_CODE_OCTETS):
            given[i] = octets[i]
        var issued_at = read_time(octets[_CODE_OCTETS:])
        var value = octets[_CODE_OCTETS + _TIME_OCTETS :]
        for key in self._keys:
            if same_digest(given, _code(key, purpose, issued_at, value)):
                if not is_in_time(
                    issued_at,
                    max_age_seconds=max_age_seconds,
                    now_seconds=now_seconds,
                ):
                    return None
                return checked_text(value)
        return None


def append_time(seconds: Int, mut octets: List[UInt8]):
    """Appends a time as eight octets, the highest first.

    Args:
        seconds: The time, in seconds since 1970.
        octets: Where to.
    """
    for i in range(_TIME_OCTETS):
        octets.append(UInt8(UInt64(seconds) >> UInt64(56 - 8 * i) & 0xFF))


def read_time(octets: Span[UInt8, _]) -> Int:
    """Reads a time.

    Args:
        octets: Octets that begin with it.

    Returns:
        The time, in seconds since 1970.
    """
    var seconds: UInt64 = 0
    for i in range(_TIME_OCTETS):
        seconds = seconds << 8 | UInt64(octets[i])
    return Int(seconds)


def checked_text(octets: Span[UInt8, _]) -> Optional[String]:
    """Returns octets as text.

    Args:
        octets: The octets of a value. Another program with the same key may
            have protected octets that are no text.

    Returns:
        The text; `None` if it is not UTF-8.
    """
    try:
        return String(StringSlice(from_utf8=octets))
    except:
        return None


def _code(
    key: HmacKey, purpose: StringSlice, seconds: Int, value: Span[UInt8, _]
) -> Sha256Digest:
    var message = key.begin()
    # Its length first: no other purpose and value make the same message.
    message.update(purpose.byte_length())
    message.update(purpose.as_bytes())
    message.update(seconds)
    message.update(value)
    return key.end(message^)
