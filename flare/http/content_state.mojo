"""Defines the content of one request while it arrives and is read."""

from flare.core import Buffer, OctetPointer, copy_octets
from flare.proto.h1 import H1Rule
from flare.runtime.timer_task import TIMER_OF_TASK, TimerTask
from flare.runtime.timer_wheel import TimerEntry

from .rate_budget import RateBudget

comptime _CONTENT_TOO_LARGE = 413
# A reader that never waits must leave the loop to others.
comptime _AT_ONCE_OCTETS_MAX = 256 * 1024


struct WaitingReader(Movable):
    """A fiber that waits for content."""

    var memory: OctetPointer
    """The destination of the content."""
    var room: Int
    """How many octets fit there; 0 if no fiber waits."""
    var delivered: Int
    """How many octets are there already."""
    var at_once_left: Int
    """How many octets may still be received without a wait in between."""

    def __init__(out self):
        """Creates no reader."""
        self.memory = OctetPointer(unsafe_from_address=64)
        self.room = 0
        self.delivered = 0
        self.at_once_left = _AT_ONCE_OCTETS_MAX

    @always_inline
    def unsafe_begin(mut self, into: Span[mut=True, UInt8, _]):
        """Begins the wait of a reader. Content that arrives is copied to its
        memory.

        Args:
            into: The reader's memory.

        Safety:
            The memory outlives the wait, after which `end` is called. No earlier
            content is left.
        """
        self.memory = into.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
        self.room = len(into)
        self.delivered = 0

    @always_inline
    def deliver(mut self, octets: Span[UInt8, _]) -> Int:
        """Copies content to the reader that waits.

        Args:
            octets: The content, which follows that of earlier calls.

        Returns:
            The number of octets for which there was room.
        """
        var count = min(len(octets), self.room)
        if count > 0:
            copy_octets(
                self.memory.unsafe_offset(self.delivered),
                octets.unsafe_ptr(),
                count,
            )
            self.delivered += count
            self.room -= count
        return count

    @always_inline
    def lend(self, octets_max: Int) -> Span[UInt8, MutUntrackedOrigin]:
        """Lends the memory of the reader to a receive that does not wait;
        `take` follows.

        Args:
            octets_max: The greatest length.

        Returns:
            The memory; empty if the reader waits for none, or has received
            enough without a wait.
        """
        return Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=self.memory.unsafe_offset(self.delivered),
            length=min(self.room, octets_max) if self.at_once_left > 0 else 0,
        )

    @always_inline
    def take(mut self, count: Int, room: Int):
        """Takes octets that were received into the memory that was lent.

        Args:
            count: The number of octets.
            room: The length of the memory. If it is not full, the reader waits
                before it receives more.
        """
        self.delivered += count
        self.room -= count
        self.at_once_left = self.at_once_left - count if count == room else 0

    @always_inline
    def note_wait(mut self):
        """Notes that the reader has waited."""
        self.at_once_left = _AT_ONCE_OCTETS_MAX

    @always_inline
    def end(mut self) -> Int:
        """Ends the wait of a reader.

        Returns:
            The number of octets that it got.
        """
        var count = self.delivered
        self.room = 0
        self.delivered = 0
        return count


struct ContentWait(Movable):
    """A wait for content."""

    var budget: RateBudget
    """How long the content may still be waited for."""
    var timer: TimerEntry
    """Armed while content is waited for, or longer."""
    var task: TimerTask
    """The function that the timer calls."""
    var reader: WaitingReader
    """The fiber that waits, if it reads piece by piece."""

    def __init__(out self):
        """Creates the wait of a new request."""
        self.budget = RateBudget(0)
        self.timer = TimerEntry(None, TIMER_OF_TASK)
        self.task = TimerTask()
        self.reader = WaitingReader()


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
