"""Bounds what decoding may make of the octets of a peer."""


struct DecodingLimits(ImplicitlyCopyable):
    """Says how much content coded octets may become.

    A megabyte can be made to decode to gigabytes. Both bounds hold at each
    coding of several, and they are looked at after each step, so that no more
    than one step passes them.
    """

    var decoded_octets_max: Int
    """How much content there may be; 64 MiB by default."""
    var ratio_max: Int
    """How many octets one coded octet may stand for, on average; 200 by
    default. What people and programs write stays below 50; deflate can reach
    1,032, and the other codings more."""
    var ratio_free_octets: Int
    """So much content may have any ratio; 1 MiB by default."""
    var codings_max: Int
    """How many codings may lie around each other; 4 by default."""

    def __init__(
        out self,
        *,
        decoded_octets_max: Int = 64 << 20,
        ratio_max: Int = 200,
        ratio_free_octets: Int = 1 << 20,
        codings_max: Int = 4,
    ):
        """Sets the limits.

        Args:
            decoded_octets_max: How much content there may be.
            ratio_max: How many octets one coded octet may stand for.
            ratio_free_octets: How much content may have any ratio.
            codings_max: How many codings may lie around each other.
        """
        self.decoded_octets_max = decoded_octets_max
        self.ratio_max = ratio_max
        self.ratio_free_octets = ratio_free_octets
        self.codings_max = codings_max

    def first_problem(self) -> Optional[StaticString]:
        """Finds a value that cannot work.

        Returns:
            The name of the first such field, or none.
        """
        if self.decoded_octets_max < 0:
            return StaticString("decoded_octets_max")
        if self.ratio_max < 1:
            return StaticString("ratio_max")
        if self.ratio_free_octets < 0:
            return StaticString("ratio_free_octets")
        if self.codings_max < 1 or self.codings_max > 16:
            return StaticString("codings_max")
        return None

    def allows(self, decoded: Int, coded: Int) -> Bool:
        """Returns whether the ratio of two lengths is allowed.

        Args:
            decoded: The content so far.
            coded: The octets that it came in.

        Returns:
            False if it is too large.
        """
        # Divided, not multiplied: no length makes this overflow.
        return (
            decoded <= self.ratio_free_octets
            or decoded // self.ratio_max <= coded
        )
