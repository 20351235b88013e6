"""Measures signed and encrypted values, without server and socket."""

from std.benchmark import black_box

from measure import measure

from flare.core.sha256 import sha256_digest
from flare.session import Encryptor, Protection, Signer

comptime _NOW = 1_700_000_000


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a value does not come back.
    """
    var block = List[UInt8](length=1000, fill=7)

    def digest(i: Int) raises {imm} -> Int:
        return Int(sha256_digest(Span(black_box(block)))[0])

    measure("session/SHA-256 of 1,000 octets", digest)
    var keys: List[String] = ["the first key of thirty-two octets or more"]
    protection("sign", Signer(keys=keys))
    protection("encrypt", Encryptor(keys=keys))


def protection[P: Protection](name: StaticString, protection: P) raises:
    var value = String("user 1234567, an editor")

    def protect(i: Int) raises {imm} -> Int:
        return protection.protect(
            "cookie user", black_box(value), now_seconds=_NOW
        ).byte_length()

    measure(String("session/", name, " 23 octets"), protect)
    var text = protection.protect("cookie user", value, now_seconds=_NOW)

    def reveal(i: Int) raises {imm} -> Int:
        return (
            protection.reveal(
                "cookie user",
                black_box(text),
                max_age_seconds=10,
                now_seconds=_NOW,
            )
            .value()
            .byte_length()
        )

    measure(String("session/", name, ", read back"), reveal)
