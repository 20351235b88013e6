"""Sources of certificates and keys."""

from .error import TlsError

comptime PEM_OCTETS_MAX = 4 * 1024 * 1024
"""The largest PEM file that is read."""


struct Pem(Copyable, Movable):
    """A text in PEM (RFC 7468), or the path of a file that contains it."""

    var _text: String
    var _is_path: Bool

    def __init__(out self, *, text: StringSlice):
        """Creates a PEM from a text.

        Args:
            text: Certificates, or a private key.
        """
        self._text = String(text)
        self._is_path = False

    def __init__(out self, *, path: StringSlice):
        """Creates a PEM from a file, which each new context reads again.

        Args:
            path: The path.
        """
        self._text = String(path)
        self._is_path = True

    def read(self) raises -> List[UInt8]:
        """Returns the text.

        Returns:
            Its octets.

        Raises:
            Error: `tls.bad_file configure`, with the path.
        """
        if not self._is_path:
            return List(self._text.as_bytes())
        return read_file(self._text)

    def refused(self, kind: Int, code: Int = 0) -> Error:
        """Returns the error for a text that cannot be used.

        Args:
            kind: One of the constants of `TlsError`.
            code: The library's reason, or 0.

        Returns:
            The error, with the path if there is one.
        """
        var error = TlsError(kind, "configure", code=code)
        if self._is_path:
            return error.about(self._text.as_bytes())
        return Error(String(error))


def read_file(path: String) raises -> List[UInt8]:
    """Reads a file that is part of a configuration.

    Args:
        path: The file.

    Returns:
        Its octets.

    Raises:
        Error: `tls.bad_file configure` if it cannot be read or is over
            `PEM_OCTETS_MAX`.
    """
    var octets: List[UInt8]
    try:
        with open(path, "r") as file:
            octets = file.read_bytes(PEM_OCTETS_MAX + 1)
    except:
        raise TlsError(TlsError.BAD_FILE, "configure").about(path.as_bytes())
    if len(octets) > PEM_OCTETS_MAX:
        raise TlsError(TlsError.BAD_FILE, "configure").about(path.as_bytes())
    return octets^
