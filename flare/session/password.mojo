"""Hashes passwords, so that a copy of a database does not contain them."""

from flare.core.base64url import read_base64url, write_base64url
from flare.runtime import blocking
from flare.sys.openssl_scrypt import ScryptCost, derive_by_scrypt
from flare.sys.random import fill_random

# A choice of OWASP's Password Storage Cheat Sheet, with 32 MiB.
comptime _COST = ScryptCost(15, 8, 3)
comptime _COST_LOG2_MAX = 20
comptime _BLOCK_SIZE_MAX = 32
comptime _PARALLELIZATION_MAX = 16
comptime _MEMORY_OCTETS_MAX = 256 << 20
comptime _SALT_OCTETS = 16
comptime _HASH_OCTETS = 32
comptime _PART_OCTETS_MAX = 64
comptime PASSWORD_OCTETS_MAX = 4_096
"""The most octets of a password. A phrase has about a hundred."""
comptime _NAME: StaticString = "scrypt"


struct _StoredHash(Movable):
    var cost: ScryptCost
    var salt: List[UInt8]
    var hash: List[UInt8]

    def __init__(out self):
        # The hash of no password. The wait for it does not show which names exist.
        self.cost = materialize[_COST]()
        self.salt = List[UInt8](length=_SALT_OCTETS, fill=0)
        self.hash = List[UInt8](length=_HASH_OCTETS, fill=0)


def hash_password(password: StringSlice) raises -> String:
    """Returns the hash of a password, to be stored in place of it.

    It is scrypt (RFC 7914) with a random salt, 32 MiB and about 0.2 s of a
    helper thread. The fiber parks meanwhile. Octets count: a program that
    accepts other forms of the same letters normalizes them first (RFC 8265).

    Args:
        password: The password, at most 4,096 octets.

    Returns:
        A text of about 100 letters, digits and signs:
        `$scrypt$ln=15,r=8,p=3$salt$hash`, as other libraries write it.

    Raises:
        Error: `session.long_password`, `session.no_library` without OpenSSL 3,
            or the errors of `blocking`.
    """
    if password.byte_length() > PASSWORD_OCTETS_MAX:
        raise Error("session.long_password")
    var stored = _StoredHash()
    if fill_random(Span(stored.salt)) < 0:
        raise Error("session.no_random")
    var cost = stored.cost
    var hash = _derived(password.as_bytes(), stored.salt, cost, _HASH_OCTETS)
    return String(
        "$",
        _NAME,
        "$ln=",
        cost.cost_log2,
        ",r=",
        cost.block_size,
        ",p=",
        cost.parallelization,
        "$",
        _base64(stored.salt),
        "$",
        _base64(hash),
    )


def matches_password(
    password: StringSlice, stored: Optional[String]
) raises -> Bool:
    """Returns whether a password is the one of a hash.

    It takes as long as `hash_password`, also without a hash. So the time tells
    neither which names exist nor where hashes differ. Limit how often a client
    may try (`RateLimit`).

    Args:
        password: The password that a client has sent.
        stored: A result of `hash_password`; `None` if there is no such person.

    Returns:
        False if it is another password, or if there is no hash.

    Raises:
        Error: `session.bad_hash` if `stored` is no hash of scrypt within the
            bounds, `session.no_library` without OpenSSL 3, or the errors of
            `blocking`.
    """
    var known = _StoredHash()
    if stored:
        known = _read(stored.value())
    # Of a long one, octets are cut, which need not be whole characters.
    var octets = password.as_bytes()
    var found = _derived(
        octets[: min(len(octets), PASSWORD_OCTETS_MAX)],
        known.salt,
        known.cost,
        len(known.hash),
    )
    var difference: UInt8 = 0
    for i in range(len(found)):
        difference |= found[i] ^ known.hash[i]
    return (
        Bool(stored) and difference == 0 and len(octets) <= PASSWORD_OCTETS_MAX
    )


def needs_new_hash(stored: StringSlice) raises -> Bool:
    """Returns whether a hash has another cost than those of `hash_password`. If a
    person has just signed in, hash the password again.

    Args:
        stored: The hash.

    Returns:
        True if it should be replaced.

    Raises:
        Error: `session.bad_hash` if it is no hash of scrypt.
    """
    return _read(stored).cost != materialize[_COST]()


def _derived(
    password: Span[UInt8, _],
    salt: List[UInt8],
    cost: ScryptCost,
    octets: Int,
) raises -> List[UInt8]:
    var own_password = List[UInt8](password)
    var own_salt = salt.copy()

    def derive() raises {
        var own_password^, var own_salt^, var cost, var octets
    } -> List[UInt8]:
        var hash = List[UInt8](length=octets, fill=0)
        if not derive_by_scrypt(
            Span(own_password), Span(own_salt), cost, Span(hash)
        ):
            raise Error(
                "session.no_library libcrypto.so.3 of OpenSSL 3 is missing,"
                " or there is no memory"
            )
        return hash^

    return blocking(derive^)


def _read(stored: StringSlice) raises -> _StoredHash:
    var parts = stored.split("$")
    if (
        len(parts) != 5
        or parts[0].byte_length() > 0
        or parts[1] != StringSlice(_NAME)
    ):
        raise Error("session.bad_hash no hash of scrypt")
    var numbers = parts[2].split(",")
    if len(numbers) != 3:
        raise Error("session.bad_hash it has no cost")
    var found = _StoredHash()
    found.cost = ScryptCost(
        _number(numbers[0], "ln=", _COST_LOG2_MAX),
        _number(numbers[1], "r=", _BLOCK_SIZE_MAX),
        _number(numbers[2], "p=", _PARALLELIZATION_MAX),
    )
    if found.cost.memory_octets() > _MEMORY_OCTETS_MAX:
        raise Error("session.bad_hash its cost is too high")
    found.salt = _octets(parts[3])
    found.hash = _octets(parts[4])
    return found^


def _number(text: StringSlice, name: StaticString, most: Int) raises -> Int:
    var value = 0
    if text.startswith(name) and text.byte_length() <= name.byte_length() + 2:
        for octet in text.as_bytes()[name.byte_length() :]:
            if octet < 48 or octet > 57:
                value = 0
                break
            value = 10 * value + Int(octet) - 48
    if value < 1 or value > most:
        raise Error("session.bad_hash a number of its cost is out of bounds")
    return value


def _octets(text: StringSlice) raises -> List[UInt8]:
    var letters = String(text).replace("+", "-").replace("/", "_")
    var octets = read_base64url(letters.as_bytes())
    if (
        text.byte_length() != letters.byte_length()
        or not octets
        or len(octets.value()) < 8
        or len(octets.value()) > _PART_OCTETS_MAX
    ):
        raise Error("session.bad_hash salt or hash are no base64")
    return octets.take()


def _base64(octets: List[UInt8]) -> String:
    return write_base64url(Span(octets)).replace("-", "+").replace("_", "/")
