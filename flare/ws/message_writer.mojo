"""Writes a message whose length is not known."""

from flare.http.upgraded_stream import UpgradedStream
from flare.io import Writer
from flare.proto.ws import WsCloseCode, WsFrameHead, WsOpcode

from .error import WsError
from .sending import (
    begin_sending,
    end_sending,
    write_close,
    write_all_due,
    write_frame,
)
from .socket_state import machine_of, open_socket, socket_of


@fieldwise_init
struct WsMessageWriter(ImplicitlyCopyable, Writer):
    """Sends one message in several frames: `with ws.message_writer() as w: …`.

    Each write is a frame. Messages of other fibers wait until the block ends;
    control frames and messages of topics do not tear the message apart. If the
    block raises, the message stays unfinished, so the connection is closed with
    1011.
    """

    var _stream: UpgradedStream
    var _opcode: UInt8

    def __enter__(self) raises -> Self:
        """Waits until no other fiber writes.

        Returns:
            The writer.

        Raises:
            An error `ws.closed` if the connection is closed; `ws.bad_call` if a
            message that `send_frame` began is unfinished.
        """
        var s = begin_sending(self._stream)
        if machine_of(s).is_sending_message():
            end_sending(self._stream)
            raise Error(
                WsError(WsError.BAD_CALL, "another message is unfinished")
            )
        s[].sending.is_streaming = True
        s[].sending.is_between_frames = True
        return self

    def __exit__(self) raises:
        """Ends the message.

        Raises:
            An error `ws.closed` if the connection is closed.
        """
        try:
            self._write(Span[UInt8, ImmStaticOrigin](), fin=True)
        except e:
            self._end()
            raise e
        self._end()

    def __exit__(self, error: Error) raises -> Bool:
        """Closes the connection.

        Args:
            error: The error of the block.

        Returns:
            False, so that the error continues.

        Raises:
            An error `ws.closed` if the connection was lost.
        """
        write_close(self._stream, WsCloseCode.INTERNAL_ERROR, "")
        self._end()
        return False

    def write(self, octets: Span[UInt8, _]) raises -> Int:
        """Sends octets as the next frame of the message; waits for room.

        Args:
            octets: The octets. Those of a text need be UTF-8 only as a whole.

        Returns:
            Their number.

        Raises:
            An error `ws.closed` if the connection is closed; `ws.bad_call`
            outside the block.
        """
        var s = socket_of(self._stream)
        if not s[].sending.is_streaming:
            raise Error(WsError(WsError.BAD_CALL, "the message has ended"))
        if len(octets) > 0:
            self._write(octets, fin=False)
            write_all_due(self._stream)
            socket_of(self._stream)[].sending.is_between_frames = True
        return len(octets)

    def _write(self, octets: Span[UInt8, _], *, fin: Bool) raises:
        var opcode = self._opcode
        socket_of(self._stream)[].sending.is_between_frames = False
        if machine_of(socket_of(self._stream)).is_sending_message():
            opcode = WsOpcode.CONTINUATION
        write_frame(
            self._stream, WsFrameHead(opcode, len(octets), fin=fin), octets
        )

    def _end(self) raises:
        var s = open_socket(self._stream)
        if s:
            s.value()[].sending.is_streaming = False
            s.value()[].sending.is_between_frames = False
        end_sending(self._stream)
