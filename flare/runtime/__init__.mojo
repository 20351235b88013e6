"""Fibers, timers and kernel operations: one loop per worker."""

from flare.sys.clock import unix_ms, unix_seconds

from .backend import Backend, BackendKind, Completions
from .blocking import blocking
from .broadcast import Broadcast, Feed, Overflow
from .buffer_pool import BufferPool
from .cancel import Cancel
from .current import current_fiber, current_reactor, set_current_reactor
from .event import Event
from .fiber import NO_DEADLINE, Fiber
from .operation import (
    CANCELLED,
    NO_BUFFERS,
    POLL_IN,
    POLL_OUT,
    POLL_PEER_CLOSED,
    TIMED_OUT,
    Completion,
    Operation,
    OperationFunction,
    OperationKind,
    OperationState,
)
from .readiness import Readiness, wait_either, wait_readable, wait_writable
from .reactor import (
    RECEIVE_BUFFER_OCTETS,
    Reactor,
    ReactorConfig,
)
from .scheduler import (
    WORKERS_MAX,
    Scheduler,
    WorkerFunction,
    default_worker_count,
)
from .start import open_reactor
from .stop_signals import StopSignals
from .task import JoinHandle, spawn
from .timer_task import TIMER_OF_TASK, TimerTask
from .timer_wheel import TimerEntry, TimerWheel
from .wait import DeadlineScope, deadline_in, sleep
