# Run: mojo run -I . examples/47_metrics.mojo
# Prints: orders_total 2
# Prints: order_duration_seconds_bucket{le="0.005"} 1
# Prints: order_duration_seconds_count 2
"""Counts for Prometheus, and shows the numbers to a test client."""

from flare.http import Handler, MetricsPage
from flare.metrics import Counter, Histogram, Metrics
from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct PlaceOrder(Handler):
    var orders: Counter
    var times: Histogram

    def serve(self, req: Request) raises -> Response:
        self.orders.add()
        # Nanoseconds; a program measures them.
        self.times.observe(Int(req.param("ms")) * 1_000_000)
        return ok("placed")


def main() raises:
    var metrics = Metrics()
    var router = Router()
    router.post(
        "/order/:ms",
        PlaceOrder(
            metrics.counter("orders_total", "Orders that were placed."),
            metrics.histogram("order_duration_seconds", "Time of an order."),
        ),
    )
    router.get("/-/metrics", MetricsPage(metrics))
    # A server has `ServerConfig(metrics=metrics)`, and counts its requests too.
    var client = TestClient(router^)
    _ = client.post("/order/5", "")
    _ = client.post("/order/80", "")
    var page = client.get("/-/metrics")
    for line in page.text().split("\n"):
        if (
            line.startswith("orders_total")
            or line.startswith("order_duration_seconds_count")
            or line.find('le="0.005"') > 0
        ):
            print(line)
