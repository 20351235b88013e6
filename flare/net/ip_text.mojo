"""Parses and writes the text form of IP addresses.

Parsing is strict, so that no other program reads a different address from the
same text. IPv4 is four decimal numbers without leading zeros; IPv6 follows RFC
4291 section 2.2. Zones, ports, brackets, blanks and trailing octets are
refused. Writing follows RFC 5952. Pure functions over octets and numbers.
"""

from std.bit import count_leading_zeros

from .address_syntax import AddressSyntaxError

comptime IP_TEXT_OCTETS_MAX = 45
"""The longest text: six groups of four digits and a dotted quad."""

comptime _COLON: UInt8 = 58
comptime _DOT: UInt8 = 46
comptime _V6_GROUPS = 8
comptime _V6_GROUP_DIGITS_MAX = 4


def parse_v4(octets: Span[UInt8, _]) raises AddressSyntaxError -> UInt32:
    """Parses a dotted quad.

    Args:
        octets: The whole text.

    Returns:
        The address as a number, the first part in the highest octet.

    Raises:
        AddressSyntaxError: If the text has another form.
    """
    var address = UInt32(0)
    var i = 0
    for part in range(4):
        if part > 0:
            if i == len(octets):
                raise AddressSyntaxError("an IPv4 address has four parts")
            if octets[i] != _DOT:
                raise AddressSyntaxError(_reason_against(octets[i]))
            i += 1
        var start = i
        var value = 0
        while i < len(octets) and octets[i] - 48 < 10:
            if i - start == 3:
                raise AddressSyntaxError(
                    "a part of an IPv4 address is over 255"
                )
            value = value * 10 + Int(octets[i] - 48)
            i += 1
        if i == start:
            if i < len(octets) and octets[i] != _DOT:
                raise AddressSyntaxError(_reason_against(octets[i]))
            raise AddressSyntaxError("a part of an IPv4 address is empty")
        if i - start > 1 and octets[start] == 48:
            # Some programs read such a part as octal.
            raise AddressSyntaxError(
                "a part of an IPv4 address has a leading zero"
            )
        if value > 255:
            raise AddressSyntaxError("a part of an IPv4 address is over 255")
        address = address << 8 | UInt32(value)
    if i < len(octets):
        if octets[i] == _DOT:
            raise AddressSyntaxError("an IPv4 address has four parts")
        raise AddressSyntaxError(_reason_against(octets[i]))
    return address


def parse_v6(
    octets: Span[UInt8, _],
) raises AddressSyntaxError -> SIMD[DType.uint16, 8]:
    """Parses an IPv6 address (RFC 4291 section 2.2).

    Args:
        octets: The whole text.

    Returns:
        The eight groups, the first in lane 0.

    Raises:
        AddressSyntaxError: If the text has another form.
    """
    var groups = SIMD[DType.uint16, 8](0)
    var count = 0
    var gap = -1
    var i = 0
    if len(octets) >= 2 and octets[0] == _COLON and octets[1] == _COLON:
        gap = 0
        i = 2
    while i < len(octets):
        var start = i
        var group = _parse_group(octets, i)
        if i < len(octets) and octets[i] == _DOT:
            if count > _V6_GROUPS - 2:
                raise AddressSyntaxError("an IPv6 address has eight groups")
            var quad = parse_v4(octets[start : len(octets)])
            groups[count] = UInt16(quad >> 16)
            groups[count + 1] = UInt16(quad & 0xFFFF)
            count += 2
            break
        if count == _V6_GROUPS:
            raise AddressSyntaxError("an IPv6 address has eight groups")
        groups[count] = group
        count += 1
        if i == len(octets):
            break
        if octets[i] != _COLON:
            raise AddressSyntaxError(_reason_against(octets[i]))
        i += 1
        if i == len(octets):
            raise AddressSyntaxError("an IPv6 address ends in a colon")
        if octets[i] == _COLON:
            if gap >= 0:
                raise AddressSyntaxError("an IPv6 address has two gaps")
            gap = count
            i += 1
    if gap < 0:
        if count < _V6_GROUPS:
            raise AddressSyntaxError("an IPv6 address has eight groups")
        return groups
    if count == _V6_GROUPS:
        # RFC 4291: a gap stands for at least one group.
        raise AddressSyntaxError("an IPv6 address has a gap for no group")
    return _opened(groups, count, gap)


def write_v4(address: UInt32, mut writer: Some[Writer]):
    """Writes a dotted quad.

    Args:
        address: The address, its first part in the highest octet.
        writer: The destination.
    """
    _v4_text(address).write_to(writer)


def write_v6(groups: SIMD[DType.uint16, 8], mut writer: Some[Writer]):
    """Writes an IPv6 address in its canonical form (RFC 5952).

    Args:
        groups: The eight groups, the first in lane 0.
        writer: The destination.
    """
    _v6_text(groups).write_to(writer)


