"""Writes the counters of a server, and the use of its processes, as metrics.

The conventions of OpenTelemetry name the requests that are active. They have
no names for the parts of a server; those begin with `flare_`. The names of
`process_` are those that Prometheus advises to its clients.
"""

from flare.core import PointerTo
from flare.metrics.area import Area, CPU_WORD, PROCESS_WORD
from flare.metrics.metrics_text import MetricsText
from flare.proto.h1 import H1Rule
from flare.sys.process_usage import process_usage

from .statistics import WorkerStatistics

comptime _MS_DECIMALS = 3


def write_server_families(
    text: PointerTo[MetricsText], sums: WorkerStatistics, workers: Int
):
    """Writes the counters of workers.

    Args:
        text: The destination.
        sums: The sums over all workers.
        workers: How many workers run.
    """
    text[].gauge(
        "http_server_active_requests",
        "Number of active HTTP server requests.",
        Int(sums.requests_in_flight + sums.streams),
    )
    _write_gauges(text, sums, workers)
    _write_counters(text, sums)
    _write_rules(text, sums)


def write_process_families(
    text: PointerTo[MetricsText],
    areas: List[Area],
    past_cpu_ms: Int,
    created_ms: Int,
):
    """Writes the use of CPU, memory and descriptors.

    Args:
        text: The destination.
        areas: An area of each process.
        past_cpu_ms: The CPU time of processes that have ended.
        created_ms: When the registry was created, since 1970.
    """
    var cpu_ms = past_cpu_ms
    var resident = 0
    var descriptors = 0
    var knows_descriptors = True
    for area in areas:
        var usage = process_usage(area.head(PROCESS_WORD))
        var own_cpu_ms = area.head(CPU_WORD)
        # One that has died is restarted.
        if usage:
            own_cpu_ms = max(own_cpu_ms, usage.value().cpu_ms)
            area.set_head(CPU_WORD, own_cpu_ms)
            resident += usage.value().resident_octets
            descriptors += usage.value().descriptors
            if usage.value().descriptors < 0:
                knows_descriptors = False
        cpu_ms += own_cpu_ms
    comptime CPU: StaticString = "process_cpu_seconds"
    text[].begin(CPU, "counter", "CPU time of the processes.", "seconds")
    text[].begin_sample(CPU, "_total")
    text[].end_sample(cpu_ms, _MS_DECIMALS)
    text[].gauge(
        "process_resident_memory_bytes",
        "Resident memory of the processes.",
        resident,
    )
    if knows_descriptors:
        text[].gauge(
            "process_open_fds",
            "Open file descriptors of the processes.",
            descriptors,
        )
    comptime START: StaticString = "process_start_time_seconds"
    text[].begin(
        START, "gauge", "Time of the start, since 1970-01-01.", "seconds"
    )
    text[].begin_sample(START, "")
    text[].end_sample(created_ms, _MS_DECIMALS)


def _write_gauges(
    text: PointerTo[MetricsText], sums: WorkerStatistics, workers: Int
):
    text[].gauge("flare_workers", "Workers that serve.", workers)
    text[].gauge(
        "flare_connections", "Connections that are open.", Int(sums.connections)
    )
    text[].gauge(
        "flare_streams",
        "Streamed responses and upgraded connections that are open.",
        Int(sums.streams),
    )
    text[].gauge("flare_fibers", "Fibers in use.", Int(sums.fibers))
    text[].gauge("flare_timers", "Timers that are armed.", Int(sums.timers))
    text[].gauge(
        "flare_receive_buffers",
        "Receive buffers in use.",
        Int(sums.receive_buffers),
    )
    text[].gauge(
        "flare_buffered_bytes",
        "Use of max_buffered_octets by connections.",
        Int(sums.buffered_octets),
    )


def _write_counters(text: PointerTo[MetricsText], sums: WorkerStatistics):
    text[].counter(
        "flare_connections_accepted",
        "Connections that were accepted.",
        Int(sums.connections_accepted),
    )
    text[].counter(
        "flare_connections_shed",
        "Slow connections that were closed to free memory.",
        Int(sums.connections_shed),
    )
    text[].counter(
        "flare_requests",
        "Requests whose head was complete.",
        Int(sums.requests),
    )
    text[].counter(
        "flare_refused",
        "Requests, handshakes and connections that were refused.",
        Int(sums.refused),
    )
    text[].counter(
        "flare_handler_errors",
        "Handlers that raised.",
        Int(sums.handler_errors),
    )
    text[].counter(
        "flare_handlers_lost",
        "Handlers that ignored their cancellation.",
        Int(sums.handlers_lost),
    )
    text[].counter(
        "flare_tls_handshakes",
        "TLS handshakes that were completed.",
        Int(sums.handshakes),
    )
    text[].counter(
        "flare_tls_handshakes_resumed",
        "TLS handshakes that resumed an earlier session.",
        Int(sums.handshakes_resumed),
    )
    text[].counter(
        "flare_slow_turns",
        "Turns of a loop that took 100 ms or longer.",
        Int(sums.slow_turns),
    )
    text[].counter(
        "flare_log_lines_dropped",
        "Log lines that were dropped.",
        Int(sums.log_lines_dropped),
    )
    text[].counter(
        "flare_access_records_dropped",
        "Records of requests that were dropped.",
        Int(sums.access_records_dropped),
    )


def _write_rules(text: PointerTo[MetricsText], sums: WorkerStatistics):
    comptime NAME: StaticString = "flare_protocol_violations"
    text[].begin(NAME, "counter", "Violations of HTTP/1.1 by peers, by rule.")
    for i in range(H1Rule.COUNT):
        var rule = H1Rule(UInt8(i))
        if sums.broken_rules.of(rule) > 0:
            text[].begin_sample(NAME, "_total")
            text[].label("rule", rule.phrase().as_bytes())
            text[].end_sample(sums.broken_rules.of(rule))
