"""Serves a text that is made once and never changes."""

from flare.http import (
    Body,
    Handler,
    Request,
    Response,
    SealedContent,
    Status,
    Validators,
    not_modified,
    unchanged,
)
from flare.http.content_tag import content_tag


struct PublishedText(Handler):
    """Answers with a text, and with 304 to clients that have it already."""

    var _content: SealedContent
    var _validators: Validators
    var _media_type: StaticString
    # The value of Content-Security-Policy; empty for none.
    var _policy: String

    def __init__(
        out self,
        text: StringSlice,
        media_type: StaticString,
        var policy: String = "",
    ) raises:
        """Copies a text.

        Args:
            text: The text.
            media_type: The value of Content-Type.
            policy: The value of Content-Security-Policy; by default none.

        Raises:
            Error: `http.no_memory` if memory runs out.
        """
        self._content = SealedContent(text)
        self._validators = Validators(content_tag(text.as_bytes()))
        self._media_type = media_type
        self._policy = policy^

    def __init__(out self, *, copy: Self):
        """Copies the handler; the text is shared.

        Args:
            copy: The handler to copy.
        """
        self._content = copy._content
        self._validators = copy._validators.copy()
        self._media_type = copy._media_type
        self._policy = copy._policy

    def serve(self, req: Request) raises -> Response:
        """Returns the text.

        Args:
            req: The request.

        Returns:
            The response: 200 or 304.

        Raises:
            Error: Never.
        """
        if unchanged(req, self._validators):
            var response = not_modified(self._validators)
            response.headers.set("Cache-Control", "no-cache")
            return response^
        var response = Response(Status.OK, Body(self._content))
        response.headers.set("Content-Type", self._media_type)
        response.headers.set("Cache-Control", "no-cache")
        response.headers.set("X-Content-Type-Options", "nosniff")
        self._validators.add_to(response.headers)
        if self._policy:
            response.headers.set("Content-Security-Policy", self._policy)
        return response^
