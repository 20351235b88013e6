"""Defines a handler that shows metrics to Prometheus."""

from flare.core import equals_ignoring_case, find_octet
from flare.message import Method
from flare.message.list_grammar import (
    WEIGHT_MAX,
    read_weight,
    trim_blanks,
)
from flare.metrics import Metrics, MetricsFormat

from .builders import method_not_allowed
from .handler import Handler
from .request import Request
from .response import Response

comptime _COMMA: UInt8 = 44
comptime _SEMICOLON: UInt8 = 59


@fieldwise_init
struct MetricsPage(Handler):
    """Answers GET with the numbers of all workers.

    The format is OpenMetrics 1.0.0 if the client prefers it, as Prometheus
    does, or else the text format 0.0.4. The page shows strangers how much the
    program is used: protect it as any private route.
    """

    var metrics: Metrics
    """The registry."""

    def serve(self, req: Request) raises -> Response:
        """Returns the numbers.

        Args:
            req: The request.

        Returns:
            The text, or 405.

        Raises:
            Error: `message.headers_too_large`.
        """
        if req.method != Method.GET and req.method != Method.HEAD:
            return method_not_allowed("GET, HEAD")
        var format = MetricsFormat.PROMETHEUS
        if _prefers_open_metrics(req):
            format = MetricsFormat.OPEN_METRICS
        var response = Response(200, self.metrics.text(format))
        response.headers.set("Content-Type", format.media_type())
        response.headers.set("Cache-Control", "no-store")
        response.headers.set("Vary", "Accept")
        return response^


def _prefers_open_metrics(req: Request) -> Bool:
    # Only by its name: a browser, which takes anything, shows plain text.
    var wanted = 0
    var plain = 0
    for value in req.headers.values("Accept"):
        var octets = value.as_bytes()
        var start = 0
        while start < len(octets):
            var end = find_octet(octets, _COMMA, start)
            var member = octets[start:end]
            start = end + 1
            var name = trim_blanks(member[: find_octet(member, _SEMICOLON, 0)])
            if equals_ignoring_case(
                name, "application/openmetrics-text".as_bytes()
            ):
                wanted = max(wanted, _weight(member))
            elif equals_ignoring_case(name, "text/plain".as_bytes()):
                plain = max(plain, _weight(member))
    return wanted > 0 and wanted >= plain


def _weight(member: Span[UInt8, _]) -> Int:
    """Returns the weight of a list member in thousandths (RFC 9110 section
    12.4.2)."""
    var start = find_octet(member, _SEMICOLON, 0)
    while start < len(member):
        var end = find_octet(member, _SEMICOLON, start + 1)
        var part = trim_blanks(member[start + 1 : end])
        start = end
        if len(part) > 2 and equals_ignoring_case(part[:2], "q=".as_bytes()):
            return max(read_weight(part), 0)
    return WEIGHT_MAX
