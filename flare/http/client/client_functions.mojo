"""Declares the functions of clients in the driver library: `requests` has them.
"""

from flare.core import PointerTo
from flare.message import Cookie, FormFields, HeaderMap
from flare.sys.driver import (
    TextView,
    driver_tables,
    missing_driver,
    present_driver_tables,
    text_view,
)

from ..content import Content
from ..multipart_form import MultipartForm
from ..request import Request
from ..response import Response
from .call.client_state import CallOwner, ClientState
from .config.client_config import ClientConfig
from .credentials.credentials import Credentials
from .stream.stream_state import ClientStreamState


comptime _Client = PointerTo[ClientState]
comptime _Stream = PointerTo[ClientStreamState]


comptime RequestParts = RequestViews[ImmUnsafeAnyOrigin]
"""The parts of a request as functions in tables take them."""


struct RequestViews[origin: ImmOrigin](Movable):
    """The parts of a request but its content, for one call of a function.

    Parameters:
        origin: The owners of the parts.
    """

    var method: StringSlice[Self.origin]
    """The method, a token."""
    var url: StringSlice[Self.origin]
    """The URL, or a reference that is joined to that of the client."""
    var headers: Pointer[HeaderMap, Self.origin]
    """Fields of this request."""
    var query: Pointer[FormFields, Self.origin]
    """Parameters to append to the URL."""
    var timeout_ms: Optional[Int]
    """The limit of the whole call, if not as configured."""

    def __init__(
        out self,
        method: StringSlice,
        url: StringSlice,
        headers: HeaderMap,
        query: FormFields,
        timeout_ms: Optional[Int],
    ):
        """Creates views of the parts, which the caller keeps.

        Args:
            method: The method.
            url: The URL.
            headers: Fields of this request.
            query: Parameters to append to the URL.
            timeout_ms: The limit of the whole call.
        """
        self.method = rebind[StringSlice[Self.origin]](text_view(method))
        self.url = rebind[StringSlice[Self.origin]](text_view(url))
        self.headers = Pointer(to=headers).unsafe_origin_cast[Self.origin]()
        self.query = Pointer(to=query).unsafe_origin_cast[Self.origin]()
        self.timeout_ms = timeout_ms


@fieldwise_init
struct ClientFunctions(Movable):
    """The functions of clients in the driver library."""

    var open_client: def(
        TextView, var Optional[Credentials], var ClientConfig
    ) raises thin -> _Client
    """Checks a configuration and creates a client."""
    var copy_client: def(_Client) thin -> _Client
    """Creates a client with the same configuration."""
    var close_client: def(_Client) thin -> None
    """Closes idle connections now, the others when their exchanges end."""
    var close_idle: def(_Client) thin -> None
    """Closes idle connections."""
    var request_once: def(RequestParts, var Content) raises thin -> Response
    """Sends a request with a client of its own."""
    var begin: def(_Client, RequestParts, var Content) raises thin -> CallOwner
    """Begins a call."""
    var carry_out: def(CallOwner) raises thin -> Response
    """Carries out a call."""
    var send: def(_Client, Request, Optional[Int]) raises thin -> Response
    """Sends a request object."""
    var post_form: def(
        _Client, RequestParts, MultipartForm
    ) raises thin -> Response
    """Posts a form with files."""
    var open_stream: def(
        _Client, RequestParts, Optional[Int], Bool
    ) raises thin -> _Stream
    """Starts a request whose content is written piece by piece."""
    var stream_response: def(_Client, RequestParts) raises thin -> _Stream
    """Starts a request whose response is read piece by piece."""
    var set_cookie: def(_Client, TextView, var Cookie) raises thin -> None
    """Stores a cookie in the jar."""


def client_functions() raises -> PointerTo[ClientFunctions]:
    """Finds the functions of clients in the driver library.

    Returns:
        The functions.

    Raises:
        An error `client.no_driver prepare` if the library is missing.
    """
    var tables = driver_tables()
    if not tables:
        raise Error("client.no_driver prepare: ", missing_driver())
    return tables.value()[].client.unsafe_bitcast[ClientFunctions]()


def present_client_functions() -> PointerTo[ClientFunctions]:
    """Finds the functions of clients for callers that cannot raise.

    Returns:
        The functions; if the library is missing, the process ends.
    """
    return present_driver_tables()[].client.unsafe_bitcast[ClientFunctions]()
