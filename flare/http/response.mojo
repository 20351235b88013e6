"""Holds a response that is being built, or that was received.

A response is small and moves for free: its header map is one pointer, and its
content is taken over, not copied, where it can be.
"""

from flare.message import HeaderMap, Status

from .body import Body


struct Response(Movable):
    """Answers a request: status, header fields and content."""

    var status: Int
    """The status code (RFC 9110 section 15)."""
    var headers: HeaderMap
    """The header fields; framing fields are added when it is sent."""
    var body: Body
    """The content."""

    def __init__(out self, status: Int = Status.OK, var body: Body = Body()):
        """Makes a response without header fields.

        Args:
            status: The status code, 200 to 599.
            body: The content.
        """
        self.status = status
        self.headers = HeaderMap()
        self.body = body^

    def ok(self) -> Bool:
        """Tells whether the status stands for success.

        Returns:
            True for 200 to 299.
        """
        return Status.is_successful(self.status)

    def text(self) raises -> StringSlice[origin_of(self.body)]:
        """Views the content as text.

        Returns:
            A view that lives as long as the response.

        Raises:
            An error `http.not_utf8 …` if the content is not UTF-8.
        """
        return self.body.text()

    def with_header(
        var self, name: StringSlice, value: StringSlice
    ) raises -> Self:
        """Adds a header field, for use in an expression.

        Args:
            name: The name, a token.
            value: The value.

        Returns:
            The response.

        Raises:
            An error `message.bad_header_name`, `message.bad_header_value` or
            `message.headers_too_large`.
        """
        self.headers.set(name, value)
        return self^

    def into_body(deinit self) -> Body:
        """Takes the content out.

        Returns:
            The content.
        """
        return self.body^
