"""Lets flare speak WebSocket with peers of other makers that need no compiler, in
both roles, plainly, inside of TLS and through ReverseProxy, and with each kind of
compression; `make interop` does more of it. Lets a page connect again."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from interop.page import open_browser, open_page  # noqa: E402
from interop.peers import CHROMIUM, QUICK, BuildError  # noqa: E402
from interop.run import FLARE, Wrong, quick_rows  # noqa: E402
from interop.tap import Tap  # noqa: E402
from loopback.peers import Peer  # noqa: E402
from loopback.secure_socket import certificates  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402

# Counts how often it has connected, and keeps what it got last.
PAGE = """
(() => {{
  window.opened = 0;
  const connect = () => {{
    window.socket = new WebSocket("{}");
    socket.onopen = () => opened++;
    socket.onmessage = (event) => (window.got = event.data);
    socket.onclose = () => setTimeout(connect, 50);
  }};
  connect();
  return true;
}})()
"""


def setUpModule():
    build(FLARE)


class Peers(unittest.TestCase):
    def require(self, peer):
        try:
            peer.command()
        except BuildError as error:
            self.skipTest(str(error))

    def talk(self, name):
        """Holds some conversations with a peer."""
        (peer,) = [x for x in QUICK if x.name.startswith(name)]
        self.require(peer)
        for row in quick_rows(peer):
            with self.subTest(row.title()):
                try:
                    row.run()
                except Wrong as wrong:
                    self.fail(str(wrong))

    def test_wsproto(self):
        self.talk("wsproto")

    def test_ws(self):
        self.talk("Node ws")

    def test_undici(self):
        self.talk("Node undici")

    def test_node_itself(self):
        self.talk("Node, its own")

    def test_chromium(self):
        self.talk("Chromium")

    def test_a_page_connects_again_inside_of_tls(self):
        self.require(CHROMIUM)
        browser = open_browser()
        self.addCleanup(browser.close)
        for backend in BACKENDS:
            with self.subTest(backend):
                self.connect_again(browser, backend)

    def connect_again(self, browser, backend):
        command = (build(FLARE), "server", backend, "dedicated", certificates())
        server = Peer(*command, stderr=subprocess.DEVNULL)
        self.addCleanup(server.stop)
        tap = Tap(server.read_port())
        self.addCleanup(tap.close)
        url = f"wss://localhost:{tap.port}/"
        open_page(browser, url)
        browser.wait_for(PAGE.format(url))
        for i, text in enumerate(("before", "after")):
            browser.wait_for(f"opened === {i + 1}")
            browser.wait_for(f'socket.send("{text}") ?? true')
            browser.wait_for(f'got === "{text}"')
            self.assertEqual(server.stop(), 0)
            if text == "before":
                server = Peer(*command, stderr=subprocess.DEVNULL)
                self.addCleanup(server.stop)
                tap.target = server.read_port()


if __name__ == "__main__":
    unittest.main()
