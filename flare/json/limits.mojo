"""Bounds the JSON texts that are accepted."""

comptime DEPTH_MAX = 1024
"""The largest `depth_max` that `JsonLimits` accepts."""
comptime _OCTETS_MAX = (1 << 32) - 1024


struct JsonLimits(ImplicitlyCopyable):
    """Limits for a text that is read: its length, its depth and its keys."""

    var octets_max: Int
    """The longest text, in octets. A text of many small values needs up to
    twenty times its length in memory as a `Value`.
    """
    var depth_max: Int
    """The deepest nesting of arrays and objects; at most `DEPTH_MAX`."""
    var duplicate_keys_allowed: Bool
    """Whether an object may have a key twice. The last value then wins, as in
    most parsers. Otherwise such an object is refused.
    """

    def __init__(
        out self,
        *,
        octets_max: Int = 16 * 1024 * 1024,
        depth_max: Int = 256,
        duplicate_keys_allowed: Bool = True,
    ):
        """Creates limits. Omitted arguments have their defaults.

        Args:
            octets_max: The longest text in octets, below 4 GiB.
            depth_max: The deepest nesting, at most `DEPTH_MAX`.
            duplicate_keys_allowed: Whether the last of several equal keys
                wins.
        """
        # Offsets and lengths in a document have 32 bits.
        self.octets_max = (
            octets_max if octets_max < _OCTETS_MAX else _OCTETS_MAX
        )
        self.depth_max = depth_max if depth_max < DEPTH_MAX else DEPTH_MAX
        self.duplicate_keys_allowed = duplicate_keys_allowed
