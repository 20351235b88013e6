"""Only a value that a listed key has protected for a purpose comes back.

Invariant: a signed or encrypted value comes back to everyone who has its key,
names its purpose and asks in time. Any other text, purpose, key or time has no
value, and a text that differs in a single octet is another one. Nothing is
raised for any text.
"""

from flare.session import Encryptor, Protection, Signer

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _PURPOSES: List[StaticString] = [
    "",
    "a",
    "b",
    "ab",
    "cookie a",
    "cookie ab",
    "text a",
]
comptime _KEYS: List[StaticString] = [
    "the first key of thirty-two octets",
    "the second key of thirty-two octets",
    "the third key of thirty-two octets",
]
comptime _NOW = 1_700_000_000
comptime _SKEW = 60


def fuzz_signed_value(mut random: Random, mut histogram: Histogram) raises:
    """Protects one value, and reads it or what has become of it.

    Args:
        random: Draws value, keys and damage.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var writers = _keys(random)
    var readers = _keys(random)
    if random.chance(60):
        readers = writers.copy()
    if random.chance(60):
        _check(
            Signer(keys=writers),
            Signer(keys=readers),
            writers[0] in readers,
            random,
            histogram,
        )
    else:
        _check(
            Encryptor(keys=writers),
            Encryptor(keys=readers),
            writers[0] in readers,
            random,
            histogram,
        )


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_signed_value)


def _check[
    P: Protection
](
    writer: P,
    reader: P,
    is_same_key: Bool,
    mut random: Random,
    mut histogram: Histogram,
) raises:
    var purpose = random.pick(materialize[_PURPOSES]())
    var value = String(
        from_utf8_lossy=Span(random.octets(random.below(random.pick([4, 80]))))
    )
    var text = writer.protect(purpose, value, now_seconds=_NOW)
    histogram.input(text.as_bytes())
    var asked = purpose
    if random.chance(30):
        asked = random.pick(materialize[_PURPOSES]())
    var max_age = random.pick([0, 1, 100])
    var now = _NOW + random.pick(
        [0, max_age, max_age + 1, -_SKEW, -_SKEW - 1, -1]
    )
    var changed = List[UInt8](text.as_bytes())
    if random.chance(30):
        changed = mutate(text.as_bytes(), random)
    elif random.chance(30):
        # The last letter alone: some of its bits belong to no octet.
        changed[len(changed) - 1] = UInt8(
            ord(random.pick([StaticString("A"), "B", "Q", "g", "w", "_"]))
        )
    var shown = String(from_utf8_lossy=Span(changed))
    var found = reader.reveal(
        asked, shown, max_age_seconds=max_age, now_seconds=now
    )
    var wanted = (
        is_same_key
        and asked == purpose
        and now - _NOW <= max_age
        and now >= _NOW - _SKEW
        and shown == text
    )
    if Bool(found) != wanted:
        raise Error("wanted ", wanted, ", age ", now - _NOW, " of ", max_age)
    if found and found.value() != value:
        raise Error("another value")
    if found:
        histogram.count_whole("a value")
    elif shown != text:
        histogram.count_whole("another text")
    else:
        histogram.count_whole("another key, purpose or time")


def _keys(mut random: Random) -> List[String]:
    var keys = List[String]()
    for _ in range(random.between(1, 3)):
        keys.append(String(random.pick(materialize[_KEYS]())))
    return keys^
