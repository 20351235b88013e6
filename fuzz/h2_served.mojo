"""Says what a server does with a request, and with a connection."""


struct Deed:
    """What the server does with a request."""

    comptime ANSWERS = 0
    """It answers."""
    comptime RESETS = 1
    """It resets the stream, before its answer or in the middle of it."""
    comptime REFUSES = 2
    """It refuses the stream."""
    comptime IS_SILENT = 3
    """It does nothing."""
    comptime LIES = 4
    """Its answer is malformed."""


struct Ending:
    """What the server does when it has sent some octets."""

    comptime NONE = 0
    """It goes on."""
    comptime CLOSES = 1
    """It closes the connection."""
    comptime ENDS = 2
    """It ends its side, and reads on."""
    comptime BREAKS = 3
    """It breaks the connection."""
    comptime STALLS = 4
    """It neither reads nor sends any more."""
    comptime GOES_AWAY = 5
    """It takes no further streams, and closes when the others have ended."""
    comptime LIES = 6
    """It breaks a rule of the connection."""
    comptime COUNT = 7
    """The number of endings."""


struct Served(Copyable, Movable):
    """A request that has arrived at the server, and what the server does with it.
    """

    var number: Int
    """The call."""
    var connection: Int
    """The connection."""
    var id: Int
    """The stream."""
    var slot: Int
    """The slot of the stream; -1 after it was forgotten."""
    var deed: Int
    """One of `Deed`."""
    var octets: Int
    """The content of the answer, as long as it is whole."""
    var has_length: Bool
    """Whether the head states it."""
    var has_trailer: Bool
    """Whether a trailer follows."""
    var informational: Int
    """How many interim answers are left to send."""
    var is_early: Bool
    """Whether the answer does not wait for the end of the request."""
    var has_head: Bool
    """Whether the head of the answer was written."""
    var sent: Int
    """How much content was written."""
    var is_done: Bool
    """Whether the server has written all that it will."""
    var end_at: Int
    """Where the end of the answer lies in the output of the connection; -1 before.
    """
    var arrived_ms: Int
    """When that end was on its way to the client; -1 before."""
    var got: Int
    """How much content of the request has arrived."""
    var held: Int
    """How much of it the server has not taken."""
    var has_ended: Bool
    """Whether the whole request has arrived."""
    var was_reset: Bool
    """Whether the client has reset the stream."""
    var is_unprocessed: Bool
    """Whether the client was told that the server has not processed it."""

    def __init__(out self, number: Int, connection: Int, id: Int, slot: Int):
        """Creates the state after the head of the request.

        Args:
            number: The call.
            connection: The connection.
            id: The stream.
            slot: Its slot.
        """
        self.number = number
        self.connection = connection
        self.id = id
        self.slot = slot
        self.deed = 0
        self.octets = 0
        self.has_length = False
        self.has_trailer = False
        self.informational = 0
        self.is_early = False
        self.has_head = False
        self.sent = 0
        self.is_done = False
        self.end_at = -1
        self.arrived_ms = -1
        self.got = 0
        self.held = 0
        self.has_ended = False
        self.was_reset = False
        self.is_unprocessed = False
