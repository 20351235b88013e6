"""Checks that hold for signed and for encrypted values."""

from flare.core.base64url import read_base64url, write_base64url
from flare.http import Cookie, Handler, HeaderMap, Request, Response, ok
from flare.session import Protection
from flare.session.protection import protected_cookie, revealed_cookie
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true

comptime OLD: StaticString = "an old key of at least 32 octets"
"""A key that a program has used before."""
comptime NEW: StaticString = "the new key has 32 octets or more"
"""The key that signs."""
comptime OTHER: StaticString = "this key belongs to someone else"
"""A key that the program has never had."""
comptime NOW = 1_700_000_000
"""The time of these tests, in seconds since 1970."""


def check_round_trip[P: Protection](protection: P) raises:
    """Values of all lengths come back.

    Parameters:
        P: The type of the protection.

    Args:
        protection: The protection.

    Raises:
        If one does not.
    """
    var value = String()
    for count in range(70):
        var text = protection.protect("p", value, now_seconds=NOW)
        for octet in text.as_bytes():
            assert_true(_is_letter(octet), text)
        assert_equal(_revealed(protection, "p", text), value)
        value += "é" if count % 7 == 0 else ";"
    var all = String('\0\r\n",;\\ \x7f')
    var text = protection.protect("", all, now_seconds=NOW)
    assert_equal(_revealed(protection, "", text), all)


def check_keys[P: Protection](before: P, both: P, after: P, other: P) raises:
    """Values of an old key are read as long as the key is listed.

    Parameters:
        P: The type of the protection.

    Args:
        before: With the old key.
        both: With the new key and the old one.
        after: With the new key.
        other: With a third key.

    Raises:
        If that does not hold.
    """
    var old = before.protect("p", "value", now_seconds=NOW)
    var new = both.protect("p", "value", now_seconds=NOW)
    assert_equal(_revealed(both, "p", old), "value")
    assert_equal(_revealed(both, "p", new), "value")
    assert_equal(_revealed(after, "p", new), "value")
    assert_equal(_revealed(before, "p", new), "absent")
    assert_equal(_revealed(after, "p", old), "absent")
    assert_equal(_revealed(other, "p", new), "absent")


def check_purposes[P: Protection](protection: P) raises:
    """A value for one purpose is none for another one.

    Parameters:
        P: The type of the protection.

    Args:
        protection: The protection.

    Raises:
        If it is.
    """
    var text = protection.protect("user", "1", now_seconds=NOW)
    for purpose in [StaticString("use"), "user1", "r1", "", "users", "User"]:
        assert_equal(_revealed(protection, purpose, text), "absent")
    # No octet moves from the purpose to the value.
    for i in range(5):
        var shifted = protection.protect(
            "user1"[byte=:i], "user1"[byte=i:], now_seconds=NOW
        )
        for j in range(5):
            assert_equal(
                _revealed(protection, "user1"[byte=:j], shifted) != "absent",
                i == j,
            )


def check_age[P: Protection](protection: P) raises:
    """The bounds of time are inclusive, and the future is refused.

    Parameters:
        P: The type of the protection.

    Args:
        protection: The protection.

    Raises:
        If that does not hold.
    """
    for row in [
        (0, 10, True),
        (10, 10, True),
        (11, 10, False),
        (-60, 10, True),
        (-61, 10, False),
        (0, 0, True),
        (1, 0, False),
    ]:
        var text = protection.protect("p", "v", now_seconds=NOW)
        var value = protection.reveal(
            "p", text, max_age_seconds=row[1], now_seconds=NOW + row[0]
        )
        assert_equal(Bool(value), row[2], String(row[0], " of ", row[1]))
    for time in [Int.MIN, -1, 0, Int.MAX]:
        var text = protection.protect("p", "v", now_seconds=time)
        assert_equal(_revealed(protection, "p", text), "absent")


def check_damage[P: Protection](protection: P) raises:
    """Every changed bit, and every cut, makes a value absent.

    Parameters:
        P: The type of the protection.

    Args:
        protection: The protection.

    Raises:
        If one does not.
    """
    var text = protection.protect("p", "value", now_seconds=NOW)
    var octets = read_base64url(text.as_bytes()).value().copy()
    for i in range(len(octets) * 8):
        octets[i // 8] ^= UInt8(1) << UInt8(i % 8)
        assert_equal(
            _revealed(protection, "p", write_base64url(Span(octets))), "absent"
        )
        octets[i // 8] ^= UInt8(1) << UInt8(i % 8)
    for count in range(len(octets)):
        assert_equal(
            _revealed(protection, "p", write_base64url(Span(octets)[:count])),
            "absent",
        )
    for count in range(text.byte_length()):
        assert_equal(_revealed(protection, "p", text[byte=:count]), "absent")
    for end in [StaticString("A"), "AA", "=", " ", "\n", "\0", "é"]:
        assert_equal(_revealed(protection, "p", String(text, end)), "absent")


def check_cookies[P: Protection](protection: P) raises:
    """Cookies of another name, and those of nobody, are absent; none is an
    error.

    Parameters:
        P: The type of the protection.

    Args:
        protection: The protection.

    Raises:
        If that does not hold.
    """
    var client = TestClient(_Shows(protection.copy()))
    var user = protected_cookie(
        protection, Cookie("user", "ann; admin"), now_seconds=NOW
    ).value
    var other = protected_cookie(
        protection, Cookie("role", "ann; admin"), now_seconds=NOW
    ).value
    var rows: List[Tuple[String, String]] = [
        (String("user=", user), String("ann; admin")),
        (String("user=", other), String("absent")),
        (String("role=", user), String("absent")),
        (String("user=ann"), String("absent")),
        (String("user="), String("absent")),
        (String("user=", user, "x"), String("absent")),
        (String('user="', user, '"'), String("absent")),
        (String("user=", "A" * 5000), String("absent")),
        # A host of the same site can add cookies, which must not hide ours.
        (String("user=forged; user=", user), String("ann; admin")),
        (
            String("user=1; user=2; user=3; user=", user),
            String("ann; admin"),
        ),
        # But it cannot make the server try any number.
        (
            String("user=1; user=2; user=3; user=4; user=", user),
            String("absent"),
        ),
    ]
    for row in rows:
        var headers = HeaderMap()
        headers.set("Cookie", row[0])
        var answer = client.get("/", headers)
        assert_equal(answer.status, 200)
        assert_equal(String(answer.text()), row[1], row[0])
    assert_equal(String(client.get("/").text()), "absent")


@fieldwise_init
struct _Shows[P: Protection](Handler):
    var protection: Self.P

    def serve(self, req: Request) raises -> Response:
        var value = revealed_cookie(
            self.protection,
            req,
            "user",
            max_age_seconds=10,
            now_seconds=NOW + 10,
        )
        return ok(value.or_else("absent"))


def keys(*texts: StaticString) -> List[String]:
    """Returns keys.

    Args:
        texts: The keys.

    Returns:
        A list of them.
    """
    var list = List[String]()
    for text in texts:
        list.append(String(text))
    return list^


def _revealed[
    P: Protection
](protection: P, purpose: StringSlice, text: StringSlice) -> String:
    return protection.reveal(
        purpose, text, max_age_seconds=10, now_seconds=NOW
    ).or_else("absent")


def _is_letter(octet: UInt8) -> Bool:
    return (
        (octet >= 48 and octet <= 57)
        or (octet >= 65 and octet <= 90)
        or (octet >= 97 and octet <= 122)
        or octet == 45
        or octet == 95
    )
