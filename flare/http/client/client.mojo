"""Sends requests, and keeps connections for later ones."""

from flare.core import PointerTo
from flare.io import Reader
from flare.message import Cookie, FormFields, HeaderMap
from flare.runtime.task import JoinHandle, spawn
from flare.sys.driver import text_view

from ..content import Content
from ..cookie_jar import CookieJar
from ..multipart_form import MultipartForm
from ..request import Request
from ..response import Response
from .call.client_state import ClientState
from . import requests
from .client_functions import RequestParts
from .client_statistics import ClientStatistics
from .config.client_config import ClientConfig
from .cookie_file import save_cookies
from .credentials.credentials import Authentication
from .download_method import DownloadMethod
from .stream.client_stream import ClientStream
from .stream.open import sent_from


struct HttpClient(Copyable, Movable):
    """An HTTP client that reuses connections.

    Waits park the calling fiber, or block the program in a script. Many fibers
    of one thread may share a client, but a client belongs to one thread at a
    time. A copy has the same configuration and its own connections, so each
    worker of a server has its own client.

    The client appends relative URLs to its base URL: `/items` and `items`
    follow its path. It sends credentials and secret fields of the configuration
    to the origin of the base URL only. Without a base URL, it sends them to the
    origin of the call's URL, but not after a redirect to another origin.
    """

    var _state: PointerTo[ClientState]

    def __init__(
        out self,
        base_url: StringSlice = "",
        *,
        var config: ClientConfig = ClientConfig(),
    ) raises:
        """Creates a client without credentials.

        Args:
            base_url: The URL to which relative URLs are joined; none if empty.
            config: The configuration.

        Raises:
            ClientError: `client.bad_url prepare` or `client.bad_config
                prepare`.
        """
        self._state = requests.open_client(text_view(base_url), None, config^)

    def __init__[
        A: Authentication
    ](
        out self,
        base_url: StringSlice,
        auth: A,
        *,
        var config: ClientConfig = ClientConfig(),
    ) raises:
        """Creates a client with credentials.

        Parameters:
            A: The type of the credentials.

        Args:
            base_url: The URL to which relative URLs are joined; none if empty.
            auth: The credentials.
            config: The configuration.

        Raises:
            ClientError: `client.bad_url prepare`, `client.bad_config prepare`
                or `client.bad_request prepare`.
        """
        self._state = requests.open_client(
            text_view(base_url), auth.credentials(), config^
        )

    def __init__(out self, *, copy: Self):
        """Creates a client with the same configuration and without
        connections.

        Args:
            copy: The other client.
        """
        self._state = requests.copy_client(copy._state)

    def __init__(out self, *, deinit move: Self):
        """Moves a client.

        Args:
            move: The client to move.
        """
        self._state = move._state

    def __deinit__(deinit self):
        """Closes idle connections now, and the others when their exchanges
        end.
        """
        requests.close_client(self._state)

    def get(
        self,
        url: StringSlice,
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Sends a GET request: asks for a representation.

        Args:
            url: An absolute URL, or a reference that is joined to the base
                URL.
            headers: Fields of this request; they replace those of the client.
            query: Parameters to append to the URL, escaped: a `Dict`, or
                `FormFields` if a name occurs more than once.
            timeout_ms: The limit of the whole call; by default, the configured
                one.

        Returns:
            The response, with any status.

        Raises:
            Error: `client.refused connect`, `client.timeout head` and others
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
        """Sends a HEAD request: like `get`, without the content.

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
        """Sends an OPTIONS request: asks for the supported options.

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
        """Sends a DELETE request: asks to remove a resource.

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
        """Sends a POST request: sends content to a resource.

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
        var parts = RequestParts("POST", url, headers, query, timeout_ms)
        return requests.request(self._state, parts, content^)

    def post(
        self,
        url: StringSlice,
        form: MultipartForm,
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
    ) raises -> Response:
        """Posts a form with files, which are read while they are sent.

        Redirects are not followed, and the request is never repeated.

        Args:
            url: As in `get`.
            form: The form, which also sets the Content-Type.
            headers: As in `get`.
            query: As in `get`.

        Returns:
            The response, even if it arrived before the whole request was sent.

        Raises:
            Error: As in `get`, and the error of reading a file.
        """
        return requests.post_form(
            self._state, RequestParts("POST", url, headers, query, None), form
        )

    def put(
        self,
        url: StringSlice,
        var content: Content = Content(),
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Sends a PUT request: replaces a representation.

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
        var parts = RequestParts("PUT", url, headers, query, timeout_ms)
        return requests.request(self._state, parts, content^)

    def patch(
        self,
        url: StringSlice,
        var content: Content = Content(),
        *,
        headers: HeaderMap = HeaderMap(),
        query: FormFields = FormFields(),
        timeout_ms: Optional[Int] = None,
    ) raises -> Response:
        """Sends a PATCH request: changes a part of a resource.

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
        var parts = RequestParts("PATCH", url, headers, query, timeout_ms)
        return requests.request(self._state, parts, content^)

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
        var parts = RequestParts(method, url, headers, query, timeout_ms)
        return requests.request(self._state, parts, content^)

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
        """Sends a request on a new fiber, while the caller continues.

        With it, a handler can ask several servers at once.

        Args:
            method: The method, a token.
            url: As in `get`.
            content: As in `post`.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: As in `get`.

        Returns:
            The owner of the fiber: `join` returns the response. Dropping it
            cancels the request.

        Raises:
            Error: As in `get`, if the request cannot start.
        """
        var owner = requests.begin(
            self._state,
            RequestParts(method, url, headers, query, timeout_ms),
            content^,
        )

        def run() raises {var owner^} -> Response:
            return requests.carry_out(owner)

        return spawn(run^)

    def send(
        self, request: Request, *, timeout_ms: Optional[Int] = None
    ) raises -> Response:
        """Sends a request object.

        Args:
            request: The request; it can be sent again.
            timeout_ms: The limit of the call; by default, the configured one.

        Returns:
            The response.

        Raises:
            Error: As in `get`.
        """
        return requests.send(self._state, request, timeout_ms)

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
        """Starts a request whose content is written piece by piece.

        Redirects are not followed, and the request is never repeated. Each
        wait has the configured limit; `deadline_in` limits them all.

        Args:
            method: The method.
            url: As in `get`.
            length: The length of the content, if known; otherwise it is
                chunked.
            headers: As in `get`.
            query: As in `get`.
            expects_continue: Whether to ask the server first (100 Continue).

        Returns:
            The stream, for writing the content and reading the response.

        Raises:
            Error: As in `get`.
        """
        return ClientStream(
            unsafe_state=requests.open_stream(
                self._state,
                RequestParts(method, url, headers, query, None),
                length,
                expects_continue,
            )
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
        """Starts a request whose response is read piece by piece.

        Args:
            url: As in `get`.
            method: The method of a request without content.
            headers: As in `get`.
            query: As in `get`.
            timeout_ms: The limit until the head has arrived.

        Returns:
            The stream for reading the response, whose head has arrived.
            Redirects are followed.

        Raises:
            Error: As in `get`.
        """
        return ClientStream(
            unsafe_state=requests.stream_response(
                self._state,
                RequestParts(method, url, headers, query, timeout_ms),
            )
        )

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
        """Sends the octets of a reader as content; with the limits of `open`.

        Parameters:
            R: The type of the reader.

        Args:
            method: The method.
            url: As in `get`.
            reader: The reader, which is read to its end.
            length: The length of the content, if known.
            headers: As in `get`.
            query: As in `get`.
            expects_continue: Whether to ask the server first (100 Continue).

        Returns:
            The response, even if it arrived before the whole request was sent.

        Raises:
            Error: As in `get`, and the errors of the reader.
        """
        var stream = self.open(
            method,
            url,
            length=length,
            headers=headers,
            query=query,
            expects_continue=expects_continue,
        )
        return sent_from(stream, reader)

    def __getattr__(
        self, member: type_of("download")
    ) -> DownloadMethod[origin_of(self)]:
        """Writes content to a file, and continues interrupted downloads.

        Args:
            member: The name `download`.

        Returns:
            The method to call: `client.download(url, "path")`.
        """
        return DownloadMethod[origin_of(self)](
            self._state.unsafe_mut_cast[False]().unsafe_origin_cast[
                origin_of(self)
            ]()
        )

    def unsafe_state(self) -> PointerTo[ClientState]:
        """Returns the state, for packages that speak other protocols over
        connections of the client.

        Returns:
            The state.

        Safety:
            The client outlives the use of the state.
        """
        return self._state

    def cookies(self) -> List[Cookie]:
        """Returns copies of the cookies in the jar.

        Returns:
            The cookies that have not expired; none without a jar.
        """
        return self._state[].cookies()

    def save_cookies(self, path: StringSlice) raises:
        """Writes the cookies of the jar to a file (`save_cookies`).

        Args:
            path: The path of the file.

        Raises:
            Error: `client.file prepare`.
        """
        var jar = self._state[].config.cookies.copy()
        save_cookies(jar^.or_else(CookieJar()), path)

    def set_cookie(self, url: StringSlice, var cookie: Cookie) raises:
        """Stores a cookie in the jar as if a server had set it.

        Args:
            url: The URL of the request, as in `get`.
            cookie: The cookie.

        Raises:
            Error: `client.bad_url prepare`, `client.bad_config prepare` if
                there is no jar, or `message.bad_cookie`.
        """
        requests.set_cookie(self._state, text_view(url), cookie^)

    def statistics(self) -> ClientStatistics:
        """Returns the client's counters.

        Returns:
            The present values of the counters.
        """
        return self._state[].counted()

    def close_idle(self):
        """Closes the idle connections."""
        requests.close_idle(self._state)
