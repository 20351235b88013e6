"""Logs one line for each request."""

from flare.core import write_escaped
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.records.log import LogSink
from flare.sys.clock import monotonic_ns


struct Logger[H: Handler](Handler):
    """Writes method, target, status and duration of each request to a sink.

    The line is written on the worker's thread. At high request rates,
    `ServerConfig.access_log` is cheaper.

    Parameters:
        H: The type of the inner handler.
    """

    var inner: Self.H
    """The inner handler."""
    var sink: LogSink
    """The destination of the lines."""

    def __init__(
        out self,
        var inner: Self.H,
        sink: LogSink = LogSink.standard_error(),
    ):
        """Creates middleware that logs a handler's requests.

        Args:
            inner: The inner handler.
            sink: The destination of the lines.
        """
        self.inner = inner^
        self.sink = sink

    def serve(self, req: Request) raises -> Response:
        """Returns the inner handler's response, and logs the request.

        Args:
            req: The request.

        Returns:
            The response.

        Raises:
            The error of the inner handler, after the line was written.
        """
        var start_ns = monotonic_ns()
        try:
            var response = self.inner.serve(req)
            self._write(req, response.status, start_ns)
            return response^
        except e:
            var status = req.unsafe_exchange()[].status_of(e)
            self._write(req, status, start_ns)
            raise e^

    @no_inline
    def _write(self, req: Request, status: Int, start_ns: Int):
        var line = String()
        write_escaped(req.method_text().as_bytes(), line)
        line.write(" ")
        write_escaped(req.url.as_bytes(), line)
        line.write(" ", status, " ", (monotonic_ns() - start_ns) // 1000, " us")
        self.sink.line(line)
