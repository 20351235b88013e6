"""The search for all errors of a JSON text agrees with a model that walks
through the values of the text.

Invariant: a text has no problem if and only if `decode` reads it; a text that is
no JSON has one, which is that of `loads`; otherwise the first one is that of
`decode`, the pointers are those of the model, in the order of the text, and
there are at most 32. A text that is too deep for the stack has one.
"""

from std.memory import ArcPointer

from flare.json import (
    FromJson,
    JsonError,
    JsonLimits,
    JsonProblem,
    JsonProblems,
    JsonReader,
    Value,
    decode,
    loads,
    problems_of,
)

from fuzz.harness import Histogram, run
from fuzz.json_model import accepts_text, build_deep_text, build_text
from fuzz.random import Random, mutate, splice

comptime _PROBLEMS_MAX = 32
comptime _POINTER_OCTETS_MAX = 256


@fieldwise_init
struct Even(Copyable, FromJson):
    """Is a text that is refused after it was decoded, if its length is odd."""

    var octets: Int
    """Its length."""

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Takes a text.

        Args:
            json: Stands in front of it.

        Returns:
            Its length.

        Raises:
            An error if it is none, or of odd length.
        """
        var text = json.string()
        if text.byte_length() % 2 == 1:
            raise json.fail("expected an even length")
        return Self(text.byte_length())


@fieldwise_init
struct Led(Copyable, FromJson):
    """Is an array that is refused within, after its first element."""

    var count: Int
    """The number of elements."""

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        """Takes an array that begins with a text of even length.

        Args:
            json: Stands in front of it.

        Returns:
            The number of its elements.

        Raises:
            An error if it is none.
        """
        if not json.begin_array():
            return Self(0)
        _ = Even.from_json(json)
        var count = 1
        while json.next_element():
            json.skip()
            count += 1
        return Self(count)


@fieldwise_init
struct Inner(Copyable, FromJson):
    """Is what drawn keys often hit."""

    var a: Int8
    """A small number, which may not lack."""
    var b: Optional[List[Float64]]
    """Numbers."""
    var c: Optional[Even]
    """A text of even length."""


@fieldwise_init
struct Outer(Copyable, FromJson):
    """Is what drawn keys often hit."""

    var a: Optional[Inner]
    """An object."""
    var b: Optional[Led]
    """An array."""
    var c: Optional[List[Inner]]
    """Objects."""
    var d: Optional[Dict[String, Inner]]
    """Objects under keys of any kind."""
    var e: Optional[List[Again]]
    """Structs of its own type, as deep as the text says."""
    var f: Optional[Value]
    """Anything."""


@fieldwise_init
struct Again(Copyable, FromJson):
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


def fuzz_json_problems(mut random: Random, mut histogram: Histogram) raises:
    """Searches one text.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the search and the model disagree.
    """
    var octets = _text(random)
    histogram.input(octets)
    var problems = problems_of[Outer](Span(octets))
    var refusal = Optional[Error](None)
    try:
        _ = decode[Outer](Span(octets))
    except e:
        refusal = e^
    if len(problems) > 0 and problems.found[0].kind == JsonError.TOO_DEEP:
        # The search needs more of the stack than `decode`.
        histogram.count("too deep")
        if len(problems) != 1 or problems.are_more or _levels(octets) < 20:
            raise Error("has ", len(problems), " problems too deep")
        return
    if not refusal:
        histogram.count_whole("no problem")
        if len(problems) > 0:
            raise Error("a problem of what is read: ", problems.found[0].reason)
        return
    if len(problems) == 0:
        raise Error("no problem of what is refused: ", refusal.value())
    if not accepts_text(Span(octets)):
        histogram.count("no JSON")
        _check_broken(octets, problems)
        return
    histogram.count_whole("problems")
    _check_same(problems.found[0], refusal.value())
    _check_order(problems)
    try:
        _ = loads(Span(octets), JsonLimits(duplicate_keys_allowed=False))
    except:
        histogram.count("equal keys")
        return
    var expected = List[String]()
    _outer(loads(Span(octets)), "", expected)
    if problems.are_more != (len(expected) > _PROBLEMS_MAX):
        raise Error("of ", len(expected), " problems: ", len(problems))
    if len(problems) != min(len(expected), _PROBLEMS_MAX):
        raise Error("has ", len(problems), ", not ", len(expected))
    for i in range(len(problems)):
        var pointer = _shortened(expected[i])
        if problems.found[i].pointer != pointer:
            raise Error(problems.found[i].pointer, " is not ", pointer)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_json_problems)


def _text(mut random: Random) -> List[UInt8]:
    if random.chance(3):
        return build_deep_text(random)
    if random.chance(1):
        # More values that are refused within than a text may have levels.
        var text = String('{"e":[', '{"b":["\\"",[]]},' * random.below(400))
        text.write('{"b":[[]]}]}')
        return List[UInt8](text.as_bytes())
    var octets = build_text(random)
    if random.chance(40):
        # As deep as the structs, and with keys that they have.
        var fronts: List[StaticString] = [
            '{"a":',
            '{"c":[{"a":1},',
            '{"e":[{"a":{"a":7}},',
            '{"d":{"x":{"a":"\\u0061\\n"},"y":',
            '{"e":[{"e":[{"c":[{"a":1,"c":"\\"}]","b":[1,"\\"",',
        ]
        var backs: List[StaticString] = [
            ',"c":7}',
            "]}",
            "]}",
            "}}",
            "]}]}]}]}",
        ]
        var kind = random.below(len(fronts))
        var text = List[UInt8](fronts[kind].as_bytes())
        var count = 1 + random.below(3)
        if random.chance(5) and kind > 0 and kind != 3:
            count = random.between(30, 36)
        for i in range(count):
            if i > 0:
                text.append(44)
                if kind == 3 or kind == 0:
                    text.extend('"b":'.as_bytes())
            text.extend(Span(build_text(random, 2)))
        text.extend(backs[kind].as_bytes())
        octets = text^
    if random.chance(30):
        octets = mutate(octets, random)
        if random.chance(10):
            octets = splice(octets, build_text(random), random)
    return octets^


def _levels(octets: List[UInt8]) -> Int:
    # At least as many as the text has, for brackets in strings count too.
    var levels = 0
    var most = 0
    for octet in octets:
        if octet == 91 or octet == 123:
            levels += 1
            most = max(most, levels)
        elif octet == 93 or octet == 125:
            levels -= 1
    return most


def _check_broken(octets: List[UInt8], problems: JsonProblems) raises:
    if len(problems) != 1 or problems.are_more:
        raise Error("no JSON has ", len(problems), " problems")
    try:
        _ = loads(Span(octets))
    except e:
        _check_same(problems.found[0], e)


def _check_same(problem: JsonProblem, e: Error) raises:
    var error = JsonError.of(e).value()
    if (
        problem.kind != error.kind
        or problem.reason != error.reason
        or problem.line != error.line
        or problem.column != error.column
    ):
        raise Error("the first is ", problem.reason, ", not ", e)


def _check_order(problems: JsonProblems) raises:
    var line = 1
    var column = 1
    for problem in problems.found:
        if problem.line < line or (
            problem.line == line and problem.column < column
        ):
            raise Error("not in order: ", problem.reason)
        line = problem.line
        column = problem.column
        if problem.pointer.byte_length() > _POINTER_OCTETS_MAX:
            raise Error("too long: ", problem.pointer)


def _outer(value: Value, at: String, mut found: List[String]) raises:
    if not value.is_object():
        found.append(at)
        return
    for member in value.members():
        ref part = member.value
        if part.is_null():
            continue
        var pointer = String(at, "/", member.key)
        if member.key == "a":
            _inner(part, pointer, found)
        elif member.key == "b":
            if not part.is_array():
                found.append(pointer)
            elif len(part) > 0 and not _is_even(part[0]):
                found.append(pointer + "/0")
        elif member.key == "c" or member.key == "e":
            if not part.is_array():
                found.append(pointer)
                continue
            var elements = part.elements()
            for i in range(len(elements)):
                if member.key == "c":
                    _inner(elements[i], String(pointer, "/", i), found)
                else:
                    _outer(elements[i], String(pointer, "/", i), found)
        elif member.key == "d":
            if not part.is_object():
                found.append(pointer)
                continue
            for inner in part.members():
                _inner(
                    inner.value,
                    String(pointer, "/", _escaped(inner.key)),
                    found,
                )


def _inner(value: Value, at: String, mut found: List[String]) raises:
    if not value.is_object():
        found.append(at)
        return
    var has_a = False
    for member in value.members():
        ref part = member.value
        var pointer = String(at, "/", member.key)
        if member.key == "a":
            has_a = True
            if not _is_small(part):
                found.append(pointer)
        elif part.is_null():
            continue
        elif member.key == "c":
            if not _is_even(part):
                found.append(pointer)
        elif member.key == "b":
            if not part.is_array():
                found.append(pointer)
                continue
            var elements = part.elements()
            for i in range(len(elements)):
                if not _is_float(elements[i]):
                    found.append(String(pointer, "/", i))
    if not has_a:
        found.append(at + "/a")


def _is_even(value: Value) raises -> Bool:
    return value.is_string() and value.string_value().byte_length() % 2 == 0


def _is_small(value: Value) raises -> Bool:
    if not value.is_number():
        return False
    var text = String(value.number_text())
    for octet in text.as_bytes():
        if octet != 45 and (octet < 48 or octet > 57):
            return False
    # Numbers have no zeros in front.
    if text.byte_length() > 4:
        return False
    return Int(text) >= -128 and Int(text) <= 127


def _is_float(value: Value) -> Bool:
    try:
        return value.is_number() and value.float_value() == value.float_value()
    except:
        return False


def _escaped(key: String) -> String:
    return key.replace("~", "~0").replace("/", "~1")


def _shortened(pointer: String) -> String:
    var text = pointer
    while text.byte_length() > _POINTER_OCTETS_MAX:
        var front = String(text[byte = : text.rfind("/")])
        text = front^
    return text^
