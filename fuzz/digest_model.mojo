"""Draws challenges of Digest, writes them as servers may, and judges answers.

Knows nothing of the parser: a challenge is written from its parts, an answer is
read by a strict reader of RFC 9110 section 11.4 and recomputed by the formulas
of RFC 7616 section 3.4.
"""

from flare.core.message_digest import md5, sha256

from fuzz.random import Random

comptime Octets = List[UInt8]
"""Octets of a field."""

comptime _ALGORITHMS: List[StaticString] = [
    "MD5",
    "SHA-256",
    "MD5-sess",
    "SHA-256-sess",
    "SHA-512-256",
    "SHA-512-256-sess",
    "token",
    "SHA",
    "MD5-",
]

comptime _QOPS: List[StaticString] = [
    "auth",
    "auth",
    "auth,auth-int",
    "auth-int , auth",
    "auth-int",
    "auth-int,\tAUTH",
    ",auth,",
    "authentic",
    "",
    "x auth",
]

comptime _OTHERS: List[StaticString] = [
    "Negotiate",
    "Negotiate YWJj==",
    "Negotiate a/b+c=",
    "Negotiate Digest",
    "NTLM Digest==",
    'Basic realm="x"',
    'Basic realm="x, Digest nonce=y", charset="UTF-8"',
    'Basic realm="\\", Digest nonce=\\"y"',
    'Bearer nonce="theirs", opaque=theirs, stale=true, qop="none"',
    'Digests nonce="theirs", realm=theirs',
    "x-digest nonce=theirs , algorithm = SHA-256",
    "",
    " ",
]


struct ChallengeModel(Copyable, Movable):
    """Holds one challenge, as the server means it."""

    var realm: Optional[Octets]
    """What is protected."""
    var nonce: Optional[Octets]
    """What makes an answer good for a while."""
    var opaque: Optional[Octets]
    """What the server wants back."""
    var algorithm: Optional[StaticString]
    """The name of the algorithm."""
    var qop: Optional[StaticString]
    """What may be protected, as it is written."""
    var stale: Optional[StaticString]
    """What it says of the nonce before."""
    var userhash: Optional[StaticString]
    """What it says of users."""
    var is_text: Bool
    """No value has an octet that texts do not have."""

    def __init__(out self, mut random: Random):
        """Draws one.

        Args:
            random: Draws it.
        """
        self.realm = None
        self.nonce = None
        self.opaque = None
        self.algorithm = None
        self.qop = None
        self.stale = None
        self.userhash = None
        self.is_text = True
        if random.chance(90):
            self.realm = self._draw_text(random)
        if random.chance(97):
            self.nonce = self._draw_text(random)
        if random.chance(40):
            self.opaque = self._draw_text(random)
        if random.chance(70):
            var known = 4 if random.chance(90) else len(
                materialize[_ALGORITHMS]()
            )
            self.algorithm = materialize[_ALGORITHMS]()[random.below(known)]
        if random.chance(70):
            var likely = 4 if random.chance(80) else len(materialize[_QOPS]())
            self.qop = materialize[_QOPS]()[random.below(likely)]
        var truths: List[StaticString] = ["true", "false", "TRUE", "x", ""]
        if random.chance(30):
            self.stale = random.pick(truths)
        if random.chance(30):
            self.userhash = random.pick(truths)

    def _draw_text(mut self, mut random: Random) -> Octets:
        var text = random.octets_of(
            'abcdefgXYZ0129+/=-_.,:;"\\ \t@', 1 + random.below(12)
        )
        if random.chance(5):
            text.clear()
        if random.chance(10):
            text.extend("é".as_bytes())
        if random.chance(3):
            self.is_text = False
            var hostile: List[UInt8] = [0xFF, 0x80, 0xC3, 10, 13, 0, 127, 27]
            text.insert(random.below(len(text) + 1), random.pick(hostile))
            # A half of a character could be made whole by its neighbour.
            text.extend("a".as_bytes())
        return text^

    def can_be_answered(self) -> Bool:
        """Tells whether a client that knows no `auth-int` can answer.

        Returns:
            True if so.
        """
        if not self.is_text or not self.nonce or len(self.nonce.value()) == 0:
            return False
        if self.strength() == 0:
            return False
        if not self.qop:
            return True
        for option in self.qop.value().split(","):
            if option.strip().lower() == "auth":
                return True
        return False

    def strength(self) -> Int:
        """Ranks the algorithm.

        Returns:
            2 for SHA-256, 1 for MD5, 0 for one that is not known.
        """
        var name = self.algorithm.or_else("MD5")
        if name == "MD5" or name == "MD5-sess":
            return 1
        return 2 if name == "SHA-256" or name == "SHA-256-sess" else 0

    def is_session(self) -> Bool:
        """Tells whether the secret is digested once more.

        Returns:
            True if so.
        """
        return self.algorithm.or_else("MD5").endswith("-sess")

    def digest(self, parts: List[String]) -> String:
        """Digests texts that colons divide.

        Args:
            parts: The texts.

        Returns:
            Hexadecimal digits.
        """
        var whole = String()
        for i in range(len(parts)):
            whole += ":" if i > 0 else ""
            whole += parts[i]
        if self.strength() == 2:
            return sha256(whole.as_bytes())
        return md5(whole.as_bytes())

    def write(self, mut into: Octets, mut random: Random):
        """Writes it in one of the ways that mean the same.

        Args:
            into: The octets it is appended to.
            random: Chooses order, case, blanks and quotation marks.
        """
        _write_name("Digest", into, random)
        var names: List[StaticString] = ["algorithm", "qop", "stale"]
        names.extend(["userhash", "domain", "realm", "nonce", "opaque"])
        var values: List[Optional[Octets]] = [
            _octets(self.algorithm),
            _octets(self.qop),
            _octets(self.stale),
            _octets(self.userhash),
            None,
            self.realm.copy(),
            self.nonce.copy(),
            self.opaque.copy(),
        ]
        if random.chance(10):
            values[4] = Octets('/a "b, nonce=theirs'.as_bytes())
        var is_first = True
        while len(names) > 0:
            var i = random.below(len(names))
            var name = names.pop(i)
            var value = values.pop(i)
            if not value:
                continue
            if is_first:
                into.extend(Span(random.octets_of(" ", random.between(1, 2))))
            else:
                write_divider(into, random)
            is_first = False
            _write_name(name, into, random)
            into.extend(Span(_draw_blanks(random)))
            into.append(61)
            into.extend(Span(_draw_blanks(random)))
            _write_value(value.value(), into, random)


