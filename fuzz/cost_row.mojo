"""Describes one kind of work whose cost must not grow faster than its input."""

from flare.message import FieldLine, FieldSection


struct CostRow(Copyable, Movable):
    """Holds how the worst input of a length is made, and what is done with it.
    """

    var name: String
    """What is measured."""
    var octets: Int
    """The length of the smaller input; the other one is twice as long."""
    var make: def(Int) raises thin -> List[UInt8]
    """Makes an input of about that length; its time does not count."""
    var feed: def(List[UInt8]) raises thin -> None
    """Does the work. It raises if the input is not read to its end."""
    var heap_factor_max: Int
    """How many octets of heap one octet of the input may take at most."""

    def __init__(
        out self,
        var name: String,
        octets: Int,
        make: def(Int) raises thin -> List[UInt8],
        feed: def(List[UInt8]) raises thin -> None,
        *,
        heap_factor_max: Int = 16,
    ):
        """Makes a row.

        Args:
            name: What is measured.
            octets: The length of the smaller input.
            make: Makes an input of about that length.
            feed: Does the work.
            heap_factor_max: How many octets of heap one octet of the input may
                take at most.
        """
        self.name = name^
        self.octets = octets
        self.make = make
        self.feed = feed
        self.heap_factor_max = heap_factor_max


def repeated[
    text: StaticString, front: StaticString = "", end: StaticString = ""
](octets: Int) raises -> List[UInt8]:
    """Makes an input of one text again and again.

    Parameters:
        text: The text.
        front: What stands before the first one.
        end: What stands behind the last one.

    Args:
        octets: About how long the input is.

    Returns:
        The input.
    """
    var made = List[UInt8](capacity=octets + 64)
    made.extend(front.as_bytes())
    while len(made) < octets:
        made.extend(text.as_bytes())
    made.extend(end.as_bytes())
    return made^


def numbered[
    before: StaticString,
    behind: StaticString,
    front: StaticString = "",
    end: StaticString = "",
](octets: Int) raises -> List[UInt8]:
    """Makes an input of parts that differ by their number.

    Parameters:
        before: What stands before each number.
        behind: What stands behind it.
        front: What stands before the first part.
        end: What stands behind the last one.

    Args:
        octets: About how long the input is.

    Returns:
        The input.
    """
    var made = List[UInt8](capacity=octets + 64)
    made.extend(front.as_bytes())
    # All numbers have as many digits.
    var number = 10_000_000
    while len(made) < octets:
        made.extend(before.as_bytes())
        made.extend(String(number).as_bytes())
        made.extend(behind.as_bytes())
        number += 1
    made.extend(end.as_bytes())
    return made^


def text_of(octets: List[UInt8]) -> StringSlice[origin_of(octets)]:
    """Views an input as a text.

    Args:
        octets: An input of ASCII.

    Returns:
        The text.
    """
    return StringSlice(unsafe_from_utf8=Span(octets))


def section_of(
    octets: List[UInt8], lines: List[FieldLine]
) -> FieldSection[ImmUntrackedOrigin]:
    """Views lines as a section of fields.

    Args:
        octets: The octets; the caller keeps them alive.
        lines: Where the lines lie; the caller keeps them alive.

    Returns:
        The section.
    """
    return FieldSection[ImmUntrackedOrigin](
        Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=len(octets),
        ),
        Span[FieldLine, ImmUntrackedOrigin](
            unsafe_ptr=lines.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=len(lines),
        ),
    )
