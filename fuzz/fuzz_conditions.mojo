"""Conditional requests are decided as by a reader of the RFC's steps.

Invariant: any field lines lead to the decision of a model that reads each list
octet by octet and follows the steps of RFC 9110 section 13.2.2; and a Range
applies if the model says so.
"""

from flare.http.conditions import (
    ConditionResult,
    Validators,
    evaluate_conditions,
    range_applies,
)
from flare.message import ETag, HeaderMap, HttpDate, Method

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate

comptime _NOW = 1795255200
comptime _NAMES: List[StaticString] = [
    "If-Match",
    "If-None-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "If-Range",
    "if-none-match",
    "IF-MATCH",
    "Accept",
]
comptime _TAGS: List[StaticString] = [
    '"a"',
    'W/"a"',
    '"b"',
    'W/"b"',
    '""',
    '"a,b"',
    '"ab"',
    '"W/"',
    '"*"',
]


def fuzz_conditions(mut random: Random, mut histogram: Histogram) raises:
    """Decides about one request.

    Args:
        random: Draws its fields and the validators.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var request = Request(random)
    histogram.input(request.text().as_bytes())
    var fields = HeaderMap()
    try:
        for i in range(len(request.names)):
            fields.append(
                request.names[i],
                StringSlice(unsafe_from_utf8=Span(request.values[i])),
            )
    except:
        histogram.count("no field value")
        return
    var validators = Validators(exists=request.exists)
    if request.tag != "":
        validators.tag = ETag.parse(request.tag.as_bytes()).value().copy()
    if request.modified:
        validators.modified = HttpDate(request.modified.value())
    var result = evaluate_conditions(
        request.method, fields.view(), validators, _NOW
    )
    var got: StaticString = "passed"
    if result == ConditionResult.NOT_MODIFIED:
        got = "not modified"
    elif result == ConditionResult.FAILED:
        got = "failed"
    var expected = request.decide()
    if got != expected:
        raise Error("it ", got, ", not ", expected, ": ", request.text())
    var applies = range_applies(fields.view(), validators, _NOW)
    if applies != request.range_applies():
        raise Error("If-Range holds: ", applies, ": ", request.text())
    histogram.count_whole(
        String(got, ", range applies" if applies else ", no range")
    )


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_conditions)


struct Request(Movable):
    """A request as it is drawn, and the decision about it."""

    var method: Method
    """The method."""
    var names: List[String]
    """The names of the lines."""
    var values: List[List[UInt8]]
    """Their values."""
    var tag: String
    """The tag of the representation; empty without one."""
    var modified: Optional[Int]
    """Its date."""
    var exists: Bool
    """Whether there is a representation."""

    def __init__(out self, mut random: Random):
        """Draws a request.

        Args:
            random: Draws it.
        """
        self.method = random.pick[Method](
            [
                Method.GET,
                Method.GET,
                Method.HEAD,
                Method.PUT,
                Method.PUT,
                Method.DELETE,
                Method.OTHER,
                Method.OPTIONS,
            ]
        )
        self.names = []
        self.values = []
        self.exists = random.chance(85)
        self.tag = String()
        if self.exists and random.chance(85):
            self.tag = String(random.pick(materialize[_TAGS]()))
        self.modified = None
        if self.exists and random.chance(80):
            self.modified = _NOW - random.below(3)
        for _ in range(random.below(5)):
            var name = random.pick(materialize[_NAMES]())
            var value: String
            if "since" in String(name).lower():
                value = _date(random)
            elif name == "If-Range" and random.chance(40):
                value = _date(random)
            else:
                value = _list(random)
            var octets = List[UInt8](value.as_bytes())
            if random.chance(12):
                octets = mutate(Span(octets), random)
            self.names.append(String(name))
            self.values.append(octets^)

    def text(self) -> String:
        """Writes the request for a report.

        Returns:
            A text.
        """
        var text = String(
            self.method,
            " tag ",
            self.tag,
            " modified ",
            self.modified.or_else(0),
            " exists ",
            self.exists,
            "\n",
        )
        for i in range(len(self.names)):
            text += String(self.names[i], ": ")
            text += String(from_utf8_lossy=Span(self.values[i]))
            text += "\n"
        return text^

    def decide(self) -> StaticString:
        """Follows the steps of RFC 9110 section 13.2.2.

        Returns:
            The decision.
        """
        if self.method == Method.OPTIONS:
            return "passed"
        var reads = self.method == Method.GET or self.method == Method.HEAD
        # Steps 1 and 2.
        if self._count("if-match") > 0:
            if not self._matches("if-match", False):
                return "failed"
        elif self._count("if-unmodified-since") == 1 and self.modified:
            var date = self._date_of("if-unmodified-since")
            if date and self.modified.value() > date.value():
                return "failed"
        # Steps 3 and 4.
        if self._count("if-none-match") > 0:
            if self._matches("if-none-match", True):
                return "not modified" if reads else "failed"
        elif reads and self._count("if-modified-since") == 1 and self.modified:
            var date = self._date_of("if-modified-since")
            if date and not self.modified.value() > date.value():
                return "not modified"
        return "passed"

    def range_applies(self) -> Bool:
        """Follows RFC 9110 section 13.1.5.

        Returns:
            Whether a Range counts.
        """
        var count = self._count("if-range")
        if count != 1:
            return count == 0
        for i in range(len(self.names)):
            if self.names[i].lower() != "if-range":
                continue
            var value = String(from_utf8_lossy=Span(self.values[i]).copy())
            value = _trimmed(value)
            if value.startswith('"') or value.startswith("W/"):
                return value == self.tag and not self.tag.startswith("W/")
        var date = self._date_of("if-range")
        return (
            Bool(date)
            and Bool(self.modified)
            and date.value() == self.modified.value()
        )

    def _count(self, name: String) -> Int:
        var count = 0
        for own in self.names:
            count += 1 if own.lower() == name else 0
        return count

    def _date_of(self, name: String) -> Optional[Int]:
        for i in range(len(self.names)):
            if self.names[i].lower() == name:
                var value = _trimmed_octets(Span(self.values[i]))
                # Dates have a harness of their own.
                var date = HttpDate.parse(Span(value), _NOW)
                if date:
                    return date.value().seconds
        return None

    def _matches(self, name: String, weakly: Bool) -> Bool:
        for i in range(len(self.names)):
            if self.names[i].lower() != name:
                continue
            var value = _trimmed_octets(Span(self.values[i]))
            if len(value) == 1 and value[0] == 42:
                if self.exists:
                    return True
                continue
            for member in _members(Span(value)):
                var mine = self.tag
                var other = member
                if weakly:
                    mine = _without_mark(mine)
                    other = _without_mark(other)
                elif mine.startswith("W/"):
                    continue
                if mine != "" and mine == other:
                    return True
        return False


def _without_mark(tag: String) -> String:
    return String(tag[byte=2:]) if tag.startswith("W/") else tag


def _members(octets: Span[UInt8, _]) -> List[String]:
    # A machine of few states that reads tags until one is malformed.
    var members = List[String]()
    var member = String()
    # 0 before a tag, 1 after its W, 2 after its slash, 3 inside of it, 4 after
    # it.
    var state = 0
    for octet in octets:
        var is_blank = octet == 32 or octet == 9
        if state == 3:
            member += chr(Int(octet))
            if octet == 34:
                state = 4
        elif state == 4:
            if octet == 44:
                members.append(member)
                member = String()
                state = 0
            elif not is_blank:
                return members^
        elif octet == 34:
            if state == 1:
                return members^
            member += '"'
            state = 3
        elif state == 0 and octet == 87:
            member = "W"
            state = 1
        elif state == 1 and octet == 47:
            member += "/"
            state = 2
        elif state != 0 or not (is_blank or octet == 44):
            return members^
    if state == 4:
        members.append(member)
    return members^


def _trimmed_octets(octets: Span[UInt8, _]) -> List[UInt8]:
    var start = 0
    var end = len(octets)
    while start < end and (octets[start] == 32 or octets[start] == 9):
        start += 1
    while start < end and (octets[end - 1] == 32 or octets[end - 1] == 9):
        end -= 1
    return List[UInt8](octets[start:end])


def _trimmed(text: String) -> String:
    var octets = _trimmed_octets(text.as_bytes())
    return String(StringSlice(unsafe_from_utf8=Span(octets)))


def _date(mut random: Random) -> String:
    if random.chance(10):
        return random.pick[String](["", "0", "yesterday", "Sat, 32 Jan"])
    var date = String(HttpDate(_NOW - random.below(4)))
    if random.chance(80):
        return date^
    # The short name of the day gets a comma in one format only.
    return date.replace(",", "") if random.chance(50) else date + " "


def _list(mut random: Random) -> String:
    if random.chance(12):
        return random.pick[String](["*", "", ",", "*, *", " * ", '"'])
    var text = String()
    for i in range(random.between(1, 4)):
        if i > 0:
            text += random.pick[StaticString]([",", ", ", " ,\t", ",,", " "])
        if random.chance(5):
            text += random.pick[StaticString](["a", "*", "w/", "W/", '"'])
        else:
            text += random.pick(materialize[_TAGS]())
    return text^