def draw_other_challenge(mut random: Random) -> StaticString:
    """Draws a challenge of another scheme.

    Args:
        random: Draws it.

    Returns:
        The challenge.
    """
    return random.pick(materialize[_OTHERS]())


def write_divider(mut into: Octets, mut random: Random):
    """Writes what divides the members of a list.

    Args:
        into: The octets it is appended to.
        random: Draws it.
    """
    for _ in range(1 if random.chance(90) else 2):
        into.extend(Span(_draw_blanks(random)))
        into.append(44)
        into.extend(Span(_draw_blanks(random)))


@fieldwise_init
struct Parameter(Copyable, Movable):
    """Holds one parameter of an answer."""

    var name: String
    """Its name."""
    var value: String
    """Its value, without quotation marks."""
    var is_quoted: Bool
    """It stood in quotation marks."""


def read_answer(value: String) raises -> List[Parameter]:
    """Reads the value of Authorization, and is strict.

    Args:
        value: The value.

    Returns:
        Its parameters.

    Raises:
        Error: If it is not what the grammar says, or names anything twice.
    """
    var octets = value.as_bytes()
    _ = StringSlice(from_utf8=octets)
    for octet in octets:
        if octet < 32 and octet != 9 or octet == 127:
            raise Error("octet ", octet, " is sent")
    if not value.startswith("Digest "):
        raise Error("another scheme")
    var found = List[Parameter]()
    var i = 7
    while True:
        var start = i
        while i < len(octets) and _is_letter(octets[i]):
            i += 1
        var name = String(StringSlice(from_utf8=octets[start:i]))
        if i == start or i == len(octets) or octets[i] != 61:
            raise Error("no parameter at ", start)
        for other in found:
            if other.name == name:
                raise Error(name, " is said twice")
        i += 1
        var text = Octets()
        var is_quoted = i < len(octets) and octets[i] == 34
        if is_quoted:
            i += 1
            while i < len(octets) and octets[i] != 34:
                i += Int(octets[i] == 92)
                if i < len(octets):
                    text.append(octets[i])
                i += 1
            if i >= len(octets):
                raise Error(name, " is not closed")
            i += 1
        else:
            start = i
            while i < len(octets) and _is_letter(octets[i]):
                i += 1
            text.extend(octets[start:i])
            if i == start:
                raise Error(name, " is empty")
        found.append(
            Parameter(
                name, String(StringSlice(from_utf8=Span(text))), is_quoted
            )
        )
        if i == len(octets):
            return found^
        if i + 2 >= len(octets) or octets[i] != 44 or octets[i + 1] != 32:
            raise Error("no divider at ", i)
        i += 2


def _is_letter(octet: UInt8) -> Bool:
    return octet - 97 < 26 or octet - 65 < 26 or octet - 48 < 10 or octet == 45


def _octets(text: Optional[StaticString]) -> Optional[Octets]:
    if not text:
        return None
    return Octets(text.value().as_bytes())


def _draw_blanks(mut random: Random) -> Octets:
    if random.chance(70):
        return Octets()
    return random.octets_of(" \t", random.between(1, 2))


def _write_name(name: StaticString, mut into: Octets, mut random: Random):
    var is_shouted = random.chance(10)
    for octet in name.as_bytes():
        var is_letter = octet - 97 < 26
        var is_changed = is_shouted or random.chance(5)
        into.append(octet - 32 if is_letter and is_changed else octet)


def _write_value(value: Octets, mut into: Octets, mut random: Random):
    var is_token = len(value) > 0
    for octet in value:
        is_token &= _is_letter(octet)
    if is_token and random.chance(50):
        into.extend(Span(value))
        return
    into.append(34)
    for octet in value:
        if octet == 34 or octet == 92 or octet < 128 and random.chance(5):
            into.append(92)
        into.append(octet)
    into.append(34)
