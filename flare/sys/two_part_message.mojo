"""Describes sends of two runs of octets to io_uring (`struct msghdr`)."""

from flare.core import OctetPointer, PointerTo, heap_create, heap_destroy

from .message_description import MessageDescription

comptime _MESSAGES = 16


struct _Message(Movable):
    var description: MessageDescription[Int]
    # The two `struct iovec` that it points to.
    var first: Int
    var first_octets: Int
    var second: Int
    var second_octets: Int

    def __init__(out self):
        self.description = MessageDescription(0, 2)
        self.first = 0
        self.first_octets = 0
        self.second = 0
        self.second_octets = 0


struct _MessagesState(Movable):
    var messages: Array[_Message, _MESSAGES]
    var taken: Int

    def __init__(out self):
        self.messages = Array[_Message, _MESSAGES](uninitialized=True)
        for i in range(_MESSAGES):
            Pointer(to=self.messages[i]).unsafe_write(_Message())
        self.taken = 0


@fieldwise_init
struct TwoPartMessages(TrivialRegisterPassable):
    """Lends message descriptions for sends until the kernel has copied them.

    io_uring copies a description when it takes the submission that names it.
    """

    var _state: PointerTo[_MessagesState]

    @staticmethod
    def create() -> Self:
        """Creates a set whose descriptions are all free.

        Returns:
            A handle; call `destroy` when the ring is closed.
        """
        return Self(heap_create(_MessagesState()))

    def destroy(self):
        """Frees the descriptions."""
        heap_destroy(self._state)

    def is_used_up(self) -> Bool:
        """Returns whether none is free.

        Returns:
            True if `take` must not be called before `clear`.
        """
        return self._state[].taken == _MESSAGES

    def clear(self):
        """Frees all descriptions, after the kernel has taken every submission.
        """
        self._state[].taken = 0

    def take(
        self,
        first: OctetPointer,
        first_octets: Int,
        second: OctetPointer,
        second_octets: Int,
    ) -> UInt64:
        """Describes a send of two runs of octets.

        Args:
            first: The first octets; in place until the send completes.
            first_octets: Their number.
            second: The octets after them; likewise.
            second_octets: Their number.

        Returns:
            The address for the submission.
        """
        ref m = self._state[].messages[self._state[].taken]
        self._state[].taken += 1
        m.description.parts = Int(Pointer(to=m.first))
        m.first = Int(first)
        m.first_octets = first_octets
        m.second = Int(second)
        m.second_octets = second_octets
        return UInt64(Int(Pointer(to=m.description)))
