"""Reads the origin of the page that made a request."""

from flare.http.request import Request
from flare.message import FieldName

comptime _ORIGIN: StaticString = "Origin"


@always_inline
def has_origin(req: Request) -> Bool:
    """Returns whether a request states an origin, without a search.

    Args:
        req: The request.

    Returns:
        True with at least one Origin field. Browsers send one with requests of
        other origins' pages, and with all that are neither GET nor HEAD.
    """
    return (
        req.unsafe_exchange()[].head.known & FieldName.bit(FieldName.ORIGIN)
        != 0
    )


def only_origin(req: Request) -> Optional[StringSlice[origin_of(req)]]:
    """Returns the origin that a request states.

    Args:
        req: The request.

    Returns:
        A view of the value, unchecked; `None` without an Origin field, and with
        more than one, because these contradict each other.
    """
    if not has_origin(req):
        return None
    var found = Optional[StringSlice[origin_of(req)]](None)
    for value in req.headers.values(_ORIGIN):
        if found:
            return None
        found = rebind[StringSlice[origin_of(req)]](value)
    return found
