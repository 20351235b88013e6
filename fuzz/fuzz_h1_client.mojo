"""Any octets in any split give a client the same events or the same error.

Invariant: a client machine reports the same, and fails alike, however the
octets are cut; it accepts exactly the responses, with exactly the fields and
bodies, that a naive parser of the whole input finds; nothing behind a response
is ever reported; and a response that only a client may read is the last one.
"""

from flare.proto.h1 import H1Limits, Role

from fuzz.h1_grammar import response
from fuzz.h1_reference import END, REJECTED, Reference
from fuzz.h1_split import cuts_of, require_equal
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate
from tests.proto.conversation import Conversation


def fuzz_h1_client(mut random: Random, mut histogram: Histogram) raises:
    """Feeds one input whole and cut, and to the naive parser.

    Args:
        random: Draws the input and the cuts.
        histogram: Counts what came of it.

    Raises:
        Error: If two of them disagree.
    """
    var methods: List[String] = ["GET", "GET", "POST", "GET", "HEAD", "CONNECT"]
    var method = random.pick(methods)
    var octets = response(random)
    if random.chance(60):
        octets = mutate(octets, random)
    histogram.input(octets)
    var limits = H1Limits()
    var whole = _receive(method, octets, [], limits)
    var reference = Reference(octets)
    reference.read_response(method)
    _compare(whole, reference)
    for _ in range(2):
        var cuts = cuts_of(octets, random)
        require_equal(whole, _receive(method, octets, cuts, limits))
    limits = H1Limits(
        request_target_octets_max=UInt32(random.between(1, 10)),
        field_section_octets_max=UInt32(random.between(10, 60)),
        field_lines_max=UInt32(random.between(1, 5)),
        chunk_extension_octets_max=UInt32(random.below(16)),
        informational_responses_max=UInt32(random.below(2)),
        body_octets_max=random.below(50),
    )
    var cuts = cuts_of(octets, random)
    require_equal(
        _receive(method, octets, [], limits),
        _receive(method, octets, cuts, limits),
    )
    _count(whole, histogram)


def _receive(
    method: String, octets: List[UInt8], cuts: List[Int], limits: H1Limits
) raises -> List[String]:
    var conversation = Conversation(Role.CLIENT, limits)
    conversation.act("field Host: a")
    conversation.act(String("request ", method, " / none"))
    conversation.act("finish")
    var start = 0
    for i in range(len(cuts) + 1):
        var end = cuts[i] if i < len(cuts) else len(octets)
        conversation.receive(Span(octets)[start:end])
        start = end
    var is_kept = conversation.machine.can_reuse()
    conversation.act("end")
    # What may differ is how often nothing was reported.
    var lines = List[String]()
    for line in conversation.transcript.lines:
        if line != "= PAUSED" and line != "= GOING_AWAY":
            lines.append(line)
    lines.append("? " + String(conversation.reason))
    if is_kept:
        lines.append("? kept")
    return lines^


def _compare(lines: List[String], reference: Reference) raises:
    var seen = List[String]()
    var decided = 0
    var is_refused = False
    for line in lines:
        if line[byte=0:1] in "<?":
            continue
        seen.append(line)
        is_refused = is_refused or line.startswith("! ")
        if line == "= END_OF_MESSAGE" or line == "= UPGRADED":
            decided = len(seen)
    if reference.verdict == END or decided > 0:
        seen.shrink(decided)
        require_equal(reference.lines, seen)
    if reference.verdict == REJECTED and not is_refused:
        raise Error("accepted what the reference rejects")
    if reference.verdict == END and is_refused:
        raise Error("refused what the reference accepts")
    if lines[len(lines) - 1] == "? kept":
        if reference.is_odd or reference.was_odd:
            raise Error("the connection of an odd response is kept")


def _count(lines: List[String], mut histogram: Histogram):
    var outcome = String("incomplete")
    for line in lines:
        if line == "= END_OF_MESSAGE":
            outcome = "complete"
        elif line == "= UPGRADED":
            outcome = "complete, upgraded"
        elif line == "= RESET":
            outcome = "cut off"
        elif line.startswith("! "):
            outcome += ", refused"
    if outcome.startswith("complete"):
        histogram.count_whole(outcome)
    else:
        histogram.count(outcome)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_h1_client)
