"""Reads the head of one part of a form (RFC 7578 section 4)."""

from flare.core import (
    COLON,
    CR,
    LF,
    equals_lower,
    find_octet,
)
from flare.message import HeaderMap, SyntaxError, percent_decode
from flare.message.parameters import FieldParameter, FieldParameters

from .error import MultipartError

comptime _PERCENT: UInt8 = 37
comptime _APOSTROPHE: UInt8 = 39


struct MultipartPart(Copyable, Movable):
    """Describes one part of a form."""

    var name: String
    """The name of the field; octets that are no UTF-8 are read as ISO 8859-1."""
    var file_name: Optional[String]
    """The name of the file, if it is one, read as the name of the field is. The
    peer chose it: never use it as a path."""
    var headers: HeaderMap
    """The fields of its head. Content comes as it was sent, also if
    Content-Transfer-Encoding says that it is coded."""

    def __init__(out self):
        """Creates the description of a field without a name."""
        self.name = String()
        self.file_name = None
        self.headers = HeaderMap()

    def is_file(self) -> Bool:
        """Returns whether the part is a file.

        Returns:
            True if it has a file name; an empty one means that no file was
            chosen.
        """
        return Bool(self.file_name)

    def content_type(self) -> String:
        """Returns the media type of the part.

        Returns:
            The value of Content-Type, or `text/plain` (RFC 7578 section 4.4).
        """
        var value = self.headers.get("Content-Type")
        return String(value.value()) if value else "text/plain"


def read_part_head(
    octets: Span[UInt8, _], lines_max: Int
) raises MultipartError -> MultipartPart:
    """Reads the head of a part.

    Args:
        octets: The lines, each with its CR LF, without the empty one.
        lines_max: The maximum number of lines.

    Returns:
        The part.

    Raises:
        MultipartError: If it is malformed, larger than a limit or has no name.
    """
    var part = MultipartPart()
    var start = 0
    while start < len(octets):
        if len(part.headers) == lines_max:
            raise MultipartError.too_large("a part has too many header lines")
        var end = find_octet(octets, LF, start)
        if end == len(octets) or end == start or octets[end - 1] != CR:
            raise MultipartError.malformed("a header line has no CR LF")
        var line = octets[start : end - 1]
        var colon = find_octet(line, COLON)
        if colon == len(line):
            raise MultipartError.malformed("a header line has no colon")
        try:
            # A folded line fails here: a blank is no octet of a name.
            part.headers.append(
                StringSlice(unsafe_from_utf8=line[:colon]),
                StringSlice(unsafe_from_utf8=line[colon + 1 :]),
            )
        except:
            raise MultipartError.malformed("a header line is malformed")
        start = end + 1
    _read_disposition(part)
    return part^


def _read_disposition(mut part: MultipartPart) raises MultipartError:
    if part.headers.count("Content-Disposition") != 1:
        raise MultipartError.malformed("a part has not one disposition")
    var value = part.headers.get("Content-Disposition")
    var octets = List[UInt8](value.value().as_bytes())
    var parameters = FieldParameters(Span(octets))
    if not equals_lower(parameters.first(), "form-data".as_bytes()):
        raise MultipartError.malformed("a disposition is not form-data")
    try:
        var name = parameters.find("name")
        if not name:
            raise SyntaxError("disposition", 0, "no name")
        part.name = _text_of(name.value())
        var file_name = parameters.find("filename")
        var extended = parameters.find("filename*")
        if file_name:
            part.file_name = _text_of(file_name.value())
        elif extended:
            part.file_name = _extended_text_of(extended.value())
    except:
        raise MultipartError.malformed("a disposition is malformed")


def _text_of(parameter: FieldParameter) raises SyntaxError -> String:
    # Browsers escape these three octets alone, and not the percent sign.
    var octets = parameter.value()
    var text = List[UInt8](capacity=len(octets))
    var i = 0
    while i < len(octets):
        if octets[i] == _PERCENT and i + 2 < len(octets):
            var escaped = _escaped_octet(Span(octets)[i + 1 : i + 3])
            if escaped != 0:
                text.append(escaped)
                i += 3
                continue
        text.append(octets[i])
        i += 1
    return _utf8_or_latin1(text)


def _escaped_octet(digits: Span[UInt8, _]) -> UInt8:
    if equals_lower(digits, "22".as_bytes()):
        return UInt8(ord('"'))
    if equals_lower(digits, "0d".as_bytes()):
        return CR
    if equals_lower(digits, "0a".as_bytes()):
        return LF
    return 0


def _extended_text_of(
    parameter: FieldParameter,
) raises SyntaxError -> String:
    # charset'language'text with escapes (RFC 8187).
    var octets = parameter.raw_value
    var first = find_octet(octets, _APOSTROPHE)
    var second = find_octet(octets, _APOSTROPHE, min(first + 1, len(octets)))
    if second == len(octets):
        raise SyntaxError("disposition", 0, "no language in the file name")
    var text = List[UInt8]()
    percent_decode(octets[second + 1 :], text)
    if equals_lower(octets[:first], "iso-8859-1".as_bytes()):
        return _latin1(text)
    return _utf8_or_latin1(text)


def _utf8_or_latin1(octets: List[UInt8]) -> String:
    # Forms of old pages come in the coding of the page.
    try:
        return String(StringSlice(from_utf8=Span(octets)))
    except:
        return _latin1(octets)


def _latin1(octets: List[UInt8]) -> String:
    # An octet of ISO 8859-1 is the code point of the same number.
    var text = List[UInt8](capacity=2 * len(octets))
    for octet in octets:
        if octet < 0x80:
            text.append(octet)
        else:
            text.append(0xC0 | octet >> 6)
            text.append(0x80 | octet & 0x3F)
    return String(unsafe_from_utf8=Span(text))
