# Run: mojo run -I . examples/06_websocket_echo.mojo [url]
# Prints: the server says: hello
# Prints: 15 octets in three messages
"""Speaks with a WebSocket, at a URL or of a server of its own."""

from std.sys import argv

from flare.prelude import *
from flare.runtime import blocking
from flare.ws import WsClient, WsConnection, WsServer


def echo(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def speak(url: String) raises:
    with WsClient.connect(url) as ws:
        ws.send_text("hello")
        print("the server says:", ws.recv_message().as_text())


def count(url: String) raises:
    # One fiber receives while another sends.
    var ws = WsClient.connect(url)
    var connection = ws.connection()

    def receive() raises {var connection} -> Int:
        var octets = 0
        for _ in range(3):
            octets += len(connection.recv_message())
        return octets

    var receiving = spawn(receive)
    for text in ["first", "second", "last"]:
        ws.send_text(text)
    print(receiving^.join(), "octets in three messages")
    ws.close()


def main() raises:
    if len(argv()) > 1:
        return speak(argv()[1])
    var server = WsServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run_server() raises {imm server}:
            server.serve(echo)

        blocking(run_server)

    var serving = spawn(serve^)
    var url = String("ws://127.0.0.1:", handle.local_address().port)
    speak(url)
    count(url)
    handle.shutdown()
    serving^.join()
