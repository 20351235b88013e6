"""Reads the OCSP response that a server staples to its certificate."""

from .error import TlsError
from .pem import read_file

comptime _SEQUENCE: UInt8 = 0x30
comptime _LENGTH_OCTETS_MAX = 4
# The status "successful", and the tag of what the authority says.
comptime _SUCCESSFUL: List[UInt8] = [0x0A, 1, 0, 0xA0]


def read_status(path: String) raises -> List[UInt8]:
    """Reads a response in DER (RFC 6960 section 4.2.1).

    Clients judge its content. But a file in PEM, a truncated file, or an
    authority's error would make them refuse the certificate, so these are
    errors here.

    Args:
        path: The path of the file.

    Returns:
        Its octets.

    Raises:
        Error: `tls.bad_file configure` if the file cannot be read, or is not
            one successful response of an authority.
    """
    var octets = read_file(path)
    if not _is_answer(Span(octets)):
        raise TlsError(TlsError.BAD_FILE, "configure").about(path.as_bytes())
    return octets^


def _is_answer(octets: Span[UInt8, _]) -> Bool:
    if len(octets) < 2 or octets[0] != _SEQUENCE:
        return False
    var start = 2
    var length = Int(octets[1])
    if length >= 0x80:
        # The length is written in so many octets.
        var count = length & 0x7F
        if count > _LENGTH_OCTETS_MAX or len(octets) < start + count:
            return False
        length = 0
        for octet in octets[start : start + count]:
            length = length << 8 | Int(octet)
        start += count
    if len(octets) - start != length:
        return False
    var wanted = materialize[_SUCCESSFUL]()
    if length < len(wanted):
        return False
    for i in range(len(wanted)):
        if octets[start + i] != wanted[i]:
            return False
    return True
