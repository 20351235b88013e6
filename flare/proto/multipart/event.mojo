"""Names what the multipart machine reports."""


@fieldwise_init
struct MultipartEvent(TrivialRegisterPassable):
    """Reports one thing found in a form.

    Whatever the kind, the owner drops `consumed` octets from the front of the
    window; they may be more than 0 for `NEED_OCTETS` too.
    """

    comptime NEED_OCTETS: UInt8 = 0
    """Nothing can be reported before more octets arrive."""
    comptime PART_HEAD: UInt8 = 1
    """`machine.part` describes a part."""
    comptime DATA: UInt8 = 2
    """`start` and `length` say where octets of the part lie."""
    comptime END_OF_PART: UInt8 = 3
    """The part is whole."""
    comptime END: UInt8 = 4
    """The form is whole; what follows is dropped."""

    var kind: UInt8
    """One of the constants."""
    var start: Int
    """The offset of the data in the window; of `DATA` only."""
    var length: Int
    """The length of the data; of `DATA` only."""
    var consumed: Int
    """Octets that the owner drops from the front of the window."""
