"""Runs one turn of a loop: submit, wait, collect, dispatch.

Only this module knows the type of the backend.
"""

from .backend import Backend, Completions
from .fiber import Fiber
from .operation import CANCELLED, Completion, Operation
from .reactor import NS_PER_MS, SLOW_TURN_MS, Reactor
from .timer_task import TIMER_OF_FIBER, TimerTask

comptime _ROUNDS_MAX = 8
# The cost of a separate call for an answer. Once handlers have taken this long
# for each completion of the turn, no further handler starts. So answers hardly
# wait for one another if few come together; if there are many and each is
# quick, they share a call.
comptime _CALL_NS = 500


def run_turn[B: Backend](reactor: Reactor, wait_ms: Int):
    """Runs one turn of a reactor.

    Parameters:
        B: The type of its backend.

    Args:
        reactor: The reactor.
        wait_ms: The longest wait for an event; -1 waits without limit.
    """
    var backend = reactor.state[].backend.unsafe_bitcast[B]()[]
    reactor.state[].turns += 1
    reactor.state[].fibers.begin_turn()
    # A readiness kernel completes a send at once. The operations that follow
    # from it are submitted before the wait, for as many rounds as fairness
    # allows.
    for _ in range(_ROUNDS_MAX):
        _drain(reactor, backend)
        if len(reactor.state[].completions) == 0:
            break
        # Operations for the kernel alone do not wait for these rounds.
        backend.flush()
        reactor.state[].times.now_ns = backend.now_ns()
        _dispatch(reactor, backend, reactor.state[].times.now_ns)
    var limit_ms = _wait_limit_ms(reactor, wait_ms)
    backend.collect(limit_ms, _completions(reactor))
    var now_ns = backend.now_ns()
    reactor.state[].now_ms = now_ns // NS_PER_MS
    reactor.state[].times.now_ns = now_ns
    if limit_ms == 0:
        _end_work(reactor, reactor.state[].now_ms)
    reactor.state[].slow_turns.busy_since_ms = reactor.state[].now_ms
    reactor.state[].times.wall_seconds = backend.wall_seconds()
    _dispatch(reactor, backend, now_ns)
    _fire_timers(reactor, now_ns)
    if reactor.state[].mailbox.has_mail():
        reactor.state[].mailbox.deliver()
    reactor.state[].fibers.run_ready()
    reactor.state[].has_work_after_turn = False


def _completions(reactor: Reactor) -> Completions:
    return Pointer(to=reactor.state[].completions).unsafe_origin_cast[
        MutUntrackedOrigin
    ]()


def _drain[B: Backend](reactor: Reactor, backend: B):
    _submit_queued(reactor, backend)
    if len(reactor.state[].cancels) > 0:
        for operation in reactor.state[].cancels:
            # A block that was used again since is not meant.
            if operation.is_in_flight() and operation.state[].cancel_requested:
                backend.cancel(operation, _completions(reactor))
        reactor.state[].cancels.clear()


def _submit_queued[B: Backend](reactor: Reactor, backend: B):
    var completions = _completions(reactor)
    var next = reactor.state[].submit_first
    reactor.state[].submit_first = None
    reactor.state[].submit_last = None
    while next:
        var operation = Operation(next.value())
        next = operation.state[].next
        operation.mark_in_flight()
        reactor.state[].in_flight += 1
        if operation.state[].cancel_requested:
            completions[].append(
                Completion(
                    operation,
                    operation.state[].sequence,
                    CANCELLED,
                    False,
                    None,
                )
            )
        else:
            backend.submit(operation, completions)


