"""Sends requests, and keeps connections for those that follow."""

from flare.core import PointerTo
from flare.io import Reader
from flare.message import Cookie, FormFields, HeaderMap
from flare.proto.h1 import BodyLength
from flare.runtime.task import JoinHandle, spawn

from ..content import Content
from ..multipart_form import MultipartForm
from ..request import Request
from ..response import Response
from .call.client_state import CallOwner, ClientState
from .call.perform import perform
from .call.reference import aim, full_url
from .client_statistics import ClientStatistics
from .config.client_config import ClientConfig
from .credentials.credentials import Authentication
from .stream.client_stream import ClientStream
from .stream.multipart import send_form
from .stream.open import opened, sent_from, streamed


struct HttpClient(Copyable, Movable):
    """Sends requests over connections that it keeps for later.

    A wait parks the calling fiber, and many fibers of one thread may share a
    client; in a script the program waits. A client belongs to one thread at a
    time. A copy has the same configuration and its own connections: each worker
    of a server gets one.

    A base URL is put before relative URLs: `/items` and `items` follow its
    path. Credentials and secret fields of the configuration go to the origin of
    the base URL alone. Without a base URL, they go to the origin that a call
    names, but not to one that it is redirected to.
    """

    var _state: PointerTo[ClientState]

    def __init__(
        out self,
        base_url: StringSlice = "",
        *,
        var config: ClientConfig = ClientConfig(),
    ) raises:
        """Makes a client that shows no credentials.

        Args:
            base_url: What relative URLs are joined to; none if empty.
            config: What is decided about it.

        Raises:
            ClientError: `client.bad_url prepare` or `client.bad_config
                prepare`.
        """
        self._state = ClientState.create(base_url, None, config^)

    def __init__[
        A: Authentication
    ](
        out self,
        base_url: StringSlice,
        auth: A,
        *,
        var config: ClientConfig = ClientConfig(),
    ) raises:
        """Makes a client that proves who asks.

        Parameters:
            A: The type of the credentials.

        Args:
            base_url: What relative URLs are joined to; none if empty.
            auth: What it shows.
            config: What is decided about it.

        Raises:
            ClientError: `client.bad_url prepare`, `client.bad_config prepare`
                or `client.bad_request prepare`.
        """
        self._state = ClientState.create(base_url, auth.credentials(), config^)

    def __init__(out self, *, copy: Self):
        """Makes a client with the same configuration and no connections.

        Args:
            copy: The other client.
        """
        self._state = copy._state[].another()

    def __init__(out self, *, deinit move: Self):
        """Moves a client.

        Args:
            move: The client to move.
        """
        self._state = move._state

    def __deinit__(deinit self):
        """Closes idle connections now, the others when their exchange ends."""
        self._state[].pool.is_over = True
        self.close_idle()
        ClientState.leave(self._state)

    def get(
        self,
        url: StringSlice,
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Asks for a representation.

        Args:
            url: An absolute URL, or what is joined to the base URL.
            headers: Fields of this request; they replace those of the client.
            query: Parameters to append to the URL, escaped: a `Dict`, or
                `FormFields` if a name occurs more than once.
            timeout_ms: How long the whole call may last, if not as configured.

        Returns:
            The response, whatever its status.

        Raises:
            Error: `client.refused connect`, `client.timeout head` and the like
                (`ClientError.of`).
        """
        return self.request(
            "GET", url, headers=headers, query=query, timeout_ms=timeout_ms
        )

    def head(
        self,
        url: StringSlice,
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Asks for what `get` would give, without the content.

        Args:
            url: As in `get`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        return self.request(
            "HEAD", url, headers=headers, query=query, timeout_ms=timeout_ms
        )

    def options(
        self,
        url: StringSlice,
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Asks what is possible.

        Args:
            url: As in `get`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        return self.request(
            "OPTIONS", url, headers=headers, query=query, timeout_ms=timeout_ms
        )

    def delete(
        self,
        url: StringSlice,
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Asks for a resource to be removed.

        Args:
            url: As in `get`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        return self.request(
            "DELETE", url, headers=headers, query=query, timeout_ms=timeout_ms
        )

    def post(
        self,
        url: StringSlice,
        var content: Content = Content(),
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Hands content to a resource.

        Args:
            url: As in `get`.
            content: A text, which is sent as JSON, or octets, `FormFields`, or
                `Content(text, type)`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        return self.request(
            "POST",
            url,
            content^,
            headers=headers,
            query=query,
            timeout_ms=timeout_ms,
        )

    def post(
        self,
        url: StringSlice,
        form: MultipartForm,
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
    ) raises -> Response:
        """Sends a form with files, which are read while they are sent.

        Redirections are not followed, and nothing is sent twice.

        Args:
            url: As in `get`.
            form: The form; it says what Content-Type is.
            headers: As in `get`.
            query: As in `get`.

        Returns:
            The response, also where it came before all was sent.

        Raises:
            Error: As in `get`, and what reading a file raises.
        """
        return send_form(self._call("POST", url, headers, query, None), form)

    def put(
        self,
        url: StringSlice,
        var content: Content = Content(),
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Replaces a representation.

        Args:
            url: As in `get`.
            content: As in `post`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        return self.request(
            "PUT",
            url,
            content^,
            headers=headers,
            query=query,
            timeout_ms=timeout_ms,
        )

    def patch(
        self,
        url: StringSlice,
        var content: Content = Content(),
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Changes a part of a resource.

        Args:
            url: As in `get`.
            content: As in `post`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        return self.request(
            "PATCH",
            url,
            content^,
            headers=headers,
            query=query,
            timeout_ms=timeout_ms,
        )

    def request(
        self,
        method: StringSlice,
        url: StringSlice,
        var content: Content = Content(),
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Sends a request of any method.

        Args:
            method: The method, a token.
            url: As in `get`.
            content: As in `post`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        var owner = self._call(method, url, headers, query, timeout_ms)
        owner.call[].content = content^
        return perform(owner)

    def start(
        self,
        method: StringSlice,
        url: StringSlice,
        var content: Content = Content(),
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> JoinHandle[Response]:
        """Sends a request on a fiber of its own, while the caller goes on.

        So a handler asks several servers at once.

        Args:
            method: The method, a token.
            url: As in `get`.
            content: As in `post`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            What owns the fiber: `join` gives the response. Dropping it gives
            the request up.

        Raises:
            Error: As in `get`, where the request cannot even begin.
        """
        var owner = self._call(method, url, headers, query, timeout_ms)
        owner.call[].content = content^

        def run() raises {var owner^} -> Response:
            return perform(owner)

        return spawn(run^)

    def send(
        self, request: Request, *, timeout_ms: Optional[Int] = None
    ) raises -> Response:
        """Sends a request that was made before.

        Args:
            request: The request; it can be sent again.
            timeout_ms: How long the call may last, if not as configured.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        var owner = self._call(
            request.method_text(),
            request.url,
            HeaderMap(),
            FormFields(),
            timeout_ms,
        )
        owner.call[].headers.append_all(request.headers)
        owner.call[].content = Content(request.body.octets(), "")
        return perform(owner)

    def open(
        self,
        method: StringSlice,
        url: StringSlice,
        *,
        length: Optional[Int] = None,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        expects_continue: Bool = False,
    ) raises -> ClientStream:
        """Begins a request whose content is written bit by bit.

        Redirections are not followed, and nothing is sent twice. Each wait has
        the bound of the configuration; `deadline_in` bounds the whole.

        Args:
            method: The method.
            url: As in `get`.
            length: How much will be written, if that is known; else it is
                chunked.
            headers: As in `get`.
            query: As in `get`.
            expects_continue: Whether the server is asked first.

        Returns:
            What the content is written to, and the response read from.

        Raises:
            Error: As in `get`.
        """
        var known = BodyLength.UNKNOWN
        if length:
            known = BodyLength.known(max(length.value(), 0))
        return opened(
            self._call(method, url, headers, query, None),
            known,
            expects_continue,
        )

    def stream(
        self,
        url: StringSlice,
        *,
        method: StringSlice = "GET",
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> ClientStream:
        """Asks for a content that is read bit by bit.

        Args:
            url: As in `get`.
            method: The method of a request without content.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: How long it may take until the head has come.

        Returns:
            What the response is read from; its head has come. Redirections are
            followed.

        Raises:
            Error: As in `get`.
        """
        return streamed(self._call(method, url, headers, query, timeout_ms))

    def upload[
        R: Reader
    ](
        self,
        method: StringSlice,
        url: StringSlice,
        reader: R,
        *,
        length: Optional[Int] = None,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        expects_continue: Bool = False,
    ) raises -> Response:
        """Sends what a reader gives; bounded as `open` says.

        Parameters:
            R: The type of the reader.

        Args:
            method: The method.
            url: As in `get`.
            reader: What is read to its end.
            length: How much it gives, if that is known.
            headers: As in `get`.
            query: As in `get`.
            expects_continue: Whether the server is asked first.

        Returns:
            The response, also where it came before all was sent.

        Raises:
            Error: As in `get`, and what the reader raises.
        """
        var stream = self.open(
            method,
            url,
            length=length,
            headers=headers,
            query=query,
            expects_continue=expects_continue,
        )
        return sent_from(self._state, stream, reader)

    def cookies(self) -> List[Cookie]:
        """Copies the cookies of the jar.

        Returns:
            The cookies whose time is not over; none without a jar.
        """
        return self._state[].cookies()

    def set_cookie(self, url: StringSlice, var cookie: Cookie) raises:
        """Puts a cookie into the jar as if a server had set it.

        Args:
            url: What the server was asked for, as in `get`.
            cookie: The cookie.

        Raises:
            Error: `client.bad_url prepare`, `client.bad_config prepare` if
                there is no jar, or `message.bad_cookie`.
        """
        var full = full_url(self._state[].base, url, FormFields())
        self._state[].set_cookie(full, cookie^)

    def statistics(self) -> ClientStatistics:
        """Tells what was counted.

        Returns:
            The counters at this moment.
        """
        return self._state[].counted()

    def close_idle(self):
        """Closes the connections that are kept for later."""
        ClientState.pool_of(self._state).close_idle()

    def _call(
        self,
        method: StringSlice,
        url: StringSlice,
        headers: HeaderMap,
        query: FormFields,
        timeout_ms: Optional[Int],
    ) raises -> CallOwner:
        var call = ClientState.begin_call(self._state, method, timeout_ms)
        var owner = CallOwner(self._state, call)
        aim(self._state, call, url, query)
        if len(headers) > 0:
            call[].headers = headers.copy()
        return owner^
