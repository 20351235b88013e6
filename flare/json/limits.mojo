"""Bounds what a JSON text may be."""

comptime DEPTH_MAX = 1024
"""The deepest nesting that any limits can allow."""
comptime _OCTETS_MAX = (1 << 32) - 1024


struct JsonLimits(ImplicitlyCopyable):
    """Says how large, how deep and how strict a text may be when it is read."""

    var octets_max: Int
    """The longest text in octets. A text of many small values takes up to
    twenty times as much memory once it is a `Value`."""
    var depth_max: Int
    """How deep arrays and objects may lie within each other; at most
    `DEPTH_MAX`."""
    var duplicate_keys_allowed: Bool
    """True lets a key occur twice in one object: the last value counts, as
    most readers have it. False refuses such an object."""

    def __init__(
        out self,
        *,
        octets_max: Int = 16 * 1024 * 1024,
        depth_max: Int = 256,
        duplicate_keys_allowed: Bool = True,
    ):
        """Makes limits; what is not named has its default.

        Args:
            octets_max: The longest text in octets, below 4 GiB.
            depth_max: The deepest nesting, at most `DEPTH_MAX`.
            duplicate_keys_allowed: Whether the last of equal keys counts.
        """
        # Offsets and lengths in a document have 32 bits.
        self.octets_max = (
            octets_max if octets_max < _OCTETS_MAX else _OCTETS_MAX
        )
        self.depth_max = depth_max if depth_max < DEPTH_MAX else DEPTH_MAX
        self.duplicate_keys_allowed = duplicate_keys_allowed
