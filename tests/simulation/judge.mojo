"""Compares what a client got with what it may get."""

from flare.core import PointerTo

from tests.server.answers import Answer

from .client import Client
from .kinds import Kind
from .ledger import Ledger
from .plan import PlannedRequest
from .scenario import Scenario
from .tally import Tally

comptime _INTERNAL: StaticString = "Internal Server Error"


def judge(
    client: Client,
    scenario: Scenario,
    ledger: PointerTo[Ledger],
    mut tally: Tally,
) -> String:
    """Finds what is wrong with the answers of a client.

    Args:
        client: The client, at the end.
        scenario: What may have gone wrong.
        ledger: What the handlers did.
        tally: Counts answers.

    Returns:
        An empty text if all is well.
    """
    for request in client.requests:
        if ledger[].runs[request.number] > 1:
            return String("request ", request.number, " ran twice; ")
    ref answers = client.answers.answers
    var count = len(client.requests)
    if len(answers) > count and not _is_refused_upgrade(client):
        return "more answers than requests; "
    for i in range(min(len(answers), count)):
        ref request = client.requests[i]
        if not _fits(answers[i], request, ledger, scenario, client, tally):
            return String("answer ", i, _mismatch(answers[i], request))
        if answers[i].closes and i + 1 < len(answers):
            return String("an answer behind the last one, ", i, "; ")
    tally.add(Kind.ANSWERS, len(answers))
    if len(answers) < count:
        return _judge_missing(client, scenario, ledger, tally)
    if client.is_upgraded():
        return _judge_upgraded(client, scenario, tally)
    if _is_refused_upgrade(client):
        return ""
    if client.answers.has_rest() and not _is_refused_head(client):
        return "octets behind the last answer; "
    return ""


def _judge_upgraded(
    client: Client, scenario: Scenario, mut tally: Tally
) -> String:
    """Compares what came behind a 101 with what must come."""
    ref wanted = client.requests[len(client.requests) - 1].content
    if client.raw() == wanted:
        tally.add(Kind.UPGRADED)
        return ""
    if not wanted.startswith(client.raw()):
        return "an upgraded connection gave something else; "
    if client.may_be_cut_off() or scenario.has_stopped or scenario.few_octets:
        return ""
    return "an upgraded connection was cut off; "


def _is_refused_upgrade(client: Client) -> Bool:
    # What follows the request is no request, and is answered as such.
    var last = len(client.requests) - 1
    ref answers = client.answers.answers
    return (
        len(answers) in (last + 1, last + 2)
        and client.requests[last].kind == "upgrade"
        and answers[last].status >= 500
    )


def _is_refused_head(client: Client) -> Bool:
    # Before its method is read nobody knows that it must have no content.
    var last = len(client.requests) - 1
    return (
        client.requests[last].is_head
        and client.stalls_at >= 0
        and client.answers.answers[last].status == 408
    )


def _fits(
    answer: Answer,
    request: PlannedRequest,
    ledger: PointerTo[Ledger],
    scenario: Scenario,
    client: Client,
    mut tally: Tally,
) -> Bool:
    var runs = ledger[].runs[request.number]
    if answer.status == 503 and request.kind == "upgrade" and runs == 1:
        # No other protocol begins while the server stops.
        return scenario.has_stopped or scenario.few_octets
    if answer.status == 503 or _is_over_budget(answer, request, scenario):
        # Content that there is no room for is refused while it is read.
        return (runs == 0 or scenario.few_octets) and _may_refuse(
            answer, scenario, tally
        )
    if answer.status == 408:
        tally.add(Kind.TIMED_OUT)
        return client.stalls_at >= 0
    if request.kind == "bad":
        tally.add(Kind.REFUSED_REQUESTS)
        return answer.status == request.status and runs == 0
    if runs != 1:
        return False
    if answer.status == 500 and request.kind != "raise":
        if not ledger[].lacked_fiber[request.number]:
            if not scenario.short_handlers:
                return False
            tally.add(Kind.HANDLERS_OUT_OF_TIME)
        return answer.content == ("" if request.is_head else _INTERNAL)
    if request.kind == "broken":
        return False
    if request.kind == "upgrade":
        return answer.status == 101
    if answer.status != request.status or answer.content != request.content:
        return False
    if answer.status == 413:
        tally.add(Kind.CONTENT_OVER_LIMIT)
    _count_stream(request, tally)
    if request.kind != "summed" or request.is_head:
        return True
    return answer.trailers == String("X-Sum: ", request.number, "\r\n")


