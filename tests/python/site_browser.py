"""Drives a headless browser over a pipe, and notes what it asks for."""

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import find_program  # noqa: E402

SECONDS_MAX = 60
ARGUMENTS = (
    "--headless", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
    "--disable-background-networking", "--disable-extensions",
    "--disable-component-update", "--disable-sync",
    # Where shared memory is small, it would die.
    "--disable-dev-shm-usage",
    "--window-size=1400,1000",
)


class Trap:
    """Stands where a proxy would: notes who is asked for beyond this machine."""

    def __init__(self):
        self.asked = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self):
        # Wakes the thread as well.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(SECONDS_MAX)
        self._socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(SECONDS_MAX)
                try:
                    line = connection.recv(4096).split(b"\r\n")[0]
                except OSError:
                    line = b"a connection"
                self.asked.append(line.decode(errors="replace"))


class Browser:
    """Owns a browser with one page; `options` are further ones of its command."""

    def __init__(self, *options):
        self.trap = Trap()
        self.requests = []
        self._loads = 0
        self._last_id = 0
        self._answers = {}
        self._received = b""
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = [find_program("chromium-headless-shell", "chromium")]
        command += ARGUMENTS + options
        command += [
            f"--user-data-dir={self._profile.name}",
            f"--proxy-server=http://127.0.0.1:{self.trap.port}",
        ]
        if os.geteuid() == 0:
            # It refuses to run as root inside of its sandbox.
            command.append("--no-sandbox")
        # It reads commands from 3 and writes answers to 4.
        shell = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile.name},
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._session = None
        target = self._call("Target.createTarget", url="about:blank")
        attached = self._call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        self._watch(self._session)
        self._call("Page.enable")

    def close(self):
        self._process.kill()
        self._process.wait(SECONDS_MAX)
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()
        self.trap.close()

    def open(self, url):
        """Loads a page, with all that it asks for at once."""
        loads = self._loads
        self._call("Page.navigate", url=url)
        self._until(lambda: self._loads > loads)

    def wait_for(self, expression):
        """Gives the value of an expression of JavaScript once it has one."""
        # A page that is left takes its program along: it is asked again.
        deadline = time.monotonic() + SECONDS_MAX
        program = (
            "new Promise((resolve) => { const look = () => { let found = null;"
            f" try {{ found = {expression}; }} catch {{}}"
            " if (found) resolve(found); else setTimeout(look, 20); };"
            " look(); })"
        )
        while time.monotonic() < deadline:
            try:
                answer = self._call(
                    "Runtime.evaluate",
                    expression=program,
                    awaitPromise=True,
                    returnByValue=True,
                )
            except LookupError:
                continue
            if "value" in answer["result"]:
                return answer["result"]["value"]
        raise AssertionError(f"never true: {expression}")

    def type(self, text):
        """Presses the keys of a text."""
        for letter in text:
            for kind in ("keyDown", "keyUp"):
                self._call(
                    "Input.dispatchKeyEvent", type=kind, text=letter, key=letter
                )

    def _watch(self, session):
        self._call("Network.enable", session)
        # Workers and frames ask for things as well.
        self._call(
            "Target.setAutoAttach",
            session,
            autoAttach=True,
            waitForDebuggerOnStart=False,
            flatten=True,
        )

    def _call(self, method, session=None, **parameters):
        number = self._send(method, session or self._session, parameters)
        self._until(lambda: number in self._answers)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise LookupError(answer["error"]["message"])
        return answer["result"]

    def _send(self, method, session, parameters):
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        return self._last_id

    def _until(self, is_true):
        deadline = time.monotonic() + SECONDS_MAX
        while not is_true():
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise AssertionError("the browser does not answer")
            octets = os.read(self._in, 1 << 20)
            if not octets:
                raise AssertionError("the browser has ended")
            self._received += octets
            *messages, self._received = self._received.split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        method = message.get("method")
        parameters = message.get("params", {})
        if "id" in message:
            self._answers[message["id"]] = message
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loads += 1
        elif method == "Target.attachedToTarget":
            session = parameters["sessionId"]
            self._send("Network.enable", session, {})
