"""Authenticates octets with a key: HMAC (RFC 2104) and HKDF (RFC 5869), both
with SHA-256.
"""

from .sha256 import (
    BLOCK_OCTETS,
    FIRST_STATE,
    Sha256,
    Sha256Digest,
    Sha256State,
    compress,
    sha256_digest,
)


struct HmacKey(ImplicitlyCopyable):
    """A key for HMAC-SHA-256, prepared: each use saves two blocks."""

    var _inner: Sha256State
    var _outer: Sha256State

    def __init__(out self, key: Span[UInt8, _]):
        """Creates a key from octets.

        Args:
            key: Octets of any length; 32 are as strong as any more (RFC 2104
                section 3).
        """
        var padded = Array[UInt8, BLOCK_OCTETS](fill=0)
        if len(key) > BLOCK_OCTETS:
            var digest = sha256_digest(key)
            for i in range(32):
                padded[i] = digest[i]
        else:
            for i in range(len(key)):
                padded[i] = key[i]
        self._inner = _with_pad(padded, 0x36)
        self._outer = _with_pad(padded, 0x5C)

    def __init__(out self, key: Sha256Digest):
        """Creates a key from a digest.

        Args:
            key: The digest.
        """
        var octets = Array[UInt8, 32](fill=0)
        for i in range(32):
            octets[i] = key[i]
        self = Self(Span(octets))

    def begin(self) -> Sha256:
        """Returns the hash to add the octets of a message to.

        Returns:
            The hash, which has taken in the key.
        """
        return Sha256(state=self._inner, octets=BLOCK_OCTETS)

    def end(self, var message: Sha256) -> Sha256Digest:
        """Ends a message.

        Args:
            message: The hash that `begin` has returned.

        Returns:
            The code of the message. Compare codes as digests: that takes the
            same time wherever they differ.
        """
        var inner = message^.digest()
        var outer = Sha256(state=self._outer, octets=BLOCK_OCTETS)
        var octets = Array[UInt8, 32](fill=0)
        for i in range(32):
            octets[i] = inner[i]
        outer.update(Span(octets))
        return outer^.digest()

    def code(self, octets: Span[UInt8, _]) -> Sha256Digest:
        """Returns the code of a message.

        Args:
            octets: The message.

        Returns:
            The code.
        """
        var message = self.begin()
        message.update(octets)
        return self.end(message^)


def same_digest(a: Sha256Digest, b: Sha256Digest) -> Bool:
    """Returns whether two digests are equal, in constant time.

    Args:
        a: A digest, such as the code that a peer has sent.
        b: The right digest.

    Returns:
        True if all octets are equal. The time says nothing about where they
        differ, so that a code cannot be guessed octet by octet.
    """
    return (a ^ b).reduce_or() == 0


def derived_key(secret: Span[UInt8, _], purpose: StringSlice) -> Sha256Digest:
    """Derives a key for one purpose from a secret (HKDF, RFC 5869, without
    salt).

    Args:
        secret: Octets that are hard to guess.
        purpose: The `info` of section 2.3. The keys of two purposes are
            independent.

    Returns:
        A key of 32 octets.
    """
    var extracted = HmacKey(HmacKey(Sha256Digest(0)).code(secret))
    var message = extracted.begin()
    message.update(purpose.as_bytes())
    # The number of the first and only block of output.
    var number: List[UInt8] = [1]
    message.update(Span(number))
    return extracted.end(message^)


def _with_pad(key: Array[UInt8, BLOCK_OCTETS], pad: UInt8) -> Sha256State:
    var block = Array[UInt8, BLOCK_OCTETS](fill=0)
    for i in range(BLOCK_OCTETS):
        block[i] = key[i] ^ pad
    return compress(materialize[FIRST_STATE](), Span(block).unsafe_ptr())
