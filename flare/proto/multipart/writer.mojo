"""Writes forms as multipart/form-data, and tells their length before."""

from flare.core import Buffer, CR, LF, OctetSet, find_member, is_token

from .boundary import is_boundary
from .error import MultipartError

comptime _HEAD: StaticString = 'Content-Disposition: form-data; name="'
comptime _FILE_NAME: StaticString = '"; filename="'
comptime _TYPE: StaticString = "\r\nContent-Type: "


@fieldwise_init
struct PartDescription(Copyable, Movable):
    """Describes a part that is to be written."""

    var name: String
    """The name of the field, any text."""
    var file_name: Optional[String]
    """The name of the file, any text, if it is one."""
    var content_type: Optional[String]
    """The media type; a file without one gets `application/octet-stream`."""

    @staticmethod
    def field(var name: String) -> Self:
        """Describes a field that is not a file.

        Args:
            name: Its name.

        Returns:
            The description.
        """
        return Self(name^, None, None)

    @staticmethod
    def file(
        var name: String,
        var file_name: String,
        var content_type: String = "application/octet-stream",
    ) -> Self:
        """Describes a file.

        Args:
            name: The name of its field.
            file_name: Its own name.
            content_type: Its media type.

        Returns:
            The description.
        """
        return Self(name^, file_name^, content_type^)


struct MultipartWriter(Copyable, Movable):
    """Writes the boundaries and heads around the contents of parts."""

    var _boundary: String

    def __init__(out self, boundary: StringSlice) raises MultipartError:
        """Creates a writer with a boundary that no content contains.

        Args:
            boundary: The boundary, best from `boundary_of`.

        Raises:
            MultipartError: If it is not a valid boundary.
        """
        if not is_boundary(boundary.as_bytes()):
            raise MultipartError(MultipartError.UNWRITABLE, "no boundary")
        self._boundary = String(boundary)

    def content_type(self, subtype: StaticString = "form-data") -> String:
        """Returns the value of Content-Type.

        Args:
            subtype: The kind of multipart content.

        Returns:
            The type with the boundary. It is quoted only if it is not a token,
            because many servers take quotation marks for a part of the
            boundary.
        """
        if is_token(self._boundary.as_bytes()):
            return String("multipart/", subtype, "; boundary=", self._boundary)
        return String(
            "multipart/", subtype, '; boundary="', self._boundary, '"'
        )

    def write_head(
        self, part: PartDescription, mut output: Buffer
    ) raises MultipartError:
        """Writes the boundary and the head of a part.

        Args:
            part: The part.
            output: Grows by the boundary and the head.

        Raises:
            MultipartError: If its media type is not a field value; no octet is
                then written.
        """
        if part.content_type:
            if not is_writable_type(part.content_type.value().as_bytes()):
                raise MultipartError(
                    MultipartError.UNWRITABLE, "a media type is malformed"
                )
        self.write_boundary(output)
        output.append(_HEAD)
        _append_escaped(part.name, output)
        if part.file_name:
            output.append(_FILE_NAME)
            _append_escaped(part.file_name.value(), output)
        output.append('"')
        if part.content_type:
            output.append(_TYPE)
            output.append(part.content_type.value().as_bytes())
        elif part.file_name:
            output.append(_TYPE)
            output.append("application/octet-stream")
        output.append("\r\n\r\n")

    def write_boundary(self, mut output: Buffer):
        """Writes the line that begins a part.

        Args:
            output: Grows by `boundary_octets` octets.
        """
        output.append("--")
        output.append(self._boundary.as_bytes())
        output.append("\r\n")

    def write_part_end(self, mut output: Buffer):
        """Writes the end of a part's content.

        Args:
            output: Grows by two octets.
        """
        output.append("\r\n")

    def write_end(self, mut output: Buffer):
        """Writes the end of the form.

        Args:
            output: Grows by the last boundary.
        """
        output.append("--")
        output.append(self._boundary.as_bytes())
        output.append("--\r\n")

    def part_octets(
        self, part: PartDescription, content_octets: Int
    ) raises MultipartError -> Int:
        """Returns the length of a part, including its boundary and head.

        Args:
            part: The part.
            content_octets: The length of its content.

        Returns:
            The number of octets.

        Raises:
            MultipartError: If its media type is not a field value.
        """
        var head = Buffer()
        self.write_head(part, head)
        return len(head) + content_octets + 2

    def boundary_octets(self) -> Int:
        """Returns the length of the line that begins a part.

        Returns:
            The number of octets.
        """
        return self._boundary.byte_length() + 4

    def end_octets(self) -> Int:
        """Returns the length of the form's end.

        Returns:
            The number of octets.
        """
        return self._boundary.byte_length() + 6


def is_writable_type(octets: Span[UInt8, _]) -> Bool:
    """Returns whether a media type can stand in the head of a part.

    Args:
        octets: The media type.

    Returns:
        True if it is not empty and has only visible ASCII and blanks.
    """
    return len(octets) > 0 and find_member[_VISIBLE, False](octets) == len(
        octets
    )


def _visible() -> OctetSet:
    var set = OctetSet.of("")
    for b in range(32, 127):
        set.add(UInt8(b))
    return set


comptime _VISIBLE = _visible()


def _append_escaped(text: String, mut output: Buffer):
    # As the HTML Standard writes names: these three octets end a line or the
    # quotation, everything else stays as it is.
    for b in text.as_bytes():
        if b == UInt8(ord('"')):
            output.append("%22")
        elif b == CR:
            output.append("%0D")
        elif b == LF:
            output.append("%0A")
        else:
            output.append_octet(b)
