"""Hashes passwords by scrypt (RFC 7914), with libcrypto of OpenSSL 3."""

from std.ffi import OwnedDLHandle, c_int

from flare.runtime import blocking

# 32 MiB and about 0.1 s for each password (RFC 7914 section 2).
comptime COST = 1 << 15
comptime BLOCK_SIZE = 8
comptime PARALLELISM = 1
comptime MEMORY_OCTETS_MAX = 64 << 20
comptime SALT_OCTETS = 16
comptime HASH_OCTETS = 32


@fieldwise_init
struct Password(Copyable):
    """A password as the database keeps it."""

    var salt: List[UInt8]
    var hash: List[UInt8]

    @staticmethod
    def of(text: String) raises -> Self:
        """Hashes a password with a new salt."""
        with open("/dev/urandom", "r") as random:
            var salt = random.read_bytes(SALT_OCTETS)
            return Self(salt.copy(), _hash(text, salt.copy()))

    def matches(self, text: String) raises -> Bool:
        """Returns whether the text is the password. The time does not depend on
        how many octets of the hash are right."""
        var found = _hash(text, self.salt.copy())
        if len(found) != len(self.hash):
            return False
        var difference = UInt8(0)
        for i in range(len(found)):
            difference |= found[i] ^ self.hash[i]
        return difference == 0


def no_password() -> Password:
    """Returns a password that no text matches. Comparing with it takes as long
    as with another one, so the time does not show which names exist."""
    return Password(
        List[UInt8](length=SALT_OCTETS, fill=0),
        List[UInt8](length=HASH_OCTETS, fill=0),
    )


def _hash(text: String, var salt: List[UInt8]) raises -> List[UInt8]:
    # On a helper thread: the worker serves other requests meanwhile.
    def derive() raises {var text, var salt^} -> List[UInt8]:
        var hash = List[UInt8](length=HASH_OCTETS, fill=0)
        var crypto = OwnedDLHandle("libcrypto.so.3")
        var succeeded = crypto.call["EVP_PBE_scrypt", c_int](
            text.unsafe_ptr(),
            UInt(text.byte_length()),
            salt.unsafe_ptr(),
            UInt(len(salt)),
            UInt64(COST),
            UInt64(BLOCK_SIZE),
            UInt64(PARALLELISM),
            UInt64(MEMORY_OCTETS_MAX),
            hash.unsafe_ptr(),
            UInt(len(hash)),
        )
        if succeeded != 1:
            raise Error("scrypt failed")
        return hash^

    return blocking(derive^)
