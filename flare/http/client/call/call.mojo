"""One call of a client while it lasts: the request and its target.

The block belongs to the client and is reused, so that a warm client allocates
no memory for a call.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import FieldName, HeaderMap, Method, Url
from flare.sys.clock import monotonic_ns

from ...client_error import ClientError
from ...content import Content
from ...timings import ExchangeTimings
from ..config.call_log import CallRecord
from ..exchange.client_exchange import ClientExchange
from ..exchange.exchange_state import ClientExchangeState
from ..pool.origin import Origin
from ..transport.clock import Clock


struct CallState(Movable):
    """The state of one call."""

    var origin: Optional[Origin]
    """The origin of the present request."""
    var method: Method
    """The method of the present request."""
    var method_text: Buffer
    """Its name."""
    var target: Buffer
    """The request target, without the origin."""
    var absolute_target: Buffer
    """The same with the origin, for a proxy."""
    var headers: HeaderMap
    """The fields that the program has set."""
    var fields: HeaderMap
    """All fields of the present request, unless they are just those of the
    origin.
    """
    var content: Content
    """The content to send."""
    var shows_credentials: Bool
    """Whether no redirect has led the call to another origin."""
    var shown_nonce: String
    """The nonce of the challenge that the present request answers; empty if it
    answers none.
    """
    var challenges: Int
    """How many challenges were taken where it goes."""
    var redirects: Int
    """Redirections followed."""
    var attempts: Int
    """How often a request was sent."""
    var retries: Int
    """How often one was repeated after a failure."""
    var exchange: ClientExchangeState
    """The present exchange; its clock is that of the call."""
    var timings: ExchangeTimings
    """How long each phase took."""
    var phase_began_ns: Int
    """When the present phase of a stream began."""
    var status: Int
    """The status of the last response, or 0."""
    var failure: Optional[ClientError]
    """The failure of the call, if any."""

    def __init__(out self):
        """Creates an unused block."""
        self.origin = None
        self.method = Method.GET
        self.method_text = Buffer()
        self.target = Buffer()
        self.absolute_target = Buffer()
        self.headers = HeaderMap()
        self.fields = HeaderMap()
        self.content = Content()
        self.shows_credentials = False
        self.shown_nonce = String()
        self.challenges = 0
        self.redirects = 0
        self.attempts = 0
        self.retries = 0
        self.exchange = ClientExchangeState()
        self.timings = ExchangeTimings()
        self.phase_began_ns = 0
        self.status = 0
        self.failure = None

    def begin(mut self, method: StringSlice, clock: Clock):
        """Starts a call.

        Args:
            method: The method.
            clock: The time at which the call must end.
        """
        self.set_method(method)
        self.challenges = 0
        self.redirects = 0
        self.attempts = 0
        self.retries = 0
        self.exchange.clock = clock
        self.shows_credentials = True
        self.timings = ExchangeTimings()
        self.phase_began_ns = 0
        self.status = 0
        self.failure = None

    def asks_upgrade(self) -> Bool:
        """Returns whether the call asks for an upgrade of the connection.

        Returns:
            True if the program has set Upgrade.
        """
        return len(self.headers) > 0 and self.headers.has_known(
            FieldName.UPGRADE
        )

    def next_phase_us(mut self) -> Int:
        """Ends a phase of a stream, and starts the next one.

        Returns:
            The duration of the phase; 0 for the first call.
        """
        var began_ns = self.phase_began_ns
        self.phase_began_ns = monotonic_ns()
        if began_ns == 0:
            return 0
        return (self.phase_began_ns - began_ns) // 1000

    def fail(mut self, cause: Error, phase: StaticString):
        """Records the failure of the call.

        Args:
            cause: The error.
            phase: The phase of the call, if the error does not have one.
        """
        self.failure = ClientError.because(phase, cause)

    def record(self) -> CallRecord:
        """Returns the record of the call for the `CallLog`.

        Returns:
            The record; the call's target is set.
        """
        return CallRecord(
            String(StringSlice(unsafe_from_utf8=self.method_text.span())),
            self.url_text(),
            self.status,
            self.failure.copy(),
            self.attempts,
            self.redirects,
            self.timings,
        )

    def set_method(mut self, method: StringSlice):
        """Sets the method.

        Args:
            method: The method.
        """
        self.method = Method.from_octets(method.as_bytes())
        self.method_text.clear()
        self.method_text.append(method.as_bytes())

    def set_target(mut self, target: StringSlice):
        """Sets the request target.

        Args:
            target: Path and query.
        """
        self.target.clear()
        self.target.append(target.as_bytes())

    def end(mut self):
        """Clears the call, and keeps its memory."""
        self.origin = None
        self.headers = HeaderMap()
        self.fields = HeaderMap()
        self.content = Content()
        self.exchange.rest()

    def shows_secrets(self) -> Bool:
        """Returns whether the present request may carry secrets of the client.

        Returns:
            True if its origin may see them (`may_see_secrets`), and no
            redirection has led the call to another origin before.
        """
        return self.shows_credentials and self.origin.value()[].may_see_secrets

    def write_url(self, into: PointerTo[Buffer]):
        """Writes the URL of the present request.

        Args:
            into: The destination.
        """
        var origin = self.origin.value()
        var scheme: StaticString = "http://"
        if origin[].is_secure:
            scheme = "https://"
        into[].append(scheme)
        into[].append(origin[].authority.as_bytes())
        into[].append(self.target.span())

    def url_text(self) -> String:
        """Returns the text of that URL.

        Returns:
            The text.
        """
        var text = heap_create(Buffer())
        self.write_url(text)
        var url = String(StringSlice(unsafe_from_utf8=text[].span()))
        heap_destroy(text)
        return url^

    def url(self) raises -> Url:
        """Returns the URL of the present request.

        Returns:
            The URL.

        Raises:
            Error: Never for a request that was sent.
        """
        # A redirection may have led to a URL that no program could ask for.
        return Url.parse_lenient(self.url_text().as_bytes())


comptime Call = PointerTo[CallState]
"""A handle to the block of one call."""


@always_inline
def exchange_of(call: Call) -> ClientExchange:
    """Returns the exchange of a call.

    Args:
        call: The call.

    Returns:
        A handle, valid until the block serves another call.
    """
    return ClientExchange(
        Pointer(to=call[].exchange).unsafe_origin_cast[MutUntrackedOrigin]()
    )
