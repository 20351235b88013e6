"""Makes a server on a simulated network count in metrics."""

from flare.http import Router, ServerConfig
from flare.http.server.records.log import LogSink
from flare.http.server.records.server_metrics import (
    MetricsEntry,
    ServerMetrics,
)
from flare.metrics import Metrics
from flare.testing.test_server import TestServer


def counting_server(
    var router: Router[], metrics: Metrics
) raises -> TestServer[Router[]]:
    """Creates a server whose worker counts, as one that `serve` starts.

    Args:
        router: The routes.
        metrics: The registry.

    Returns:
        The server.

    Raises:
        Error: The errors of the registry.
    """
    var server = TestServer(
        router^, config=ServerConfig(log=LogSink.nowhere(), metrics=metrics)
    )
    var functions = ServerMetrics(metrics).functions()[]
    var worker = server.worker.state
    var first = functions.claim(functions.owner, 1, False)
    var recorder = functions.enter(
        functions.owner,
        MetricsEntry(worker[].reactor, worker[].statistics, first, 0, 1, False),
    )
    worker[].records.recorder = Int(recorder)
    return server^
