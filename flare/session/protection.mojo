"""Defines the protection of values that a client keeps, and of its cookies."""

from flare.http import Cookie, Request
from flare.message.cookie import COOKIE_OCTETS_MAX

comptime CLOCK_SKEW_SECONDS = 60
"""How much the clocks of two servers may differ."""
comptime SAME_NAME_MAX = 4
"""How many cookies of one name are tried. Hosts of the same site can add
cookies, and browsers send theirs first if their path is longer."""


trait Protection(Copyable, Deinitable, Movable):
    """A way to give values to a client so that it cannot change them.

    A value is bound to a purpose: one for another purpose is refused.
    """

    def protect(
        self, purpose: StringSlice, value: StringSlice, *, now_seconds: Int
    ) raises -> String:
        """Protects a value.

        Args:
            purpose: The purpose of the value.
            value: The value.
            now_seconds: The current time, in seconds since 1970.

        Returns:
            A text of letters, digits, `-` and `_`.

        Raises:
            Error: If the system has no random octets.
        """
        ...

    def reveal(
        self,
        purpose: StringSlice,
        text: StringSlice,
        *,
        max_age_seconds: Int,
        now_seconds: Int,
    ) -> Optional[String]:
        """Checks a text, and returns the value in it.

        Args:
            purpose: The purpose of the value.
            text: The text, from anyone.
            max_age_seconds: How old it may be, in seconds.
            now_seconds: The current time, in seconds since 1970.

        Returns:
            The value; `None` if no key has protected it for this purpose, or
            if it is too old.
        """
        ...


def protected_cookie[
    P: Protection
](protection: P, var cookie: Cookie, *, now_seconds: Int) raises -> Cookie:
    """Protects the value of a cookie, bound to its name.

    Parameters:
        P: The type of the protection.

    Args:
        protection: The protection.
        cookie: The cookie; its value may be any text.
        now_seconds: The current time, in seconds since 1970.

    Returns:
        The cookie with the protected value.

    Raises:
        Error: If the system has no random octets.
    """
    cookie.value = protection.protect(
        _purpose_of(cookie.name), cookie.value, now_seconds=now_seconds
    )
    return cookie^


def revealed_cookie[
    P: Protection
](
    protection: P,
    req: Request,
    name: StringSlice,
    *,
    max_age_seconds: Int,
    now_seconds: Int,
) -> Optional[String]:
    """Returns the value of a protected cookie.

    Parameters:
        P: The type of the protection.

    Args:
        protection: The protection.
        req: The request.
        name: The name of the cookie.
        max_age_seconds: How old it may be, in seconds.
        now_seconds: The current time, in seconds since 1970.

    Returns:
        The value of the first cookie of the name that is right; `None` without
        one. So a forged cookie does not hide the right one.
    """
    var purpose = _purpose_of(name)
    var tried = 0
    for cookie in req.cookies():
        if cookie.name != name:
            continue
        if tried == SAME_NAME_MAX:
            break
        tried += 1
        # None that this program has set is longer (RFC 6265bis section 5.6).
        if cookie.value.byte_length() > COOKIE_OCTETS_MAX:
            continue
        var value = protection.reveal(
            purpose,
            cookie.value,
            max_age_seconds=max_age_seconds,
            now_seconds=now_seconds,
        )
        if value:
            return value^
    return None


def is_in_time(
    issued_at: Int, *, max_age_seconds: Int, now_seconds: Int
) -> Bool:
    """Returns whether a value may still be used.

    Args:
        issued_at: When it was protected, in seconds since 1970.
        max_age_seconds: How old it may be, in seconds.
        now_seconds: The current time, in seconds since 1970.

    Returns:
        True if it is not too old, and not from the future. The clock of
        another server may be a minute ahead.
    """
    return (
        issued_at <= now_seconds + CLOCK_SKEW_SECONDS
        and issued_at >= now_seconds - max_age_seconds
    )


def _purpose_of(name: StringSlice) -> String:
    # A text of the program cannot be for this purpose.
    return String("cookie ", name)


def text_purpose(purpose: StringSlice) -> String:
    """Returns the purpose of a value that is no cookie.

    Args:
        purpose: The purpose that the program names.

    Returns:
        A purpose that no cookie has.
    """
    return String("text ", purpose)
