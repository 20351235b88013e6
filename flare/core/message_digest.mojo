"""Computes the digests that HTTP authentication and WebSocket need.

Use them for short secrets that both sides know. MD5 (RFC 1321) and SHA-1 (RFC
3174) are not secure for any other purpose, and no function is made for long
contents.
"""

from std.bit import byte_swap
from std.builtin.globals import global_constant

from .octets import write_hexadecimal
from .sha256 import sha256_digest

comptime SHA1_OCTETS = 20
"""The length of a SHA-1 digest."""
comptime _BLOCK_OCTETS = 64

comptime _SINES: Array[UInt32, 64] = [
    0xD76AA478,
    0xE8C7B756,
    0x242070DB,
    0xC1BDCEEE,
    0xF57C0FAF,
    0x4787C62A,
    0xA8304613,
    0xFD469501,
    0x698098D8,
    0x8B44F7AF,
    0xFFFF5BB1,
    0x895CD7BE,
    0x6B901122,
    0xFD987193,
    0xA679438E,
    0x49B40821,
    0xF61E2562,
    0xC040B340,
    0x265E5A51,
    0xE9B6C7AA,
    0xD62F105D,
    0x02441453,
    0xD8A1E681,
    0xE7D3FBC8,
    0x21E1CDE6,
    0xC33707D6,
    0xF4D50D87,
    0x455A14ED,
    0xA9E3E905,
    0xFCEFA3F8,
    0x676F02D9,
    0x8D2A4C8A,
    0xFFFA3942,
    0x8771F681,
    0x6D9D6122,
    0xFDE5380C,
    0xA4BEEA44,
    0x4BDECFA9,
    0xF6BB4B60,
    0xBEBFBC70,
    0x289B7EC6,
    0xEAA127FA,
    0xD4EF3085,
    0x04881D05,
    0xD9D4D039,
    0xE6DB99E5,
    0x1FA27CF8,
    0xC4AC5665,
    0xF4292244,
    0x432AFF97,
    0xAB9423A7,
    0xFC93A039,
    0x655B59C3,
    0x8F0CCC92,
    0xFFEFF47D,
    0x85845DD1,
    0x6FA87E4F,
    0xFE2CE6E0,
    0xA3014314,
    0x4E0811A1,
    0xF7537E82,
    0xBD3AF235,
    0x2AD7D2BB,
    0xEB86D391,
]

comptime _SHIFTS: Array[Int, 16] = [
    7,
    12,
    17,
    22,
    5,
    9,
    14,
    20,
    4,
    11,
    16,
    23,
    6,
    10,
    15,
    21,
]


def md5(octets: Span[UInt8, _]) -> String:
    """Returns the MD5 digest of octets.

    Args:
        octets: The octets.

    Returns:
        32 hexadecimal digits in lower case.
    """
    var state = Array[UInt32, 4](fill=0)
    state[0] = 0x67452301
    state[1] = 0xEFCDAB89
    state[2] = 0x98BADCFE
    state[3] = 0x10325476
    var padded = _padded(octets)
    for start in range(0, len(padded), _BLOCK_OCTETS):
        _md5_block(Span(padded)[start : start + _BLOCK_OCTETS], state)
    var digest = List[UInt8](capacity=16)
    for j in range(4):
        for i in range(4):
            digest.append(UInt8(state[j] >> UInt32(8 * i) & 0xFF))
    var text = String()
    write_hexadecimal(Span(digest), text)
    return text^


@always_inline
def sha256(octets: Span[UInt8, _]) -> String:
    """Returns the SHA-256 digest of octets (FIPS 180-4).

    Args:
        octets: The octets.

    Returns:
        64 hexadecimal digits in lower case.
    """
    var digest = sha256_digest(octets)
    var text = String()
    write_hexadecimal(
        Span(unsafe_ptr=Pointer(to=digest).unsafe_bitcast[UInt8](), length=32),
        text,
    )
    _ = digest
    return text^


