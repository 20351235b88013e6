"""Is a collector of spans: it takes OTLP over HTTP, as strictly as the official
definitions of its messages do."""

import base64
import http.server
import json
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / ".venv" / "telemetry"))

from google.protobuf import json_format  # noqa: E402
from opentelemetry.proto.collector.trace.v1 import (  # noqa: E402
    trace_service_pb2,
)

SPAN_SECONDS_MAX = 15
_IDS = ("traceId", "spanId", "parentSpanId")


class Collector:
    """Listens on a port of its own, and keeps all spans."""

    def __init__(self, port=0):
        self.spans = []
        self.resources = []
        self.faults = []
        self.authorizations = set()
        # What the next requests are answered with; 200 once none is left.
        self.statuses = []
        self.delay_seconds = 0
        self._changed = threading.Condition()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Answers one connection."""

            protocol_version = "HTTP/1.1"

            def do_POST(self):
                """Takes spans."""
                collector.answer(self)

            def log_message(self, *_):
                """Says nothing."""

        address = ("127.0.0.1", port)
        self._server = http.server.ThreadingHTTPServer(address, Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1/traces"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request):
        """Answers one request."""
        octets = request.rfile.read(int(request.headers["Content-Length"]))
        time.sleep(self.delay_seconds)
        with self._changed:
            self.authorizations.add(request.headers["Authorization"])
            status = self.statuses.pop(0) if self.statuses else 200
            if status == 200:
                try:
                    self._take(request, octets)
                except Exception as fault:
                    self.faults.append(f"{fault!r}: {octets[:2000]!r}")
                    status = 400
            self._changed.notify_all()
        content = b'{"partialSuccess":{}}'
        request.send_response(status)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    def _take(self, request, octets):
        if request.path != "/v1/traces":
            raise ValueError(request.path)
        if request.headers["Content-Type"] != "application/json":
            raise ValueError(request.headers["Content-Type"])
        found = json.loads(octets.decode("ascii"))
        for group in found["resourceSpans"]:
            self.resources.append(attributes(group["resource"]))
            for scope in group["scopeSpans"]:
                self.spans += [dict(span) for span in scope["spans"]]
                for span in scope["spans"]:
                    _with_octets(span)
        # It refuses a name that no message has, and a value of another type.
        json_format.ParseDict(
            found, trace_service_pb2.ExportTraceServiceRequest()
        )

    def await_spans(self, count):
        """Waits for so many spans in all, and gives them."""
        deadline = time.monotonic() + SPAN_SECONDS_MAX
        with self._changed:
            while len(self.spans) < count and not self.faults:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            if self.faults or len(self.spans) < count:
                raise AssertionError(
                    f"{len(self.spans)} spans of {count}, {self.faults}"
                )
            return list(self.spans)


def attributes(owner):
    """Gives attributes by their names; a name stands once."""
    found = {}
    for each in owner["attributes"]:
        if each["key"] in found:
            raise ValueError(f"{each['key']} stands twice")
        (found[each["key"]],) = each["value"].values()
    return found


def _with_octets(span):
    # The encoding of OTLP writes ids in hexadecimal digits, where that of
    # Protocol Buffers has Base64.
    for name in _IDS:
        if name in span:
            octets = bytes.fromhex(span[name])
            if len(octets) != (16 if name == "traceId" else 8) or not any(octets):
                raise ValueError(f"{name} {span[name]}")
            span[name] = base64.b64encode(octets).decode()
