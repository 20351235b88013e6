"""Hands the lines of a worker to the thread that writes them."""

from flare.core import PointerTo

from .worker_state import WorkerState


def log_line(w: PointerTo[WorkerState], line: StringSlice):
    """Logs a line that the program or its machine has caused.

    Args:
        w: The worker; called on its thread.
        line: The line without its end.
    """
    var ring = w[].reactor.state[].outlets.lines
    if ring:
        _ = ring.value().put(w[].config.log.write, line)
    else:
        w[].config.log.line(line)


def log_line_of_peer(w: PointerTo[WorkerState], line: StringSlice):
    """Logs a line that a peer can cause: 100 of them in a second, and no more.

    Args:
        w: The worker; called on its thread.
        line: The line without its end.
    """
    var reactor = w[].reactor
    var ring = reactor.state[].outlets.lines
    if ring:
        _ = ring.value().put_of_peer(
            w[].config.log.write, line, reactor.now_ms()
        )
    else:
        w[].config.log.line(line)
