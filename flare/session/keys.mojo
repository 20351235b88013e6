"""Checks the secrets of a program, and derives keys from them."""

from flare.core.hmac import derived_key
from flare.core.sha256 import Sha256Digest

comptime KEYS_MAX = 8
"""The most keys: each of them costs time for a value that none has made."""
comptime KEY_OCTETS_MIN = 32
"""The shortest key: that of the digest (RFC 2104 section 3), or of AES-256."""


def derive_keys(
    keys: List[String], purpose: StaticString
) raises -> List[Sha256Digest]:
    """Derives a key from each secret.

    Args:
        keys: The secrets.
        purpose: The purpose of the keys. Those of two purposes have nothing in
            common, so that the same secrets can sign and encrypt.

    Returns:
        The keys, in the order of the secrets.

    Raises:
        Error: `session.bad_keys` with the bound that the secrets break.
    """
    if len(keys) == 0 or len(keys) > KEYS_MAX:
        raise Error("session.bad_keys from 1 to 8 keys, not ", len(keys))
    var derived = List[Sha256Digest](capacity=len(keys))
    for i in range(len(keys)):
        if keys[i].byte_length() < KEY_OCTETS_MIN:
            # Without its length, which would tell about a secret in a log.
            raise Error(
                "session.bad_keys key ", i, " is shorter than 32 octets"
            )
        derived.append(derived_key(keys[i].as_bytes(), purpose))
    return derived^
