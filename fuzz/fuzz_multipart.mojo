"""Forms of parts are divided alike however they come, and as they were written.

Invariant: any octets yield events or a `MultipartError`, the same events
whatever the pieces; a line that begins with the boundary never lies in the
content of a part, and what the writer wrote comes back part by part, at the
length that it told before.
"""

from flare.core import Buffer, equals
from flare.proto.multipart import (
    MultipartError,
    MultipartEvent,
    MultipartLimits,
    MultipartMachine,
    MultipartPart,
    MultipartWriter,
    PartDescription,
)

from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate, splice


def fuzz_multipart(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one form.

    Args:
        random: Draws and damages it.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var kind = random.below(10)
    if kind < 4:
        return _check_written(random, histogram)
    var octets = _draw_form(random)
    if kind >= 7:
        octets = mutate(octets, random)
    elif kind == 6:
        octets = splice(octets, _draw_form(random), random)
    histogram.input(octets)
    var limits = MultipartLimits()
    limits.parts_max = 4
    limits.part_head_octets_max = 120
    limits.part_head_lines_max = 3
    limits.preamble_octets_max = 8
    var whole = _Transcript(octets, limits)
    whole.run(len(octets))
    for _ in range(2):
        var pieces = _Transcript(octets, limits)
        pieces.run(random.between(1, 5))
        if not equals(Span(pieces.text), Span(whole.text)):
            raise Error("the form is divided otherwise in pieces")
    for content in whole.contents:
        _check_content(content)
    if whole.is_whole:
        histogram.count_whole("whole")
    else:
        histogram.count(whole.reason)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_multipart)


struct _Transcript:
    var octets: List[UInt8]
    var limits: MultipartLimits
    # Heads and contents, divided.
    var text: List[UInt8]
    var parts: List[MultipartPart]
    var contents: List[List[UInt8]]
    var is_whole: Bool
    var reason: StaticString

    def __init__(out self, octets: List[UInt8], limits: MultipartLimits):
        self.octets = octets.copy()
        self.limits = limits
        self.text = []
        self.parts = []
        self.contents = []
        self.is_whole = False
        self.reason = ""

    def run(mut self, piece: Int) raises:
        # Every octet is offered again until it is consumed, never another one.
        try:
            self._run(piece)
        except e:
            self.reason = e.reason
            self.text.extend("! ".as_bytes())
            self.text.extend(e.reason.as_bytes())

    def _run(mut self, piece: Int) raises MultipartError:
        var machine = MultipartMachine("b-B".as_bytes(), self.limits)
        var start = 0
        var end = 0
        while True:
            var event = machine.next_event(Span(self.octets)[start:end])
            debug_assert(
                0 <= event.consumed <= end - start, "consumes too much"
            )
            if event.kind == MultipartEvent.END:
                self.is_whole = True
                return
            if event.kind == MultipartEvent.PART_HEAD:
                self.parts.append(machine.part.copy())
                self.contents.append(List[UInt8]())
                self.text.extend("<".as_bytes())
                self.text.extend(machine.part.name.as_bytes())
            elif event.kind == MultipartEvent.DATA:
                var at = start + event.start
                ref content = self.contents[len(self.contents) - 1]
                content.extend(Span(self.octets)[at : at + event.length])
                self.text.extend(Span(self.octets)[at : at + event.length])
            elif event.kind == MultipartEvent.END_OF_PART:
                self.text.extend(">".as_bytes())
            start += event.consumed
            if event.kind == MultipartEvent.NEED_OCTETS:
                debug_assert(
                    event.consumed > 0
                    or end - start < machine.window_octets_max(),
                    "wants more than it may",
                )
                if end == len(self.octets):
                    machine.receive_end()
                end = min(end + max(piece, 1), len(self.octets))


def _draw_form(mut random: Random) -> List[UInt8]:
    var octets = List[UInt8]()
    if random.chance(10):
        octets.extend(Span(random.octets_of("-bB\r\nx", random.below(9))))
        octets.extend("\r\n".as_bytes())
    for _ in range(random.below(4)):
        octets.extend("--b-B".as_bytes())
        if random.chance(10):
            octets.extend(Span(random.octets_of(" \t", random.below(4))))
        octets.extend("\r\n".as_bytes())
        octets.extend(_draw_head(random).as_bytes())
        octets.extend("\r\n".as_bytes())
        octets.extend(Span(_draw_content(random)))
        if random.chance(95):
            octets.extend("\r\n".as_bytes())
    octets.extend("--b-B--".as_bytes())
    if random.chance(30):
        octets.extend("\r\n".as_bytes())
    return octets^


