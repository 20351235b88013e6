"""JSON is accepted exactly as a plain judge does, and round trips are exact.

Invariant: any octets are accepted, read or passed over, exactly when the judge
accepts them; what is written reads back and is written the same, compact and
indented; each member is found by its key, in a dictionary too; a struct that
holds its own type ends no stack; numbers are the nearest ones; errors are those of the package, and their place lies within the
text.
"""

from std.memory import ArcPointer

from flare.json import (
    FromJson,
    JsonError,
    JsonReader,
    JsonWriter,
    ToJson,
    Value,
    decode,
    dumps,
    loads,
)

from fuzz.harness import Histogram, run
from fuzz.json_model import (
    accepts_text,
    build_deep_text,
    build_number,
    build_text,
)
from fuzz.random import Random, mutate, splice


@fieldwise_init
struct Inner(Copyable, FromJson, ToJson):
    """Is what drawn keys often hit."""

    var a: Optional[Int]
    """A number."""
    var b: Optional[List[Float64]]
    """Numbers."""
    var c: Optional[String]
    """A text."""


@fieldwise_init
struct Outer(Copyable, FromJson, ToJson):
    """Is what drawn keys often hit."""

    var a: Optional[Inner]
    """An object."""
    var b: Optional[Value]
    """Anything."""
    var c: Optional[List[Inner]]
    """Objects."""
    var d: Optional[Dict[String, Inner]]
    """Objects under keys of any kind."""
    var e: Optional[List[Again]]
    """Structs of its own type, as deep as the text says."""


@fieldwise_init
struct Again(Copyable, FromJson, ToJson):
    """Holds an `Outer` inside of an `Outer`."""

    var outer: ArcPointer[Outer]
    """The inner one."""

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Takes an `Outer`.

        Args:
            json: Stands in front of it.

        Returns:
            What holds it.

        Raises:
            An error if it is none.
        """
        return Self(ArcPointer(Outer.from_json(json)))

    def to_json(self, json: JsonWriter) raises:
        """Writes the `Outer`.

        Args:
            json: The destination.

        Raises:
            An error if the stack has no room.
        """
        self.outer[].to_json(json)


def fuzz_json(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one text or number.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If reader and judge disagree, or a round trip is not exact.
    """
    if random.chance(15):
        return _check_number(build_number(random), histogram)
    if random.chance(2):
        return _check_halfway(random, histogram)
    var octets = build_text(random)
    if random.chance(4):
        octets = build_deep_text(random)
    if random.chance(50):
        octets = mutate(octets, random)
        if random.chance(10):
            octets = splice(octets, build_text(random), random)
        if random.chance(10):
            octets = _with_malformed_utf8(octets, random)
    histogram.input(octets)
    _check_struct(octets, histogram)
    var is_expected = accepts_text(Span(octets))
    var value: Value
    try:
        value = loads(Span(octets))
    except e:
        histogram.count("refused")
        _check_error(e, octets)
        if is_expected:
            raise Error("refused a text: ", e)
        _check_passed_over(octets, e)
        return
    histogram.count_whole("accepted")
    if not is_expected:
        raise Error("accepted what is no JSON")
    var text = dumps(value)
    if not accepts_text(text.as_bytes()):
        raise Error("wrote what is no JSON: ", text)
    for again in [
        loads(text),
        loads(dumps(value, indent=1)),
        decode[Value](Span(octets)),
    ]:
        if dumps(again) != text:
            raise Error("read back as ", again)
    _check_members(value)
    _check_dict(octets, value, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_json)


def _check_passed_over(octets: List[UInt8], refusal: Error) raises:
    try:
        _ = decode[Value](Span(octets))
    except e:
        if String(e) != String(refusal):
            raise Error("passed over it is ", e, ", read it is ", refusal)
        _check_refused_as_dict(octets, refusal)
        return
    raise Error("passed over what is no JSON")


def _check_refused_as_dict(octets: List[UInt8], refusal: Error) raises:
    try:
        _ = decode[Dict[String, Value]](Span(octets))
    except e:
        _check_error(e, octets)
        var is_other_type = JsonError.of(e).value().kind == JsonError.WRONG_TYPE
        if not is_other_type and String(e) != String(refusal):
            raise Error("as a dictionary it is ", e, ", else ", refusal)
        return
    raise Error("a dictionary was read from what is no JSON")


def _check_dict(
    octets: List[UInt8], value: Value, mut histogram: Histogram
) raises:
    var dict: Dict[String, Value]
    try:
        dict = decode[Dict[String, Value]](Span(octets))
    except e:
        if value.is_object():
            raise Error("refused a dictionary: ", e)
        if JsonError.of(e).value().kind != JsonError.WRONG_TYPE:
            raise Error("no dictionary, but ", e)
        return
    histogram.count("dictionary")
    if dumps(dict) != dumps(value):
        raise Error("the dictionary became ", dumps(dict))
    var members = value.members()
    if len(dict) != len(members):
        raise Error("has ", len(dict), " of ", len(members), " members")
    for member in members:
        if dumps(dict[member.key]) != dumps(member.value):
            raise Error("found another value for ", dumps(member.key))


