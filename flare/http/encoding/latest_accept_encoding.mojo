"""Remembers the codings that the latest client accepts."""

from flare.core import equals
from flare.message import FieldSection

from .accept_encoding import AcceptEncoding

# Browsers send about 30 octets. A longer value is read each time.
comptime _OCTETS_MAX = 128


struct LatestAcceptEncoding(Movable):
    """Reads Accept-Encoding. Nearly all clients send one of a few values, so the
    result of the latest one often suits the next request too."""

    var _value: List[UInt8]
    var _accepted: AcceptEncoding

    def __init__(out self):
        """Creates the state before the first request."""
        self._value = []
        self._accepted = AcceptEncoding()

    def of(
        mut self, fields: FieldSection
    ) -> ref[self._accepted] AcceptEncoding:
        """Reads all Accept-Encoding lines of a request.

        Args:
            fields: The header section.

        Returns:
            The preferences, valid until the next call.
        """
        comptime NAME: StaticString = "Accept-Encoding"
        var line = fields.find(NAME)
        if line < len(fields) and fields.find(NAME, line + 1) == len(fields):
            var value = fields.value(line).as_bytes()
            if len(value) > 0 and equals(value, Span(self._value)):
                return self._accepted
            if len(value) <= _OCTETS_MAX:
                # Clients may take turns: the memory stays.
                self._value.clear()
                self._value.extend(value)
                self._accepted = AcceptEncoding.of(fields)
                return self._accepted
        self._value.clear()
        self._accepted = AcceptEncoding.of(fields)
        return self._accepted
