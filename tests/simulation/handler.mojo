"""Answers the numbered requests of a simulated run, and keeps a ledger.

Each request has a number of its own. The ledger counts how often the handler
ran for it, and the answer says the number, so that an answer which is missing,
doubled, swapped or damaged shows.
"""

from flare.core import PointerTo
from flare.http.builders import no_content, ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.transport.worker_parts import OUTPUT_OCTETS
from flare.runtime.cancel import Cancel
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import deadline_in, sleep

from .ledger import Ledger, pause
from .streams import read_in_pieces, upgrade, write_in_pieces

comptime DEADLINE_MS = 10
"""The bound around the wait of requests of the kind `deadline`."""
comptime LARGE_OCTETS = 50_000
"""The content of answers of the kind `large`."""
comptime HUGE_OCTETS = 300_000
"""The content of answers of the kind `huge`."""


comptime CONTENT_OCTETS_MAX = 5_000
"""The bound that handlers of the kind `over` set for content."""


@fieldwise_init
struct NumberedHandler(Handler):
    """Answers `/<kind>/<number>/<milliseconds>`, and more for streams."""

    var ledger: PointerTo[Ledger]
    """What it did; belongs to the test."""

    def serve(self, req: Request) raises -> Response:
        """Answers one request.

        Args:
            req: The request.

        Returns:
            Its number and its content.

        Raises:
            Error: For requests of the kind `raise`, and if a wait fails.
        """
        var parts = req.path.split("/")
        var kind = String(parts[1])
        var number = Int(parts[2])
        self.ledger[].runs[number] += 1
        self.ledger[].note("handler begins", number)
        try:
            var response = self._answer(req, kind, number, Int(parts[3]))
            self._end(number)
            return response^
        except e:
            self._end(number)
            raise e^

    def _end(self, number: Int) raises:
        self.ledger[].ended[number] += 1
        self.ledger[].note("handler ends", number)
        if Cancel.current().is_cancelled():
            self.ledger[].cut_off += 1

    def _answer(
        self, req: Request, kind: String, number: Int, wait_ms: Int
    ) raises -> Response:
        if kind == "pieces" or kind == "trailed":
            return read_in_pieces(self.ledger, req, number)
        if kind == "upgrade":
            return upgrade(self.ledger)
        if kind in ("lines", "counted", "summed", "broken", "mirror"):
            return write_in_pieces(self.ledger, kind, req, number)
        if kind == "unread":
            pause(self.ledger, wait_ms)
            return ok(String(number, ":"))
        if kind == "late":
            pause(self.ledger, wait_ms)
        if kind == "over":
            req.body.set_octets_max(CONTENT_OCTETS_MAX)
        var content = String(req.text())
        self.ledger[].note_content(content.byte_length(), OUTPUT_OCTETS)
        if kind == "raise":
            raise Error("on purpose")
        if kind == "deadline":
            return self._bounded(number, wait_ms)
        if kind == "spawn":
            return ok(
                String(number, ":", self._spawned(number, wait_ms), content)
            )
        if kind == "stubborn":
            self._ignore_failures(wait_ms)
        elif kind != "late":
            pause(self.ledger, wait_ms)
        if kind == "none":
            return no_content()
        if kind == "large":
            return ok(String(number, ":", "l" * LARGE_OCTETS))
        if kind == "huge":
            return ok(String(number, ":", "h" * HUGE_OCTETS))
        return ok(String(number, ":", content))

    def _bounded(self, number: Int, wait_ms: Int) raises -> Response:
        try:
            with deadline_in(DEADLINE_MS):
                pause(self.ledger, wait_ms)
        except:
            Cancel.current().raise_if_cancelled()
            return ok(String(number, ":too late"))
        return ok(String(number, ":in time"))

    def _ignore_failures(self, wait_ms: Int):
        for _ in range(3):
            try:
                pause(self.ledger, 1 + wait_ms)
            except:
                continue

    def _spawned(self, number: Int, wait_ms: Int) raises -> Int:
        def body() raises {var wait_ms} -> Int:
            sleep(wait_ms)
            return wait_ms

        var task: JoinHandle[Int]
        try:
            task = spawn(body)
        except e:
            self.ledger[].lacked_fiber[number] = True
            raise e^
        return task^.join()
