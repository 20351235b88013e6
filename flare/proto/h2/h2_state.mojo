"""The state of one connection of HTTP/2."""

from flare.core import Buffer, PointerTo

from .h2_limits import H2Limits
from .hpack import HpackDecoder
from .hpack.encoder import HpackEncoder
from .priority_field import H2Priority
from .recent_resets import RecentResets
from .request_head import RequestHeadReader
from .schedule import H2Schedule
from .settings import H2PeerSettings
from .stream_table import NO_SLOT, H2StreamTable
from .token_bucket import TokenBucket
from .trailer_reader import TrailerReader

comptime DEFAULT_WINDOW = 65535
"""The window of each new connection (RFC 9113 section 6.9.2)."""


struct H2Phase:
    """The phases of a connection."""

    comptime PREFACE: UInt8 = 0
    """The octets that begin each connection of a client are due, at a server."""
    comptime SETTINGS: UInt8 = 1
    """The first frame is due, which has settings."""
    comptime OPEN: UInt8 = 2
    """Any frame may arrive."""
    comptime FAILED: UInt8 = 3
    """The peer has violated the protocol. Its further octets are dropped."""


struct FieldBlock(Movable):
    """A field block that arrives in several frames."""

    var stream_id: Int
    """Its stream; 0 if there is no such block."""
    var flags: UInt8
    """The flags of its first frame."""
    var depends_on_itself: Bool
    """Whether the priority in its first frame names its own stream."""
    var continuations: Int
    """How many frames have continued it."""
    var octets: Buffer
    """Its octets."""

    def __init__(out self):
        """Creates the state between two blocks."""
        self.stream_id = 0
        self.flags = 0
        self.depends_on_itself = False
        self.continuations = 0
        self.octets = Buffer()


struct DataFrame(Movable):
    """A frame of content that is being received in pieces."""

    var is_open: Bool
    """Whether there is one."""
    var slot: Int
    """The slot of its stream; `NO_SLOT` if the content is dropped."""
    var left: Int
    """How much of its content has not arrived."""
    var padding_left: Int
    """How much of its padding has not arrived."""
    var ends: Bool
    """Whether it ends its stream."""

    def __init__(out self):
        """Creates the state between two frames."""
        self.is_open = False
        self.slot = NO_SLOT
        self.left = 0
        self.padding_left = 0
        self.ends = False


@fieldwise_init
struct WindowProbe(TrivialRegisterPassable):
    """A measurement of how much content arrives within a round trip."""

    var is_open: Bool
    """Whether the peer has yet to answer a PING."""
    var has_begun: Bool
    """Whether it has ever been asked."""
    var octets: Int
    """The content that has arrived since its last answer."""


struct ConnectionWindow(Movable):
    """The windows that all streams share."""

    var send: Int
    """How much content the peer accepts."""
    var receive: Int
    """How much content the peer may still send."""
    var receive_max: Int
    """How much it may send if all content was taken."""
    var stream_max: Int
    """How much content it may send on one stream, in the same case."""
    var due: Int
    """Content that was taken, and for which the peer has no new window yet."""
    var probe: WindowProbe
    """The measurement whether the windows are too small."""

    def __init__(out self, receive_max: Int, stream_max: Int):
        """Creates the windows of a new connection.

        Args:
            receive_max: The window that the peer gets with the first settings.
            stream_max: The window that each stream begins with.
        """
        self.send = DEFAULT_WINDOW
        self.receive = receive_max
        self.receive_max = receive_max
        self.stream_max = stream_max
        self.due = 0
        self.probe = WindowProbe(False, False, 0)


struct H2Input(Movable):
    """The progress of reading."""

    var phase: UInt8
    """How far the connection is, one of `H2Phase`."""
    var block: FieldBlock
    """The field block that is being received."""
    var data: DataFrame
    """The content that is being received."""
    var skipped_left: Int
    """How much of a frame without an effect has not arrived."""
    var decoder: HpackDecoder
    """The decoder of heads."""
    var heads: RequestHeadReader
    """The latest head."""
    var trailers: TrailerReader
    """The latest trailers."""

    def __init__(out self, limits: H2Limits, is_client: Bool):
        """Creates the state before the first octet.

        Args:
            limits: The limits on the peer.
            is_client: Whether the peer is a server, which sends no preface.
        """
        self.phase = H2Phase.SETTINGS if is_client else H2Phase.PREFACE
        self.block = FieldBlock()
        self.data = DataFrame()
        self.skipped_left = 0
        self.decoder = HpackDecoder.create()
        self.heads = RequestHeadReader(limits.head)
        self.trailers = TrailerReader(limits.head)

    def __deinit__(deinit self):
        """Frees the decoder."""
        self.decoder.destroy()


