"""Defines a parsed head: offsets into the window in which it was reported.

While the owner of a head uses its views, it keeps the octets of the window,
contiguous, from the first octet of the head on. A head copies only the parts
that must be mended: its views then show the clean form (`mending`).
"""

from std.sys.intrinsics import unlikely

from flare.message import FieldLine, FieldSection, Method, RequestTarget


struct BodyKind:
    """How the end of a body is found (RFC 9112 section 6.3)."""

    comptime NONE: UInt8 = 0
    """There is no body, or it is empty."""
    comptime LENGTH: UInt8 = 1
    """Content-Length counts its octets."""
    comptime CHUNKED: UInt8 = 2
    """The chunked coding delimits it."""
    comptime UNTIL_CLOSE: UInt8 = 3
    """It ends with the connection; of responses only."""
    comptime FRAMES: UInt8 = 4
    """The frames of HTTP/2 delimit it."""


@fieldwise_init
struct HeadProgress(TrivialRegisterPassable):
    """How far a head has been read, between two windows."""

    comptime START_LINE: UInt8 = 0
    """Empty lines, then a method or a version."""
    comptime TARGET: UInt8 = 1
    """The request target or the reason phrase."""
    comptime VERSION: UInt8 = 2
    """The version that ends a request line."""
    comptime LINE: UInt8 = 3
    """The first octet of a field line or of the end."""
    comptime NAME: UInt8 = 4
    """A field name."""
    comptime VALUE: UInt8 = 5
    """A field value."""
    comptime FOLD: UInt8 = 6
    """A line that continues the value before it; in responses only."""

    var part: UInt8
    """The part to which the next octet belongs, one of the constants."""
    var empty_lines: UInt32
    """Empty lines skipped before the start line."""
    var scanned: UInt32
    """Octets of the window that need not be looked at again."""
    var part_start: UInt32
    """The start of the start line, the target, the version or the field line.
    """
    var name_octets: UInt32
    """The length of the name whose value is being read."""
    var section_start: UInt32
    """The offset of the field section."""
    var codings: UInt8
    """The codings of Transfer-Encoding so far; bits of `framing`."""
    var is_odd: Bool
    """Whether octets were accepted that the views do not show as received."""
    var owner: Int
    """The address of the connection state whose head this is, or 0."""

    def __init__(out self):
        """Creates the position before the first octet, for no connection."""
        self = Self(Self.START_LINE, 0, 0, 0, 0, 0, 0, False, 0)


@fieldwise_init
struct HeadVersion(TrivialRegisterPassable):
    """A version of HTTP."""

    var major: Int
    """The major version: 1 or 2."""
    var minor: Int
    """The minor version: the digit after `HTTP/1.`, or 0."""


