"""Any octets in any split give a server the same events or the same error.

Invariant: a server machine reports the same, and fails with the same status and reason,
however the octets are cut, and it accepts exactly the requests, with exactly
the fields and bodies, that a naive parser of the whole input finds.
"""

from flare.proto.h1 import H1Limits, Role

from fuzz.h1_grammar import request
from fuzz.h1_reference import END, REJECTED, Reference
from fuzz.h1_split import cuts_of, require_equal
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate
from tests.proto.conversation import Conversation
from tests.proto.phase import phase_of


def fuzz_h1_server(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one input whole and cut, and to the naive parser.

    Args:
        random: Draws the input and the cuts.
        histogram: Counts what came of it.

    Raises:
        Error: If two of them disagree.
    """
    var octets = request(random)
    if random.chance(60):
        octets = mutate(octets, random)
    histogram.input(octets)
    var limits = H1Limits()
    var whole = _serve(octets, [], limits)
    var reference = Reference(octets)
    reference.read_requests()
    _compare(whole, reference)
    for _ in range(2):
        require_equal(whole, _serve(octets, cuts_of(octets, random), limits))
    if random.chance(10):
        var every = List[Int]()
        for i in range(1, len(octets)):
            every.append(i)
        require_equal(whole, _serve(octets, every, limits))
    _fuzz_small_limits(octets, random)
    _count(whole, reference, histogram)


def _fuzz_small_limits(octets: List[UInt8], mut random: Random) raises:
    var limits = H1Limits(
        request_target_octets_max=UInt32(random.between(1, 10)),
        field_section_octets_max=UInt32(random.between(10, 90)),
        field_lines_max=UInt32(random.between(1, 5)),
        trailer_section_octets_max=UInt32(random.below(40)),
        chunk_extension_octets_max=UInt32(random.below(16)),
        chunk_extensions_octets_max=UInt32(random.below(32)),
        empty_lines_max=UInt32(random.below(2)),
        body_octets_max=random.below(50),
    )
    var whole = _serve(octets, [], limits)
    require_equal(whole, _serve(octets, cuts_of(octets, random), limits))


def _serve(
    octets: List[UInt8], cuts: List[Int], limits: H1Limits
) raises -> List[String]:
    var conversation = Conversation(Role.SERVER, limits)
    var start = 0
    for i in range(len(cuts) + 1):
        var end = cuts[i] if i < len(cuts) else len(octets)
        conversation.receive(Span(octets)[start:end])
        start = end
        _answer_all(conversation)
    conversation.act("end")
    conversation.transcript.add("? " + String(conversation.reason))
    return conversation.transcript.lines.copy()


def _answer_all(mut conversation: Conversation) raises:
    while True:
        ref lines = conversation.transcript.lines
        var last = len(lines) - 1
        while last >= 0 and lines[last] == "= PAUSED":
            last -= 1
        if last < 0 or lines[last] != "= END_OF_MESSAGE":
            return
        if phase_of(conversation.machine) != "AWAIT_RESPONSE":
            return
        conversation.act("respond 200 none")
        conversation.act("finish")


def _compare(lines: List[String], reference: Reference) raises:
    var seen = List[String]()
    var complete = 0
    var is_refused = False
    for line in lines:
        if line[byte=0:1] in "<?" or line == "= PAUSED":
            continue
        seen.append(line)
        is_refused = is_refused or line.startswith("! ")
        if line == "= END_OF_MESSAGE":
            complete = len(seen)
    var tail = List[String](Span(seen)[complete:])
    seen.shrink(complete)
    require_equal(reference.lines, seen)
    if reference.verdict == REJECTED and not is_refused:
        raise Error("accepted what the reference rejects")
    if reference.verdict == END and is_refused:
        raise Error("refused what the reference accepts")
    if reference.verdict == END and len(tail) > 1:
        raise Error("reported more than there is: ", tail[0])


def _count(lines: List[String], reference: Reference, mut histogram: Histogram):
    var messages = 0
    var outcome = String(", then nothing")
    for line in lines:
        if line == "= END_OF_MESSAGE":
            messages += 1
        elif line == "= RESET":
            outcome = ", then cut off"
        elif line.startswith("! "):
            outcome = String(", then ") + String(line[byte=2:])
    if messages > 0:
        histogram.count_whole("complete: 1" + outcome)
    else:
        histogram.count("complete: 0" + outcome)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_h1_server)
