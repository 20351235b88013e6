"""Runs each worker in a process of its own, and restarts it if it dies.

The calling process is the supervisor. It opens all listening sockets before it
forks and keeps them, so clients wait in their queues while a worker is dead. A
socket pair joins it to each worker: orders go one way, and the report that the
worker serves goes the other. The end of the stream means that the worker is
gone. A worker that dies while the server stops is restarted too, with the
order to stop, because of the clients in its queue. One that has never served
is restarted once. Only the supervisor handles signals. Signals that reach a
worker, because they were sent to all processes of a terminal or a service, are
dropped there.
"""

from flare.core import PointerTo
from flare.net import NetError
from flare.sys.clock import monotonic_ms
from flare.sys.errno import errno_name
from flare.sys.fatal_signal import SIGABRT, fatal_signal_name
from flare.sys.file import STANDARD_ERROR, close_descriptor, wait_writable
from flare.sys.process import (
    SIGKILL,
    PollEntry,
    ProcessEnd,
    block_signals,
    end_with_parent,
    exit_process,
    process_id,
    send_signal,
    set_signal_mask,
    wait_for_end,
    wait_readable,
)
from flare.sys.signal import SIGINT, SIGTERM, set_signal_descriptor
from flare.sys.socket import open_socket_pair, receive_octets, send_octets
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import MSG_DONTWAIT, SOCK_STREAM

from .registry import (
    ORDER_ANSWER,
    ORDER_LEAVE,
    ORDER_RELOAD_TLS,
    ORDER_STOP,
    ORDER_STOP_NOW,
)
from .plan import ServePlan, run_one_worker
from .restart_delay import TRIES_MAX, RestartDelay
from .signals import OrderSocket
from ..records.statistics import WorkerStatistics
from .watchdog import SIGN_OF_LIFE
from .worker_questions import WorkerQuestions

# The reports of a worker; orders to stop are sent in both directions.
comptime _SERVING: UInt8 = 130
comptime _FAILED: UInt8 = 131
comptime _ENDED: UInt8 = 132

comptime _STOPPING = 1
comptime _STOPPING_NOW = 2
# A worker that does not serve by then hangs. It may wait for a lock of the
# allocator that another thread of the supervisor held during the fork.
comptime _START_MS = 5000
# The time that a worker may take beyond its own deadline.
comptime _GRACE_MS = 1000
# How long a line may wait for the reader of standard error.
comptime _WRITE_MS = 100
# When to start a worker that is not to be started again.
comptime _NEVER = Int.MAX


def supervise_workers(plan: PointerTo[ServePlan]) raises:
    """Runs all workers as processes, until the server stops.

    Args:
        plan: The shared state; its sockets are open.

    Raises:
        NetError: If a process or a worker cannot start.

        An error `http.worker_died` if a worker died five times before it
        served, or `http.no_descriptor`.
    """
    var orders = OrderSocket.open(catches_signals=plan[].config.handle_signals)
    if not orders:
        raise Error("http.no_descriptor for the supervisor")
    var supervisor = _Supervisor(plan, orders.value())
    try:
        supervisor.run()
    finally:
        _ = plan[].registry.send_orders_to(-1)
        orders.value().close()


struct _Child(Copyable, Movable):
    # 0 while there is none.
    var process: Int
    var channel: Int32
    var started_ms: Int
    # When to start it, or `_NEVER`; while there is none.
    var due_ms: Int
    var starts: Int
    # It was started after the order to stop.
    var started_late: Bool
    var serves: Bool
    var has_ever_served: Bool
    # It has said so: how a process ended cannot always be asked.
    var has_ended: Bool
    var is_killed: Bool
    # The negated errno for which the last start failed, or 0.
    var problem: Int
    var errno_follows: Bool
    var requests_before: Int
    var delay: RestartDelay

    def __init__(out self):
        self.process = 0
        self.channel = -1
        self.started_ms = 0
        self.due_ms = 0
        self.starts = 0
        self.started_late = False
        self.serves = False
        self.has_ever_served = False
        self.has_ended = False
        self.is_killed = False
        self.problem = 0
        self.errno_follows = False
        self.requests_before = 0
        self.delay = RestartDelay()


