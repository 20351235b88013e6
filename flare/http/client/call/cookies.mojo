"""Takes cookies out of the jar for requests, and puts those of responses in."""

from flare.core import PointerTo
from flare.message import FieldName, HeaderMap

from .call import Call, exchange_of
from .client_state import ClientState


def cookies_for(
    state: PointerTo[ClientState], call: Call, common: PointerTo[HeaderMap]
) raises -> String:
    """Returns the value of the Cookie field for the present request.

    If the program has set the field, the jar adds no cookie, because it could
    repeat a name.

    Args:
        state: The client.
        call: The call; its target is set.
        common: The fields of every request to its origin.

    Returns:
        The value; empty if no field is sent, or the program has set one.

    Raises:
        Error: Never for a call whose target is set.
    """
    if not state[].config.cookies or len(state[].config.cookies.value()) == 0:
        return String()
    if call[].headers.has_known(FieldName.COOKIE) or common[].has_known(
        FieldName.COOKIE
    ):
        return String()
    return state[].config.cookies.value().header_for(call[].url())


def keep_cookies(state: PointerTo[ClientState], call: Call) raises:
    """Stores the cookies of a response.

    Args:
        state: The client.
        call: The call; the head of a response has arrived.

    Raises:
        Error: Never for a call whose target is set.
    """
    if not state[].config.cookies:
        return
    var fields = exchange_of(call).fields()
    if "Set-Cookie" in fields:
        _ = state[].config.cookies.value().receive(call[].url(), fields)
