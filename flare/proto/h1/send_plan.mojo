"""Determines the framing fields of a message before it is sent.

The caller's fields may include framing. If they agree with the body, they are
used. If they contradict it, that is a local error. After a wrong
Content-Length, the recipient would find the next message in the wrong place
(RFC 9112 section 6).
"""

from flare.message import FieldName, HeaderMap

from ..head import BodyKind
from .body_length import BodyLength
from .error import H1Error
from .grammar import parse_connection, parse_content_length


@fieldwise_init
struct SendPlan(TrivialRegisterPassable):
    """The framing fields of one message."""

    var body: UInt8
    """How the body ends, one of `BodyKind`."""
    var content_length: Int
    """The value of Content-Length; -1 for no such line."""
    var options: UInt8
    """The connection options among the caller's fields."""
    var is_chunked_stated: Bool
    """Whether the head has `Transfer-Encoding: chunked`."""
    var filters_fields: Bool
    """Whether a Content-Length line of the caller is to be left out."""

    @staticmethod
    @always_inline
    def of(fields: HeaderMap, body: BodyLength) raises H1Error -> Self:
        """Reads the framing fields of the caller.

        A Content-Length sets an unknown length.

        Args:
            fields: The fields of the caller.
            body: The body.

        Returns:
            A plan with `LENGTH`, `CHUNKED` or `NONE`.

        Raises:
            H1Error: If a framing field is wrong or not the caller's to set.
        """
        var plan = Self(BodyKind.NONE, -1, 0, False, False)
        if body.is_known():
            plan.content_length = body.octets
            plan.body = BodyKind.LENGTH
        elif body.octets == BodyLength.UNKNOWN.octets:
            plan.body = BodyKind.CHUNKED
            plan.is_chunked_stated = True
        if fields.has_known(FieldName.CONTENT_LENGTH):
            plan._take_content_length(fields, body)
        if fields.has_known(FieldName.CONNECTION):
            plan.options = _connection_options(fields)
        if fields.has_known(FieldName.TRANSFER_ENCODING):
            raise H1Error.local("Transfer-Encoding among the fields")
        return plan

    def _take_content_length(
        mut self, fields: HeaderMap, body: BodyLength
    ) raises H1Error:
        var stated = -1
        for value in fields.values("content-length"):
            var length: Int
            try:
                length = parse_content_length(value.as_bytes())
            except:
                raise H1Error.local("Content-Length is not a number")
            if stated >= 0 and length != stated:
                raise H1Error.local("two different Content-Lengths")
            stated = length
        if body.is_known() and body.octets != stated:
            raise H1Error.local("Content-Length is not that of the body")
        self.content_length = stated
        self.filters_fields = True
        if self.body == BodyKind.CHUNKED:
            self.body = BodyKind.LENGTH
            self.is_chunked_stated = False


def _connection_options(fields: HeaderMap) raises H1Error -> UInt8:
    var options: UInt8 = 0
    for value in fields.values("connection"):
        try:
            options |= parse_connection(value.as_bytes())
        except:
            raise H1Error.local("Connection is not a list of tokens")
    return options
