"""Defines the content of one request while it arrives and is read."""

from flare.core import Buffer, Erased, OctetPointer
from flare.proto.h1 import H1Rule
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry

from .rate_budget import RateBudget

comptime _CONTENT_TOO_LARGE = 413


struct ContentWait(Movable):
    """The deadline of a wait for content."""

    var budget: RateBudget
    """How long the content may still be waited for."""
    var timer: TimerEntry
    """Armed while content is waited for, or longer."""
    var task: TimerTask
    """The function that the timer calls."""

    def __init__(out self):
        """Creates the deadline of a new request."""
        self.budget = RateBudget(0)
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask(Erased(unsafe_from_address=64), _nothing)


struct ContentState(Movable):
    """The content of a request that has been received so far."""

    var octets: Buffer
    """The content that was copied here."""
    var trailers: Buffer
    """The octets of the trailer section, to which `Head.trailers` refers."""
    var octets_max: Int
    """The limit of the request's content, in octets."""
    # The fields that a new request resets are neighbours, so that a few stores
    # suffice.
    var view: Optional[OctetPointer]
    """The whole content, if it directly follows the head."""
    var view_octets: Int
    """The length of that view."""
    var taken: Int
    """How many octets of `octets`, or of the view, were read as a stream."""
    var received: Int
    """How many octets of content have arrived, including those already read."""
    var status: Int
    """The status that answers malformed content, or 0."""
    var rule: H1Rule
    """The rule of HTTP/1.1 that the content breaks, if any."""
    var is_complete: Bool
    """Whether all content has arrived."""
    var is_whole: Bool
    """Whether the handler has asked for the whole content, so that it is kept."""
    var is_streamed: Bool
    """Whether the handler reads piece by piece, so that octets are dropped after
    reading."""

    def __init__(out self):
        """Creates the content of a new request."""
        self.octets = Buffer()
        self.trailers = Buffer()
        self.octets_max = Int.MAX
        self.view = None
        self.view_octets = 0
        self.taken = 0
        self.received = 0
        self.status = 0
        self.rule = H1Rule.NONE
        self.is_complete = False
        self.is_whole = False
        self.is_streamed = False

    @always_inline
    def begin(mut self):
        """Clears the content of the last request, and keeps its memory."""
        self.octets.clear()
        self.trailers.clear()
        self.octets_max = Int.MAX
        self.view = None
        self.view_octets = 0
        self.taken = 0
        self.received = 0
        self.status = 0
        self.rule = H1Rule.NONE
        self.is_complete = False
        self.is_whole = False
        self.is_streamed = False

    @always_inline
    def limit(mut self, octets_max: Int):
        """Sets the limit of the content.

        Args:
            octets_max: The limit, in octets; a negative one is 0.
        """
        self.octets_max = max(octets_max, 0)

    @always_inline
    def refusal(
        self,
        content_length: Int,
        announced_octets: UInt64 = 0,
        octets_max: Int = Int.MAX,
    ) -> Int:
        """Returns the status that answers the request if its content exceeds
        the limit, as received or announced.

        Args:
            content_length: The Content-Length, or -1 if there is none.
            announced_octets: How much more content is announced otherwise.
            octets_max: A limit beside that of the content.

        Returns:
            The status, or 0 if the server may pass the content to the handler.
        """
        var limit = min(self.octets_max, octets_max)
        if max(
            content_length, self.received
        ) > limit or announced_octets > UInt64(limit - self.received):
            return _CONTENT_TOO_LARGE
        return 0

    def octets_bound(self, content_length: Int) -> Int:
        """Returns an upper bound of the content's length.

        Args:
            content_length: The Content-Length, or -1 if there is none.

        Returns:
            The Content-Length, or the limit if that is lower.
        """
        if content_length < 0:
            return self.octets_max
        return min(content_length, self.octets_max)

    def span(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns a view of the content received so far.

        Returns:
            The view; valid while no more content is appended.
        """
        if self.view:
            return Span[UInt8, ImmUntrackedOrigin](
                unsafe_ptr=self.view.unsafe_value()
                .unsafe_mut_cast[False]()
                .unsafe_origin_cast[ImmUntrackedOrigin](),
                length=self.view_octets,
            )
        return untracked(self.octets)


def untracked(buffer: Buffer) -> Span[UInt8, ImmUntrackedOrigin]:
    """Returns a view of a buffer that the compiler does not follow.

    Args:
        buffer: The buffer.

    Returns:
        The view; valid until the buffer changes.
    """
    var octets = buffer.span()
    return Span[UInt8, ImmUntrackedOrigin](
        unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[ImmUntrackedOrigin](),
        length=len(octets),
    )


def _nothing(owner: Erased):
    pass
