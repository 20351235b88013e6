"""Lets browsers talk on the chat page of the demo server, also after the server
was restarted."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.demo import SOURCE, Demo  # noqa: E402
from loopback.programs import has_no_browser_package  # noqa: E402
from loopback.subject import BACKENDS, build  # noqa: E402
from site_browser import Browser  # noqa: E402

# What each page shows, line by line.
LINES = '[...document.querySelectorAll("li")].map((line) => line.textContent)'
CONNECTED = "(connected)"
# Octets that a page which writes markup would lose, and of two to four octets.
TEXTS = ("<b>hello</b> & café", "漢字 😀")


def setUpModule():
    build(SOURCE)


@unittest.skipIf(
    has_no_browser_package(), "this system has no package of the browser"
)
class Chat(unittest.TestCase):
    def page(self, server, room="lobby"):
        browser = Browser()
        self.addCleanup(browser.close)
        browser.open(f"http://{server.host}/chat#{room}")
        self.wait_for_lines(browser, CONNECTED)
        return browser

    def say(self, browser, text):
        browser.wait_for('document.querySelector("input").focus() ?? true')
        browser.type(text)
        browser.wait_for('document.querySelector("button").click() ?? true')

    def wait_for_lines(self, browser, *lines):
        """Waits until the page shows as many lines, which must be these."""
        found = browser.wait_for(
            f"{LINES}.length >= {len(lines)} ? {LINES} : null"
        )
        self.assertEqual(found, list(lines))

    def test_what_one_page_says_the_others_of_the_room_show(self):
        for backend in BACKENDS:
            with self.subTest(backend):
                server = Demo(backend)
                self.addCleanup(server.kill)
                pages = [self.page(server), self.page(server)]
                elsewhere = self.page(server, "a room with spaces")
                for i, text in enumerate(TEXTS):
                    self.say(pages[i], text)
                    for page in pages:
                        self.wait_for_lines(page, CONNECTED, *TEXTS[: i + 1])
                self.say(elsewhere, "alone")
                self.wait_for_lines(elsewhere, CONNECTED, "alone")
                self.assertEqual(server.stop(), 0)

    def test_pages_connect_again_after_the_server_was_restarted(self):
        for backend in BACKENDS:
            with self.subTest(backend):
                server = Demo(backend)
                self.addCleanup(server.kill)
                pages = [self.page(server), self.page(server)]
                self.say(pages[0], "before")
                before = (CONNECTED, "before")
                for page in pages:
                    self.wait_for_lines(page, *before)
                self.assertEqual(server.stop(), 0)
                again = Demo(backend, port=server.port)
                self.addCleanup(again.kill)
                for page in pages:
                    self.wait_for_lines(page, *before, CONNECTED)
                self.say(pages[1], "after")
                for page in pages:
                    self.wait_for_lines(page, *before, CONNECTED, "after")
                self.assertEqual(again.stop(), 0)


if __name__ == "__main__":
    unittest.main()
