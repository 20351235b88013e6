"""Bounds the content that is decoded from the octets of a peer."""


struct DecodingLimits(ImplicitlyCopyable):
    """Limits on the length of decoded content, absolute and relative.

    A megabyte can decode to gigabytes. Both bounds apply to each of several
    codings. They are checked after each step, so at most one step exceeds
    them.
    """

    var decoded_octets_max: Int
    """The longest content; 64 MiB by default."""
    var ratio_max: Int
    """The highest ratio of decoded to coded octets; 200 by default. Usual
    texts and data stay below 50; deflate can reach 1,032, and the other
    codings more.
    """
    var ratio_free_octets: Int
    """The length up to which any ratio is allowed; 1 MiB by default."""
    var codings_max: Int
    """The most codings that may be applied one after the other; 4 by default.
    """

    def __init__(
        out self,
        *,
        decoded_octets_max: Int = 64 << 20,
        ratio_max: Int = 200,
        ratio_free_octets: Int = 1 << 20,
        codings_max: Int = 4,
    ):
        """Creates limits.

        Args:
            decoded_octets_max: The longest content.
            ratio_max: The highest ratio of decoded to coded octets.
            ratio_free_octets: The length up to which any ratio is allowed.
            codings_max: The most codings that may be applied.
        """
        self.decoded_octets_max = decoded_octets_max
        self.ratio_max = ratio_max
        self.ratio_free_octets = ratio_free_octets
        self.codings_max = codings_max

    def first_problem(self) -> Optional[StaticString]:
        """Returns the name of the first invalid field.

        Returns:
            The name, or `None`.
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
            decoded: The length of the content so far.
            coded: The number of coded octets.

        Returns:
            False if the ratio is too high.
        """
        # Divided, not multiplied: no length makes this overflow.
        return (
            decoded <= self.ratio_free_octets
            or decoded // self.ratio_max <= coded
        )
