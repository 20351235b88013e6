"""Defines the error of an opening handshake that cannot succeed."""

from flare.message import FieldSection, HeaderMap


comptime WRONG_VERSION: StaticString = "the version is not 13"
"""The reason for refusing another version of WebSocket."""


@fieldwise_init
struct WsHandshakeError(ImplicitlyCopyable, Writable):
    """Describes why a handshake is refused (RFC 6455 section 4)."""

    var status: Int
    """The status with which a server answers: 400, 403, 426 or 501. 0 at a
    client.
    """
    var reason: StaticString
    """A fixed phrase for logs, never octets from the peer."""

    @staticmethod
    def malformed(reason: StaticString) -> Self:
        """Returns the error of a request that breaks a rule.

        Args:
            reason: The phrase.

        Returns:
            The error, with status 400.
        """
        return Self(400, reason)

    @staticmethod
    def failed(reason: StaticString) -> Self:
        """Returns the error of a response that a client does not accept.

        Args:
            reason: The phrase.

        Returns:
            The error, without a status.
        """
        return Self(0, reason)

    def add_fields(self, mut fields: HeaderMap):
        """Adds the fields that a server's refusal needs.

        Args:
            fields: The fields of the response.
        """
        if self.reason == WRONG_VERSION:
            # RFC 6455 section 4.2.2.
            fields.append_constant["Sec-WebSocket-Version", "13"]()
        if self.status != 426:
            return
        # RFC 9110 section 15.5.22.
        fields.append_constant["Upgrade", "websocket"]()
        fields.append_constant["Connection", "upgrade"]()
        if self.reason != WRONG_VERSION:
            fields.append_constant["Sec-WebSocket-Version", "13"]()

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        writer.write("websocket handshake")
        if self.status != 0:
            writer.write(", status ", self.status)
        writer.write(": ", self.reason)


def only_value[
    origin: ImmOrigin
](fields: FieldSection[origin], name: StringSlice) -> Span[UInt8, origin]:
    """Returns the value of a field that may stand only once.

    Parameters:
        origin: The origin of the fields.

    Args:
        fields: The fields.
        name: The name, in any case.

    Returns:
        The value; empty if there is no such field, or more than one.
    """
    if fields.count(name) != 1:
        return fields.octets[:0]
    return fields.value(fields.find(name)).as_bytes()
