# Run: mojo run -I . examples/09_ws_server.mojo
# Prints: the server says: hello
"""Serves a WebSocket that echoes each frame."""

from flare.prelude import *
from flare.runtime import blocking
from flare.ws import WsConnection, WsFrame, WsOpcode, WsServer


def on_connect(ws: WsConnection) raises:
    while True:
        var frame = ws.recv()
        if frame.opcode == WsOpcode.CLOSE:
            return
        ws.send_frame(frame)


def speak(address: SocketAddr) raises:
    """Speaks with the server as a browser does, but by hand."""
    var client = TcpStream.connect(address)
    client.write_all(
        (
            "GET / HTTP/1.1\r\nHost: a\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\n"
            "Sec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ).as_bytes()
    )
    # Frames of a client are masked, with a key that is different each time.
    client.write_all(Span(WsFrame.text("hello").encode(mask=UInt32(0x5EED))))
    client.write_all(Span(WsFrame.close(1000).encode(mask=UInt32(0xC105E))))
    var octets = List[UInt8]()
    var piece = List[UInt8](length=4096, fill=0)
    while True:
        var count = client.read(Span(piece))
        if count == 0:
            break
        octets.extend(Span(piece)[:count])

    var end_of_head = String(unsafe_from_utf8=Span(octets)).find("\r\n\r\n") + 4
    var first = WsFrame.decode_one(Span(octets)[end_of_head:])
    print("the server says:", first.take_frame().text_payload())


def main() raises:
    var server = WsServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run_server() raises {imm server}:
            server.serve(on_connect)

        blocking(run_server)

    var serving = spawn(serve^)
    speak(handle.local_address())
    handle.shutdown()
    serving^.join()
