"""Answers with short texts: sums, a constant, and a number after a wait."""

from flare.http import Path, Query, Request, Response, bad_request, ok
from flare.runtime import sleep

# Well within the time that a handler may take by default.
comptime DELAY_MS_MAX = 30_000


def add(
    req: Request, a: Query["a", Int], b: Query["b", Int]
) raises -> Response:
    """Answers with the sum of two parameters and of the content, if there is
    any."""
    var sum = a.value.or_else(0) + b.value.or_else(0)
    var text = req.text().strip()
    if text.byte_length() > 0:
        try:
            sum += Int(text)
        except:
            return bad_request("the content is not a number")
    return ok(String(sum))


def pipeline(req: Request) raises -> Response:
    """Answers at once."""
    return ok("ok")


def delay(ms: Path[Int]) raises -> Response:
    """Answers with the number of milliseconds, after as many."""
    if ms.value < 0 or ms.value > DELAY_MS_MAX:
        return bad_request("the delay is out of bounds")
    if ms.value > 0:
        sleep(ms.value)
    return ok(String(ms.value))
