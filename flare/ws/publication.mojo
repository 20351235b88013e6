"""Defines the messages of a topic, which all its subscribers share."""

from std.atomic import Atomic, Ordering

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.proto.ws import (
    WsFrameHead,
    write_frame_head,
    write_payload,
)


# The block of a message, and its references.
comptime _BLOCK_OCTETS = 128


struct _PublicationState(Movable):
    var owners: UInt32
    var topic: String
    var sender: UInt64
    # The frame of a server, which has no mask.
    var frame: Buffer
    # The memory of all messages of the hub.
    var alive: PointerTo[Int64]

    def __init__(
        out self, var topic: String, sender: UInt64, alive: PointerTo[Int64]
    ):
        self.alive = alive
        self.owners = 1
        self.topic = topic^
        self.sender = sender
        self.frame = Buffer()


struct Publication(ImplicitlyCopyable):
    """A message for the subscribers of a topic. Copies refer to the same
    memory, on any thread; it does not change.
    """

    var _state: PointerTo[_PublicationState]

    def __init__(
        out self,
        topic: StringSlice,
        opcode: UInt8,
        octets: Span[UInt8, _],
        sender: UInt64,
        alive: PointerTo[Int64],
    ):
        """Creates a message, encoded.

        Args:
            topic: The name of the topic.
            opcode: `WsOpcode.TEXT` or `WsOpcode.BINARY`.
            octets: The payload.
            sender: The number of the subscriber that does not get it; 0 if all
                do.
            alive: Counts the memory of all messages; it outlives the message.
        """
        self._state = heap_create(
            _PublicationState(String(topic), sender, alive)
        )
        var frame = Pointer(to=self._state[].frame).unsafe_origin_cast[
            MutUntrackedOrigin
        ]()
        write_frame_head(WsFrameHead(opcode, len(octets)), frame)
        write_payload(octets, frame, None, 0)
        _ = Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
            alive, Int64(self.cost())
        )

    def __init__(out self, *, copy: Self):
        """Copies the reference.

        Args:
            copy: The other reference.
        """
        self._state = copy._state
        _ = Atomic[UInt32].fetch_add[ordering=Ordering.RELAXED](
            Pointer(to=self._state[].owners), 1
        )

    def __deinit__(deinit self):
        """Frees the message with its last reference."""
        var state = self._state
        var owners = Atomic[UInt32].fetch_add[
            ordering=Ordering.ACQUIRE_RELEASE
        ](Pointer(to=state[].owners), UInt32.MAX)
        if owners == 1:
            _ = Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
                state[].alive, -Int64(len(state[].frame) + _BLOCK_OCTETS)
            )
            heap_destroy(state)

    def topic(self) -> StringSlice[ImmUntrackedOrigin]:
        """Returns the name of the topic.

        Returns:
            A view that lives as long as the message.
        """
        return StringSlice[ImmUntrackedOrigin](
            unsafe_from_utf8=Span[UInt8, ImmUntrackedOrigin](
                unsafe_ptr=self._state[]
                .topic.unsafe_ptr()
                .unsafe_origin_cast[ImmUntrackedOrigin](),
                length=self._state[].topic.byte_length(),
            )
        )

    def sender(self) -> UInt64:
        """Returns the subscriber that does not get the message.

        Returns:
            Its number, or 0.
        """
        return self._state[].sender

    def cost(self) -> Int:
        """Returns the memory that the message takes, with its block.

        Returns:
            The number of octets.
        """
        return len(self._state[].frame) + _BLOCK_OCTETS

    def octets(self) -> Span[UInt8, ImmUntrackedOrigin]:
        """Returns the frame.

        Returns:
            A view that lives as long as the message.
        """
        var span = self._state[].frame.span()
        return Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=span.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=len(span),
        )
