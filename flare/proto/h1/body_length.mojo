"""Describes the length of a body to be sent."""


@fieldwise_init
struct BodyLength(TrivialRegisterPassable):
    """The known length of a body before its first octet is sent."""

    comptime UNKNOWN = Self(-1)
    """There is a body of unknown length; its end shows the length."""
    comptime NONE = Self(-2)
    """There is no body."""

    var octets: Int
    """The length, or a negative number for the constants."""

    @staticmethod
    @always_inline
    def known(octets: Int) -> Self:
        """Returns the length of a body of known size.

        Args:
            octets: The size, not negative.

        Returns:
            The length.
        """
        debug_assert(octets >= 0, "a body of ", octets, " octets")
        return Self(octets)

    @always_inline
    def is_known(self) -> Bool:
        """Returns whether the body has a known size, perhaps 0.

        Returns:
            False for the constants.
        """
        return self.octets >= 0
