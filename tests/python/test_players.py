"""Lets players seek in sound that the server has: they ask for ranges."""

import glob
import io
import re
import socket
import subprocess
import sys
import threading
import unittest
import wave
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.file_server import SECONDS_MAX, FileCase  # noqa: E402
from loopback.programs import has_no_browser_package  # noqa: E402
from loopback.subject import BACKENDS, ROOT  # noqa: E402
from site_browser import Browser  # noqa: E402

SECONDS = 100
OCTETS_PER_SECOND = 2 * 2 * 48_000
LATE = 77
PAGE = b"<!doctype html><audio preload=metadata src=sound.wav></audio>"
SOUND = 'document.querySelector("audio")'


def sound():
    """Makes two channels of samples whose octets are all the second."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(2)
        writer.setsampwidth(2)
        writer.setframerate(48_000)
        for second in range(SECONDS):
            writer.writeframes(bytes([second]) * OCTETS_PER_SECOND)
    return file.getvalue()


class Relay:
    """Stands in front of a server, and notes what passes."""

    def __init__(self, port):
        self.asked = []
        self.octets = 0
        self._server = ("127.0.0.1", port)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.host = "127.0.0.1:%d" % self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def latest_start(self):
        """Gives the furthest octet from which on a player has asked."""
        heads = b"".join(self.asked)
        starts = re.findall(rb"(?i)\r\nrange: *bytes=(\d+)-", heads)
        return max(map(int, starts), default=0)

    def _accept(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            for pair in ((client, server, True), (server, client, False)):
                threading.Thread(
                    target=self._pump, args=pair, daemon=True
                ).start()

    def _pump(self, source, sink, is_request):
        try:
            while octets := source.recv(65536):
                if is_request:
                    self.asked.append(octets)
                else:
                    self.octets += len(octets)
                sink.sendall(octets)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def ffmpeg():
    """Gives the program that a package of Python brings."""
    found = glob.glob(str(ROOT / ".venv/ffmpeg/imageio_ffmpeg/binaries/ffmpeg-*"))
    if not found:
        raise AssertionError("ffmpeg is not installed: run `make setup-peers`")
    return found[0]


class Players(FileCase):
    def relay(self, backend):
        server = self.start(backend)
        relay = Relay(server.port)
        self.addCleanup(relay.close)
        return relay

    def expect_ranges(self, relay, size):
        self.assertGreater(relay.latest_start(), LATE * OCTETS_PER_SECOND * 0.9)
        self.assertLess(relay.octets, size * 4 // 5)

    def test_ffmpeg_reads_what_it_seeks(self):
        content = sound()
        self.write("sound.wav", content)
        for backend in BACKENDS:
            with self.subTest(backend):
                relay = self.relay(backend)
                finished = subprocess.run(
                    [ffmpeg(), "-v", "error", "-ss", str(LATE), "-i",
                     f"http://{relay.host}/files/sound.wav",
                     "-t", "0.5", "-f", "s16le", "-"],
                    capture_output=True,
                    timeout=SECONDS_MAX,
                    check=True,
                )
                self.assertEqual(
                    finished.stdout, bytes([LATE]) * (OCTETS_PER_SECOND // 2)
                )
                self.expect_ranges(relay, len(content))

    @unittest.skipIf(
        has_no_browser_package(), "this system has no package of the browser"
    )
    def test_a_browser_seeks(self):
        content = sound()
        self.write("sound.wav", content)
        self.write("index.html", PAGE)
        for backend in BACKENDS:
            with self.subTest(backend):
                relay = self.relay(backend)
                browser = Browser()
                self.addCleanup(browser.close)
                browser.open(f"http://{relay.host}/files/")
                seconds = browser.wait_for(f"{SOUND}.duration")
                self.assertEqual(round(seconds), SECONDS)
                browser.wait_for(f"({SOUND}.currentTime = {LATE}) > 0")
                browser.wait_for(
                    f"!{SOUND}.seeking && {SOUND}.readyState >= 2"
                    f" && {SOUND}.currentTime == {LATE}"
                )
                self.expect_ranges(relay, len(content))


if __name__ == "__main__":
    unittest.main()
