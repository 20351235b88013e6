"""Encrypts values that clients keep: they can neither read nor change them."""

from flare.core.base64url import read_base64url, write_base64url
from flare.core.hmac import HmacKey
from flare.http import Cookie, Request
from flare.sys.clock import unix_seconds
from flare.sys.openssl_cipher import NONCE_OCTETS, TAG_OCTETS, Cipher, cipher
from flare.sys.random import fill_random

from .keys import derive_keys
from .protection import (
    Protection,
    is_in_time,
    protected_cookie,
    revealed_cookie,
    text_purpose,
)
from .signer import append_time, checked_text, read_time

comptime _SALT_OCTETS = 16
comptime _TIME_OCTETS = 8
comptime _RANDOM_OCTETS = _SALT_OCTETS + NONCE_OCTETS
comptime _HEAD_OCTETS = _RANDOM_OCTETS + _TIME_OCTETS


struct Encryptor(Protection):
    """Encrypts and authenticates values with AES-256-GCM of OpenSSL.

    An encrypted value is a text of letters, digits, `-` and `_` in base64url:
    random octets, the time, the encrypted value and its tag. The tag also
    covers the purpose of the value.

    Each value has a key of its own, derived from a secret and 16 random
    octets. So nonces may be drawn for any number of values. With a single key,
    4 billion would be the limit (NIST SP 800-38D section 8.3).

    To change keys, put the new one first: it encrypts, and all of them
    decrypt.
    """

    var _keys: List[HmacKey]
    var _cipher: Cipher

    def __init__(out self, *, keys: List[String]) raises:
        """Creates an encryptor.

        Args:
            keys: 1 to 8 secrets of at least 32 octets each, such as those that
                `openssl rand -base64 32` prints. A `Signer` may have the same
                ones.

        Raises:
            Error: `session.bad_keys` with the bound that they break, and
                `session.no_library` without OpenSSL 3.
        """
        self._keys = List[HmacKey]()
        for key in derive_keys(keys, "flare encrypted value 1"):
            self._keys.append(HmacKey(key))
        var found = cipher()
        if not found:
            raise Error(
                "session.no_library libcrypto.so.3 of OpenSSL 3: install"
                " libssl3 (Debian) or openssl-libs (Fedora)"
            )
        self._cipher = found.value()

    def encrypt(
        self, purpose: StringSlice, value: StringSlice
    ) raises -> String:
        """Encrypts a value, for a link or a field of a form.

        Args:
            purpose: The purpose of the value, such as `password reset`.
            value: The value. Its length stays visible.

        Returns:
            The encrypted value, in letters, digits, `-` and `_`.

        Raises:
            Error: `session.no_random` if the system has no random octets, and
                `session.failed` if OpenSSL fails.
        """
        return self.protect(
            text_purpose(purpose), value, now_seconds=unix_seconds()
        )

    def decrypt(
        self,
        purpose: StringSlice,
        text: StringSlice,
        *,
        max_age_seconds: Int,
    ) -> Optional[String]:
        """Checks and decrypts a text.

        Args:
            purpose: The purpose of the value.
            text: The text, from anyone.
            max_age_seconds: How old it may be, in seconds.

        Returns:
            The value; `None` if no key has encrypted it for this purpose, or
            if it is too old.
        """
        return self.reveal(
            text_purpose(purpose),
            text,
            max_age_seconds=max_age_seconds,
            now_seconds=unix_seconds(),
        )

    def cookie(self, var cookie: Cookie) raises -> Cookie:
        """Encrypts the value of a cookie.

        Args:
            cookie: The cookie; its value may be any text. The encrypted one is
                longer by a third and 70 octets.

        Returns:
            The cookie to set.

        Raises:
            Error: As `encrypt` does.
        """
        return protected_cookie(self, cookie^, now_seconds=unix_seconds())

    def read(
        self, req: Request, name: StringSlice, *, max_age_seconds: Int
    ) -> Optional[String]:
        """Returns the value of an encrypted cookie.

        Args:
            req: The request.
            name: The name of the cookie.
            max_age_seconds: How old it may be, in seconds.

        Returns:
            The value; `None` if there is no cookie of this name that one of the
            keys has encrypted, or if it is too old.
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
        """Encrypts a value at a time.

        Args:
            purpose: The purpose of the value; `encrypt` and `cookie` mark theirs.
            value: The value.
            now_seconds: The time, in seconds since 1970.

        Returns:
            The encrypted value.

        Raises:
            Error: As `encrypt` does.
        """
        var octets = List[UInt8](length=_RANDOM_OCTETS, fill=0)
        if fill_random(Span(octets)) != _RANDOM_OCTETS:
            raise Error("session.no_random octets of the system")
        append_time(now_seconds, octets)
        octets.resize(_HEAD_OCTETS + value.byte_length() + TAG_OCTETS, 0)
        var key = _key_of(self._keys[0], Span(octets))
        var nonce = List[UInt8](Span(octets)[_SALT_OCTETS:_RANDOM_OCTETS])
        if not self._cipher.encrypt(
            Span(key),
            Span(nonce),
            Span(_associated(purpose, now_seconds)),
            value.as_bytes(),
            Span(octets)[_HEAD_OCTETS:],
        ):
            raise Error("session.failed OpenSSL did not encrypt")
        return write_base64url(Span(octets))

    def reveal(
        self,
        purpose: StringSlice,
        text: StringSlice,
        *,
        max_age_seconds: Int,
        now_seconds: Int,
    ) -> Optional[String]:
        """Checks and decrypts a text at a time.

        Args:
            purpose: The purpose of the value.
            text: The text, from anyone.
            max_age_seconds: How old it may be, in seconds.
            now_seconds: The time, in seconds since 1970.

        Returns:
            The value; `None` if the text is not right or too old.
        """
        var decoded = read_base64url(text.as_bytes())
        if not decoded or len(decoded.value()) < _HEAD_OCTETS + TAG_OCTETS:
            return None
        var octets = Span(decoded.value())
        var issued_at = read_time(octets[_RANDOM_OCTETS:])
        var nonce = List[UInt8](octets[_SALT_OCTETS:_RANDOM_OCTETS])
        var associated = _associated(purpose, issued_at)
        var value = List[UInt8](
            length=len(octets) - _HEAD_OCTETS - TAG_OCTETS, fill=0
        )
        for key in self._keys:
            var own = _key_of(key, octets)
            if self._cipher.decrypt(
                Span(own),
                Span(nonce),
                Span(associated),
                octets[_HEAD_OCTETS:],
                Span(value),
            ):
                if not is_in_time(
                    issued_at,
                    max_age_seconds=max_age_seconds,
                    now_seconds=now_seconds,
                ):
                    return None
                return checked_text(Span(value))
        return None


def _key_of(key: HmacKey, octets: Span[UInt8, _]) -> List[UInt8]:
    """Returns the key of one value, whose octets begin with the salt."""
    var code = key.code(octets[:_SALT_OCTETS])
    var derived = List[UInt8](capacity=32)
    for i in range(32):
        derived.append(code[i])
    return derived^


def _associated(purpose: StringSlice, issued_at: Int) -> List[UInt8]:
    var octets = List[UInt8](capacity=_TIME_OCTETS + purpose.byte_length())
    append_time(issued_at, octets)
    octets.extend(purpose.as_bytes())
    return octets^
