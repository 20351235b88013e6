"""Defines the content of a client's request, with its type."""

from flare.message import FormFields
from flare.message.form import FORM_CONTENT_TYPE

from .body import Body

comptime JSON_TYPE: StaticString = "application/json"
"""The type of a text content, unless the program says otherwise."""
comptime OCTETS_TYPE: StaticString = "application/octet-stream"
"""The type of octets, unless the program says otherwise."""


struct Content(Movable):
    """The content of a request to send: octets, and the value of Content-Type.

    A text counts as JSON, which most programs post. Octets are sent as octets,
    and `FormFields` as a form. `Content(text, "text/plain")` states another
    type.
    """

    var body: Body
    """The octets."""
    var media_type: String
    """The value of Content-Type; if empty, the field is not sent."""

    def __init__(out self):
        """Creates an empty content."""
        self.body = Body()
        self.media_type = String()

    @implicit
    def __init__(out self, text: StringLiteral):
        """Creates a JSON content that refers to a constant text, without a
        copy.

        Args:
            text: The text.
        """
        self.body = Body(text)
        self.media_type = String(JSON_TYPE)

    @implicit
    def __init__(out self, var text: String):
        """Takes ownership of a JSON text.

        Args:
            text: The text.
        """
        self.body = Body(text^)
        self.media_type = String(JSON_TYPE)

    @implicit
    def __init__(out self, text: StringSlice):
        """Copies a JSON text.

        Args:
            text: A view of the text.
        """
        self.body = Body(text)
        self.media_type = String(JSON_TYPE)

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes ownership of octets.

        Args:
            octets: The octets.
        """
        self.body = Body(octets^)
        self.media_type = String(OCTETS_TYPE)

    @implicit
    def __init__(out self, octets: Span[UInt8, _]):
        """Copies octets.

        Args:
            octets: A view of the octets.
        """
        self.body = Body(octets)
        self.media_type = String(OCTETS_TYPE)

    @implicit
    def __init__(out self, form: FormFields):
        """Creates a content from the encoded fields of a form.

        Args:
            form: The fields.
        """
        self.body = Body(form.encoded())
        self.media_type = String(FORM_CONTENT_TYPE)

    def __init__(out self, var body: Body, media_type: StringSlice):
        """Creates a content of octets and their media type.

        Args:
            body: The octets.
            media_type: The value of Content-Type; if empty, the field is not
                sent.
        """
        self.body = body^
        self.media_type = String(media_type)

    def into_body(deinit self) -> Body:
        """Returns the octets and their ownership.

        Returns:
            The octets.
        """
        return self.body^
