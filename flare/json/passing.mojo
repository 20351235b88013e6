"""Notes errors of a text, and passes over the values that have them."""

from flare.core import copy_octets

from .problem import Fault, INVALID, is_malformed
from .reader import JsonReader, STOPPED


@no_inline
def note(json: JsonReader, fault: Fault):
    """Notes an error that does not end the reading.

    Args:
        json: The reader.
        fault: The error.
    """
    json.state()[].findings.unsafe_value()[].add(fault)


@no_inline
def settled(json: JsonReader, start: Int) -> Error:
    """Returns the error of a value that was read to its end, and whose errors
    are noted.

    Args:
        json: The reader, after the value.
        start: The offset of the value.

    Returns:
        The error to raise.
    """
    ref findings = json.state()[].findings.unsafe_value()[]
    findings.settled_start = start
    findings.settled_end = json.offset()
    return Error(STOPPED)


@no_inline
def pass_over(json: JsonReader, start: Int, depth: Int, e: Error) raises:
    """Notes the error of a value, and passes over the value.

    Args:
        json: The reader, within the value or after it.
        start: The offset of the value.
        depth: How many arrays and objects are open around it.
        e: The error that reading it raised.

    Raises:
        An error if the text cannot be read any further.
    """
    ref state = json.state()[]
    ref findings = state.findings.unsafe_value()[]
    if findings.broken:
        raise Error(STOPPED)
    var offset = json.offset()
    if state.fault:
        var fault = state.fault.value()
        if is_malformed(fault.problem):
            break_off(json)
            raise Error(STOPPED)
        findings.add(fault)
        state.fault = None
    elif String(e) != STOPPED:
        findings.add(Fault(INVALID, offset, ""), is_foreign=True)
    elif findings.settled_start == start and findings.settled_end == offset:
        return
    findings.octets_to_reread -= offset - start
    if findings.octets_to_reread < 0:
        findings.are_more = True
        break_off(json)
        raise Error(STOPPED)
    # Strings were decoded in place.
    copy_octets(
        state.text.unsafe_offset(start),
        findings.original.unsafe_offset(start),
        offset - start,
    )
    state.at = state.text.unsafe_offset(start)
    state.depth = depth
    json.skip()


@no_inline
def break_off(json: JsonReader):
    """Ends the search at the last error, which makes the text unreadable.

    Args:
        json: The reader.
    """
    ref state = json.state()[]
    ref findings = state.findings.unsafe_value()[]
    if not findings.broken:
        # None if too much would be read twice.
        findings.broken = state.fault.or_else(Fault(INVALID, 0, ""))