struct Head(Movable):
    """A request or response head, and later its trailers.

    It is reused: a new head keeps the memory of the tables of lines.
    """

    var lines: List[FieldLine]
    """The field lines in the order of arrival."""
    var trailers: List[FieldLine]
    """The trailers; they lie in the window in which they were reported, so
    they never mix with `lines` (RFC 9110 section 6.5.1)."""
    # The fields that a new head resets are neighbours, so that a few stores
    # suffice.
    var known: UInt64
    """A set of `FieldName` ids: which known fields are present."""
    var host: Int
    """The index of the Host line, or -1."""
    var content_length: Int
    """The value of Content-Length, or -1 if there is none."""
    var start: Int
    """The start of the start line, after skipped empty lines."""
    var status: Int
    """The status code of a response; 0 in a request."""
    var progress: HeadProgress
    """How far the reader came; only the machine changes it."""
    var body: UInt8
    """How the body ends, one of `BodyKind`."""
    var options: UInt8
    """The connection options, bits of `ConnectionOption`."""
    var keep_alive: Bool
    """Whether the peer lets the connection persist."""
    var expects_continue: Bool
    """Whether the client waits for 100 (Continue) before the body."""
    var has_mended_target: Bool
    """Whether `mended` contains the clean form of the request target."""
    var has_mended_fields: Bool
    """Whether `mended` contains the clean form of the header section."""
    var has_mended_trailers: Bool
    """Whether `mended_trailers` contains the clean form of the trailer
    section.
    """
    var has_plain_host: Bool
    """Whether the first look at the window showed that Host is a name or an
    IPv4 address, with or without a port.
    """
    var wants_upgrade: Bool
    """Whether the peer offers or accepts the protocols of Upgrade."""
    var method: Method
    """The method; `OTHER` leaves the text to `method_text`."""
    var method_octets: Int
    """The length of the method, which begins at `start`."""
    var target: RequestTarget
    """Form and parts of the request target, as offsets from its start."""
    var target_start: Int
    """The offset of the request target or the reason phrase."""
    var target_octets: Int
    """The length of the request target or of the reason phrase."""
    var version: HeadVersion
    """The version of HTTP."""
    var mended: List[UInt8]
    """The clean form of parts that views may not show as received: the request
    target, or a response's header section. Mostly empty.
    """
    var mended_trailers: List[UInt8]
    """The clean form of the trailer section of a response; mostly empty."""

    def __init__(out self):
        """Creates an empty head with room for sixteen lines."""
        self.lines = List[FieldLine](capacity=16)
        self.trailers = []
        self.known = 0
        self.method = Method.OTHER
        self.method_octets = 0
        self.target = RequestTarget()
        self.start = 0
        self.target_start = 0
        self.target_octets = 0
        self.version = HeadVersion(1, 1)
        self.status = 0
        self.host = -1
        self.content_length = -1
        self.body = BodyKind.NONE
        self.options = 0
        self.keep_alive = False
        self.expects_continue = False
        self.has_mended_target = False
        self.has_mended_fields = False
        self.has_mended_trailers = False
        self.has_plain_host = False
        self.wants_upgrade = False
        self.progress = HeadProgress()
        self.mended = []
        self.mended_trailers = []

    @always_inline
    def begin(mut self, owner: Int):
        """Resets the head for the first octet of a new one.

        Args:
            owner: The address of the connection state; 0 if it is set later,
                once the head turns out to arrive in pieces.
        """
        self.lines.clear()
        self.trailers.clear()
        self.known = 0
        self.host = -1
        self.content_length = -1
        self.start = 0
        self.status = 0
        self.version.major = 1
        self.progress = HeadProgress()
        self.body = BodyKind.NONE
        self.options = 0
        self.keep_alive = False
        self.expects_continue = False
        self.has_mended_target = False
        self.has_mended_fields = False
        self.has_mended_trailers = False
        self.has_plain_host = False
        self.wants_upgrade = False
        self.target.form = RequestTarget.NONE
        self.progress.owner = owner

    def forget_mended(mut self):
        """Frees the mended octets; views of them become invalid."""
        self.has_mended_target = False
        self.has_mended_fields = False
        self.has_mended_trailers = False
        self.mended = []
        self.mended_trailers = []

    def begin_trailers(mut self, owner: Int, start: Int):
        """Clears the trailers only.

        Args:
            owner: The address of the connection state.
            start: The offset of the trailer section in the window.
        """
        self.trailers.clear()
        self.has_mended_trailers = False
        self.progress = HeadProgress()
        self.progress.owner = owner
        self.progress.part = HeadProgress.LINE
        self.progress.scanned = UInt32(start)
        self.progress.part_start = UInt32(start)
        self.progress.section_start = UInt32(start)

    @always_inline
    def fields[
        origin: ImmOrigin
    ](self, octets: Span[UInt8, origin]) -> FieldSection[origin]:
        """Returns a view of the field section.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The window in which the head was reported.

        Returns:
            A view, valid while the octets and this head stay as they are.
        """
        if unlikely(self.has_mended_fields):
            return _section(_own[origin](self.mended), self.lines)
        return _section(octets, self.lines)

    def trailer_fields[
        origin: ImmOrigin
    ](self, octets: Span[UInt8, origin]) -> FieldSection[origin]:
        """Returns a view of the trailers.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The window in which the trailers were reported.

        Returns:
            A view, valid while the octets and this head stay as they are.
        """
        if self.has_mended_trailers:
            return _section(_own[origin](self.mended_trailers), self.trailers)
        return _section(octets, self.trailers)

    @always_inline
    def method_text[
        origin: ImmOrigin
    ](self, octets: Span[UInt8, origin]) -> StringSlice[origin]:
        """Returns a view of the method.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The window in which the head was reported.

        Returns:
            A token.
        """
        return StringSlice(
            unsafe_from_utf8=octets[
                self.start : self.start + self.method_octets
            ]
        )

    @always_inline
    def target_text[
        origin: ImmOrigin
    ](self, octets: Span[UInt8, origin]) -> StringSlice[origin]:
        """Returns a view of the request target.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The window in which the head was reported.

        Returns:
            Visible ASCII: octets over 127 are shown as escapes.
        """
        if unlikely(self.has_mended_target):
            return StringSlice(unsafe_from_utf8=_own[origin](self.mended))
        return StringSlice(
            unsafe_from_utf8=octets[
                self.target_start : self.target_start + self.target_octets
            ]
        )

    @always_inline
    def path[
        origin: ImmOrigin
    ](self, octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
        """Returns a view of the path of the request target.

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The window in which the head was reported.

        Returns:
            The path, escapes included; it may be empty.
        """
        if unlikely(self.has_mended_target):
            return self.target.path(_own[origin](self.mended))
        return Span[UInt8, origin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_offset(
                self.target_start + Int(self.target.path_start)
            ),
            length=Int(self.target.path_octets),
        )

    def authority[
        origin: ImmOrigin
    ](self, octets: Span[UInt8, origin]) -> StringSlice[origin]:
        """Returns the host and port of a request: those of the request target
        if it has them, otherwise those of Host (RFC 9112 section 3.2.2).

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The window in which the head was reported.

        Returns:
            Host and port as received; empty if the request has none.
        """
        if self.target.authority_octets != 0:
            return StringSlice(
                unsafe_from_utf8=self.target.authority(
                    self.target_text(octets).as_bytes()
                )
            )
        if self.host < 0:
            return StringSlice(unsafe_from_utf8=octets[:0])
        ref line = self.lines[self.host]
        return StringSlice(
            unsafe_from_utf8=octets[Int(line.value_start) :][
                : Int(line.value_octets)
            ]
        )

    def reason[
        origin: ImmOrigin
    ](self, octets: Span[UInt8, origin]) -> Span[UInt8, origin]:
        """Returns a view of the reason phrase of a response (RFC 9112 section
        4).

        Parameters:
            origin: The origin of the octets.

        Args:
            octets: The window in which the head was reported.

        Returns:
            Octets without control octets, perhaps none, perhaps not UTF-8.
        """
        return octets[
            self.target_start : self.target_start + self.target_octets
        ]


@always_inline
def _own[origin: ImmOrigin](octets: List[UInt8]) -> Span[UInt8, origin]:
    # A head lives as long as the window of its views.
    return Span[UInt8, origin](
        unsafe_ptr=octets.unsafe_ptr()
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[origin](),
        length=len(octets),
    )


@always_inline
def _section[
    origin: ImmOrigin
](octets: Span[UInt8, origin], lines: List[FieldLine]) -> FieldSection[origin]:
    return FieldSection[origin](
        octets,
        Span[FieldLine, origin](
            unsafe_ptr=lines.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin](),
            length=len(lines),
        ),
    )
