# Run: mojo run -I . examples/48_health.mojo
# Prints: /-/live 200 ok
# Prints: /-/ready 503 disk
"""Answers the probes of a load balancer."""

from flare.http import FnHandler, Health, HealthCheck
from flare.prelude import *
from flare.testing import TestClient


def hello(req: Request) raises -> Response:
    return ok("hello")


def network(req: Request) raises:
    # A check passes if it raises no error. It may wait for a second.
    sleep(1)


def disk(req: Request) raises:
    raise Error("no space left")


def main() raises:
    var client = TestClient(
        Health(
            FnHandler(hello),
            ready=[HealthCheck("network", network), HealthCheck("disk", disk)],
        )
    )
    for path in ["/-/live", "/-/ready"]:
        var answer = client.get(path)
        print(path, answer.status, answer.text().strip())