def sha1(octets: Span[UInt8, _]) -> Array[UInt8, SHA1_OCTETS]:
    """Returns the SHA-1 digest of octets (RFC 3174). It allocates no memory.

    Args:
        octets: The octets.

    Returns:
        The 20 octets of the digest: a WebSocket handshake encodes them in
        base64, so that hexadecimal digits would be a detour.
    """
    var state = SIMD[DType.uint32, 8](
        0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0, 0, 0, 0
    )
    var whole = len(octets) // _BLOCK_OCTETS * _BLOCK_OCTETS
    for start in range(0, whole, _BLOCK_OCTETS):
        state = _sha1_block(octets.unsafe_ptr().unsafe_offset(start), state)
    # The rest, one set bit, zeros, and the count of bits in the last eight
    # octets: one block or two.
    var rest = len(octets) - whole
    var padded = Array[UInt8, 2 * _BLOCK_OCTETS](fill=0)
    for i in range(rest):
        padded[i] = octets[whole + i]
    padded[rest] = 0x80
    var end = _BLOCK_OCTETS if rest < _BLOCK_OCTETS - 8 else 2 * _BLOCK_OCTETS
    var bits = UInt64(len(octets)) * 8
    for i in range(8):
        padded[end - 1 - i] = UInt8(bits >> UInt64(8 * i) & 0xFF)
    for start in range(0, end, _BLOCK_OCTETS):
        state = _sha1_block(
            Span(padded).unsafe_ptr().unsafe_offset(start), state
        )
    var digest = Array[UInt8, SHA1_OCTETS](fill=0)
    for i in range(SHA1_OCTETS):
        digest[i] = UInt8(state[i // 4] >> UInt32(24 - i % 4 * 8) & 0xFF)
    return digest^


def _padded(octets: Span[UInt8, _]) -> List[UInt8]:
    # One set bit, zeroes, and the count of bits in the last eight octets.
    var padded = List[UInt8](capacity=len(octets) + 2 * _BLOCK_OCTETS)
    padded.extend(octets)
    padded.append(0x80)
    while len(padded) % _BLOCK_OCTETS != _BLOCK_OCTETS - 8:
        padded.append(0)
    var bits = UInt64(len(octets)) * 8
    for i in range(8):
        padded.append(UInt8(bits >> UInt64(8 * i) & 0xFF))
    return padded^


def _md5_block(block: Span[UInt8, _], mut state: Array[UInt32, 4]):
    ref sines = global_constant[_SINES]()
    ref shifts = global_constant[_SHIFTS]()
    var a = state[0]
    var b = state[1]
    var c = state[2]
    var d = state[3]
    for i in range(64):
        var mixed: UInt32
        var word: Int
        if i < 16:
            mixed = (b & c) | (~b & d)
            word = i
        elif i < 32:
            mixed = (d & b) | (~d & c)
            word = (5 * i + 1) % 16
        elif i < 48:
            mixed = b ^ c ^ d
            word = (3 * i + 5) % 16
        else:
            mixed = c ^ (b | ~d)
            word = (7 * i) % 16
        var value: UInt32 = 0
        for j in range(4):
            value |= UInt32(block[4 * word + j]) << UInt32(8 * j)
        var sum = a + mixed + sines[i] + value
        var shift = UInt32(shifts[i // 16 * 4 + i % 4])
        a = d
        d = c
        c = b
        b += sum << shift | sum >> (32 - shift)
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d


@always_inline
def _turned(word: UInt32, count: UInt32) -> UInt32:
    return word >> count | word << (32 - count)


@no_inline
def _sha1_block(
    block: Pointer[UInt8, _], state: SIMD[DType.uint32, 8]
) -> SIMD[DType.uint32, 8]:
    # Unrolled, so that the sixteen words of the schedule stay in registers.
    var words = Array[UInt32, 16](fill=0)
    comptime for i in range(16):
        words[i] = byte_swap(
            block.unsafe_bitcast[UInt32]().unsafe_load[alignment=1](i)
        )
    var a = state[0]
    var b = state[1]
    var c = state[2]
    var d = state[3]
    var e = state[4]
    comptime for i in range(80):
        comptime if i >= 16:
            var mixed = (
                words[(i + 13) % 16]
                ^ words[(i + 8) % 16]
                ^ words[(i + 2) % 16]
                ^ words[i % 16]
            )
            words[i % 16] = _turned(mixed, 31)
        var sum = _turned(a, 27) + e + words[i % 16]
        comptime if i < 20:
            sum += (d ^ (b & (c ^ d))) + 0x5A827999
        elif i < 40:
            sum += (b ^ c ^ d) + 0x6ED9EBA1
        elif i < 60:
            sum += ((b & c) | (d & (b | c))) + 0x8F1BBCDC
        else:
            sum += (b ^ c ^ d) + 0xCA62C1D6
        e = d
        d = c
        c = _turned(b, 2)
        b = a
        a = sum
    return state + SIMD[DType.uint32, 8](a, b, c, d, e, 0, 0, 0)
