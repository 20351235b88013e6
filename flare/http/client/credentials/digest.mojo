"""Answers the challenges of Digest authentication (RFC 7616).

Pure functions over octets: random numbers are arguments. Only `auth` is
supported: `auth-int` would need the whole content before its head.
"""

from flare.core import (
    SPACE,
    TAB,
    equals_ignoring_case,
    find_octet,
    is_token,
)
from flare.core.message_digest import md5, sha256
from flare.message import FieldSection

comptime _COMMA: UInt8 = 44
comptime _EQUALS_SIGN: UInt8 = 61
comptime _QUOTE: UInt8 = 34
comptime _BACKSLASH: UInt8 = 92
comptime _DELETE: UInt8 = 127


struct DigestAlgorithm:
    """The algorithms of digests."""

    comptime UNKNOWN: UInt8 = 0
    """An unknown algorithm."""
    comptime MD5: UInt8 = 1
    """MD5, for servers that support no other."""
    comptime SHA256: UInt8 = 2
    """SHA-256."""


@fieldwise_init
struct DigestAccount(Copyable, Movable):
    """The user and the password, which are never sent."""

    var user: String
    """The user."""
    var password: String
    """The password."""


struct DigestChallenge(Copyable, Movable):
    """A challenge of a server."""

    var realm: String
    """The name of the protected space."""
    var nonce: String
    """The nonce, which limits the validity of an answer."""
    var opaque: Optional[String]
    """A value that the server wants back unchanged."""
    var algorithm: UInt8
    """One of `DigestAlgorithm`."""
    var is_session: Bool
    """Whether the secret is digested again with the nonce."""
    var knows_qop: Bool
    """Whether the server counts requests; old servers do not."""
    var can_be_answered: Bool
    """Whether the algorithm and the protection are supported."""
    var is_text: Bool
    """Whether all values are text. The digest of other octets is not
    well-defined.
    """
    var is_stale: Bool
    """Whether only the nonce is too old, so that the credentials are still
    good.
    """
    var hides_user: Bool
    """Whether the user is sent as a digest."""

    def __init__(out self):
        """Creates an empty challenge."""
        self.realm = String()
        self.nonce = String()
        self.opaque = None
        self.algorithm = DigestAlgorithm.MD5
        self.is_session = False
        self.knows_qop = False
        self.can_be_answered = True
        self.is_text = True
        self.is_stale = False
        self.hides_user = False

    def digest(self, text: StringSlice) -> String:
        """Returns the digest of a text.

        Args:
            text: The text.

        Returns:
            Hexadecimal digits.
        """
        if self.algorithm == DigestAlgorithm.SHA256:
            return sha256(text.as_bytes())
        return md5(text.as_bytes())

    def _take(mut self, name: Span[UInt8, _], value: Span[UInt8, _]):
        for octet in value:
            if (octet < SPACE and octet != TAB) or octet == _DELETE:
                self.is_text = False
        try:
            self._set(name, String(StringSlice(from_utf8=value)))
        except:
            self.is_text = False

    def _set(mut self, name: Span[UInt8, _], var value: String):
        if equals_ignoring_case(name, "realm".as_bytes()):
            self.realm = value^
        elif equals_ignoring_case(name, "nonce".as_bytes()):
            self.nonce = value^
        elif equals_ignoring_case(name, "opaque".as_bytes()):
            self.opaque = value^
        elif equals_ignoring_case(name, "stale".as_bytes()):
            self.is_stale = _is(value, "true")
        elif equals_ignoring_case(name, "userhash".as_bytes()):
            self.hides_user = _is(value, "true")
        elif equals_ignoring_case(name, "algorithm".as_bytes()):
            self.is_session = value.lower().endswith("-sess")
            self.algorithm = DigestAlgorithm.UNKNOWN
            if _is(value, "MD5") or _is(value, "MD5-sess"):
                self.algorithm = DigestAlgorithm.MD5
            elif _is(value, "SHA-256") or _is(value, "SHA-256-sess"):
                self.algorithm = DigestAlgorithm.SHA256
        elif equals_ignoring_case(name, "qop".as_bytes()):
            self.can_be_answered = False
            for option in value.split(","):
                if _is(String(option.strip()), "auth"):
                    self.knows_qop = True
                    self.can_be_answered = True


