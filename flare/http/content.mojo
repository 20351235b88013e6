"""Holds the content of a request and what type it has."""

from flare.message import FormFields
from flare.message.form import FORM_CONTENT_TYPE

from .body import Body

comptime JSON_TYPE: StaticString = "application/json"
"""The type of a text that a request carries, unless it says otherwise."""
comptime OCTETS_TYPE: StaticString = "application/octet-stream"
"""The type of octets about which nothing is said."""


struct Content(Movable):
    """Owns what a request carries: octets, and the value of Content-Type.

    A text is taken for JSON, which is what most programs post; octets are
    octets, and `FormFields` are sent as a form. `Content(text, "text/plain")`
    says otherwise.
    """

    var body: Body
    """The octets."""
    var media_type: String
    """The value of Content-Type; none is sent where it is empty."""

    def __init__(out self):
        """Makes no content."""
        self.body = Body()
        self.media_type = String()

    @implicit
    def __init__(out self, text: StringLiteral):
        """Takes a constant text as JSON.

        Args:
            text: The text; nothing is copied.
        """
        self.body = Body(text)
        self.media_type = String(JSON_TYPE)

    @implicit
    def __init__(out self, var text: String):
        """Takes a text over as JSON.

        Args:
            text: The text.
        """
        self.body = Body(text^)
        self.media_type = String(JSON_TYPE)

    @implicit
    def __init__(out self, text: StringSlice):
        """Copies a text as JSON.

        Args:
            text: A view of the text.
        """
        self.body = Body(text)
        self.media_type = String(JSON_TYPE)

    @implicit
    def __init__(out self, var octets: List[UInt8]):
        """Takes octets over.

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
        """Writes the fields of a form.

        Args:
            form: The fields.
        """
        self.body = Body(form.encoded())
        self.media_type = String(FORM_CONTENT_TYPE)

    def __init__(out self, var body: Body, media_type: StringSlice):
        """Takes octets of a type.

        Args:
            body: The octets.
            media_type: The value of Content-Type, or nothing.
        """
        self.body = body^
        self.media_type = String(media_type)

    def into_body(deinit self) -> Body:
        """Takes the octets out.

        Returns:
            The octets.
        """
        return self.body^