struct _Supervisor(Movable):
    var plan: PointerTo[ServePlan]
    var orders: OrderSocket
    var children: List[_Child]
    # 0, `_STOPPING` or `_STOPPING_NOW`.
    var stage: Int
    # A signal that ends the server has arrived.
    var has_signal: Bool
    var kill_at_ms: Int
    var questions: WorkerQuestions
    var has_said_ready: Bool
    # Why the server gives up.
    var failure: Optional[Error]

    def __init__(out self, plan: PointerTo[ServePlan], orders: OrderSocket):
        self.plan = plan
        self.orders = orders
        self.children = List[_Child](
            length=plan[].worker_count(), fill=_Child()
        )
        self.stage = 0
        self.has_signal = False
        self.kill_at_ms = Int.MAX
        self.questions = WorkerQuestions(
            plan[].registry.service.socket().watchdog_ms(), len(self.children)
        )
        self.has_said_ready = False
        self.failure = None

    def run(mut self) raises:
        self.plan[].registry.share_counters(len(self.children))
        if self.plan[].registry.send_orders_to(self.orders.writer):
            self._stop(_STOPPING)
        while True:
            self._start_due()
            if not self._is_anyone_left():
                break
            self._wait()
            if monotonic_ms() >= self.kill_at_ms:
                self._kill_all()
            self._kill_hanging()
            if monotonic_ms() >= self.questions.due_ms:
                self._ask_whether_they_turn()
        if self.failure:
            raise self.failure.value().copy()

    def _is_anyone_left(self) -> Bool:
        for child in self.children:
            if child.process != 0 or child.due_ms != _NEVER:
                return True
        return False

    def _start_due(mut self):
        var now = monotonic_ms()
        for i in range(len(self.children)):
            if self.children[i].process == 0 and self.children[i].due_ms <= now:
                self._start(i)

    def _start(mut self, index: Int):
        ref child = self.children[index]
        var own_end = Int32(-1)
        var its_end = Int32(-1)
        child.starts += 1
        child.serves = False
        child.has_ended = False
        child.is_killed = False
        self.questions.forget(index)
        child.problem = 0
        child.errno_follows = False
        child.started_ms = monotonic_ms()
        child.requests_before = self._requests(index)
        var opened = open_socket_pair(AF_UNIX, SOCK_STREAM, own_end, its_end)
        if opened < 0:
            child.problem = opened
            self._plan_restart(index, "cannot be started")
            return
        # Until the child has its own socket for signals, they would appear to
        # have reached the supervisor.
        var mask = block_signals(SIGTERM, SIGINT)
        var parent = process_id()
        var process = self.plan[].registry.fork()
        if process == 0:
            self._become(index, parent, its_end, own_end, mask)
        set_signal_mask(mask)
        _ = close_descriptor(its_end)
        if process < 0:
            _ = close_descriptor(own_end)
            child.problem = process
            self._plan_restart(index, "cannot be started")
            return
        child.process = process
        child.channel = own_end
        child.due_ms = _NEVER
        if self.stage != 0:
            child.started_late = True
            _send(own_end, [ORDER_STOP])

    def _become(
        self,
        index: Int,
        parent: Int,
        channel: Int32,
        parent_end: Int32,
        mask: UInt64,
    ):
        """Runs the whole life of a worker's process."""
        _ = set_signal_descriptor(-1)
        set_signal_mask(mask)
        if not end_with_parent(parent):
            exit_process(1)
        _ = close_descriptor(parent_end)
        _ = close_descriptor(self.orders.reader)
        _ = close_descriptor(self.orders.writer)
        for child in self.children:
            if child.process != 0:
                # An end of it here would hide the supervisor's end from it.
                _ = close_descriptor(child.channel)
        _ = self.plan[].registry.send_orders_to(channel)
        if self.stage != 0:
            # It serves only the waiting clients.
            self.plan[].registry.shutdown()
        self.plan[].orders = channel
        self.plan[].announces = (
            index == 0 and not self.children[index].has_ever_served
        )
        self.plan[].began = _say_that_it_serves
        var problem = run_one_worker(self.plan, index)
        if problem < 0:
            _send(channel, [_FAILED, UInt8(-problem & 255)])
        else:
            _send(channel, [_ENDED])
        exit_process(0 if problem == 0 else 1)

    def _wait(mut self):
        var entries = List[PollEntry](capacity=len(self.children) + 1)
        entries.append(PollEntry(self.orders.reader))
        var until = min(self.kill_at_ms, self.questions.due_ms)
        for child in self.children:
            # poll(2) passes over a negative descriptor.
            entries.append(PollEntry(child.channel))
            if child.process == 0:
                until = min(until, child.due_ms)
            elif not child.serves and not child.is_killed:
                until = min(until, child.started_ms + _START_MS)
        var timeout = -1
        if until != Int.MAX:
            timeout = max(until - monotonic_ms(), 0)
        if wait_readable(entries, timeout) <= 0:
            return
        for i in range(len(self.children)):
            if entries[i + 1].is_ready():
                self._hear(i)
        if entries[0].is_ready():
            self._obey()

    def _obey(mut self):
        var octets = Array[UInt8, 64](fill=0)
        var count = receive_octets(
            self.orders.reader, Span(octets), MSG_DONTWAIT
        )
        for i in range(count):
            if octets[i] == ORDER_STOP:
                self._stop(_STOPPING)
            elif octets[i] == ORDER_STOP_NOW:
                self._stop(_STOPPING_NOW)
            elif octets[i] == ORDER_RELOAD_TLS:
                self._reload_tls()
            elif octets[i] == ORDER_LEAVE:
                self._leave()
            else:
                # The first one asks for what an order may have asked before.
                self._stop(_STOPPING_NOW if self.has_signal else _STOPPING)
                self.has_signal = True

    def _hear(mut self, index: Int):
        var octets = Array[UInt8, 64](fill=0)
        var count = receive_octets(
            self.children[index].channel, Span(octets), MSG_DONTWAIT
        )
        if count <= 0:
            self._bury(index)
            return
        for i in range(count):
            ref child = self.children[index]
            if child.errno_follows:
                child.errno_follows = False
                child.problem = -Int(octets[i])
            elif octets[i] == _SERVING:
                child.serves = True
                child.has_ever_served = True
                self.plan[].registry.listening.report_ready()
                self._say_ready()
            elif octets[i] == ORDER_ANSWER:
                self.questions.forget(index)
            elif octets[i] == _ENDED:
                child.has_ended = True
            elif octets[i] == _FAILED:
                child.errno_follows = True
            elif octets[i] == ORDER_STOP:
                self._stop(_STOPPING)
            elif octets[i] == ORDER_STOP_NOW:
                self._stop(_STOPPING_NOW)
            elif octets[i] == ORDER_RELOAD_TLS:
                self._reload_tls()
            elif octets[i] == ORDER_LEAVE:
                self._leave()

    def _say_ready(mut self):
        for child in self.children:
            if not child.has_ever_served:
                return
        if not self.has_said_ready:
            self.has_said_ready = True
            self.plan[].registry.service.say_ready()
            self.questions.begin(monotonic_ms())

    def _ask_whether_they_turn(mut self):
        """Asks all workers, and ends those that have not answered for long.

        So one worker that hangs is replaced, and systemd need not start the
        whole service again.
        """
        var now = monotonic_ms()
        self.questions.go_on(now)
        for i in range(len(self.children)):
            ref child = self.children[i]
            if child.process == 0 or not child.serves:
                continue
            if self.questions.ask(i, now):
                _send(child.channel, [ORDER_ANSWER])
            elif self.stage == 0:
                self._end_if_silent(i, now)
        _ = (
            self.plan[]
            .registry.service.socket()
            .try_send(SIGN_OF_LIFE, waits=False)
        )

    def _end_if_silent(mut self, index: Int, now_ms: Int):
        ref child = self.children[index]
        var silence_ms = self.questions.silence_ms(index, now_ms)
        if not silence_ms:
            return
        if not child.is_killed:
            child.is_killed = True
            self._log(
                index,
                String(
                    "has not turned for ",
                    silence_ms.value(),
                    " ms; it is ended",
                ),
            )
            # Its last line names the request that keeps it.
            _ = send_signal(child.process, SIGABRT)
        else:
            _ = send_signal(child.process, SIGKILL)

    def _reload_tls(self):
        # Workers that are started later begin with what is read here.
        try:
            self.plan[].registry.read_tls_again()
        except e:
            self._say(String("flare: TLS goes on as it was: ", e))
            return
        for child in self.children:
            if child.process != 0:
                _send(child.channel, [ORDER_RELOAD_TLS])

    def _leave(mut self):
        # A worker may have handed over: the others are told here.
        _ = self.plan[].registry.leave_to_another()
        self._stop(_STOPPING)

    def _bury(mut self, index: Int):
        ref child = self.children[index]
        _ = close_descriptor(child.channel)
        # A handler may have closed the channel of a process that lives on.
        _ = send_signal(child.process, SIGKILL)
        var end = wait_for_end(child.process)
        var text = String("(process ", child.process, ") ", _describe(end))
        child.process = 0
        child.channel = -1
        WorkerStatistics.forget_present(self.plan[].registry.counters(index))
        if self.stage == 0:
            self._plan_restart(index, text)
        elif not child.has_ended and self.stage == _STOPPING:
            text.write(" while it stopped")
            # A worker that never serves answers no client.
            var is_hopeless = child.started_late and not child.has_ever_served
            var is_left = self.plan[].registry.listening.has_handed_over()
            if not is_hopeless and not is_left and self.kill_at_ms != Int.MAX:
                self._plan_restart(index, text)
            else:
                self._log(index, text)

    def _plan_restart(mut self, index: Int, text: String):
        ref child = self.children[index]
        var now = monotonic_ms()
        var delay = child.delay.after_death(
            served=child.serves,
            lived_ms=now - child.started_ms,
            requests=self._requests(index) - child.requests_before,
        )
        child.due_ms = now + delay
        if (
            self.stage == 0
            and not child.has_ever_served
            and child.starts >= TRIES_MAX
        ):
            self._give_up(index, text)
            return
        var line = String("flare: worker ", index, " ", text)
        if child.problem < 0:
            line.write(" (", errno_name(-child.problem), ")")
        line.write(" after ", now - child.started_ms, " ms; restarting")
        if delay > 0:
            line.write(" in ", delay, " ms")
        self._say(line)

    def _give_up(mut self, index: Int, text: String):
        var problem = self.children[index].problem
        if problem < 0:
            self.failure = Error(NetError.from_errno("serve", problem))
        else:
            self.failure = Error(
                "http.worker_died worker ",
                index,
                " ",
                text,
                " before it served, ",
                TRIES_MAX,
                " times",
            )
        self._stop(_STOPPING_NOW)

    def _stop(mut self, stage: Int):
        if stage <= self.stage:
            return
        self.plan[].registry.listening.remove_files()
        var leaves = self.plan[].registry.listening.has_handed_over()
        if self.stage == 0 and not leaves:
            self.plan[].registry.service.say_stopping()
        while self.stage < stage:
            self.stage += 1
            var order = ORDER_STOP
            if leaves and self.stage == _STOPPING:
                order = ORDER_LEAVE
            for child in self.children:
                if child.process != 0:
                    # A worker counts orders, as it counts signals.
                    _send(child.channel, [order])
        var now = monotonic_ms()
        # Waiting clients are left to the other process, if there is one.
        var due_ms = now if stage == _STOPPING and not leaves else _NEVER
        for i in range(len(self.children)):
            if self.children[i].process == 0:
                self.children[i].due_ms = due_ms
        self.kill_at_ms = now + _GRACE_MS
        if self.stage == _STOPPING:
            self.kill_at_ms += self.plan[].config.shutdown_timeout_ms

    def _kill_all(mut self):
        self.kill_at_ms = Int.MAX
        for i in range(len(self.children)):
            self.children[i].due_ms = _NEVER
            if self.children[i].process != 0:
                self._log(i, "does not stop; it is killed")
                _ = send_signal(self.children[i].process, SIGKILL)

    def _kill_hanging(mut self):
        var now = monotonic_ms()
        for i in range(len(self.children)):
            ref child = self.children[i]
            if (
                child.process != 0
                and not child.serves
                and not child.is_killed
                and now >= child.started_ms + _START_MS
            ):
                child.is_killed = True
                self._log(i, "does not begin to serve; it is killed")
                _ = send_signal(child.process, SIGKILL)

    def _requests(self, index: Int) -> Int:
        var counters = self.plan[].registry.counters(index)
        return Int(WorkerStatistics.snapshot(counters).requests)

    def _log(self, index: Int, text: String):
        self._say(String("flare: worker ", index, " ", text))

    def _say(self, line: String):
        # No thread writes the supervisor's lines. If it held a lock, such as
        # the allocator's, while a worker is forked, that worker would never get
        # the lock. The supervisor does not wait for a reader of its lines
        # either.
        if wait_writable(STANDARD_ERROR, _WRITE_MS):
            self.plan[].config.log.line(line)


def _describe(end: ProcessEnd) -> String:
    if end.signal() != 0:
        var name = fatal_signal_name(end.signal())
        if name == "a signal":
            return String("died of signal ", end.signal())
        return String("died of ", name)
    if end.exit_code() >= 0:
        return String("ended with exit code ", end.exit_code())
    return "ended"


def _say_that_it_serves(channel: Int32):
    _send(channel, [_SERVING])


def _send(channel: Int32, octets: List[UInt8]):
    # No client waits for room there: a server that no longer reads is
    # stopping.
    _ = send_octets(channel, octets, MSG_DONTWAIT)