def _draw_head(mut random: Random) -> StaticString:
    return random.pick(
        [
            StaticString('Content-Disposition: form-data; name="a"\r\n'),
            'content-disposition: form-data;name=b; filename="c\\"d"\r\n',
            'Content-Disposition: form-data; name="%22%0d"\r\nX:y\r\n',
            "Content-Disposition: form-data; name=a; filename*=utf-8''%C3\r\n",
            (
                "Content-Disposition: form-data; name=a; filename*=x'\r\n"
                "Content-Transfer-Encoding: base64\r\n"
            ),
            "Content-Type: a/b\r\nContent-Disposition: form-data; name=a\r\n",
            "Content-Disposition: form-data; name=a; name=b\r\n",
            "Content-Disposition: x; name=a\r\n",
            "X: y\r\n",
        ]
    )


def _draw_content(mut random: Random) -> List[UInt8]:
    var kind = random.below(4)
    if kind == 0:
        return random.octets(random.below(20))
    if kind == 1:
        return random.octets_of("\r\n-bB", random.below(20))
    if kind == 2:
        return List[UInt8]("x\r\n--b-A\r\n--b-\r\n-\r\n".as_bytes())
    return random.octets_of("abc ", random.below(40))


def _check_content(content: List[UInt8]) raises:
    comptime DELIMITER: StaticString = "\r\n--b-B"
    if len(content) >= 5 and equals(
        Span(content)[:5], DELIMITER.as_bytes()[2:]
    ):
        raise Error("the content of a part begins with a boundary")
    for i in range(len(content)):
        if i + 7 <= len(content) and equals(
            Span(content)[i : i + 7], DELIMITER.as_bytes()
        ):
            raise Error("a boundary lies in the content of a part")


def _check_written(mut random: Random, mut histogram: Histogram) raises:
    var writer = MultipartWriter("b-B")
    var output = Buffer()
    var parts = List[PartDescription]()
    var contents = List[List[UInt8]]()
    var length = writer.end_octets()
    for _ in range(random.below(4)):
        var part = PartDescription.field(_draw_name(random))
        if random.chance(50):
            part.file_name = _draw_name(random)
        if random.chance(30):
            part.content_type = "text/plain"
        var content = _draw_content(random)
        if not _is_free_of_boundary(content):
            content.clear()
        length += writer.part_octets(part, len(content))
        writer.write_head(part, output)
        output.append(Span(content))
        writer.write_part_end(output)
        parts.append(part^)
        contents.append(content^)
    writer.write_end(output)
    histogram.input(output.span())
    if len(output) != length:
        raise Error("the form has ", len(output), " octets, not ", length)
    var read = _Transcript(List[UInt8](output.span()), MultipartLimits())
    read.run(random.between(1, 40))
    if not read.is_whole or len(read.parts) != len(parts):
        raise Error("what was written is refused: ", read.reason)
    for i in range(len(parts)):
        if read.parts[i].name != parts[i].name:
            raise Error("part ", i, " has another name")
        if read.parts[i].is_file() != Bool(parts[i].file_name) or (
            parts[i].file_name
            and read.parts[i].file_name.value() != parts[i].file_name.value()
        ):
            raise Error("part ", i, " has another file name")
        if not equals(Span(read.contents[i]), Span(contents[i])):
            raise Error("part ", i, " has another content")
    histogram.count_whole("written and read")


def _draw_name(mut random: Random) -> String:
    # Neither an escape nor a backslash in front of a quotation mark or another
    # backslash: the writer escapes as browsers do, which is not one to one.
    return String(
        random.pick(
            [
                StaticString("a"),
                "",
                'say "x"',
                "line\r\nX: y",
                "50 %",
                "c:\\d e",
                "é.txt",
                "; name=b",
                "'",
            ]
        )
    )


def _is_free_of_boundary(content: List[UInt8]) -> Bool:
    # With the line end in front that the head has.
    var line = List[UInt8]("\r\n".as_bytes())
    line.extend(Span(content))
    line.extend("\r\n--b-B".as_bytes())
    for i in range(len(line) - 7):
        if equals(Span(line)[i : i + 7], "\r\n--b-B".as_bytes()):
            return False
    return True