# A text that is formatted has three writers; the digits are compiled once.
@no_inline
def _v4_text(address: UInt32) -> _Text:
    var text = _Text()
    text.append_quad(address)
    return text^


@no_inline
def _v6_text(groups: SIMD[DType.uint16, 8]) -> _Text:
    var text = _Text()
    var start, length = _longest_zero_run(groups)
    var is_mapped = start == 0 and length == 5 and groups[5] == 0xFFFF
    var count = 6 if is_mapped else _V6_GROUPS
    var i = 0
    while i < count:
        if i == start:
            text.append(_COLON)
            text.append(_COLON)
            i += length
            continue
        if i > 0 and i != start + length:
            text.append(_COLON)
        text.append_group(groups[i])
        i += 1
    if is_mapped:
        # RFC 5952 section 5: the embedded address keeps its own form.
        text.append(_COLON)
        text.append_quad(UInt32(groups[6]) << 16 | UInt32(groups[7]))
    return text^


def _parse_group(
    octets: Span[UInt8, _], mut i: Int
) raises AddressSyntaxError -> UInt16:
    var start = i
    var value = UInt16(0)
    while i < len(octets):
        var digit = _hexadecimal_value(octets[i])
        if digit > 15:
            break
        if i - start == _V6_GROUP_DIGITS_MAX:
            raise AddressSyntaxError(
                "a group of an IPv6 address has over four digits"
            )
        value = value << 4 | UInt16(digit)
        i += 1
    if i == start:
        if i < len(octets) and octets[i] != _COLON and octets[i] != _DOT:
            raise AddressSyntaxError(_reason_against(octets[i]))
        raise AddressSyntaxError("a group of an IPv6 address is empty")
    return value


def _opened(
    groups: SIMD[DType.uint16, 8], count: Int, gap: Int
) -> SIMD[DType.uint16, 8]:
    var opened = SIMD[DType.uint16, 8](0)
    for i in range(gap):
        opened[i] = groups[i]
    for i in range(gap, count):
        opened[_V6_GROUPS - count + i] = groups[i]
    return opened


def _longest_zero_run(groups: SIMD[DType.uint16, 8]) -> Tuple[Int, Int]:
    # RFC 5952 section 4.2: the first of the longest runs, never a single group.
    var best_start = -1
    var best_length = 1
    var start = 0
    for i in range(_V6_GROUPS):
        if groups[i] != 0:
            start = i + 1
        elif i + 1 - start > best_length:
            best_start = start
            best_length = i + 1 - start
    return (best_start, best_length)


@always_inline
def _hexadecimal_value(octet: UInt8) -> UInt8:
    if octet - 48 < 10:
        return octet - 48
    var letter = (octet | 32) - 97
    return letter + 10 if letter < 6 else UInt8(255)


def _reason_against(octet: UInt8) -> StaticString:
    if octet == 37:
        return "an address with a zone is not accepted"
    if octet == 91 or octet == 93:
        return "brackets do not belong here"
    if octet == 64:
        return "user information does not belong here"
    if octet == 32 or octet == 9:
        return "a blank does not belong here"
    if octet < 32 or octet == 127:
        return "a control octet does not belong here"
    if octet == 47:
        return "a prefix length or path does not belong here"
    if (octet | 32) - 97 < 26:
        return "a letter that no address has; names are not resolved here"
    if octet == _COLON:
        return "a port does not belong here"
    return "an octet that no address has"


struct _Text(Movable):
    var octets: Array[UInt8, IP_TEXT_OCTETS_MAX]
    var length: Int

    def __init__(out self):
        self.octets = Array[UInt8, IP_TEXT_OCTETS_MAX](fill=0)
        self.length = 0

    @always_inline
    def append(mut self, octet: UInt8):
        # No address has a longer text.
        if self.length < IP_TEXT_OCTETS_MAX:
            self.octets.unsafe_ptr()[unsafe_offset=self.length] = octet
            self.length += 1

    def append_quad(mut self, address: UInt32):
        for i in range(4):
            if i > 0:
                self.append(_DOT)
            var part = UInt8(address >> UInt32(24 - 8 * i) & 255)
            if part >= 100:
                self.append(48 + part // 100)
            if part >= 10:
                self.append(48 + part // 10 % 10)
            self.append(48 + part % 10)

    def append_group(mut self, group: UInt16):
        var shift = max(0, 12 - Int(count_leading_zeros(group)) // 4 * 4)
        while shift >= 0:
            var digit = UInt8(group >> UInt16(shift) & 15)
            self.append(digit + UInt8(48 if digit < 10 else 87))
            shift -= 4

    @always_inline
    def write_to(self, mut writer: Some[Writer]):
        writer.write(
            StringSlice(
                unsafe_from_utf8=Span(self.octets).unsafe_subspan(
                    offset=0, length=self.length
                )
            )
        )
