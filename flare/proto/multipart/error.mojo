"""Defines the error of the multipart machine and its writer."""


@fieldwise_init
struct MultipartError(Equatable, ImplicitlyCopyable, Writable):
    """Describes why octets are not a form, or why a part cannot be written."""

    comptime MALFORMED: UInt8 = 0
    """The octets break RFC 7578 or RFC 2046: a server answers 400."""
    comptime TOO_LARGE: UInt8 = 1
    """They pass a limit: a server answers 413."""
    comptime UNWRITABLE: UInt8 = 2
    """The caller's part has no form on the wire."""

    var kind: UInt8
    """One of the constants above."""
    var reason: StaticString
    """A fixed phrase, never octets of the peer."""

    @staticmethod
    def malformed(reason: StaticString) -> Self:
        """Returns an error of the peer.

        Args:
            reason: The phrase.

        Returns:
            The error.
        """
        return Self(Self.MALFORMED, reason)

    @staticmethod
    def too_large(reason: StaticString) -> Self:
        """Returns an error about a limit.

        Args:
            reason: The phrase.

        Returns:
            The error.
        """
        return Self(Self.TOO_LARGE, reason)

    def status(self) -> Int:
        """Returns the status with which a server answers.

        Returns:
            The status: 400, 413, or 500 for a mistake of the caller.
        """
        if self.kind == Self.MALFORMED:
            return 400
        return 413 if self.kind == Self.TOO_LARGE else 500

    def __eq__(self, other: Self) -> Bool:
        """Compares kinds and reasons.

        Args:
            other: The other error.

        Returns:
            True if both errors are the same.
        """
        return self.kind == other.kind and self.reason == other.reason

    def write_to(self, mut writer: Some[Writer]):
        """Writes one line for a log.

        Args:
            writer: The destination.
        """
        writer.write("multipart: ", self.reason)