struct StreamIds(Movable):
    """The numbers that bound the streams, which only clients begin."""

    var last_begun: Int
    """The highest one that the client has begun."""
    var last_taken: Int
    """The highest one that was reported; of a server only."""
    var last_allowed: Int
    """The highest one that the client may begin after this end's GOAWAY."""

    def __init__(out self):
        """Creates the state before the first stream."""
        self.last_begun = 0
        self.last_taken = 0
        self.last_allowed = Int.MAX


@fieldwise_init
struct EarlyPriority(TrivialRegisterPassable):
    """The priority of a stream that has not begun (RFC 9218 section 7.1)."""

    var stream_id: Int
    """The stream; 0 if there is none."""
    var priority: H2Priority
    """Its priority."""


# New windows of the connection and the stream, and a ping.
comptime _ANSWERS_PER_FRAME = 3
comptime _OCTETS_PER_ANSWER = 64


struct PeerMeters(Movable):
    """Meters of the work that a peer causes for no request."""

    var resets: TokenBucket
    """The resets that the peer may still cause."""
    var glitches: TokenBucket
    """The frames without a use that the peer may still send."""
    var recent_resets: RecentResets
    """The streams that this end has reset lately."""
    var answers: Int
    """The frames that the peer may send about the content it has got: new
    windows, and pings that measure the line."""

    def __init__(out self, limits: H2Limits):
        """Creates full meters.

        Args:
            limits: The limits on the peer.
        """
        self.resets = TokenBucket(limits.resets, limits.resets_per_second)
        self.glitches = TokenBucket(limits.glitches, limits.glitches_per_second)
        self.recent_resets = RecentResets()
        self.answers = 0

    @always_inline
    def note_sent(mut self, octets: Int):
        """Takes note of a frame with content that was sent.

        A peer that reads in small pieces widens both windows after each of them.

        Args:
            octets: The length of the content.
        """
        self.answers += _ANSWERS_PER_FRAME + octets // _OCTETS_PER_ANSWER


struct H2State(Movable):
    """The state of a machine. Its owner keeps it in place."""

    var is_client: Bool
    """Whether this end begins the streams."""
    var limits: H2Limits
    """The limits on the peer."""
    var peer: H2PeerSettings
    """The settings of the peer."""
    var input: H2Input
    """The progress of reading."""
    var streams: H2StreamTable
    """The streams."""
    var ids: StreamIds
    """The numbers that bound them."""
    var schedule: H2Schedule
    """The order in which they send content."""
    var window: ConnectionWindow
    """The windows of the connection."""
    var encoder: HpackEncoder
    """The encoder of heads."""
    var early_priority: EarlyPriority
    """The priority of a stream that has not begun."""
    var meters: PeerMeters
    """Meters of the work that the peer causes for no request."""
    var has_unacknowledged_settings: Bool
    """Whether the peer has not acknowledged this end's settings."""

    def __init__(out self, limits: H2Limits, *, is_client: Bool = False):
        """Creates the state before the first octet.

        Args:
            limits: The limits on the peer.
            is_client: Whether this end begins the streams.
        """
        self.is_client = is_client
        self.limits = limits
        self.peer = H2PeerSettings(of_server=is_client)
        self.input = H2Input(limits, is_client)
        self.streams = H2StreamTable(limits.streams_max)
        self.ids = StreamIds()
        self.schedule = H2Schedule()
        self.window = ConnectionWindow(
            limits.connection_window_octets, limits.stream_window_octets
        )
        self.encoder = HpackEncoder.create()
        self.early_priority = EarlyPriority(0, H2Priority())
        self.meters = PeerMeters(limits)
        self.has_unacknowledged_settings = False

    def __deinit__(deinit self):
        """Frees the encoder."""
        self.encoder.destroy()


@fieldwise_init
struct Reading(TrivialRegisterPassable):
    """The arguments of all functions that read frames."""

    var state: PointerTo[H2State]
    """The connection."""
    var now_ms: Int
    """The time, by any clock that does not go back."""
    var output: PointerTo[Buffer]
    """The destination of frames that answer at once."""
