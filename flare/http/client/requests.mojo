"""Sends requests: the work of an `HttpClient`.

If the program calls a driver library, each function passes the call on to the
function of the same name there.
"""

from flare.core import PointerTo
from flare.message import Cookie, FormFields, HeaderMap
from flare.proto.h1 import BodyLength
from flare.sys.driver import CALLS_DRIVER, TextView

from ..content import Content
from ..multipart_form import MultipartForm
from ..request import Request
from ..response import Response
from .call.client_state import CallOwner, ClientState
from .call.perform import perform
from .call.reference import aim, full_url
from .client_functions import (
    RequestParts,
    client_functions,
    present_client_functions,
)
from .config.client_config import ClientConfig
from .credentials.credentials import Credentials
from .download.file_download import Download, DownloadTarget, FileDownload
from .download_functions import download_functions
from .stream.multipart import send_form
from .stream.open import opened, streamed
from .stream.stream_functions import Stream
from .stream.stream_state import ClientStreamState
from .upgrade.client_carrier import await_end, end_sending
from .upgrade_functions import upgrade_functions
from .upgrade.upgrade_state import ClientUpgrade, close_and_free
from .upgrade.upgrading import taken_from, upgraded

comptime Client = PointerTo[ClientState]
"""The client."""


def open_client(
    base_url: TextView,
    var credentials: Optional[Credentials],
    var config: ClientConfig,
) raises -> Client:
    """Checks a configuration and creates a client.

    Args:
        base_url: The URL to which relative URLs are joined; none if empty.
        credentials: The credentials.
        config: The configuration.

    Returns:
        The client.

    Raises:
        ClientError: `client.bad_url prepare` or `client.bad_config prepare`.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].open_client(base_url, credentials^, config^)
    else:
        return ClientState.create(base_url, credentials^, config^)


def copy_client(client: Client) -> Client:
    """Creates a client with the same configuration and without connections.

    Args:
        client: The other client.

    Returns:
        The client.
    """
    comptime if CALLS_DRIVER:
        return present_client_functions()[].copy_client(client)
    else:
        return client[].another()


def close_client(client: Client):
    """Closes idle connections now, and the others when their exchanges end.

    Args:
        client: The client, which its owner does not use any more.
    """
    comptime if CALLS_DRIVER:
        present_client_functions()[].close_client(client)
    else:
        client[].pool.is_over = True
        close_idle(client)
        ClientState.leave(client)


def close_idle(client: Client):
    """Closes the idle connections.

    Args:
        client: The client.
    """
    comptime if CALLS_DRIVER:
        present_client_functions()[].close_idle(client)
    else:
        ClientState.pool_of(client).close_idle()


def request(
    client: Client, parts: RequestParts, var content: Content
) raises -> Response:
    """Sends a request of any method.

    Args:
        client: The client.
        parts: The parts of the request.
        content: The content.

    Returns:
        The response.

    Raises:
        ClientError: The failure of the call.
    """
    return carry_out(begin(client, parts, content^))


def request_once(parts: RequestParts, var content: Content) raises -> Response:
    """Sends a request with a client of its own.

    Args:
        parts: The parts of the request.
        content: The content.

    Returns:
        The response.

    Raises:
        ClientError: The failure of the call.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].request_once(parts, content^)
    else:
        var client = open_client("", None, ClientConfig())
        try:
            return request(client, parts, content^)
        finally:
            close_client(client)


def begin(
    client: Client, parts: RequestParts, var content: Content
) raises -> CallOwner:
    """Begins a call, which `carry_out` carries out.

    Args:
        client: The client.
        parts: The parts of the request.
        content: The content.

    Returns:
        The call; its target is set.

    Raises:
        ClientError: `client.bad_url prepare` and the like.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].begin(client, parts, content^)
    else:
        var owner = _call(client, parts)
        owner.call[].content = content^
        return owner^


def carry_out(owner: CallOwner) raises -> Response:
    """Carries out a call.

    Args:
        owner: The call.

    Returns:
        The response.

    Raises:
        ClientError: The failure of the call.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].carry_out(owner)
    else:
        return perform(owner)


def send(
    client: Client, request: Request, timeout_ms: Optional[Int]
) raises -> Response:
    """Sends a request object.

    Args:
        client: The client.
        request: The request; it can be sent again.
        timeout_ms: The limit of the call, if not as configured.

    Returns:
        The response.

    Raises:
        ClientError: The failure of the call.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].send(client, request, timeout_ms)
    else:
        var headers = HeaderMap()
        var query = FormFields()
        var owner = _call(
            client,
            RequestParts(
                request.method_text(), request.url, headers, query, timeout_ms
            ),
        )
        owner.call[].headers.append_all(request.headers)
        owner.call[].content = Content(request.body.octets(), "")
        return perform(owner)


def post_form(
    client: Client, parts: RequestParts, form: MultipartForm
) raises -> Response:
    """Posts a form with files.

    Args:
        client: The client.
        parts: The parts of the request.
        form: The form.

    Returns:
        The response.

    Raises:
        ClientError: The failure of the call; and the error of reading a file.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].post_form(client, parts, form)
    else:
        return send_form(_call(client, parts), form)