def _is_over_budget(
    answer: Answer, request: PlannedRequest, scenario: Scenario
) -> Bool:
    """Tells whether a content is refused that the whole budget cannot hold."""
    return (
        answer.status == 413 and request.status != 413 and scenario.few_octets
    )


def _may_refuse(answer: Answer, scenario: Scenario, mut tally: Tally) -> Bool:
    """Finds the limit that a 503 comes from; each is low in other runs."""
    # Whoever was not accepted gets an answer without content.
    if answer.head.find("\r\nContent-Length: 0\r\n") >= 0:
        tally.add(Kind.TURNED_AWAY)
        return scenario.accepting_failed
    if scenario.few_requests:
        tally.add(Kind.REQUESTS_OVER_LIMIT)
    elif scenario.few_octets:
        tally.add(Kind.NO_ROOM)
    else:
        tally.add(Kind.REQUESTS_WITHOUT_FIBER)
    return scenario.few_requests or scenario.few_fibers or scenario.few_octets


def _count_stream(request: PlannedRequest, mut tally: Tally):
    if request.kind == "pieces":
        tally.add(Kind.READ_IN_PIECES)
    elif request.kind == "trailed":
        tally.add(Kind.READ_WITH_TRAILERS)
    elif request.kind == "lines":
        tally.add(Kind.WRITTEN_IN_CHUNKS)
    elif request.kind == "counted":
        tally.add(Kind.WRITTEN_OF_LENGTH)
    elif request.kind == "summed":
        tally.add(Kind.WRITTEN_WITH_TRAILERS)
    elif request.kind == "mirror":
        tally.add(Kind.WRITTEN_WHILE_READING)


def _judge_missing(
    client: Client,
    scenario: Scenario,
    ledger: PointerTo[Ledger],
    mut tally: Tally,
) -> String:
    """Finds out why answers are missing."""
    ref answers = client.answers.answers
    var whole = len(answers)
    if not client.is_finished:
        return String(
            "an answer is missing and the connection open, after ",
            whole,
            " of ",
            len(client.requests),
            "; ",
        )
    if client.has_left:
        return ""
    ref request = client.requests[whole]
    var problem = _judge_rest(client, scenario, ledger)
    if problem != "":
        return problem
    tally.add(Kind.CLOSED_EARLY)
    if scenario.was_cut_off or scenario.has_shed or client.may_be_cut_off():
        return ""
    if client.ends_early and not scenario.config.half_close_allowed:
        return ""
    for later in client.requests[whole:]:
        # The reset takes along what was not read yet.
        if later.kind == "broken" and ledger[].runs[later.number] > 0:
            tally.add(Kind.BROKEN_OFF)
            return ""
    var has_run = ledger[].runs[request.number] > 0
    if not has_run and (scenario.has_stopped or scenario.is_crowded()):
        return ""
    if not has_run and whole == scenario.requests_per_connection:
        return ""
    # What finds no room breaks an answer off that has begun. What waits for room
    # behind an answer may not be begun at all.
    if scenario.few_octets and (
        request.kind == "mirror" if has_run else whole > 0
    ):
        return ""
    # Another protocol is broken off for want of room, and by a stop in the
    # middle; the reset takes along what the client has not read.
    if has_run and request.kind == "upgrade":
        if scenario.few_octets or scenario.has_stopped:
            return ""
    # Content that nobody asked for may never come (RFC 9110 section 10.1.1).
    if not has_run and whole > 0 and answers[whole - 1].closes:
        ref last = client.requests[whole - 1]
        if last.expects and (
            answers[whole - 1].status >= 500 or not last.reads()
        ):
            return ""
    return String(
        "closed after ",
        whole,
        " of ",
        len(client.requests),
        ", though request ",
        request.number,
        (" ran; " if has_run else " did not run; "),
    )


def _judge_rest(
    client: Client, scenario: Scenario, ledger: PointerTo[Ledger]
) -> String:
    """Checks the part of an answer that arrived before the connection ended."""
    if not client.answers.has_rest():
        return ""
    ref request = client.requests[len(client.answers.answers)]
    var rest = client.answers.rest(request.is_head)
    if rest.status != request.status or rest.status >= 400:
        return ""
    if ledger[].runs[request.number] != 1:
        return String("a part of answer ", request.number, " without a run; ")
    if not request.content.startswith(rest.content):
        return String("a part of answer ", request.number, " is another's; ")
    return ""


def _mismatch(answer: Answer, request: PlannedRequest) -> String:
    return String(
        " to ",
        request.octets[byte = : min(request.octets.byte_length(), 40)],
        " is ",
        answer.status,
        " of ",
        answer.content.byte_length(),
        " octets, not ",
        request.status,
        " of ",
        request.content.byte_length(),
        "; ",
    )
