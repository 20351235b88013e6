"""Defines the error of a text that is not an address."""

from flare.core import write_escaped


@fieldwise_init
struct AddressSyntaxError(ImplicitlyCopyable, Writable):
    """Describes why a text is not an address."""

    comptime SHOWN_OCTETS_MAX = 64
    """How many octets of a refused text an error shows, escaped."""

    var reason: StaticString
    """A fixed phrase, never octets of the text."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the reason.

        Args:
            writer: The destination.
        """
        writer.write(self.reason)

    def about(self, octets: Span[UInt8, _]) -> Error:
        """Returns the error that `parse` raises.

        Args:
            octets: The refused text; it may come from a peer.

        Returns:
            An error whose text starts with `net.bad_address parse`, and shows
            the refused text escaped, cut off if it is long.
        """
        var text = String("net.bad_address parse: ", self.reason, ': "')
        var shown = 0
        var room = Self.SHOWN_OCTETS_MAX
        while shown < len(octets):
            room -= 1 if _is_shown_as_itself(octets[shown]) else 4
            if room < 0:
                break
            shown += 1
        write_escaped(octets[0:shown], text)
        text += '"' if shown == len(octets) else '..."'
        return Error(text^)


@always_inline
def _is_shown_as_itself(octet: UInt8) -> Bool:
    return octet >= 32 and octet < 127 and octet != 92
