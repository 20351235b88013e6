"""Describes the result of looking up a request's route."""


@fieldwise_init
struct MatchKind(Equatable, TrivialRegisterPassable, Writable):
    """The ways to answer a request."""

    comptime FOUND = Self(0)
    """By the endpoint of a route."""
    comptime NOT_FOUND = Self(1)
    """With 404: no pattern matches the path."""
    comptime METHOD_NOT_ALLOWED = Self(2)
    """With 405 and Allow: no pattern that matches the path has the method."""
    comptime METHOD_NOT_IMPLEMENTED = Self(3)
    """With 501: neither HTTP nor any route knows the method."""
    comptime OPTIONS = Self(4)
    """With 204 and Allow: OPTIONS without a route of its own."""
    comptime BAD_PATH = Self(5)
    """With 400: the path breaks the rules of `path.mojo`."""

    var value: UInt8
    """The number of the kind."""

    def __eq__(self, other: Self) -> Bool:
        """Returns whether two kinds are equal.

        Args:
            other: The other kind.

        Returns:
            True if the kinds are equal.
        """
        return self.value == other.value

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name.

        Args:
            writer: The destination.
        """
        if self == Self.FOUND:
            writer.write("FOUND")
        elif self == Self.NOT_FOUND:
            writer.write("NOT_FOUND")
        elif self == Self.METHOD_NOT_ALLOWED:
            writer.write("METHOD_NOT_ALLOWED")
        elif self == Self.METHOD_NOT_IMPLEMENTED:
            writer.write("METHOD_NOT_IMPLEMENTED")
        elif self == Self.OPTIONS:
            writer.write("OPTIONS")
        else:
            writer.write("BAD_PATH")


@fieldwise_init
struct RouteMatch(TrivialRegisterPassable):
    """The result of looking up a request's route."""

    var kind: MatchKind
    """How the request is to be answered."""
    var endpoint: Int
    """The endpoint given to `RouteTable.add`; -1 unless found."""
    var route: Int
    """The number of the route, from 0 in the order of adding; -1 unless found.
    """
    var allowed: UInt64
    """The methods for the Allow field, one bit each; see `write_allow`."""


@fieldwise_init
struct PlainRoute(TrivialRegisterPassable):
    """A route whose pattern equals the path."""

    var route: Int
    """The number of the route, or -1."""
    var endpoint: Int
    """Its endpoint, or -1."""
    var pattern: StaticString
    """Its pattern; it lives as long as the table."""
