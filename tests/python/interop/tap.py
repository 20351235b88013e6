"""Stands between two peers, passes on what they say, and counts its octets."""

import contextlib
import socket
import threading

PIECE_OCTETS = 1 << 18
HEAD_OCTETS_MAX = 8 << 10


class Tap:
    """Is a listener at `port` whose connections go on to the port `target`."""

    def __init__(self, target):
        self.octets_up = 0
        self.octets_down = 0
        # How each server's end began: the head of its answer.
        self.heads = []
        self.target = target
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        """Takes no more connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def note_request(self, octets):
        """Is called with what a client sends; keeps none of it."""

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._pass_on, args=pair, daemon=True
                ).start()

    def _pass_on(self, source, drain, is_up):
        begun = b""
        with contextlib.suppress(OSError):
            while octets := source.recv(PIECE_OCTETS):
                with self._lock:
                    if is_up:
                        self.octets_up += len(octets)
                        self.note_request(octets)
                    else:
                        self.octets_down += len(octets)
                        begun = self._note_head(begun, octets)
                drain.sendall(octets)
        with contextlib.suppress(OSError):
            drain.shutdown(socket.SHUT_WR)

    def _note_head(self, begun, octets):
        if begun is None:
            return None
        begun += octets
        if b"\r\n\r\n" not in begun and len(begun) < HEAD_OCTETS_MAX:
            return begun
        self.heads.append(begun.split(b"\r\n\r\n")[0].decode("latin-1"))
        return None
