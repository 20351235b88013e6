"""Defines how an endpoint compresses messages (RFC 7692)."""

from flare.proto.ws import DeflateParameters, DeflatePolicy
from flare.sys.zlib import zlib

from .shared_codecs import reserved_octets

comptime _OFF: UInt8 = 0
comptime _SHARED: UInt8 = 1
comptime _DEDICATED: UInt8 = 2
comptime _WINDOW_BITS: UInt8 = 12
comptime _WINDOW_BITS_MAX: UInt8 = 15
comptime _MEMORY_LEVEL: UInt8 = 5
comptime _OCTETS_MAX = 64 * 1024 * 1024
# The structs of zlib.
comptime _DEFLATER_OCTETS = 6 * 1024
comptime _INFLATER_OCTETS = 7 * 1024


@fieldwise_init
struct WsCompression(Equatable, TrivialRegisterPassable):
    """How an endpoint compresses messages, if its peer agrees
    (permessage-deflate, RFC 7692).

    The length of a compressed message depends on its content. If a message
    contains a secret beside text that an attacker chooses, its length helps to
    guess the secret. Send such messages with `compress=False`.
    """

    comptime OFF = Self(_OFF, _WINDOW_BITS, _MEMORY_LEVEL, _OCTETS_MAX)
    """Messages are not compressed. The default."""
    comptime SHARED = Self(_SHARED, _WINDOW_BITS, _MEMORY_LEVEL, _OCTETS_MAX)
    """Each message is compressed by itself, with a compressor that the
    connections of a thread share. A connection needs no memory for it."""
    comptime DEDICATED = Self(
        _DEDICATED, _WINDOW_BITS, _MEMORY_LEVEL, _OCTETS_MAX
    )
    """Messages may refer back to earlier ones of the same connection, which
    makes short messages much shorter. A connection needs 38 KiB for its
    compressor and 11 KiB to inflate; 39 KiB to inflate if its peer does not
    limit the window."""

    var _mode: UInt8
    var _window_bits: UInt8
    var _memory_level: UInt8
    var _octets_max: Int

    @staticmethod
    def dedicated(
        *,
        window_bits: Int = 12,
        memory_level: Int = 5,
        octets_max: Int = _OCTETS_MAX,
    ) -> Self:
        """Returns a compression in which messages may refer back to earlier
        ones.

        Args:
            window_bits: How far back: the base-2 logarithm of the number of
                octets, from 9 to 15; other values are brought into this range.
                The compressor takes four times as much memory.
            memory_level: How much more memory the compressor takes, from 1 to
                9: 2^(9 + `memory_level`) octets. Other values are brought into
                this range.
            octets_max: The most memory that all connections of a worker
                reserve for it, 64 MiB by default. Further connections get
                `SHARED`.

        Returns:
            The compression.
        """
        return Self(
            _DEDICATED,
            UInt8(min(max(window_bits, 9), 15)),
            UInt8(min(max(memory_level, 1), 9)),
            max(octets_max, 0),
        )

    def policy(self) -> Optional[DeflatePolicy]:
        """Returns the parameters that a server now wants.

        Returns:
            The policy; `None` without compression, or without zlib.
        """
        if self._mode == _OFF or not zlib():
            return None
        if self._has_room():
            return DeflatePolicy.dedicated(self._window_bits)
        return DeflatePolicy.shared()

    def offers(self) -> List[DeflateParameters]:
        """Returns the parameters that a client now offers.

        Returns:
            The offers, the preferred one first; none without compression, or
            without zlib.
        """
        if self._mode == _OFF or not zlib():
            return []
        if not self._has_room():
            return [
                DeflateParameters(
                    server_no_context_takeover=True,
                    client_no_context_takeover=True,
                )
            ]
        if self._window_bits == _WINDOW_BITS_MAX:
            return [DeflateParameters()]
        # Some servers cannot limit their window, but can forget it. Then the
        # client needs no memory to inflate.
        return [
            DeflateParameters(server_window_bits=self._window_bits),
            DeflateParameters(server_no_context_takeover=True),
        ]

    def window_bits(self) -> Int:
        """Returns the largest window of a compressor that keeps it.

        Returns:
            The base-2 logarithm of the number of octets.
        """
        return Int(self._window_bits)

    def memory_level(self) -> Int:
        """Returns how much memory a compressor takes.

        Returns:
            The memory level of zlib.
        """
        return Int(self._memory_level)

    def deflater_octets(self, window_bits: Int) -> Int:
        """Returns the memory of a compressor.

        Args:
            window_bits: The base-2 logarithm of its window.

        Returns:
            The number of octets.
        """
        return (
            (4 << window_bits)
            + (512 << Int(self._memory_level))
            + _DEFLATER_OCTETS
        )

    @staticmethod
    def inflater_octets(window_bits: Int) -> Int:
        """Returns the memory of a decompressor.

        Args:
            window_bits: The base-2 logarithm of its window.

        Returns:
            The number of octets.
        """
        return (1 << window_bits) + _INFLATER_OCTETS

    def _has_room(self) -> Bool:
        # A peer may be unable to limit its window.
        return self._mode == _DEDICATED and (
            reserved_octets()
            + self.deflater_octets(Int(self._window_bits))
            + Self.inflater_octets(Int(_WINDOW_BITS_MAX))
            <= self._octets_max
        )
