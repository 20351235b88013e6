"""Takes the challenges of servers, and answers them in the next request."""

from flare.core import write_hexadecimal
from flare.message import FieldName, FieldSection
from flare.sys.random import fill_random

from ...client_error import ClientError, Phase, raised
from ..credentials.digest import digest_challenge
from .call import Call

comptime _NONCE_OCTETS = 16
comptime _CHALLENGES_MAX = 2


def proof_for(call: Call) raises -> String:
    """Returns the value of Authorization for the present request, if it
    answers a challenge.

    Args:
        call: The call; its target is set.

    Returns:
        The value; empty without a challenge, or if the program has set the
        field.

    Raises:
        ClientError: `client.other prepare` if the kernel gives no random
            octets.
    """
    call[].shown_nonce = String()
    if (
        not call[].shows_secrets()
        or not call[].origin.value()[].digest
        or not call[].origin.value()[].digest.value().challenge
        or call[].headers.has_known(FieldName.AUTHORIZATION)
    ):
        return String()
    var octets = List[UInt8](length=_NONCE_OCTETS, fill=0)
    if fill_random(Span(octets)) != _NONCE_OCTETS:
        raise raised(
            ClientError.OTHER, Phase.PREPARE, "the kernel has no random octets"
        )
    var client_nonce = String()
    write_hexadecimal(Span(octets), client_nonce)
    ref session = call[].origin.value()[].digest.value()
    call[].shown_nonce = session.challenge.value().nonce
    return session.authorization(
        StringSlice(unsafe_from_utf8=call[].method_text.span()),
        StringSlice(unsafe_from_utf8=call[].target.span()),
        client_nonce,
    )


def takes_challenge(call: Call, fields: FieldSection) -> Bool:
    """Returns whether a 401 is answered by repeating the request with
    credentials.

    Args:
        call: The call.
        fields: The header section of the 401.

    Returns:
        False if the server refused the credentials themselves, not only an old
        nonce.
    """
    var origin = call[].origin.value()
    if (
        not call[].shows_secrets()
        or not origin[].digest
        or call[].headers.has_known(FieldName.AUTHORIZATION)
    ):
        return False
    var challenge = digest_challenge(fields)
    if not challenge:
        return False
    ref session = origin[].digest.value()
    var is_answer = call[].shown_nonce.byte_length() > 0
    if is_answer and not challenge.value().is_stale:
        session.refuse(call[].shown_nonce)
        return False
    if call[].challenges == _CHALLENGES_MAX:
        return False
    call[].challenges += 1
    # A challenge that a concurrent call has received since is newer than the
    # answered one, and may be newer than this. If it fails, it is not tried
    # again.
    if (
        not is_answer
        or call[].challenges > 1
        or not session.has_other_than(call[].shown_nonce)
    ):
        session.take(challenge.take())
    return True
