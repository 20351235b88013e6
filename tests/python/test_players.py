"""Lets players seek in sound that the server has: they ask for ranges."""

import glob
import io
import re
import subprocess
import sys
import unittest
import wave
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from interop.tap import Tap  # noqa: E402
from loopback.file_server import SECONDS_MAX, FileCase  # noqa: E402
from loopback.programs import has_no_browser_package  # noqa: E402
from loopback.subject import BACKENDS, ROOT  # noqa: E402
from site_browser import Browser  # noqa: E402

# A browser reads far ahead on a slow machine: most of a short sound.
SECONDS = 250
OCTETS_PER_SECOND = 2 * 2 * 48_000
LATE = 190
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


class PlayerTap(Tap):
    """Keeps what players ask for, which is short."""

    def __init__(self, port):
        self.asked = b""
        super().__init__(port)
        self.host = f"127.0.0.1:{self.port}"

    def note_request(self, octets):
        self.asked += octets

    def latest_start(self):
        """Gives the furthest octet from which on a player has asked."""
        starts = re.findall(rb"(?i)\r\nrange: *bytes=(\d+)-", self.asked)
        return max(map(int, starts), default=0)


def ffmpeg():
    """Gives the program that a package of Python brings."""
    found = glob.glob(str(ROOT / ".venv/ffmpeg/imageio_ffmpeg/binaries/ffmpeg-*"))
    if not found:
        raise AssertionError("ffmpeg is not installed: run `make setup-peers`")
    return found[0]


class Players(FileCase):
    def tap(self, backend):
        server = self.start(backend)
        tap = PlayerTap(server.port)
        self.addCleanup(tap.close)
        return tap

    def expect_ranges(self, tap, size):
        self.assertGreater(tap.latest_start(), LATE * OCTETS_PER_SECOND * 0.9)
        self.assertLess(tap.octets_down, size * 4 // 5)

    def test_ffmpeg_reads_what_it_seeks(self):
        content = sound()
        self.write("sound.wav", content)
        for backend in BACKENDS:
            with self.subTest(backend):
                tap = self.tap(backend)
                finished = subprocess.run(
                    [ffmpeg(), "-v", "error", "-ss", str(LATE), "-i",
                     f"http://{tap.host}/files/sound.wav",
                     "-t", "0.5", "-f", "s16le", "-"],
                    capture_output=True,
                    timeout=SECONDS_MAX,
                    check=True,
                )
                self.assertEqual(
                    finished.stdout, bytes([LATE]) * (OCTETS_PER_SECOND // 2)
                )
                self.expect_ranges(tap, len(content))

    @unittest.skipIf(
        has_no_browser_package(), "this system has no package of the browser"
    )
    def test_a_browser_seeks(self):
        content = sound()
        self.write("sound.wav", content)
        self.write("index.html", PAGE)
        for backend in BACKENDS:
            with self.subTest(backend):
                tap = self.tap(backend)
                browser = Browser()
                self.addCleanup(browser.close)
                browser.open(f"http://{tap.host}/files/")
                seconds = browser.wait_for(f"{SOUND}.duration")
                self.assertEqual(round(seconds), SECONDS)
                browser.wait_for(f"({SOUND}.currentTime = {LATE}) > 0")
                browser.wait_for(
                    f"!{SOUND}.seeking && {SOUND}.readyState >= 2"
                    f" && {SOUND}.currentTime == {LATE}"
                )
                self.expect_ranges(tap, len(content))


if __name__ == "__main__":
    unittest.main()
