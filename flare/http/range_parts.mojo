"""Writes the heads of several ranges in one response (RFC 9110 section 14.6).

The content of the ranges does not pass through here. All lengths are known
before the first octet is sent.
"""

from flare.core import Buffer
from flare.proto.multipart import MultipartWriter, is_writable_type

from .ranges import ByteRange, ByteRanges, append_content_range

comptime _TYPE: StaticString = "Content-Type: "
comptime _RANGE: StaticString = "Content-Range: "


struct RangeParts(Copyable, Movable):
    """The heads and the end of a `multipart/byteranges` content.

    For each range in order, send its head, then its octets. Then send the end.
    """

    var ranges: ByteRanges
    """The ranges."""
    var size: Int
    """The length of the representation."""
    var _writer: MultipartWriter
    var _part_type: String

    def __init__(
        out self,
        var ranges: ByteRanges,
        size: Int,
        *,
        boundary: StringSlice,
        part_type: StringSlice,
    ) raises:
        """Creates the parts of a response.

        Args:
            ranges: The ranges.
            size: The length of the representation.
            boundary: A text that occurs in no content, such as that of
                `boundary_of` with random octets.
            part_type: The Content-Type of the representation, a field value;
                empty if it has none.

        Raises:
            An error `http.multipart` if the boundary or the type is malformed.
        """
        if part_type.byte_length() > 0 and not is_writable_type(
            part_type.as_bytes()
        ):
            raise Error("http.multipart a media type is malformed")
        try:
            self._writer = MultipartWriter(boundary)
        except e:
            raise Error("http.multipart ", e.reason)
        self.ranges = ranges^
        self.size = size
        self._part_type = String(part_type)

    def content_type(self) -> String:
        """Returns the value of Content-Type of the response.

        Returns:
            `multipart/byteranges` with the boundary.
        """
        return self._writer.content_type("byteranges")

    def content_length(self) -> Int:
        """Returns the length of the whole content.

        Returns:
            The number of octets: heads, ranges and end.
        """
        # The end of the last part, and that of the content.
        var octets = 2 + self._writer.end_octets()
        for i in range(len(self.ranges)):
            octets += self.head_octets(i) + self.ranges[i].octets
        return octets

    def head_octets(self, index: Int) -> Int:
        """Returns the length of the head of a part.

        Args:
            index: The place of its range.

        Returns:
            The number of octets that `append_head` writes.
        """
        var octets = self._writer.boundary_octets()
        if index > 0:
            octets += 2
        if self._part_type:
            octets += _TYPE.byte_length() + self._part_type.byte_length() + 2
        var part = self.ranges[index]
        return (
            octets
            + _RANGE.byte_length()
            + _content_range_octets(part, self.size)
            + 4
        )

    def append_head(self, index: Int, mut output: Buffer):
        """Writes the end of the part before, if any, and the head of a part.

        Args:
            index: The place of its range.
            output: Grows by `head_octets` octets.
        """
        if index > 0:
            self._writer.write_part_end(output)
        self._writer.write_boundary(output)
        if self._part_type:
            output.append(_TYPE)
            output.append(self._part_type.as_bytes())
            output.append("\r\n")
        output.append(_RANGE)
        append_content_range(output, self.ranges[index], self.size)
        output.append("\r\n\r\n")

    def append_end(self, mut output: Buffer):
        """Writes the end of the last part and of the content.

        Args:
            output: Grows by the last boundary.
        """
        self._writer.write_part_end(output)
        self._writer.write_end(output)


def _content_range_octets(part: ByteRange, size: Int) -> Int:
    # `bytes `, the minus and the slash.
    return 8 + _digits(part.start) + _digits(part.end() - 1) + _digits(size)


def _digits(number: Int) -> Int:
    var digits = 1
    var rest = number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    return digits
