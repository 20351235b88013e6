"""Measures the WebSocket machine: frames, text, and the key of a handshake."""

from std.benchmark import black_box
from std.memory import unsafe_memcpy

from measure import measure

from flare.core import Buffer, heap_create
from flare.core.message_digest import sha1
from flare.proto.ws import (
    WsEvent,
    WsFrameHead,
    WsMachine,
    WsOpcode,
    WsRole,
    WsState,
    WsText,
    accept_value,
)

comptime FRAMES = 64
"""How many frames one window holds."""
comptime LENGTHS: List[Int] = [5, 125, 1024]
"""How long a payload is."""


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a frame is refused.
    """
    for length in materialize[LENGTHS]():
        measure_frames(WsOpcode.BINARY, length)
        measure_frames(WsOpcode.TEXT, length)
    measure_text("ASCII", "All of this is plain text. ")
    measure_text("two octets each", "Жизнь")
    measure_handshake()


def measure_frames(opcode: UInt8, length: Int) raises:
    """Measures how long a server takes for a masked frame.

    Args:
        opcode: Text or binary.
        length: The length of the payload.

    Raises:
        Error: If a frame is refused.
    """
    var machine = WsMachine(
        heap_create(WsState(WsRole.SERVER, message_octets_max=1 << 20))
    )
    var client = WsMachine(
        heap_create(WsState(WsRole.CLIENT, message_octets_max=1 << 20))
    )
    var output = heap_create(Buffer())
    var payload = List[UInt8](length=length, fill=97)
    for _ in range(FRAMES):
        client.write_frame_head(
            WsFrameHead(opcode, length, mask=UInt32(0x04030201)), output
        )
        client.write_payload(Span(payload), output, mask=UInt32(0x04030201))
    var frames = List[UInt8](output[].span())
    var window = List[UInt8](length=len(frames), fill=0)

    def read(i: Int) raises {imm} -> Int:
        # The machine unmasks in place: each round needs new octets.
        unsafe_memcpy(
            dest=window.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            src=frames.unsafe_ptr(),
            count=len(frames),
        )
        var at = 0
        var octets = Span[UInt8, MutUntrackedOrigin](
            unsafe_ptr=window.unsafe_ptr()
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin](),
            length=len(frames),
        )
        while at < len(octets):
            var event = machine.next_event(
                octets.unsafe_subspan(offset=at, length=len(octets) - at)
            )
            if event.kind != WsEvent.DATA:
                raise Error("not a message")
            at += event.consumed
        return at

    var name = "text" if opcode == WsOpcode.TEXT else "binary"
    measure(
        String("ws/", name, " frame of ", length, " octets"),
        read,
        octets=len(frames) // FRAMES,
        operations=FRAMES,
    )

    def write(i: Int) raises {imm} -> Int:
        output[].clear()
        client.write_frame_head(
            WsFrameHead(opcode, length, mask=UInt32(0x04030201)), output
        )
        client.write_payload(Span(payload), output, mask=UInt32(0x04030201))
        return len(output[])

    measure(
        String("ws/", name, " frame of ", length, " octets, written"),
        write,
        octets=length,
    )


def measure_text(kind: StaticString, text: StaticString) raises:
    """Measures checking a text of 1 KiB.

    Args:
        kind: What the text is.
        text: A piece of it.

    Raises:
        Error: If the text is refused.
    """
    var octets = List[UInt8]()
    while len(octets) < 1024:
        octets.extend(text.as_bytes())

    def check(i: Int) raises {imm} -> Int:
        var position = WsText()
        return Int(position.accept(black_box(Span(octets))))

    measure(String("ws/UTF-8, ", kind), check, octets=len(octets))


def measure_handshake() raises:
    """Measures the digest of a handshake, and the value made of it.

    Raises:
        Error: Never.
    """
    var octets = List[UInt8](length=60, fill=97)

    def digest(i: Int) raises {imm} -> Int:
        return Int(sha1(black_box(Span(octets)))[0])

    measure("ws/SHA-1 of 60 octets", digest, octets=60)

    def accept(i: Int) raises {imm} -> Int:
        return accept_value(black_box(Span(octets)[:24])).byte_length()

    measure("ws/accept value", accept)