struct DigestSession(Movable):
    """An account, and the state of its authentication at one origin."""

    var account: DigestAccount
    """The account."""
    var challenge: Optional[DigestChallenge]
    """The last challenge of the origin."""
    var nonce: String
    """The nonce of the last challenge, also after that was refused."""
    var uses: Int
    """How many requests have used that nonce."""
    var client_nonce: String
    """The client nonce of an answer; a session keeps that of its first answer.
    """

    def __init__(out self, var account: DigestAccount):
        """Creates the state before the first challenge.

        Args:
            account: The account.
        """
        self.account = account^
        self.challenge = None
        self.nonce = String()
        self.uses = 0
        self.client_nonce = String()

    def take(mut self, var challenge: DigestChallenge):
        """Replaces the challenge.

        Args:
            challenge: The new challenge. If concurrent calls get the same
                nonce, the count continues, because a server treats a repeated
                count as a replay.
        """
        if challenge.nonce != self.nonce:
            self.nonce = challenge.nonce
            self.uses = 0
        self.challenge = challenge^

    def has_other_than(self, nonce: StringSlice) -> Bool:
        """Returns whether another challenge has replaced one.

        Args:
            nonce: The nonce of the replaced one.

        Returns:
            True if the present challenge has another nonce.
        """
        return Bool(self.challenge) and self.nonce != nonce

    def refuse(mut self, nonce: StringSlice):
        """Drops a challenge whose answer was refused, unless another has
        replaced it.

        Args:
            nonce: The nonce of the refused answer.
        """
        if self.nonce == nonce:
            self.challenge = None

    def authorization(
        mut self,
        method: StringSlice,
        target: StringSlice,
        client_nonce: StringSlice,
    ) raises -> String:
        """Returns the value of Authorization for one request, and counts it.

        Args:
            method: The method.
            target: The request target.
            client_nonce: A random text without quotation marks.

        Returns:
            The value; empty before the first challenge.

        Raises:
            Never.
        """
        if not self.challenge:
            return String()
        ref c = self.challenge.value()
        self.uses += 1
        # The secret of a session is made of the client nonce of its first
        # answer (RFC 7616 section 3.4.2). Shown again each time, it is right
        # also for servers that keep nothing and compute the secret anew.
        if self.uses == 1 or not c.is_session:
            self.client_nonce = String(client_nonce)
        ref user = self.account.user
        var secret = c.digest(
            String(user, ":", c.realm, ":", self.account.password)
        )
        if c.is_session:
            secret = c.digest(
                String(secret, ":", c.nonce, ":", self.client_nonce)
            )
        var request = c.digest(String(method, ":", target))
        var count = _eight_digits(self.uses)
        var between = String(c.nonce)
        if c.knows_qop:
            between.write(":", count, ":", self.client_nonce, ":auth")
        var response = c.digest(String(secret, ":", between, ":", request))
        var shown = String(user)
        if c.hides_user:
            shown = c.digest(String(user, ":", c.realm))
        var algorithm: StaticString = "MD5"
        if c.algorithm == DigestAlgorithm.SHA256:
            algorithm = "SHA-256"
        var value = String(
            "Digest username=",
            _quoted(shown),
            ", realm=",
            _quoted(c.realm),
            ", nonce=",
            _quoted(c.nonce),
            ", uri=",
            _quoted(String(target)),
            ', response="',
            response,
            '", algorithm=',
            algorithm,
        )
        if c.is_session:
            value += "-sess"
        if c.knows_qop or c.is_session:
            value.write(", cnonce=", _quoted(self.client_nonce))
        if c.knows_qop:
            value.write(", qop=auth, nc=", count)
        if c.opaque:
            value.write(", opaque=", _quoted(c.opaque.value()))
        if c.hides_user:
            value += ", userhash=true"
        return value^


def digest_challenge(fields: FieldSection) -> Optional[DigestChallenge]:
    """Returns the challenge of a response that can be answered.

    Args:
        fields: The header section of the response.

    Returns:
        The first one with SHA-256, otherwise the first one with MD5; `None` if
        no Digest challenge can be answered.
    """
    var best = Optional[DigestChallenge](None)
    for value in fields.values("WWW-Authenticate"):
        for found in _challenges(value.as_bytes()):
            if (
                found.algorithm == DigestAlgorithm.UNKNOWN
                or not found.can_be_answered
                or not found.is_text
                or found.nonce.byte_length() == 0
            ):
                continue
            if not best or found.algorithm > best.value().algorithm:
                best = found.copy()
    return best^


def _challenges(octets: Span[UInt8, _]) -> List[DigestChallenge]:
    # A comma divides challenges, and the parameters of one: a token that no
    # equals sign follows names the next scheme (RFC 9110 section 11.6.1).
    var found = List[DigestChallenge]()
    var is_digest = False
    var i = 0
    while i < len(octets):
        if _is_blank(octets[i]) or octets[i] == _COMMA:
            i += 1
            continue
        var end = i
        while end < len(octets) and is_token(octets[end : end + 1]):
            end += 1
        if end == i:
            # Parts of a scheme in its own syntax.
            i = find_octet(octets, _COMMA, i)
            continue
        var name = octets[i:end]
        i = _behind_blanks(octets, end)
        if i == len(octets) or octets[i] != _EQUALS_SIGN:
            is_digest = equals_ignoring_case(name, "Digest".as_bytes())
            if is_digest:
                found.append(DigestChallenge())
            continue
        i = _behind_blanks(octets, i + 1)
        var value = List[UInt8]()
        if i < len(octets) and octets[i] == _QUOTE:
            i = _read_quoted(octets, i + 1, value)
        else:
            end = find_octet(octets, _COMMA, i)
            value.extend(octets[i:end])
            while len(value) > 0 and _is_blank(value[len(value) - 1]):
                _ = value.pop()
            i = end
        if is_digest:
            found[len(found) - 1]._take(name, Span(value))
    return found^


def _read_quoted(
    octets: Span[UInt8, _], start: Int, mut into: List[UInt8]
) -> Int:
    var i = start
    while i < len(octets) and octets[i] != _QUOTE:
        if octets[i] == _BACKSLASH and i + 1 < len(octets):
            i += 1
        into.append(octets[i])
        i += 1
    return min(i + 1, len(octets))


def _behind_blanks(octets: Span[UInt8, _], start: Int) -> Int:
    var i = start
    while i < len(octets) and _is_blank(octets[i]):
        i += 1
    return i


def _quoted(text: String) -> String:
    return String('"', text.replace("\\", "\\\\").replace('"', '\\"'), '"')


def _eight_digits(number: Int) -> String:
    comptime DIGITS: StaticString = "0123456789abcdef"
    var text = String()
    for i in range(7, -1, -1):
        text += DIGITS[byte=number >> (4 * i) & 15]
    return text^


def _is(value: String, name: StaticString) -> Bool:
    return equals_ignoring_case(value.as_bytes(), name.as_bytes())


@always_inline
def _is_blank(octet: UInt8) -> Bool:
    return octet == SPACE or octet == TAB
