"""Reads, compares and writes domain names in wire form.

A name is a run of labels that ends with the empty label, or with a pointer to
an earlier name (RFC 1035 section 4.1.4). A pointer must lead to before the
start of its run of labels, so that every name ends. A name may have at most
127 pointers, so that its cost is bounded like its 255 octets.
"""

from flare.core import lower_octet

from .error import DnsMessageError
from .header import HEADER_OCTETS

comptime NAME_OCTETS_MAX = 255
"""The longest name, its length octets included (RFC 1035 section 2.3.4)."""
comptime LABEL_OCTETS_MAX = 63
"""The longest label (RFC 1035 section 2.3.4)."""

comptime _POINTERS_MAX = 127
comptime _POINTER: Int = 0xC0
comptime _DOT: UInt8 = 46
comptime _BACKSLASH: UInt8 = 92


@fieldwise_init
struct Label(TrivialRegisterPassable):
    """The place of a label in its message."""

    var start: Int
    """Its first octet."""
    var length: Int
    """The number of octets; 0 for the root, which ends every name."""


struct NameWalk(ImplicitlyCopyable):
    """Iterates over the labels of one name."""

    var end: Int
    """The octet after the name at its first place; -1 until that is known."""
    var _at: Int
    var _bound: Int
    var _octets: Int
    var _pointers: Int

    def __init__(out self, start: Int):
        """Creates an iterator before the first label.

        Args:
            start: The start of the name in its message; not negative.
        """
        self.end = -1
        self._at = start
        self._bound = start
        self._octets = 0
        self._pointers = 0

    def next(mut self, message: Span[UInt8, _]) raises DnsMessageError -> Label:
        """Returns the next label.

        Args:
            message: The whole message, the same for each label.

        Returns:
            The label. There is none after the root.

        Raises:
            DnsMessageError: If the name breaks a rule.
        """
        while True:
            if self._at >= len(message):
                raise _malformed("a name leaves the message", self._at)
            var first = Int(message[self._at])
            if first & _POINTER == _POINTER:
                self._follow(message, first)
                continue
            if first > LABEL_OCTETS_MAX:
                raise _malformed("a label has no known type", self._at)
            var label = Label(self._at + 1, first)
            self._octets += 1 + first
            if self._octets > NAME_OCTETS_MAX:
                raise _malformed("a name is over 255 octets", self._at)
            if label.start + first > len(message):
                raise _malformed("a label leaves the message", self._at)
            self._at = label.start + first
            if first == 0 and self.end < 0:
                self.end = self._at
            return label

    def _follow(
        mut self, message: Span[UInt8, _], first: Int
    ) raises DnsMessageError:
        if self._at + 1 >= len(message):
            raise _malformed("a pointer leaves the message", self._at)
        var target = (first & 63) << 8 | Int(message[self._at + 1])
        if target >= self._bound or target < HEADER_OCTETS:
            raise _malformed("a pointer does not lead to the front", self._at)
        self._pointers += 1
        if self._pointers > _POINTERS_MAX:
            raise _malformed("a name follows too many pointers", self._at)
        if self.end < 0:
            self.end = self._at + 2
        self._bound = target
        self._at = target


def skip_name(
    message: Span[UInt8, _], start: Int
) raises DnsMessageError -> Int:
    """Returns the end of a name.

    Args:
        message: The whole message.
        start: The start of the name.

    Returns:
        The offset after the name, or after its compression pointer.

    Raises:
        DnsMessageError: If the name breaks a rule.
    """
    var walk = NameWalk(start)
    while walk.next(message).length > 0:
        pass
    return walk.end


def same_name(
    first: Span[mut=False, UInt8, _],
    first_start: Int,
    second: Span[mut=False, UInt8, _],
    second_start: Int,
) raises DnsMessageError -> Bool:
    """Returns whether two names are equal, ignoring ASCII case (RFC 4343).

    Args:
        first: The message of the first name.
        first_start: The start of the first name.
        second: The message of the second name; it may be the same one.
        second_start: The start of the second name.

    Returns:
        True if the names have the same labels.

    Raises:
        DnsMessageError: If a name is malformed before the two differ.
    """
    var a = NameWalk(first_start)
    var b = NameWalk(second_start)
    while True:
        var x = a.next(first)
        var y = b.next(second)
        if x.length != y.length:
            return False
        if x.length == 0:
            return True
        for i in range(x.length):
            if lower_octet(first[x.start + i]) != lower_octet(
                second[y.start + i]
            ):
                return False


def name_text(
    message: Span[UInt8, _], start: Int
) raises DnsMessageError -> String:
    """Returns the text form of a name (RFC 4343 section 2.1).

    Args:
        message: The whole message.
        start: The start of the name.

    Returns:
        The labels with dots in between; `.` for the root. Dots and backslashes
        within a label are escaped by a backslash; octets that are not
        printable ASCII by a backslash and three decimal digits.

    Raises:
        DnsMessageError: If the name breaks a rule.
    """
    var walk = NameWalk(start)
    var text = String()
    while True:
        var label = walk.next(message)
        if label.length == 0:
            break
        if text:
            text += "."
        for i in range(label.start, label.start + label.length):
            _write_octet(message[i], text)
    if not text:
        text += "."
    return text^


def append_name(
    text: StringSlice, mut message: List[UInt8]
) raises DnsMessageError:
    """Appends a name in wire form, without compression.

    Args:
        text: The labels with dots in between, and optionally one at the end.
            Only dots have a special meaning.
        message: The message to append to; unchanged if this raises.

    Raises:
        DnsMessageError: If a label is empty or over 63 octets, or the name over
            255.
    """
    var octets = text.as_bytes()
    var end = len(octets)
    if end > 0 and octets[end - 1] == _DOT:
        end -= 1
    if end == 0:
        raise _unwritable("the name is empty", 0)
    # One length octet before the first label, and the root.
    if end + 2 > NAME_OCTETS_MAX:
        raise _unwritable("the name is over 255 octets", end)
    var start = 0
    for i in range(end + 1):
        if i == end or octets[i] == _DOT:
            if i == start:
                raise _unwritable("a label is empty", i)
            if i - start > LABEL_OCTETS_MAX:
                raise _unwritable("a label is over 63 octets", start)
            start = i + 1
    start = 0
    for i in range(end + 1):
        if i == end or octets[i] == _DOT:
            message.append(UInt8(i - start))
            message.extend(octets[start:i])
            start = i + 1
    message.append(0)


def _write_octet(octet: UInt8, mut text: String):
    if octet == _DOT or octet == _BACKSLASH:
        text.write("\\", chr(Int(octet)))
    elif octet > 32 and octet < 127:
        text.write(chr(Int(octet)))
    else:
        var number = Int(octet)
        text.write("\\", number // 100, number // 10 % 10, number % 10)


def _malformed(reason: StaticString, offset: Int) -> DnsMessageError:
    return DnsMessageError(DnsMessageError.MALFORMED, reason, offset)


def _unwritable(reason: StaticString, offset: Int) -> DnsMessageError:
    return DnsMessageError(DnsMessageError.UNWRITABLE, reason, offset)
