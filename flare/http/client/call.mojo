"""Holds one call of a client while it lasts: what is asked for, and where.

The block belongs to the client and is used again, so that a call allocates
nothing once the client runs.
"""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap, Method, Url

from ..content import Content
from ..timings import ExchangeTimings
from .connection import Clock
from .pool import Origin


struct CallState(Movable):
    """Holds one call."""

    var origin: Optional[Origin]
    """Where the present request goes."""
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
    """All fields of the present request, where they are not just those of the
    origin."""
    var content: Content
    """What is sent."""
    var shows_credentials: Bool
    """The request may prove who asks."""
    var shown_nonce: String
    """The nonce of the challenge that the present request answers; empty where
    it answers none."""
    var challenges: Int
    """How many challenges were taken where it goes."""
    var redirects: Int
    """Redirections followed."""
    var attempts: Int
    """How often a request was sent."""
    var retries: Int
    """How often one was repeated after a failure."""
    var clock: Clock
    """Until when the call may last."""
    var timings: ExchangeTimings
    """How long the phases took."""

    def __init__(out self):
        """Makes an unused block."""
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
        self.clock = Clock(0)
        self.timings = ExchangeTimings()

    def begin(mut self, method: StringSlice, clock: Clock):
        """Begins a call.

        Args:
            method: The method.
            clock: Until when it may last.
        """
        self.set_method(method)
        self.challenges = 0
        self.redirects = 0
        self.attempts = 0
        self.retries = 0
        self.clock = clock
        self.shows_credentials = True
        self.timings = ExchangeTimings()

    def set_method(mut self, method: StringSlice):
        """Names the method.

        Args:
            method: The method.
        """
        self.method = Method.from_octets(method.as_bytes())
        self.method_text.clear()
        self.method_text.append(method.as_bytes())

    def set_target(mut self, target: StringSlice):
        """Names the request target.

        Args:
            target: Path and query.
        """
        self.target.clear()
        self.target.append(target.as_bytes())

    def end(mut self):
        """Forgets what the call has held; memory stays."""
        self.origin = None
        self.headers = HeaderMap()
        self.fields = HeaderMap()
        self.content = Content()

    def write_url(self, into: PointerTo[Buffer]):
        """Writes the URL of the present request.

        Args:
            into: Where to.
        """
        var origin = self.origin.value()
        var scheme: StaticString = "http://"
        if origin[].is_secure:
            scheme = "https://"
        into[].append(scheme)
        into[].append(origin[].authority.as_bytes())
        into[].append(self.target.span())

    def url(self) raises -> Url:
        """Makes the URL of the present request.

        Returns:
            The URL.

        Raises:
            Error: Never for a request that was sent.
        """
        var text = heap_create(Buffer())
        self.write_url(text)
        try:
            return Url.parse(StringSlice(unsafe_from_utf8=text[].span()))
        finally:
            heap_destroy(text)


comptime Call = PointerTo[CallState]
"""Names the block of one call."""
