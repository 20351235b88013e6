"""Writes and reads the text form of `NetError`.

    net.<kind> <operation>[ <address>][ errno=<number>][: <detail>]

One blank stands between the parts. The detail is printable ASCII for people;
only `DatagramTooLarge` reads one.
"""

from flare.core import equals, index_of_text, text_at

from .socket_address import SocketAddr

comptime NET_KINDS: List[StaticString] = [
    "other",
    "timeout",
    "refused",
    "reset",
    "closed",
    "unreachable",
    "address_in_use",
    "address_not_available",
    "permission",
    "bad_address",
    "no_descriptors",
    "no_memory",
    "cancelled",
    "too_large",
    "unsupported",
    "not_found",
]
"""The name of each kind of `NetError`, at the index that is its number."""

comptime NET_OPERATIONS: List[StaticString] = [
    "accept",
    "address",
    "bind",
    "blocking",
    "cancel",
    "close",
    "connect",
    "flush",
    "handshake",
    "join",
    "listen",
    "local_address",
    "open",
    "option",
    "parse",
    "peer_address",
    "peer_credentials",
    "peek",
    "poll",
    "read",
    "receive",
    "receive_from",
    "resolve",
    "send",
    "send_file",
    "send_to",
    "serve",
    "shut_down",
    "sleep",
    "spawn",
    "start",
    "wait",
    "write",
]
"""All operations that an error can name.

`NetError.of` reads only these back: an operation is a `StaticString`, which
cannot be created from a text at run time.
"""

comptime _ERRNO_MAX = 4095
comptime _ERRNO_DIGITS_MAX = 4
comptime _BLANK: UInt8 = 32
comptime _COLON: UInt8 = 58


@fieldwise_init
struct NetErrorText(ImplicitlyCopyable, Writable):
    """The fields that the text form contains."""

    var kind: Int
    """An index into `NET_KINDS`; other numbers read as `other`."""
    var operation: StaticString
    """One of `NET_OPERATIONS`."""
    var errno: Int
    """The error number, or 0."""
    var address: Optional[SocketAddr]
    """The address, if the operation has one."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the text form.

        Args:
            writer: The destination.
        """
        debug_assert(
            Bool(index_of_text[NET_OPERATIONS](self.operation.as_bytes())),
            "NET_OPERATIONS lacks ",
            self.operation,
        )
        writer.write("net.", text_at[NET_KINDS](self.kind), " ", self.operation)
        if self.address:
            writer.write(" ", self.address.value())
        if self.errno != 0:
            writer.write(" errno=", self.errno)


def parse_net_error(octets: Span[UInt8, _]) -> Optional[NetErrorText]:
    """Parses the text of a `NetError`.

    Args:
        octets: The whole text of an error.

    Returns:
        The fields; `None` if any part deviates from the form.
    """
    for octet in octets:
        if octet < 32 or octet > 126:
            return None
    var parts = StringSlice(
        unsafe_from_utf8=octets[0 : _detail_start(octets)]
    ).split(" ")
    if len(parts) < 2 or not parts[0].startswith("net."):
        return None
    var kind = index_of_text[NET_KINDS](parts[0].as_bytes()[4:])
    var operation = index_of_text[NET_OPERATIONS](parts[1].as_bytes())
    if not kind or not operation:
        return None
    var fields = NetErrorText(
        kind.value(), text_at[NET_OPERATIONS](operation.value()), 0, None
    )
    var i = 2
    if i < len(parts):
        fields.address = _address_in(parts[i].as_bytes())
        i += 1 if fields.address else 0
    if i < len(parts):
        var errno = _errno_in(parts[i].as_bytes())
        if not errno:
            return None
        fields.errno = errno.value()
        i += 1
    if i < len(parts):
        return None
    return fields


def _detail_start(octets: Span[UInt8, _]) -> Int:
    for i in range(1, len(octets)):
        if octets[i] == _BLANK and octets[i - 1] == _COLON:
            return i - 1
    return len(octets)


def _address_in(octets: Span[UInt8, _]) -> Optional[SocketAddr]:
    try:
        var address = SocketAddr.parse_octets(octets)
        # Another spelling of the address is not a text of ours.
        if equals(String(address).as_bytes(), octets):
            return address
    except:
        return None
    return None


def _errno_in(octets: Span[UInt8, _]) -> Optional[Int]:
    comptime PREFIX: StaticString = "errno="
    comptime START = PREFIX.byte_length()
    var digits = len(octets) - START
    if digits < 1 or digits > _ERRNO_DIGITS_MAX:
        return None
    if not equals(octets[0:START], PREFIX.as_bytes()) or octets[START] == 48:
        return None
    var number = 0
    for octet in octets[START : len(octets)]:
        if octet - 48 > 9:
            return None
        number = number * 10 + Int(octet - 48)
    if number > _ERRNO_MAX:
        return None
    return number
