"""Handlers that tests of the server share."""

from std.ffi import external_call
from std.sys.defines import is_defined

from flare.core import PointerTo
from flare.http.builders import no_content, ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.runtime.wait import sleep


@fieldwise_init
struct Outcomes(Movable):
    """Counts how handlers ended."""

    var begun: Int
    """Handlers that began."""
    var finished: Int
    """Handlers that returned."""
    var cut_off: Int
    """Handlers whose wait failed."""

    def __init__(out self):
        """Counts from zero."""
        self = Self(0, 0, 0)


@fieldwise_init
struct Waiter(Handler):
    """Does what the path says, and counts how it ended."""

    var outcomes: PointerTo[Outcomes]
    """The counts."""

    def serve(self, req: Request) raises -> Response:
        """Answers `/sleep?<milliseconds>`, `/read`, `/large`, `/ignore`,
        `/none`, `/unchanged` and everything else.

        Args:
            req: The request.

        Returns:
            The path, or what it stands for.

        Raises:
            Error: If a wait fails.
        """
        self.outcomes[].begun += 1
        var text = String(req.path)
        try:
            if req.path == "/sleep":
                sleep(Int(req.query))
            elif req.path == "/read":
                text = String("content ", req.text())
        except e:
            self.outcomes[].cut_off += 1
            raise e^
        self.outcomes[].finished += 1
        if req.path == "/large":
            return ok(String("x") * 1_000_000)
        if req.path == "/none":
            return no_content()
        if req.path == "/unchanged":
            return Response(304)
        return ok(text)


def ignore_leaks(ignored: Bool):
    """Says whether what is allocated from now on may be lost.

    Nothing unwinds the stack of a handler that is given up: what it owns is
    lost, and AddressSanitizer would report it.

    Args:
        ignored: Whether it may; what begins must end.
    """
    comptime if is_defined["ASAN"]():
        if ignored:
            external_call["__lsan_disable", NoneType]()
        else:
            external_call["__lsan_enable", NoneType]()
