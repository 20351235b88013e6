"""Compares a server with the Python package wsproto: both get the same frames,
valid and damaged ones, and must find the same messages and close alike."""

import collections
import contextlib
import itertools
import sys
import unittest
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import BACKENDS, ROOT, Subject  # noqa: E402
from loopback.ws_client import SOURCE, WsClient  # noqa: E402
from loopback.ws_sequences import Sequence  # noqa: E402

# Where `make setup-peers` puts the packages of tools/sockets.txt.
sys.path.append(str(ROOT / ".venv" / "sockets"))

from wsproto import events  # noqa: E402
from wsproto.connection import CLIENT, SERVER, Connection  # noqa: E402
from wsproto.extensions import PerMessageDeflate  # noqa: E402
from wsproto.frame_protocol import CloseReason, Opcode  # noqa: E402

SEEDS = 1_500
ROUTES = {"off": "/echo", "shared": "/shared", "dedicated": "/dedicated"}
EXTENSIONS = "Sec-WebSocket-Extensions"
# What a sender removes, and a block that may only stand behind another one.
TAIL, BLOCK = b"\0\0\xff\xff", b"\0\1\0\xfe\xffA"
Verdict = collections.namedtuple("Verdict", "messages pongs code")


class Deflate(PerMessageDeflate):
    """Mends three things: a control frame changes nothing in the message around
    it (RFC 6455 section 5.4), a message ends between two blocks (RFC 7692 section
    7.2.2), and it is inflated when it is whole, after errors in its frames."""

    _kept = b""

    def frame_inbound_header(self, proto, opcode, rsv, payload_length):
        self._before = self._inbound_compressed
        if self._before is not None and opcode in (Opcode.TEXT, Opcode.BINARY):
            return CloseReason.PROTOCOL_ERROR
        return super().frame_inbound_header(proto, opcode, rsv, payload_length)

    def frame_inbound_payload_data(self, proto, data):
        if self._inbound_compressed and self._inbound_is_compressible:
            self._kept += data
            return b""
        return data

    def frame_inbound_complete(self, proto, fin):
        if not self._inbound_is_compressible:
            self._inbound_compressed = self._before
            return None
        if not fin or not self._inbound_compressed:
            return super().frame_inbound_complete(proto, fin)
        kept, self._kept = self._kept, b""
        self._inbound_compressed = None
        inflater = self._decompressor
        if self.client_no_context_takeover:
            self._decompressor = None
        with contextlib.suppress(zlib.error):
            content = inflater.decompress(kept + TAIL)
            if inflater.copy().decompress(BLOCK) == b"A":
                return content
        return CloseReason.INVALID_FRAME_PAYLOAD_DATA


def verdict(role, agreed, octets):
    """Gives what wsproto reads as `role`: messages, what pings or pongs hold,
    and the code of the Close, received or due."""
    extensions = []
    if agreed:
        extensions.append(Deflate())
        extensions[0].finalize(agreed)
    connection = Connection(role, extensions)
    connection.receive_data(octets)
    messages, pongs, parts = [], [], []
    wanted = events.Ping if role is SERVER else events.Pong
    for event in connection.events():
        if isinstance(event, events.CloseConnection):
            return Verdict(messages, pongs, int(event.code))
        if isinstance(event, wanted):
            pongs.append(bytes(event.payload))
        elif isinstance(event, events.Message):
            parts.append(event.data)
            if event.message_finished:
                messages.append(type(event.data)().join(parts))
                parts = []
    return Verdict(messages, pongs, None)


class Oracle(unittest.TestCase):
    """Asks a server that echoes, on each kernel interface in turn."""

    def compare(self, mode):
        servers = [Subject(backend, source=SOURCE) for backend in BACKENDS]
        for server in servers:
            self.addCleanup(server.stop)
        codes = set()
        for seed, server in zip(range(SEEDS), itertools.cycle(servers)):
            octets = Sequence(seed, mode).octets
            agreed, answer = self.answer(server, ROUTES[mode], octets)
            wanted = verdict(SERVER, agreed, octets)
            found = verdict(CLIENT, agreed, answer)
            codes.add(found.code)
            with self.subTest(mode=mode, seed=seed):
                if found.code not in (None, 1005):
                    # A code that no Close may have is 1002 for wsproto.
                    close = b"\x88\x02" + found.code.to_bytes(2, "big")
                    self.assertEqual(answer[-4:], close)
                if found.code == 1009 and wanted.code in (None, 1007):
                    # A length over the limit, of which wsproto awaits the rest,
                    # or has seen that it is not UTF-8.
                    found = found._replace(code=wanted.code)
                self.assertEqual(found, wanted)
        self.assertLessEqual({None, 1000, 1002, 1005, 1007, 4999}, codes)

    def answer(self, server, route, octets):
        """Gives the extensions that a server chooses, and what it sends."""
        offer = f"{EXTENSIONS}: permessage-deflate"
        with WsClient(server.port, route, offer) as client:
            client.send_quietly(octets)
            with contextlib.suppress(OSError):
                client.end()
            return client.response.field(EXTENSIONS), client.rest()

    def test_plain_messages(self):
        self.compare("off")

    def test_messages_compressed_with_a_context(self):
        self.compare("dedicated")

    def test_messages_compressed_without_a_context(self):
        self.compare("shared")


if __name__ == "__main__":
    unittest.main()
