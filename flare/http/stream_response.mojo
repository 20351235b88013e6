"""Runs the function that writes a response piece by piece, or speaks another
protocol.

The exchange's carrier takes the octets: a server sends them, a test keeps
them.
"""

from flare.message import Method, Status, allows_content
from flare.message.list_grammar import lists_member
from flare.proto.head import BodyKind

from .body import Body
from .error_answer import error_answer
from .exchange import Exchange, ExchangeStage
from .response import Response


def begin_stream(x: Exchange, var response: Response) -> Body:
    """Starts the stream of an exchange with a response.

    Args:
        x: The exchange.
        response: The response; its content is a stream.

    Returns:
        The content, for `run_stream`.
    """
    ref stream = x[].stream
    stream.status = response.status
    swap(stream.headers, response.headers)
    stream.is_head_due = True
    stream.is_open = True
    stream.written = 0
    return response^.into_body()


def run_stream(x: Exchange, content: Body) raises:
    """Calls the function of a stream, and ends the response after it.

    Args:
        x: The exchange.
        content: The content that `begin_stream` has returned.

    Raises:
        Any error of the function, `http.bad_upgrade` or `http.bad_content` if
        head or content break a rule, and `http.content bad` if the content of
        the request does.
    """
    var carrier = x[].host.functions
    var exchange = x.unsafe_bitcast[NoneType]()
    if x[].stream.status == Status.SWITCHING_PROTOCOLS:
        carrier[].upgraded.begin(exchange)
        x[].stage = ExchangeStage.UPGRADED
        content.run_stream(x)
        return
    if _has_content(x):
        content.run_stream(x)
        if x[].peer_gone or (
            x[].peer_ended and x[].fiber.unsafe_value().is_cancelled()
        ):
            # A function may have swallowed this error.
            raise Error("http.client_left")
        # A function that reads content may have swallowed its error.
        x[].check_content()
    carrier[].end(exchange)


def _has_content(x: Exchange) -> Bool:
    # RFC 9110 section 6.4.1.
    return x[].head.method != Method.HEAD and allows_content(x[].stream.status)


def can_upgrade(x: Exchange, response: Response) -> Bool:
    """Returns whether a request offers the protocol of a response.

    Args:
        x: The exchange.
        response: The response; its status is 101.

    Returns:
        False if the server must answer with `upgrade_required`.
    """
    if not x[].head.wants_upgrade or x[].head.body != BodyKind.NONE:
        return False
    var wanted = response.headers.get("Upgrade")
    if not wanted:
        return False
    for offered in x[].head.fields(x[].window()).values("Upgrade"):
        if lists_member(offered.as_bytes(), wanted.value().as_bytes()):
            return True
    return False


def upgrade_required(x: Exchange, response: Response) -> Response:
    """Returns the answer to a request that does not offer the protocol of a
    response.

    Args:
        x: The exchange.
        response: The response.

    Returns:
        A 426 that names the protocol. In HTTP/2, which cannot name it, a 501 to
        an extended CONNECT and otherwise a 400.
    """
    if x[].head.version.major == 2:
        return error_answer(
            x,
            Status.NOT_IMPLEMENTED if x[].head.wants_upgrade else Status.BAD_REQUEST,
        )
    var answer = error_answer(x, Status.UPGRADE_REQUIRED)
    var protocol = response.headers.get("Upgrade")
    try:
        if protocol:
            answer.headers.set("Upgrade", protocol.value())
            answer.headers.set("Connection", "upgrade")
    except:
        debug_assert(False, "what was a field value is one")
    return answer^
