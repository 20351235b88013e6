"""Stores datagrams that are sent or received in one system call."""

from flare.net import DatagramTooLarge, NetError, SocketAddr
from flare.sys.datagram_slots import DATAGRAM_SLOTS_MAX, DatagramSlots
from flare.sys.socket_address import SocketAddressStorage


struct DatagramBatch(Movable, Sized):
    """A fixed number of slots for datagrams with their addresses.

    Datagrams stay until the next `recv_batch` or `clear`.
    """

    comptime COUNT_MAX = DATAGRAM_SLOTS_MAX
    """The largest number of datagrams in a batch."""
    comptime COUNT_DEFAULT = 32
    """The default number of datagrams in a batch."""
    comptime OCTETS_MAX = 65_535
    """The largest limit for the length of a datagram."""
    comptime OCTETS_DEFAULT = 2048
    """The default limit for the length of a datagram: an Ethernet frame's
    content, and some room.
    """

    var _slots: DatagramSlots

    def __init__(
        out self,
        count_max: Int = Self.COUNT_DEFAULT,
        *,
        octets_max: Int = Self.OCTETS_DEFAULT,
    ):
        """Allocates memory for all datagrams.

        Args:
            count_max: The number of datagrams; limited to 1 … `COUNT_MAX`.
            octets_max: The longest datagram; limited to 0 … `OCTETS_MAX`.
        """
        self._slots = DatagramSlots.create(
            min(max(count_max, 1), Self.COUNT_MAX),
            min(max(octets_max, 0), Self.OCTETS_MAX),
        )

    def __deinit__(deinit self):
        """Frees the memory."""
        self._slots.destroy()

    def __len__(self) -> Int:
        """Returns the number of datagrams.

        Returns:
            The number received or appended.
        """
        return self._slots.used()

    def count_max(self) -> Int:
        """Returns how many datagrams fit.

        Returns:
            The number.
        """
        return self._slots.count()

    def is_full(self) -> Bool:
        """Returns whether the batch is full.

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
        """Appends a copy of a datagram.

        Args:
            octets: The datagram.
            receiver: The destination; `None` on a connected socket.

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
        """Returns a view of a datagram.

        Args:
            index: The datagram's index, less than `len(batch)`.

        Returns:
            Its octets, until the batch changes.

        Raises:
            Error: A `DatagramTooLarge` if the datagram was longer than the
                batch allows, so that its end is lost.
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
        """Returns the sender of a received datagram, or the receiver of an
        appended one.

        Args:
            index: The datagram's index, less than `len(batch)`.

        Returns:
            The address; `None` if the datagram was appended without one.
        """
        debug_assert(index >= 0 and index < len(self), "no datagram ", index)
        return SocketAddr.from_storage(self._slots.address(index))

    def unsafe_slots(self) -> DatagramSlots:
        """Returns the slots, which the batch still owns.

        Returns:
            The slots.

        Safety:
            Do not use them after the batch is destroyed.
        """
        return self._slots
