"""Proxies that end or refuse connections."""

import re
import select
import socket
import struct
import threading

NAME = re.compile(rb"cut-(\d+)-")


class Proxy:
    """Forwards connections to a server."""

    def __init__(self, port):
        self.server_port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Takes no more connections."""
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
        other = {client: server, server: client}
        while True:
            for source in select.select([client, server], [], [])[0]:
                octets = source.recv(65536)
                if not octets:
                    return
                other[source].sendall(octets)


class Cutter(Proxy):
    """Ends the first connection of each number that is in the client's first
    octets after as many octets of one direction."""

    def __init__(self, port, cuts_answers):
        self.cuts_answers = cuts_answers
        self.seen = set()
        self.cuts = 0
        super().__init__(port)

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


class Starting(Proxy):
    """Refuses the first connections, as a server does that is starting up."""

    def __init__(self, port, refusals):
        self.refusals = refusals
        super().__init__(port)

    def _serve(self, client):
        if self.refusals == 0:
            return super()._serve(client)
        self.refusals -= 1
        fields = (
            b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0"
        )
        with client:
            client.recv(65536)
            client.sendall(
                b"E" + struct.pack(">I", len(fields) + 4) + fields
            )
