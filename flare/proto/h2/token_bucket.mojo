"""Limits how often a peer may cause work that serves no request."""


struct TokenBucket(Movable):
    """Tokens that are used up by a peer, and come back with time."""

    comptime WHOLE = 256
    """The parts of a token, for costs below one."""

    var _parts: Int
    var _parts_max: Int
    var _per_second: Int
    var _at_ms: Int

    def __init__(out self, tokens: Int, per_second: Int):
        """Creates a full bucket.

        Args:
            tokens: How many it holds.
            per_second: How many come back in a second.
        """
        self._parts = tokens * Self.WHOLE
        self._parts_max = self._parts
        self._per_second = per_second
        self._at_ms = -1

    def take(mut self, parts: Int, now_ms: Int) -> Bool:
        """Uses tokens up.

        Args:
            parts: How many, times `WHOLE`.
            now_ms: The time; never before that of the call before.

        Returns:
            False if there are not as many.
        """
        if self._at_ms >= 0:
            var gained = (
                (now_ms - self._at_ms) * self._per_second * Self.WHOLE // 1000
            )
            self._parts = min(self._parts + gained, self._parts_max)
        self._at_ms = now_ms
        if self._parts < parts:
            return False
        self._parts -= parts
        return True

    @always_inline
    def give(mut self, tokens: Int):
        """Returns tokens to the bucket, because the peer has done something of use.

        Args:
            tokens: How many. The bucket holds no more than at first.
        """
        self._parts = min(self._parts + tokens * Self.WHOLE, self._parts_max)
