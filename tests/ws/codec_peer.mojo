"""Owns a compressor and a decompressor, and what they produce."""

from flare.core import (
    Buffer,
    PointerTo,
    heap_create,
    heap_destroy,
    write_escaped,
)
from flare.proto.ws import WsMessageCheck
from flare.ws.deflater import Deflater
from flare.ws.inflater import Inflater


struct CodecPeer(Movable):
    """Owns both codecs of one end.

    Tests ask for the octets through it: a pointer in the last expression that
    names the peer would outlive its buffer.
    """

    var deflater: Deflater
    """The compressor."""
    var inflater: Inflater
    """The decompressor."""
    var check: PointerTo[WsMessageCheck]
    """The check of the content."""
    var output: PointerTo[Buffer]
    """Receives what either produces."""

    def __init__(
        out self,
        *,
        window_bits: Int = 15,
        peer_window_bits: Int = 15,
        keeps_context: Bool = True,
        octets_max: Int = 1 << 20,
    ) raises:
        """Opens both codecs.

        Args:
            window_bits: The window of the compressor.
            peer_window_bits: That of the decompressor.
            keeps_context: Whether both keep it between two messages.
            octets_max: The limit on messages.

        Raises:
            Error: Without zlib.
        """
        self.deflater = Deflater.open(
            window_bits=window_bits,
            memory_level=5,
            keeps_context=keeps_context,
        ).value()
        self.inflater = Inflater.open(
            window_bits=peer_window_bits, keeps_context=keeps_context
        ).value()
        self.check = heap_create(WsMessageCheck(octets_max))
        self.output = heap_create(Buffer())

    def __deinit__(deinit self):
        """Frees all."""
        self.deflater.close()
        self.inflater.close()
        heap_destroy(self.check)
        heap_destroy(self.output)

    def deflate(
        self, octets: Span[UInt8, _], cuts: List[Int] = []
    ) raises -> List[UInt8]:
        """Compresses a message.

        Args:
            octets: The message.
            cuts: Where it is divided, in ascending order.

        Returns:
            The compressed message.

        Raises:
            Error: If zlib fails.
        """
        self.output[].clear()
        var start = 0
        for cut in cuts:
            self.deflater.compress(octets[start:cut], self.output)
            start = cut
        self.deflater.compress(octets[start:], self.output)
        self.deflater.end_message(self.output)
        return List[UInt8](self.output[].span())

    def inflate(
        self,
        octets: Span[UInt8, _],
        cuts: List[Int] = [],
        *,
        is_text: Bool = False,
    ) raises -> List[UInt8]:
        """Inflates a message.

        Args:
            octets: The compressed message.
            cuts: Where it is divided, in ascending order.
            is_text: Whether it is text.

        Returns:
            The message.

        Raises:
            Error: If it is refused.
        """
        self.output[].clear()
        self.check[].begin(is_text=is_text)
        self.inflater.begin_message()
        var start = 0
        for cut in cuts:
            self.inflater.inflate(octets[start:cut], self.check, self.output)
            start = cut
        self.inflater.inflate(octets[start:], self.check, self.output)
        self.inflater.end_message(self.check, self.output)
        return List[UInt8](self.output[].span())

    def held_octets(self) -> Int:
        """Returns how much memory the content or the compressed message takes.

        Returns:
            The number of octets.
        """
        return self.output[].capacity()

    def produced_octets(self) -> Int:
        """Returns how many octets came out of the last message.

        Returns:
            The number of octets.
        """
        return len(self.output[])

    def verdict(
        self,
        octets: Span[UInt8, _],
        cuts: List[Int] = [],
        *,
        is_text: Bool = False,
    ) -> String:
        """Inflates a message, and describes the result.

        Args:
            octets: The compressed message.
            cuts: Where it is divided, in ascending order.
            is_text: Whether it is text.

        Returns:
            The message behind `= `, escaped, or the error.
        """
        try:
            var text = String("= ")
            write_escaped(
                Span(self.inflate(octets, cuts, is_text=is_text)), text
            )
            return text^
        except e:
            return String(e)
