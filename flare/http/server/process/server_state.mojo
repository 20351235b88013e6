"""Holds the state of a server, adds listeners to it, and runs its workers."""

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.sys.limits import raise_descriptor_limit

from ..config import ServerConfig
from ..listening.listener import Listener, open_tcp
from ..listening.taken_listeners import OWN_NAME
from ..listening.tls_listeners import TlsListenerState
from .plan import PlannedListener, ServePlan, run_workers
from .registry import ServerRegistry
from .supervise import supervise_workers

comptime _WORKERS_MAX = 256
# The time that a server's end takes beyond `shutdown_timeout_ms`.
comptime _STOP_GRACE_MS = 2000


struct ServerState(Movable):
    """The state of one server."""

    var config: ServerConfig
    """The limits."""
    var listeners: List[Listener]
    """The listening sockets."""
    var registry: ServerRegistry
    """Knows the workers."""

    def __init__(out self, var config: ServerConfig):
        """Creates the state of a server that does not listen yet.

        Args:
            config: The limits.
        """
        self.config = config^
        self.listeners = List[Listener]()
        self.registry = ServerRegistry()

    def __deinit__(deinit self):
        """Removes the paths and closes the sockets."""
        self.registry.listening.remove_files()


@fieldwise_init
struct WorkerOptions(TrivialRegisterPassable):
    """How the workers of a server run."""

    var count: Int
    """How many there are."""
    var pin_cores: Bool
    """Whether each of several workers keeps to one CPU."""
    var supervise: Bool
    """Whether each worker is a process of its own."""


def add_listener(
    server: PointerTo[ServerState],
    var listener: Listener,
    var tls: Optional[TlsListenerState],
):
    """Adds a listening socket to a server that does not run.

    Args:
        server: The server.
        listener: The socket.
        tls: The TLS of its connections, if they are encrypted.
    """
    ref registry = server[].registry
    var ready = listener.take_ready()
    if ready >= 0:
        registry.listening.report_to(ready)
    var file = listener.take_file()
    registry.listening.add(listener.address(), file^)
    registry.note_tls(tls^)
    server[].listeners.append(listener^)


def make_plan(
    server: PointerTo[ServerState],
    config: ServerConfig,
    options: WorkerOptions,
) raises -> ServePlan:
    """Returns a plan whose function and handlers are still to be set.

    Args:
        server: The server.
        config: The limits.
        options: How its workers run.

    Returns:
        The plan.

    Raises:
        An error `http.bad_workers` if the number is out of bounds.
    """
    if options.count < 1 or options.count > _WORKERS_MAX:
        raise Error("http.bad_workers must be 1 to 256: ", options.count)
    return ServePlan(
        config,
        _run_nothing,
        server[].registry,
        pin=options.pin_cores and options.count > 1,
        supervised=options.supervise,
    )


def run_plan(server: PointerTo[ServerState], var plan: ServePlan) raises:
    """Opens further sockets and runs all workers until the server stops.

    Args:
        server: The server.
        plan: The plan.

    Raises:
        The errors of `run_workers` and `supervise_workers`.
    """
    ref registry = server[].registry
    if registry.listening.has_handed_over():
        raise Error("http.handed_over another process serves")
    _ = raise_descriptor_limit()
    registry.service.set_stop_ms(
        plan.config.shutdown_timeout_ms + _STOP_GRACE_MS
    )
    var shared = heap_create(plan^)
    try:
        _open_listeners(server, shared)
        _claim_areas(shared)
        if shared[].supervised:
            supervise_workers(shared)
        else:
            run_workers(shared)
    finally:
        _release_areas(shared)
        registry.listening.pass_nothing_on()
        heap_destroy(shared)
        registry.finish()


@always_inline
def _claim_areas(plan: PointerTo[ServePlan]) raises:
    if plan[].config.metrics.is_chosen():
        var metrics = plan[].config.metrics.functions()
        plan[].parts.first_area = metrics[].claim(
            metrics[].owner, plan[].worker_count(), plan[].supervised
        )


@always_inline
def _release_areas(plan: PointerTo[ServePlan]):
    # The counters of the workers are still there.
    if plan[].parts.first_area > 0:
        var metrics = plan[].config.metrics.functions()
        metrics[].release(
            metrics[].owner, plan[].parts.first_area, plan[].worker_count()
        )


def _open_listeners(
    server: PointerTo[ServerState], plan: PointerTo[ServePlan]
) raises:
    ref registry = server[].registry
    ref listeners = server[].listeners
    var workers = plan[].worker_count()
    var tls = registry.tls_contexts()
    for i in range(len(listeners)):
        ref listener = listeners[i]
        var planned = PlannedListener(listener.descriptor())
        planned.is_lent = listener.is_lent()
        planned.protocols = listener.protocols()
        if listener.is_shared():
            planned.is_shared = workers > 1 or listener.is_taken()
            if _must_open_again(registry, listener):
                registry.listening.set_file(
                    i, listener.listen_again(plan[].config.listen_backlog)
                )
        else:
            var address = listener.address().socket_address()
            for _ in range(1, workers):
                planned.others.append(
                    open_tcp(address, plan[].config.listen_backlog, True)
                )
        planned.tls = tls[i].copy()
        var name = listener.name()
        if not listener.is_lent():
            name = String(OWN_NAME, listener.mode())
        registry.listening.pass_on(planned.first, name)
        for k in range(len(planned.others)):
            registry.listening.pass_on(planned.others[k].descriptor(), name)
        plan[].listeners.append(planned^)


def _must_open_again(registry: ServerRegistry, listener: Listener) -> Bool:
    return (
        registry.listening.has_stopped()
        and not listener.is_lent()
        and listener.address().is_unix()
    )


def _run_nothing(task: Erased):
    pass
