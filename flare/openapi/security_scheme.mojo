"""Describes how clients show who they are."""

from flare.json import JsonOutput


struct SecurityScheme(Copyable, Movable):
    """A way to authenticate, for the document. It checks no request: middleware
    or an extractor does.
    """

    var name: String
    """The name in the document; schemes of one name must be equal."""
    var _text: String

    def __init__(out self, var name: String, *, unsafe_json: String):
        """Creates a scheme that OpenAPI knows and flare does not, such as
        `oauth2`.

        Args:
            name: The name in the document: letters, digits, `_`, `-` and `.`.
            unsafe_json: The Security Scheme Object, a JSON object.

        Safety:
            The text must be JSON: it goes into the document as it is.
        """
        self.name = name^
        self._text = unsafe_json

    @staticmethod
    def bearer(var name: String = "bearer", format: String = "") raises -> Self:
        """Returns the scheme of a token in `Authorization: Bearer …`.

        Args:
            name: The name in the document.
            format: The kind of token, such as `JWT`; empty for none.

        Returns:
            The scheme.

        Raises:
            Never.
        """
        return _scheme(name^, ["http", "scheme", "bearer"], format)

    @staticmethod
    def basic(var name: String = "basic") raises -> Self:
        """Returns the scheme of a name and a password in `Authorization: Basic
        …`.

        Args:
            name: The name in the document.

        Returns:
            The scheme.

        Raises:
            Never.
        """
        return _scheme(name^, ["http", "scheme", "basic"], "")

    @staticmethod
    def header(field: String, var name: String = "api_key") raises -> Self:
        """Returns the scheme of a key in a header field.

        Args:
            field: The name of the field.
            name: The name in the document.

        Returns:
            The scheme.

        Raises:
            Never.
        """
        return _scheme(name^, ["apiKey", "in", "header", "name", field], "")

    @staticmethod
    def cookie(field: String, var name: String = "cookie") raises -> Self:
        """Returns the scheme of a cookie, such as that of `Sessions`.

        Args:
            field: The name of the cookie.
            name: The name in the document.

        Returns:
            The scheme.

        Raises:
            Never.
        """
        return _scheme(name^, ["apiKey", "in", "cookie", "name", field], "")

    def text(self) -> String:
        """Returns the Security Scheme Object.

        Returns:
            A JSON object.
        """
        return self._text


def _scheme(
    var name: String, members: List[String], format: String
) raises -> SecurityScheme:
    var output = JsonOutput()
    var json = output.writer()
    json.begin_object()
    json.key("type")
    json.string(members[0])
    for i in range(1, len(members), 2):
        json.key(members[i])
        json.string(members[i + 1])
    if format:
        json.key("bearerFormat")
        json.string(format)
    json.end_object()
    return SecurityScheme(name^, unsafe_json=output.take_text())