def open_stream(
    client: Client,
    parts: RequestParts,
    length: Optional[Int],
    expects_continue: Bool,
) raises -> PointerTo[ClientStreamState]:
    """Starts a request whose content is written piece by piece.

    Args:
        client: The client.
        parts: The parts of the request.
        length: The length of the content, if known.
        expects_continue: Whether to ask the server first (100 Continue).

    Returns:
        The stream, for a `ClientStream`.

    Raises:
        ClientError: The failure of the call.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].open_stream(
            client, parts, length, expects_continue
        )
    else:
        var known = BodyLength.UNKNOWN
        if length:
            known = BodyLength.known(max(length.value(), 0))
        return opened(_call(client, parts), known, expects_continue)


def stream_response(
    client: Client, parts: RequestParts
) raises -> PointerTo[ClientStreamState]:
    """Starts a request whose response is read piece by piece.

    Args:
        client: The client.
        parts: The parts of a request without content. Its timeout lasts until
            the head has arrived.

    Returns:
        The stream, for a `ClientStream`.

    Raises:
        ClientError: The failure of the call.
    """
    comptime if CALLS_DRIVER:
        return client_functions()[].stream_response(client, parts)
    else:
        return streamed(_call(client, parts))


def download(
    client: Client, parts: RequestParts, target: DownloadTarget
) raises -> Download:
    """Downloads a file, or continues a download.

    Args:
        client: The client.
        parts: The parts of the request.
        target: Where the content goes.

    Returns:
        The download; the file is complete.

    Raises:
        ClientError: The failure of the call or of the file.
    """
    comptime if CALLS_DRIVER:
        return download_functions()[].download(client, parts, target)
    else:
        var owner = _call(client, parts)
        var file = FileDownload.open(target, owner.call[].url_text())
        try:
            var whole = file.receive(owner^)
            if not whole:
                # The second request asks for the whole.
                whole = file.receive(_call(client, parts))
            return whole.take()
        finally:
            file.close()


def open_upgrade(client: Client, parts: RequestParts) raises -> ClientUpgrade:
    """Sends a request that offers an upgrade, and receives the response.

    Args:
        client: The client.
        parts: The parts of the request, with the fields of the offer. Its
            timeout lasts until the head has arrived.

    Returns:
        The upgrade; one with another status than 101 was refused. Call
        `end_upgrade` once.

    Raises:
        ClientError: The failure of the call.
    """
    comptime if CALLS_DRIVER:
        return upgrade_functions()[].open(client, parts)
    else:
        return upgraded(_call(client, parts))


def await_upgrade_end(upgrade: ClientUpgrade, timeout_ms: Int):
    """Waits until the server ends the connection, drops the octets that
    arrive before, and closes it.

    Args:
        upgrade: The upgrade.
        timeout_ms: The longest wait.
    """
    comptime if CALLS_DRIVER:
        upgrade_functions()[].await_end(upgrade, timeout_ms)
    else:
        await_end(upgrade, timeout_ms)


def end_upgrade(upgrade: ClientUpgrade):
    """Closes an upgraded connection at once, and frees it.

    Args:
        upgrade: The upgrade.
    """
    comptime if CALLS_DRIVER:
        upgrade_functions()[].end(upgrade)
    else:
        close_and_free(upgrade)


def end_upgrade_sending(upgrade: ClientUpgrade) raises:
    """Sends the output, then ends the stream to the server (half-close).
    Receiving continues.

    Args:
        upgrade: The upgrade.

    Raises:
        The error of the transport.
    """
    comptime if CALLS_DRIVER:
        upgrade_functions()[].end_sending(upgrade)
    else:
        end_sending(upgrade)


def take_upgrade(stream: Stream) -> ClientUpgrade:
    """Takes the connection out of a stream whose response is a 101, and ends
    the stream.

    Args:
        stream: The stream, which no fiber is using.

    Returns:
        The upgrade. Call `end_upgrade` once.
    """
    comptime if CALLS_DRIVER:
        return upgrade_functions()[].take(stream)
    else:
        return taken_from(stream)


def set_cookie(client: Client, url: TextView, var cookie: Cookie) raises:
    """Stores a cookie in the jar as if a server had set it.

    Args:
        client: The client.
        url: The URL of the request.
        cookie: The cookie.

    Raises:
        Error: `client.bad_url prepare`, `client.bad_config prepare` if there
            is no jar, or `message.bad_cookie`.
    """
    comptime if CALLS_DRIVER:
        client_functions()[].set_cookie(client, url, cookie^)
    else:
        var full = full_url(client[].base, url, FormFields())
        client[].set_cookie(full, cookie^)


def _call(client: Client, parts: RequestParts) raises -> CallOwner:
    var call = ClientState.begin_call(client, parts.method, parts.timeout_ms)
    var owner = CallOwner(client, call)
    if len(parts.headers[]) > 0:
        call[].headers = parts.headers[].copy()
    aim(client, call, parts.url, parts.query[])
    return owner^
