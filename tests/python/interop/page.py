"""Lets a page of a browser hold the conversation of tests/interop/README.md."""

import base64
import hashlib
import subprocess

from loopback.secure_socket import certificates
from loopback.subject import ROOT
from site_browser import Browser

SCRIPT = ROOT / "tests" / "interop" / "standard.js"


def open_browser():
    """Starts a browser that trusts the servers of the tests."""
    key = subprocess.run(
        ["openssl", "pkey", "-in", certificates() / "server.key", "-pubout",
         "-outform", "DER"],
        check=True, capture_output=True,
    ).stdout
    digest = base64.b64encode(hashlib.sha256(key).digest()).decode()
    return Browser(f"--ignore-certificate-errors-spki-list={digest}")


def open_page(browser, url):
    """Opens a page of the server whose WebSocket is at `url`."""
    browser.open(url.replace("ws", "http", 1) + "page")


def talk(url, compression):
    """Holds the conversation with the server at `url`; gives what it says."""
    browser = open_browser()
    try:
        open_page(browser, url)
        browser.wait_for(
            f"(() => {{ {SCRIPT.read_text()}"
            f'converse(WebSocket, "{url}", "{compression}")'
            ".catch(String).then((said) => (window.said = said));"
            " return true; })()"
        )
        return browser.wait_for("window.said")
    finally:
        browser.close()
