"""Limits on the messages of an HTTP/1.1 peer."""


from flare.message import RequestTarget


struct H1Limits(ImplicitlyCopyable):
    """The limits of one connection; each with the status that answers its
    violation.
    """

    var request_target_octets_max: UInt32
    """The longest request target (414); in the client role, the longest reason
    phrase.
    """
    var field_section_octets_max: UInt32
    """The longest header section (431), including line ends, without the empty
    line that ends it.
    """
    var field_lines_max: UInt32
    """The most field lines in a header or trailer section (431)."""
    var trailer_section_octets_max: UInt32
    """The longest trailer section, counted as the header section is (431)."""
    var chunk_extension_octets_max: UInt32
    """The longest extensions of one chunk line (400)."""
    var chunk_extensions_octets_max: UInt32
    """The longest sum of all chunk extensions of one message (400)."""
    var empty_lines_max: UInt32
    """The most empty lines that are skipped before a request line (400)."""
    var informational_responses_max: UInt32
    """The most 1xx responses that a client accepts before the final one."""
    var body_octets_max: Int
    """The longest body (413): refused at the head if its length is known,
    otherwise at the octet that exceeds it.
    """

    comptime METHOD_OCTETS_MAX = 32
    """The longest method; a longer one is answered like an unknown one (501).
    """
    comptime SECTION_OCTETS_MAX = 1 << 24
    """The bound on every limit except that of the body: offsets have 32 bits.
    """

    def __init__(
        out self,
        *,
        request_target_octets_max: UInt32 = 8192,
        field_section_octets_max: UInt32 = 8192,
        field_lines_max: UInt32 = 100,
        trailer_section_octets_max: UInt32 = 8192,
        chunk_extension_octets_max: UInt32 = 256,
        chunk_extensions_octets_max: UInt32 = 16384,
        empty_lines_max: UInt32 = 4,
        informational_responses_max: UInt32 = 16,
        body_octets_max: Int = 10 << 20,
    ):
        """Creates limits; `first_problem` checks them.

        Args:
            request_target_octets_max: Longest request target.
            field_section_octets_max: Longest header section.
            field_lines_max: Most field lines in a section.
            trailer_section_octets_max: Longest trailer section.
            chunk_extension_octets_max: Longest extensions of one chunk.
            chunk_extensions_octets_max: Longest extensions of one message.
            empty_lines_max: Most empty lines before a request line.
            informational_responses_max: Most 1xx responses before a final one.
            body_octets_max: Longest body.
        """
        self.request_target_octets_max = request_target_octets_max
        self.field_section_octets_max = field_section_octets_max
        self.field_lines_max = field_lines_max
        self.trailer_section_octets_max = trailer_section_octets_max
        self.chunk_extension_octets_max = chunk_extension_octets_max
        self.chunk_extensions_octets_max = chunk_extensions_octets_max
        self.empty_lines_max = empty_lines_max
        self.informational_responses_max = informational_responses_max
        self.body_octets_max = body_octets_max

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first limit that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        comptime MAX = UInt32(Self.SECTION_OCTETS_MAX)
        var target = self.request_target_octets_max
        if target < 1 or target > UInt32(RequestTarget.OCTETS_MAX):
            return StaticString("request_target_octets_max not in 1..65535")
        var section = self.field_section_octets_max
        if section < 64 or section > MAX:
            return StaticString("field_section_octets_max not in 64..2^24")
        if self.field_lines_max < 1 or self.field_lines_max > 65536:
            return StaticString("field_lines_max not in 1..65536")
        if self.trailer_section_octets_max > MAX:
            return StaticString("trailer_section_octets_max over 2^24")
        if self.chunk_extension_octets_max > MAX:
            return StaticString("chunk_extension_octets_max over 2^24")
        if self.chunk_extensions_octets_max > MAX:
            return StaticString("chunk_extensions_octets_max over 2^24")
        if self.empty_lines_max > 1024:
            return StaticString("empty_lines_max over 1024")
        if self.informational_responses_max > 65536:
            return StaticString("informational_responses_max over 65536")
        if self.body_octets_max < 0 or self.body_octets_max > 1 << 62:
            return StaticString("body_octets_max not in 0..2^62")
        return None

    def head_octets_max(self) -> Int:
        """Returns the longest window that can be without a whole head.

        A window of this length always produces an event or an error.

        Returns:
            The octets of empty lines, start line, field lines and line ends.
        """
        comptime BESIDES_TARGET = Self.METHOD_OCTETS_MAX + 16
        return (
            2 * Int(self.empty_lines_max)
            + BESIDES_TARGET
            + Int(self.request_target_octets_max)
            + max(
                Int(self.field_section_octets_max),
                Int(self.trailer_section_octets_max),
            )
            + 2
        )