def _dispatch[B: Backend](reactor: Reactor, backend: B, begun_ns: Int):
    # By index: a callback may submit what is complete at once, which is for
    # the next round.
    var count = len(reactor.state[].completions)
    var since_ns = begun_ns
    for i in range(count):
        var done = reactor.state[].completions[i]
        var operation = done.operation
        if not operation.matches(done.sequence):
            if done.buffer:
                reactor.state[].buffers.give(done.buffer.value())
            continue
        operation.state[].result = done.result
        operation.state[].buffer = done.buffer
        if done.result <= 0 and done.buffer:
            # It holds nothing, so its owner does not look for it.
            reactor.state[].buffers.give(done.buffer.unsafe_value())
            operation.state[].buffer = None
        if not done.more:
            operation.mark_idle()
            reactor.state[].in_flight -= 1
        operation.state[].complete(operation)
        # Only what was received is likely to take its time.
        if (
            i + 1 < count
            and reactor.state[].completions[i + 1].buffer
            and reactor.state[].submit_first
        ):
            if backend.now_ns() - since_ns >= _CALL_NS * count:
                _submit_now(reactor, backend)
                # The call itself delays no answer.
                since_ns = backend.now_ns()
    if len(reactor.state[].completions) > count:
        _keep_behind(reactor, count)
    else:
        reactor.state[].completions.clear()


@no_inline
def _submit_now[B: Backend](reactor: Reactor, backend: B):
    # Cancels wait: their operations may be complete and not yet dispatched.
    _submit_queued(reactor, backend)
    backend.flush()


@no_inline
def _keep_behind(reactor: Reactor, count: Int):
    ref completions = reactor.state[].completions
    var kept = len(completions) - count
    for i in range(kept):
        completions[i] = completions[count + i]
    completions.shrink(kept)


def _fire_timers(reactor: Reactor, now_ns: Int):
    var timers = reactor.state[].timers
    # Handlers may have computed since, and read the clock again. The events of
    # that time are not collected, so no wait ends before the next turn.
    var now_ms = now_ns // NS_PER_MS
    timers.advance(now_ms)
    var part_ns = now_ns - now_ms * NS_PER_MS
    _fire_held(reactor, part_ns)
    while True:
        var due = timers.next_due()
        if not due:
            return
        var entry = due.value()
        if entry[].tag == TIMER_OF_FIBER:
            var fiber = Fiber.from_timer(entry)
            if (
                entry[].deadline_ms == now_ms
                and fiber.state[].present.begun_part_ns > part_ns
            ):
                timers.hold(entry)
            else:
                fiber.expire()
        else:
            var task = entry[].owner.value().unsafe_bitcast[TimerTask]()
            task[].fire(task[].owner)


def _fire_held(reactor: Reactor, part_ns: Int):
    # Waits of one length are held in the order in which they began. If lengths
    # differ, a wait may follow one that began later in its millisecond. Then it
    # ends with the millisecond.
    var timers = reactor.state[].timers
    while True:
        var held = timers.first_held()
        if not held:
            return
        var fiber = Fiber.from_timer(held.unsafe_value())
        if fiber.state[].present.begun_part_ns > part_ns:
            return
        timers.cancel(held.unsafe_value())
        fiber.expire()


def _wait_limit_ms(reactor: Reactor, wait_ms: Int) -> Int:
    if (
        reactor.state[].fibers.has_ready()
        or reactor.state[].submit_first
        # The last round may have left some, which bring a completion each.
        or len(reactor.state[].cancels) > 0
        or len(reactor.state[].completions) > 0
        or reactor.state[].mailbox.has_mail()
        or reactor.state[].has_work_after_turn
    ):
        return 0
    _end_work(reactor, reactor.refresh_now_ms())
    var deadline = reactor.state[].timers.next_deadline_ms()
    if not deadline:
        return wait_ms
    var limit = max(deadline.value() - reactor.state[].now_ms, 0)
    return limit if wait_ms < 0 else min(limit, wait_ms)


@always_inline
def _end_work(reactor: Reactor, now_ms: Int):
    # Here and not at the end of a turn, which would have to read the clock
    # once more.
    var busy_ms = now_ms - reactor.state[].slow_turns.busy_since_ms
    reactor.state[].slow_turns.busy_since_ms = now_ms
    if busy_ms >= SLOW_TURN_MS:
        reactor.state[].slow_turns.function(
            reactor.state[].slow_turns.owner, busy_ms
        )
