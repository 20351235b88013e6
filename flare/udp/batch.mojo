"""Holds datagrams that are sent or received in one call."""

from flare.net import DatagramTooLarge, NetError, SocketAddr
from flare.sys.datagram_slots import DATAGRAM_SLOTS_MAX, DatagramSlots
from flare.sys.socket_address import SocketAddressStorage


struct DatagramBatch(Movable, Sized):
    """Owns room for a fixed number of datagrams, each with an address.

    What `recv_batch` receives, or `append` puts in, stays until the next
    `recv_batch` or `clear`.
    """

    comptime COUNT_MAX = DATAGRAM_SLOTS_MAX
    """The most datagrams of a batch."""
    comptime COUNT_DEFAULT = 32
    """The datagrams of a batch unless the program chooses another number."""
    comptime OCTETS_MAX = 65_535
    """The longest datagram of a batch."""
    comptime OCTETS_DEFAULT = 2048
    """The longest datagram unless the program chooses another: what a frame of
    an Ethernet network carries, and some more."""

    var _slots: DatagramSlots

    def __init__(
        out self,
        count_max: Int = Self.COUNT_DEFAULT,
        *,
        octets_max: Int = Self.OCTETS_DEFAULT,
    ):
        """Allocates room for the product of both numbers.

        Args:
            count_max: How many datagrams; cut to 1 and `COUNT_MAX`.
            octets_max: How long each may be; cut to 0 and `OCTETS_MAX`.
        """
        self._slots = DatagramSlots.create(
            min(max(count_max, 1), Self.COUNT_MAX),
            min(max(octets_max, 0), Self.OCTETS_MAX),
        )

    def __deinit__(deinit self):
        """Frees the room."""
        self._slots.destroy()

    def __len__(self) -> Int:
        """Tells how many datagrams there are.

        Returns:
            Those that were received or appended.
        """
        return self._slots.used()

    def count_max(self) -> Int:
        """Tells for how many datagrams there is room.

        Returns:
            The number.
        """
        return self._slots.count()

    def is_full(self) -> Bool:
        """Returns whether there is no room for another datagram.

        Returns:
            True if `append` would refuse it.
        """
        return len(self) == self.count_max()

    def clear(mut self):
        """Drops the datagrams."""
        self._slots.clear()

    def append(
        mut self,
        octets: Span[mut=False, UInt8, _],
        receiver: Optional[SocketAddr] = None,
    ) raises:
        """Copies a datagram behind the others.

        Args:
            octets: The datagram.
            receiver: Where it goes; none on a connected socket.

        Raises:
            Error: A `DatagramTooLarge` if it is longer than the batch allows;
                `net.no_memory send_to` if the batch is full.
        """
        if len(octets) > self._slots.slot_octets():
            raise DatagramTooLarge(
                "send_to", len(octets), self._slots.slot_octets(), receiver
            )
        if self.is_full():
            raise NetError(NetError.NO_MEMORY, "send_to", address=receiver)
        var storage = Optional[SocketAddressStorage](None)
        if receiver:
            storage = receiver.value().to_storage()
        self._slots.fill(octets, storage)

    def octets(self, index: Int) raises -> Span[UInt8, origin_of(self)]:
        """Views a datagram.

        Args:
            index: Which; less than `len(batch)`.

        Returns:
            Its octets, until the batch changes.

        Raises:
            Error: A `DatagramTooLarge` if its end is lost, because it was
                longer than the batch allows.
        """
        debug_assert(index >= 0 and index < len(self), "no datagram ", index)
        var count = self._slots.length(index)
        if count > self._slots.slot_octets():
            raise DatagramTooLarge(
                "receive_from",
                count,
                self._slots.slot_octets(),
                self.address(index),
            )
        return Span[UInt8, origin_of(self)](
            unsafe_ptr=self._slots.octets(index)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[origin_of(self)](),
            length=count,
        )

    def address(self, index: Int) -> Optional[SocketAddr]:
        """Tells where a datagram came from, or where it goes.

        Args:
            index: Which; less than `len(batch)`.

        Returns:
            The address; none if it was appended without one.
        """
        debug_assert(index >= 0 and index < len(self), "no datagram ", index)
        return SocketAddr.from_storage(self._slots.address(index))

    def unsafe_slots(self) -> DatagramSlots:
        """Lends the memory.

        Returns:
            The slots.

        Safety:
            They live as long as the batch.
        """
        return self._slots
