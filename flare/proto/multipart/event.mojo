"""Defines the events of the multipart machine."""


@fieldwise_init
struct MultipartEvent(TrivialRegisterPassable):
    """One event in a form.

    For every kind, the owner drops `consumed` octets from the front of the
    window. The number may be above zero for `NEED_OCTETS` too.
    """

    comptime NEED_OCTETS: UInt8 = 0
    """No event is available before more octets arrive."""
    comptime PART_HEAD: UInt8 = 1
    """`machine.part` describes a part."""
    comptime DATA: UInt8 = 2
    """`start` and `length` say where octets of the part lie."""
    comptime END_OF_PART: UInt8 = 3
    """The part is whole."""
    comptime END: UInt8 = 4
    """The form is complete; later octets are dropped."""

    var kind: UInt8
    """One of the constants."""
    var start: Int
    """The offset of the data in the window; of `DATA` only."""
    var length: Int
    """The length of the data; of `DATA` only."""
    var consumed: Int
    """Octets that the owner drops from the front of the window."""
