# Run: mojo run -I . examples/32_chat_room.mojo
# Prints: bob hears: alice: hello
# Prints: carol hears: alice: hello
"""Serves chat rooms on two workers: each message reaches all of its room."""

from flare.prelude import *
from flare.runtime import blocking
from flare.ws import WebSocket, WsClient, WsConnection


def chat(req: Request, ws: WsConnection) raises:
    var room = String(req.param("room"))
    var name = String(req.param("name"))
    ws.subscribe(room)
    ws.send_text(String("welcome to ", room))
    # The loop ends with the connection, whatever the cause.
    for message in ws:
        if message.is_text:
            ws.publish(room, String(name, ": ", message.as_text()))


def enter(url: String, name: StringSlice) raises -> WsClient:
    var client = WsClient.connect(String(url, "/rooms/lobby/", name))
    # From the welcome on, no message of the room is missed.
    print(name, "reads:", client.recv_message().as_text())
    return client^


def talk(url: String) raises:
    var alice = enter(url, "alice")
    var bob = enter(url, "bob")
    var carol = enter(url, "carol")
    alice.send_text("hello")
    print("bob hears:", bob.recv_message().as_text())
    print("carol hears:", carol.recv_message().as_text())
    alice.close()
    bob.close()
    carol.close()


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^}:
        def run_server() raises {imm server}:
            var router = Router()
            router.get("/rooms/:room/:name", WebSocket(chat))
            server.serve(router^, num_workers=2)

        blocking(run_server)

    var serving = spawn(serve^)
    talk(String("ws://127.0.0.1:", handle.local_address().port))
    handle.shutdown()
    serving^.join()
