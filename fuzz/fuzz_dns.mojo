"""Answers of name servers are read as a plain judge reads them.

Invariant: any octets yield an answer, FOREIGN or MALFORMED, as the judge says;
an answer that was built means what it was built to mean; the offset of an error
lies within the message or right behind it, and a name that was read is written
again as it was asked.
"""

from flare.proto.dns import (
    HEADER_OCTETS,
    DnsMessageError,
    name_text,
    read_answer,
)

from fuzz.dns_model import (
    FOREIGN,
    MALFORMED,
    READ,
    BuiltAnswer,
    Verdict,
    judge,
)
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate, splice


def fuzz_dns(mut random: Random, mut histogram: Histogram) raises:
    """Reads one answer, intact or damaged.

    Args:
        random: Draws the answer and the damage.
        histogram: Counts the outcome.

    Raises:
        Error: If the invariant does not hold.
    """
    var built = BuiltAnswer(random)
    if random.chance(40):
        histogram.input(Span(built.message))
        _compare(built.message, built.query, built.verdict, histogram)
        _check_name(built)
        return
    var octets = mutate(Span(built.message), random)
    if random.chance(10):
        octets = splice(Span(octets), Span(BuiltAnswer(random).message), random)
    histogram.input(Span(octets))
    var verdict = judge(Span(octets), Span(built.query))
    _compare(octets, built.query, verdict, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_dns)


def _compare(
    octets: List[UInt8],
    query: List[UInt8],
    wanted: Verdict,
    mut histogram: Histogram,
) raises:
    var got = Verdict.of(READ)
    try:
        var answer = read_answer(Span(octets), Span(query))
        got.outcome = answer.outcome
        got.code = answer.response_code
        got.addresses = answer.addresses.copy()
        got.ttl = answer.ttl_seconds
    except e:
        got.kind = FOREIGN if e.kind == DnsMessageError.FOREIGN else MALFORMED
        if e.offset < 0 or e.offset > len(octets):
            raise Error("the offset of the error is ", e.offset)
        histogram.count("foreign" if got.kind == FOREIGN else "malformed")
    if got.kind != wanted.kind:
        raise Error("read as ", got.kind, " and not as ", wanted.kind)
    if got.kind != READ:
        return
    histogram.count_whole(String("outcome ", got.outcome))
    if got.outcome != wanted.outcome or got.code != wanted.code:
        raise Error("the outcome is ", got.outcome, " and ", got.code)
    if len(got.addresses) != len(wanted.addresses):
        raise Error("there are ", len(got.addresses), " addresses")
    for i in range(len(got.addresses)):
        if got.addresses[i] != wanted.addresses[i]:
            raise Error("address ", i, " differs")
    if got.ttl.or_else(-1) != wanted.ttl.or_else(-1):
        raise Error("it holds for ", got.ttl.or_else(-1), " s")


def _check_name(built: BuiltAnswer) raises:
    var asked: String
    var answered: String
    try:
        asked = name_text(Span(built.query), HEADER_OCTETS)
        answered = name_text(Span(built.message), HEADER_OCTETS)
    except e:
        raise Error("a name is refused: ", e)
    if asked != answered.lower():
        raise Error("the names are ", asked, " and ", answered)
