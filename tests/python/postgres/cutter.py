"""A proxy that ends connections in the middle of a conversation."""

import re
import select
import socket
import struct
import threading

NAME = re.compile(rb"cut-(\d+)-")


class Cutter:
    """Forwards connections to a server. The first one of each number that is
    in the client's first octets ends after as many octets of one direction.
    """

    def __init__(self, port, cuts_answers):
        self.server_port = port
        self.cuts_answers = cuts_answers
        self.seen = set()
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        # A thread that waits in accept would keep the socket open.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(
                target=self._serve, args=(client,), daemon=True
            ).start()

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.server_port))
        with client, server:
            try:
                self._forward(client, server)
            except OSError:
                pass

    def _forward(self, client, server):
        first = client.recv(65536)
        number = int(NAME.search(first).group(1))
        limit = None
        if number not in self.seen:
            self.seen.add(number)
            limit = number
        passed = 0
        waiting = {client: first, server: b""}
        while True:
            for source, other in ((client, server), (server, client)):
                octets = waiting[source]
                waiting[source] = b""
                is_counted = (source is server) == self.cuts_answers
                if is_counted and limit is not None:
                    if passed + len(octets) > limit:
                        other.sendall(octets[: limit - passed])
                        return self._cut(client, number)
                    passed += len(octets)
                if octets:
                    other.sendall(octets)
            for source in select.select([client, server], [], [])[0]:
                waiting[source] = source.recv(65536)
                if not waiting[source]:
                    return None

    def _cut(self, client, number):
        self.cuts += 1
        if number % 2 == 1:
            # With a reset instead of an end.
            client.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
