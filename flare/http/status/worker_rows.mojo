"""Reads the state of each worker: its share of a CPU, requests, connections."""

from flare.core import PointerTo
from flare.metrics.registry_state import RegistryState
from flare.sys.clock import monotonic_ns, process_cpu_ns, thread_cpu_ns
from flare.sys.process import process_id
from flare.sys.process_usage import process_usage

from ..server.records.server_metrics import WorkerView, view_workers
from ..server.records.statistics import WorkerStatistics


@fieldwise_init
struct WorkerRow(ImplicitlyCopyable):
    """A worker during the latest second."""

    var view: WorkerView
    """Its counters at the end of the second."""
    var cpu_ns: Int
    """Its CPU time since its start; -1 if it is not known."""
    var busy_per_mille: Int
    """How much of the second it has computed, by CPU time."""
    var requests: Int
    """The heads of requests that were complete in the second."""


struct WorkerRows(Movable):
    """All workers of a registry."""

    var rows: List[WorkerRow]
    """The workers that serve."""
    var sums: WorkerStatistics
    """The counters of all servers since the start."""
    var resident_octets: Int
    """The resident memory of the processes."""
    var descriptors: Int
    """Their open descriptors; -1 if the kernel does not say."""
    var next_told: Int
    """The worker with which the next message begins."""
    var _read_ns: Int

    def __init__(out self):
        """Creates the state before the first look."""
        self.rows = []
        self.sums = WorkerStatistics()
        self.resident_octets = 0
        self.descriptors = 0
        self.next_told = 0
        self._read_ns = 0

    def read(mut self, state: PointerTo[RegistryState]):
        """Reads all workers. Differences are those since the latest call.

        Args:
            state: The registry, in which servers count.
        """
        var views = view_workers(state, self.sums)
        # The CPU time is real, also if the loop's time is simulated.
        var now_ns = monotonic_ns()
        var elapsed_ns = max(now_ns - self._read_ns, 1)
        var rows = List[WorkerRow]()
        var processes = List[Int]()
        for view in views:
            var row = WorkerRow(view, _cpu_ns(view), 0, 0)
            for before in self.rows:
                if before.view.area == view.area:
                    _compare(row, before, elapsed_ns)
            rows.append(row)
            if view.process not in processes:
                processes.append(view.process)
        self.rows = rows^
        self._read_ns = now_ns
        self.resident_octets = 0
        self.descriptors = 0
        for process in processes:
            var usage = process_usage(process)
            if usage:
                self.resident_octets += usage.value().resident_octets
                if usage.value().descriptors < 0:
                    self.descriptors = -1
                elif self.descriptors >= 0:
                    self.descriptors += usage.value().descriptors


def _cpu_ns(view: WorkerView) -> Int:
    # The kernel shows threads of this process only. A worker that is a process
    # of its own has few others.
    if view.process == process_id():
        return thread_cpu_ns(view.thread)
    return process_cpu_ns(view.process)


def _compare(mut row: WorkerRow, before: WorkerRow, elapsed_ns: Int):
    row.requests = max(
        Int(row.view.counters.requests - before.view.counters.requests), 0
    )
    # A process that was started again begins anew.
    if (
        row.view.process == before.view.process
        and row.cpu_ns >= before.cpu_ns >= 0
    ):
        row.busy_per_mille = min(
            (row.cpu_ns - before.cpu_ns) * 1000 // elapsed_ns, 1000
        )
