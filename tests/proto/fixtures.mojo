"""Loads fixtures and runs each whole, split in two everywhere, octet by octet.

A file holds fixtures separated by empty lines. A fixture is `# what it claims`,
`role server` or `role client`, perhaps `limits name value ...`, and then lines
in the order of the conversation: `>` octets received (escapes: \\r \\n \\t \\0 \\\\
\\xHH, and \\{N*text} repeats), `*` an action, `=` an event reported, `<` octets
that must be sent, `!` an error: the status to answer, or `local`. FIELD and
PAUSED events are compared only in fixtures that name one.
"""

from std.os import listdir

from flare.proto.h1 import H1Limits, Role

from tests.proto.conversation import Conversation
from tests.proto.transcript import Transcript

comptime _SPLIT_ALL_OCTETS_MAX = 1200


struct Fixture(Copyable, Movable):
    """Holds one conversation and what must come of it."""

    var title: String
    """What the fixture claims."""
    var role: UInt8
    """Which end is tested."""
    var limits: H1Limits
    """The limits of the machine."""
    var steps: List[String]
    """`*` lines as they stand; `>` stands for the next of `received`."""
    var received: List[List[UInt8]]
    """The octets of each run of `>` lines."""
    var expected: Transcript
    """The conversation as it must be."""

    def __init__(out self, title: String):
        """Makes an empty fixture for a server.

        Args:
            title: What it claims.
        """
        self.title = title
        self.role = Role.SERVER
        self.limits = H1Limits()
        self.steps = []
        self.received = []
        self.expected = Transcript()

    def take(mut self, line: String) raises:
        """Adds one line of the file.

        Args:
            line: The line, not empty, not a comment.

        Raises:
            Error: If it is of no known kind.
        """
        if line == "role client":
            self.role = Role.CLIENT
        elif line == "role server":
            self.role = Role.SERVER
        elif line.startswith("limits "):
            self._take_limits(line)
        elif line.startswith("> "):
            var octets = unescape(line[byte=2:])
            var n = len(self.steps)
            if n > 0 and self.steps[n - 1] == ">":
                self.received[len(self.received) - 1].extend(Span(octets))
            else:
                self.steps.append(">")
                self.received.append(octets^)
        elif line.startswith("* "):
            self.steps.append(line)
        elif line.startswith("< "):
            self.expected.join("< ", Span(unescape(line[byte=2:])))
        elif line.startswith("= DATA "):
            self.expected.join("= DATA ", Span(unescape(line[byte=7:])))
        elif line.startswith("= ") or line.startswith("! "):
            self.expected.add(line)
        else:
            raise Error("not a fixture line: ", line)

    def octet_count(self) -> Int:
        """Counts the octets received in the whole conversation.

        Returns:
            The count.
        """
        var count = 0
        for octets in self.received:
            count += len(octets)
        return count

    def check(self) raises -> Int:
        """Runs the conversation in every way and compares.

        Returns:
            How many runs were made.

        Raises:
            Error: If one of them differs from the expectation.
        """
        self._check_run(-1)
        self._check_run(-2)
        var n = self.octet_count()
        var runs = 2
        for at in range(1, n):
            if n > _SPLIT_ALL_OCTETS_MAX and at > 200 and n - at > 200:
                if at % 61 != 0:
                    continue
            self._check_run(at)
            runs += 1
        return runs

    def _check_run(self, split: Int) raises:
        # -1 lets everything arrive whole, -2 octet by octet.
        var conversation = Conversation(self.role, self.limits)
        var seen = 0
        var turn = 0
        for step in self.steps:
            if step != ">":
                conversation.act(String(step[byte=2:]))
                continue
            ref octets = self.received[turn]
            turn += 1
            var n = len(octets)
            if split == -2:
                for i in range(n):
                    conversation.receive(Span(octets)[i : i + 1])
            elif split > seen and split < seen + n:
                conversation.receive(Span(octets)[: split - seen])
                conversation.receive(Span(octets)[split - seen :])
            else:
                conversation.receive(Span(octets))
            seen += n
        var expected = self.expected.text()
        var got = _like(conversation.transcript, expected)
        if got != expected:
            raise Error(
                t"{self.title} (split {split})\nexpected\n{expected}got\n{got}"
            )

    def _take_limits(mut self, line: String) raises:
        var words = line.split(" ")
        for i in range(1, len(words) - 1, 2):
            var value = Int(words[i + 1])
            if words[i] == "target":
                self.limits.request_target_octets_max = UInt32(value)
            elif words[i] == "section":
                self.limits.field_section_octets_max = UInt32(value)
            elif words[i] == "trailers":
                self.limits.trailer_section_octets_max = UInt32(value)
            elif words[i] == "lines":
                self.limits.field_lines_max = UInt32(value)
            elif words[i] == "body":
                self.limits.body_octets_max = value
            elif words[i] == "extensions":
                self.limits.chunk_extensions_octets_max = UInt32(value)
            elif words[i] == "informational":
                self.limits.informational_responses_max = UInt32(value)
            else:
                raise Error("no such limit: ", line)


def load(directory: String) raises -> List[Fixture]:
    """Loads every fixture of a directory.

    Args:
        directory: The path from the root of the repository.

    Returns:
        The fixtures, file by file.

    Raises:
        Error: If a file cannot be read or is not in the format.
    """
    var fixtures = List[Fixture]()
    for name in listdir(directory):
        if not name.endswith(".fixture"):
            continue
        var text: String
        with open(directory + "/" + name, "r") as file:
            text = file.read()
        var is_inside = False
        for slice in text.split("\n"):
            var line = String(slice)
            if line == "":
                is_inside = False
            elif line.startswith("#"):
                if not is_inside:
                    fixtures.append(Fixture(String(name, ": ", line)))
                is_inside = True
            else:
                fixtures[len(fixtures) - 1].take(line)
    return fixtures^


def unescape(text: StringSlice) raises -> List[UInt8]:
    """Turns the escapes of a fixture line into octets.

    Args:
        text: The line behind its mark.

    Returns:
        The octets.

    Raises:
        Error: If an escape is not known.
    """
    var octets = List[UInt8]()
    var source = text.as_bytes()
    var i = 0
    while i < len(source):
        if source[i] != 92:
            octets.append(source[i])
            i += 1
            continue
        var kind = source[i + 1]
        i += 2
        if kind == UInt8(ord("r")):
            octets.append(13)
        elif kind == UInt8(ord("n")):
            octets.append(10)
        elif kind == UInt8(ord("t")):
            octets.append(9)
        elif kind == UInt8(ord("0")):
            octets.append(0)
        elif kind == 92:
            octets.append(92)
        elif kind == UInt8(ord("x")):
            octets.append(UInt8(atol(text[byte = i : i + 2], 16)))
            i += 2
        elif kind == UInt8(ord("{")):
            var star = text.find("*", i)
            var close = text.find("}", star)
            var part = unescape(text[byte = star + 1 : close])
            for _ in range(Int(text[byte=i:star])):
                octets.extend(Span(part))
            i = close + 1
        else:
            raise Error("unknown escape in ", text)
    return octets^


def _like(transcript: Transcript, expected: String) -> String:
    var shows_fields = expected.find("= FIELD ") >= 0
    var shows_pauses = expected.find("= PAUSED") >= 0
    var shown = Transcript()
    for line in transcript.lines:
        if line.startswith("= FIELD ") and not shows_fields:
            continue
        if line == "= PAUSED" and not shows_pauses:
            continue
        shown.lines.append(line)
    return shown.text()
