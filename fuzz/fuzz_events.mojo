"""A browser gets the events that a program sends, and no others.

Invariant: a parser that follows the HTML standard section 9.2.6 line by line
finds exactly one event for each that was written, with its name, id and retry
time, and with its data, in which each line end has become LF. An event with a
line end or NUL in name or id is refused, and writes nothing.
"""

from flare.http.event_text import write_event

from fuzz.harness import Histogram, run
from fuzz.random import Random

comptime _PIECES: List[StaticString] = [
    "a",
    " ",
    ":",
    "\n",
    "\r",
    "\r\n",
    "data: x",
    "id: 7",
    "event",
    "retry:1",
    "é",
    "\0",
    "\n\n",
    "\xef\xbb\xbf",
]


def fuzz_events(mut random: Random, mut histogram: Histogram) raises:
    """Writes a few events and parses them.

    Args:
        random: Draws the events.
        histogram: Counts the outcomes.

    Raises:
        Error: If the invariant does not hold.
    """
    var text = String()
    var wanted = List[_Event]()
    var last_id = String()
    var retry_ms = -1
    for _ in range(random.between(1, 4)):
        var data = _draw(random, 6)
        var name = _draw(random, random.pick([0, 0, 2]))
        var id = Optional[String](None)
        if random.chance(40):
            id = _draw(random, 2)
        var retry = Optional[Int](None)
        if random.chance(20):
            retry = random.below(100_000)
        var is_refused = _has_end(name) or (id and _has_end(id.value()))
        try:
            text += write_event(data, name=name, id=id, retry_ms=retry)
        except e:
            if not is_refused:
                raise Error("refused: ", e)
            histogram.count("refused")
            continue
        if is_refused:
            raise Error("a line end in name or id")
        if id:
            last_id = id.value()
        if retry:
            retry_ms = retry.value()
        var lines = data.replace("\r\n", "\n").replace("\r", "\n")
        wanted.append(_Event(lines, name, last_id, retry_ms))
    histogram.input(text.as_bytes())
    _compare(_parsed(text), wanted)
    histogram.count_whole("events" if wanted else "none")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_events)


@fieldwise_init
struct _Event(Copyable, Movable):
    var data: String
    var name: String
    # The values that hold when it is dispatched.
    var last_id: String
    var retry_ms: Int


def _compare(found: List[_Event], wanted: List[_Event]) raises:
    if len(found) != len(wanted):
        raise Error(len(found), " events instead of ", len(wanted))
    for i in range(len(found)):
        if found[i].data != wanted[i].data:
            raise Error("other data")
        if found[i].name != wanted[i].name:
            raise Error("another name")
        if found[i].last_id != wanted[i].last_id:
            raise Error("another id")
        if found[i].retry_ms != wanted[i].retry_ms:
            raise Error("another retry time")


def _parsed(text: String) -> List[_Event]:
    var events = List[_Event]()
    var data = String()
    var name = String()
    var last_id = String()
    var retry_ms = -1
    var has_data = False
    # The standard's grammar: a line ends at CR LF, CR or LF.
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line == "":
            if has_data:
                events.append(
                    _Event(
                        String(data[byte = : data.byte_length() - 1]),
                        name,
                        last_id,
                        retry_ms,
                    )
                )
            data = String()
            name = String()
            has_data = False
            continue
        var colon = line.find(":")
        if colon == 0:
            continue
        var field = String(line)
        var value = String()
        if colon > 0:
            field = String(line[byte=:colon])
            value = String(line[byte = colon + 1 :].removeprefix(" "))
        if field == "data":
            data += value + "\n"
            has_data = True
        elif field == "event":
            name = value
        elif field == "id" and "\0" not in value:
            last_id = value
        elif field == "retry":
            try:
                retry_ms = Int(value)
            except:
                pass
    return events^


def _has_end(text: String) -> Bool:
    return "\n" in text or "\r" in text or "\0" in text


def _draw(mut random: Random, pieces_max: Int) -> String:
    var text = String()
    if pieces_max == 0:
        return text^
    for _ in range(random.below(pieces_max + 1)):
        text += random.pick(materialize[_PIECES]())
    return text^
