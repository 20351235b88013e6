"""Defines the description of a whole API."""

from std.collections import List

from .security_scheme import SecurityScheme


struct OpenApi(Copyable, Movable):
    """The head of an OpenAPI document."""

    var title: String
    """The name of the API."""
    var version: String
    """The version of the API, not that of OpenAPI."""
    var description: String
    """More, in CommonMark; empty for none."""
    var servers: List[String]
    """The URLs in front of each path, such as `https://api.example` or
    `/prefix`; without one, paths begin at the root of the document's host.
    """
    var security: List[SecurityScheme]
    """The schemes that a client needs for every operation, unless the operation
    says otherwise.
    """

    def __init__(
        out self,
        var title: String,
        var version: String,
        *,
        var description: String = "",
        var servers: List[String] = List[String](),
        var security: List[SecurityScheme] = List[SecurityScheme](),
    ):
        """Creates the head of a document.

        Args:
            title: The name of the API.
            version: The version of the API.
            description: More, in CommonMark.
            servers: The URLs in front of each path.
            security: The schemes that a client needs for every operation.
        """
        self.title = title^
        self.version = version^
        self.description = description^
        self.servers = servers^
        self.security = security^
