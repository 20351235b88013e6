"""Hashes the keys of clients under a secret seed."""

from flare.core.siphash import SipKey, siphash, siphash_word
from flare.net import IpAddr
from flare.sys.random import fill_random

comptime _V4: UInt64 = 4
comptime _V6: UInt64 = 6
comptime _NUMBER: UInt64 = 1


@fieldwise_init
struct RateKeys(TrivialRegisterPassable):
    """Turns the name or the address of a client into a key of a `RateLimiter`.

    A key is a hash under a seed that the process draws at random. So clients
    cannot choose names whose keys collide with those of others. All functions
    allocate nothing.
    """

    var _seed: SipKey

    @staticmethod
    def random() raises -> Self:
        """Draws a seed.

        Returns:
            The keys under it.

        Raises:
            Error: `http.rate no random octets` if the kernel has none.
        """
        var octets = Array[UInt8, 16](fill=0)
        if fill_random(Span(octets)) != 16:
            raise Error("http.rate no random octets")
        var words = Span(octets).unsafe_ptr().unsafe_bitcast[UInt64]()
        return Self(
            SipKey(
                words.unsafe_load[alignment=1](),
                words.unsafe_offset(1).unsafe_load[alignment=1](),
            )
        )

    def of(self, text: StringSlice) -> UInt64:
        """Returns the key of a text, such as the name of a user.

        Args:
            text: The text.

        Returns:
            The key.
        """
        return siphash(text.as_bytes(), self._seed)

    def of(self, number: Int) -> UInt64:
        """Returns the key of a number, such as that of a user.

        Args:
            number: The number.

        Returns:
            The key.
        """
        return siphash_word(UInt64(number), self._seed, _NUMBER)

    def of(self, address: IpAddr) -> UInt64:
        """Returns the key of an address.

        Args:
            address: The address. Of IPv6, only the first 64 bits count: a
                network of that size is the least that a customer gets (RFC
                6177). An IPv4-mapped one is an address of IPv4.

        Returns:
            The key.
        """
        var plain = address.unmapped()
        if plain.is_v4():
            return siphash_word(UInt64(plain.v4_number()), self._seed, _V4)
        var octets = plain.v6_octets()
        return siphash_word(
            octets.unsafe_ptr()
            .unsafe_bitcast[UInt64]()
            .unsafe_load[alignment=1](),
            self._seed,
            _V6,
        )