def _check_error(e: Error, octets: List[UInt8]) raises:
    var error = JsonError.of(e)
    if not error:
        raise Error("not an error of the package: ", e)
    var lines = 1
    for octet in octets:
        if octet == 10:
            lines += 1
    if error.value().line < 1 or error.value().line > lines:
        raise Error("the line is not in the text: ", e)
    if error.value().column < 1 or error.value().column > len(octets) + 1:
        raise Error("the column is not in the text: ", e)
    for octet in String(e).as_bytes():
        if octet < 32 or octet > 126:
            raise Error("the error holds octet ", octet)
    if String(error.value()) != String(e):
        raise Error("the error reads back as ", error.value())


def _with_malformed_utf8(
    octets: List[UInt8], mut random: Random
) -> List[UInt8]:
    # A half of a surrogate pair, forms that are too long, a code point behind
    # the last one, and the beginning of one.
    var malformed: List[List[UInt8]] = [
        [0xED, 0xA0, 0x80],
        [0xED, 0xBF, 0xBF],
        [0xC0, 0xAF],
        [0xE0, 0x9F, 0xBF],
        [0xF0, 0x8F, 0xBF, 0xBF],
        [0xF4, 0x90, 0x80, 0x80],
        [0xE2, 0x82],
    ]
    var at = random.below(len(octets) + 1)
    var text = List[UInt8](Span(octets)[:at])
    text.extend(Span(malformed[random.below(len(malformed))]))
    text.extend(Span(octets)[at:])
    return text^


def _check_members(value: Value) raises:
    # A list of what is left: a value is deeper than a stack.
    var left: List[Value] = [value]
    while left:
        var next = left.pop()
        if next.is_string():
            # What is no part of a text that was read is written another way.
            if dumps(next.string_value()) != dumps(next):
                raise Error("another form of ", next)
        if next.is_array():
            left.extend(next.elements())
        if not next.is_object():
            continue
        var members = next.members()
        if len(members) != len(next):
            raise Error("counts ", len(members), " of ", len(next), " members")
        for member in members:
            if dumps(next[member.key]) != dumps(member.value):
                raise Error("found another value for ", dumps(member.key))
            left.append(member.value)


def _check_struct(octets: List[UInt8], mut histogram: Histogram) raises:
    var outer: Outer
    try:
        outer = decode[Outer](Span(octets))
    except e:
        _check_error(e, octets)
        return
    histogram.count("struct")
    if not accepts_text(Span(octets)):
        raise Error("a struct was read from what is no JSON")
    var text: String
    try:
        text = dumps(outer)
    except e:
        # Frames that write may be larger than those that read.
        if JsonError.of(e).value().kind != JsonError.TOO_DEEP:
            raise e^
        histogram.count("too deep to write")
        return
    if dumps(decode[Outer](text)) != text:
        raise Error("a struct changed: ", text)


def _check_number(text: List[UInt8], mut histogram: Histogram) raises:
    histogram.input(text)
    var number = StringSlice(unsafe_from_utf8=Span(text))
    var value = loads(number)
    if value.number_text() != String(number):
        raise Error("the text became ", value.number_text())
    var expected = Float64(number)
    if not expected - expected == 0:
        histogram.count("too large")
        try:
            _ = value.float_value()
        except e:
            return
        raise Error("an infinite number")
    histogram.count_whole("number")
    if value.float_value() != expected or decode[Float64](number) != expected:
        raise Error("became ", value.float_value(), ", not ", expected)
    if decode[Float64](dumps(expected)) != expected:
        raise Error("written as ", dumps(expected))
    # Rounded once more it may be the neighbour only from the middle.
    var narrow = Float64(Float32(expected))
    var got = narrow
    if abs(expected) < 1e38:
        got = Float64(decode[Float32](number))
    if got != narrow and got - expected != expected - narrow:
        raise Error("a Float32 became ", got, ", not ", narrow)


def _check_halfway(mut random: Random, mut histogram: Histogram) raises:
    # An odd number above 2^24 lies between two neighbours of Float32.
    var odd = (1 << 24) + 2 * random.below(1 << 23) + 1
    var count = random.below(40)
    var text = String(odd)
    var expected = odd - 1 if odd & 3 == 1 else odd + 1
    if random.chance(40):
        text.write(".", String("0") * count, 1 + random.below(9))
        expected = odd + 1
    elif random.chance(50):
        text = String(odd - 1, ".", String("9") * (count + 1))
        expected = odd - 1
    if random.chance(50):
        # As many digits behind the point as are counted in the exponent.
        var front = String(text[byte=:8])
        var rest = String(text[byte=8:].removeprefix("."))
        text = String("0.00", front, rest, "e10")
    histogram.input(text.as_bytes())
    histogram.count_whole("halfway")
    if decode[Float32](text) != Float32(expected):
        raise Error("rounded to ", decode[Float32](text), ", not ", expected)
