# Run: mojo run -I . examples/09_ws_server.mojo
# Prints: the server says: hello
"""Serves a WebSocket that echoes each frame."""

from flare.prelude import *
from flare.runtime import blocking
from flare.ws import WsClient, WsConnection, WsOpcode, WsServer


def on_connect(ws: WsConnection) raises:
    while True:
        var frame = ws.recv()
        if frame.opcode == WsOpcode.CLOSE:
            return
        ws.send_frame(frame)


def main() raises:
    var server = WsServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run_server() raises {imm server}:
            server.serve(on_connect)

        blocking(run_server)

    var serving = spawn(serve^)
    var url = String("ws://127.0.0.1:", handle.local_address().port)
    with WsClient.connect(url) as ws:
        ws.send_text("hello")
        print("the server says:", ws.recv().text_payload())
    handle.shutdown()
    serving^.join()
