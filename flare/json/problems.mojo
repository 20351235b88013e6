"""Finds all errors of a JSON text."""

from flare.core import heap_create, heap_destroy

from .findings import Findings, JsonProblem, NotedFault, PlaceWalk
from .from_json import FromJson
from .input import JsonInput
from .limits import JsonLimits
from .passing import break_off, pass_over
from .problem import Fault, TOO_LARGE, is_malformed

comptime PROBLEMS_MAX = 32
"""The most errors of a text that are found."""


@fieldwise_init
struct JsonProblems(Copyable, Movable, Sized):
    """All errors of a JSON text."""

    var found: List[JsonProblem]
    """The errors in the order of the text, at most 32. A text that is not JSON
    has one: the first that makes it unreadable.
    """
    var are_more: Bool
    """Whether there are more errors."""

    def __len__(self) -> Int:
        """Returns the number of errors found.

        Returns:
            The number; 0 if the text is as expected.
        """
        return len(self.found)


def problems_of[
    T: Deinitable & Movable
](octets: Span[UInt8, _]) raises -> JsonProblems:
    """Returns every error for which `decode` refuses a text.

    `decode` ends at the first error, and is faster. Call this after it has
    failed. The time is linear in the length of the text.

    Parameters:
        T: A type that conforms to `FromJson`. A `from_json` of the program has
            at most one error: after it, the value is passed over.

    Args:
        octets: The text.

    Returns:
        The errors; none if `decode` reads the text.

    Raises:
        Never.
    """
    comptime assert conforms_to(T, FromJson), String(
        reflect[T].name(), " is not read from JSON: conform to FromJson"
    )
    var limits = JsonLimits()
    var findings = Findings(octets, PROBLEMS_MAX)
    if len(octets) > limits.octets_max:
        findings.broken = Fault(TOO_LARGE, 0, "")
        return _placed(octets, findings)
    var input = JsonInput(octets, limits)
    var json = input.reader()
    var shared = heap_create(findings^)
    json.state()[].findings = shared
    var start = json.value_start()
    try:
        try:
            _ = T.from_json(json)
        except e:
            pass_over(json, start, 0, e)
        input.finish()
    except:
        # At the end of the text, or where it cannot be read any further.
        break_off(json)
    json.state()[].findings = None
    var problems = _placed(octets, shared[])
    heap_destroy(shared)
    _ = input^
    return problems^


def _placed(octets: Span[UInt8, _], findings: Findings) -> JsonProblems:
    var walk = PlaceWalk()
    var problems = List[JsonProblem]()
    if findings.broken and is_malformed(findings.broken.value().problem):
        problems.append(
            walk.problem_at(octets, NotedFault(findings.broken.value(), False))
        )
        return JsonProblems(problems^, False)
    for finding in findings.found:
        problems.append(walk.problem_at(octets, finding))
    return JsonProblems(problems^, findings.are_more)
