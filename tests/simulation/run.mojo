"""Runs one seed: a server, a network with faults, clients, and the end.

Invariants: a request is answered once or its connection ends, with a reason;
answers come in order and belong to their requests; a handler whose client has
left waits no more; and when the server has ended nothing is left of it.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.backends.simulated_faults import Draws
from flare.testing.test_server import TestServer

from fuzz.random import Random

from .handler import NumberedHandler
from .judge import judge
from .kinds import Kind
from .ledger import Activity, Ledger
from .scenario import Scenario
from .tally import Tally

# Who reads slowly reads all after so many steps in which nothing happened, and
# after more of them so much time passes that every deadline of the server does.
comptime _PATIENT_STEPS = 20
comptime _QUIET_STEPS = 60
comptime _SLOW_STEPS = 40
comptime _SLOW_STEP_MS = 50
comptime _LONG_STEP_MS = 1000
comptime _LONG_STEPS = 10
comptime _STEPS_QUIET_MAX = 150
comptime _STEPS_MAX = 20_000
# What a stop is to strike may never begin.
comptime _STEPS_BEFORE_STOP_MAX = 120

comptime _Server = TestServer[NumberedHandler]


def seed_of(mut random: Random) -> Int:
    """Draws the seed of a run.

    Args:
        random: The stream of the run.

    Returns:
        Any number that is not negative.
    """
    return Int(random.next() >> 2)


def check_seed(seed: Int, mut tally: Tally, is_printed: Bool = False) raises:
    """Runs a seed; if something is wrong, runs it again to tell how it came.

    Args:
        seed: The seed.
        tally: Counts what happened.
        is_printed: Print each event when it happens.

    Raises:
        Error: If an invariant does not hold: what is wrong, and the trace.
    """
    var first = simulate(seed, tally, is_printed, is_printed)
    if is_printed:
        print(first.trace)
    var problem = first.problem
    if problem == "":
        return
    var unused = Tally()
    var again = simulate(seed, unused, True, False)
    if again.problem != problem:
        problem += " (another time: " + again.problem + ")"
    raise Error(
        problem,
        "\n    what was decided, and the last events of ",
        again.event_count,
        ":\n",
        again.trace,
    )


@fieldwise_init
struct Outcome(Movable):
    """Says what came of a run."""

    var problem: String
    """What is wrong; empty if nothing is."""
    var trace: String
    """The last events, if they were wanted."""
    var digest: UInt64
    """Depends on all events."""
    var event_count: Int
    """How many events there were."""


def simulate(
    seed: Int, mut tally: Tally, is_traced: Bool, is_printed: Bool
) -> Outcome:
    """Runs a seed once.

    Args:
        seed: Decides everything.
        tally: Counts what happened.
        is_traced: Remember the last events.
        is_printed: Print each event when it happens.

    Returns:
        What came of it. Where something is wrong the server is left as it is:
        ending it might end the process.
    """
    var scenario = Scenario(seed)
    var ledger = heap_create(Ledger(scenario.request_count))
    var server = heap_create(
        TestServer(
            NumberedHandler(ledger),
            seed=seed,
            faults=scenario.faults,
            config=scenario.config,
            reactor=scenario.reactor,
        )
    )
    ref trace = server[].network.state[].trace
    trace.is_on = is_traced
    trace.is_printed = is_printed
    ledger[].network = server[].network
    var problem = String()
    _converse(server, scenario, ledger, tally)
    scenario.accepting_failed = (
        server[].network.faults().failed_accepts.total() > 0
    )
    scenario.has_shed = server[].statistics().connections_shed > 0
    for ref client in scenario.clients:
        client.read()
        problem += judge(client, scenario, ledger, tally)
    problem += _end(server, scenario, ledger)
    _count(server, scenario, ledger, tally)
    var outcome = Outcome(problem, trace.text(), trace.digest, trace.count)
    if problem == "":
        heap_destroy(server)
        heap_destroy(ledger)
    elif is_traced:
        outcome.trace = scenario.text() + outcome.trace
    return outcome^


def _converse(
    server: PointerTo[_Server],
    mut scenario: Scenario,
    ledger: PointerTo[Ledger],
    mut tally: Tally,
):
    var draws = scenario.draws.copy()
    var quiet = 0
    var waiting = 0
    var since_stop = 0
    var is_done = False
    for step in range(_STEPS_MAX):
        if scenario.has_stopped:
            since_stop += 1
        elif _is_stop_due(scenario, ledger, step, draws):
            _stop(server, scenario, ledger, tally)
        if scenario.has_stopped and since_stop == scenario.abort_after:
            _abort(server, tally)
        if not is_done and server[].worker.state[].accepting.has_ended:
            scenario.was_cut_off = True
        is_done = server[].worker.is_done()
        if is_done:
            server[].stop()
        var is_busy = False
        var is_finished = True
        for ref client in scenario.clients:
            if not client.peer and step >= client.connects_at:
                client.peer = server[].connect()
            var had = client.received_count()
            client.act(draws, quiet > _PATIENT_STEPS, tally)
            is_busy = is_busy or client.is_sending()
            is_busy = is_busy or client.received_count() > had
            is_finished = is_finished and client.is_finished
        quiet = 0 if is_busy else quiet + 1
        if is_finished or quiet > _STEPS_QUIET_MAX:
            return
        if draws.strikes(500):
            server[].settle()
        else:
            server[].turn_now()
        if quiet > _QUIET_STEPS + _SLOW_STEPS:
            _let_time_pass(server, scenario)
        elif quiet > _QUIET_STEPS:
            server[].advance(_SLOW_STEP_MS)
        elif draws.strikes(300):
            server[].advance(1 + draws.below(30))
        var now_waiting = len(server[].worker.state[].accepting.waiting)
        tally.add(Kind.WAITS_FOR_SLOT, max(now_waiting - waiting, 0))
        waiting = now_waiting


def _let_time_pass(server: PointerTo[_Server], scenario: Scenario):
    """Lets much time pass, or less if a client gets something."""
    for _ in range(_LONG_STEPS):
        server[].advance(_LONG_STEP_MS)
        for ref client in scenario.clients:
            if client.has_something_to_read():
                return


def _is_stop_due(
    scenario: Scenario, ledger: PointerTo[Ledger], step: Int, mut draws: Draws
) -> Bool:
    if scenario.stop_at < 0 or step < scenario.stop_at:
        return False
    if scenario.stop_during == Activity.ANY:
        return True
    if step >= _STEPS_BEFORE_STOP_MAX:
        return True
    # Not always when it has just begun.
    return ledger[].is_going_on(scenario.stop_during) and draws.strikes(700)


def _stop(
    server: PointerTo[_Server],
    mut scenario: Scenario,
    ledger: PointerTo[Ledger],
    mut tally: Tally,
):
    tally.add(Kind.STOPS, Int(_has_connections(server)))
    tally.add(Kind.STOPS_DURING_READ, Int(ledger[].uploads > 0))
    tally.add(Kind.STOPS_DURING_ANSWER, Int(ledger[].downloads > 0))
    tally.add(Kind.STOPS_DURING_UPGRADE, Int(ledger[].upgrades > 0))
    scenario.has_stopped = True
    server[].begin_stop()


def _abort(server: PointerTo[_Server], mut tally: Tally):
    tally.add(Kind.ABORTS, Int(_has_connections(server)))
    server[].abort()


def _has_connections(server: PointerTo[_Server]) -> Bool:
    return server[].worker.state[].connections.lent() > 0


def _end(
    server: PointerTo[_Server], scenario: Scenario, ledger: PointerTo[Ledger]
) -> String:
    """Ends the server and looks for what is left."""
    server[].stop()
    if not server[].worker.is_done():
        return String("the server does not end: ", server[].remains(), "; ")
    # What a dropped task still does, it does in the next turns.
    server[].settle()
    var problem = String()
    for ref client in scenario.clients:
        if not client.peer:
            continue
        if not client.peer.value().is_closed():
            problem += "a connection is open after the end; "
        client.peer.value().close()
    var remains = server[].remains()
    if remains != "":
        problem += String("left over: ", remains, "; ")
    # The listener belongs to whoever bound it.
    var left = server[].network.open_count() - 1
    if left != 0:
        problem += String(left, " open sockets; ")
    for lacked in ledger[].lacked_fiber:
        if lacked and not scenario.few_fibers:
            problem += "a fiber was missing though there were enough; "
    if ledger[].went_on > 0:
        problem += "a handler waited after it had been cancelled; "
    if ledger[].uploads + ledger[].downloads + ledger[].upgrades != 0:
        problem += "a stream never ended; "
    for number in range(scenario.request_count):
        if ledger[].runs[number] != ledger[].ended[number]:
            problem += String("handler ", number, " never ended; ")
    return problem^


def _count(
    server: PointerTo[_Server],
    scenario: Scenario,
    ledger: PointerTo[Ledger],
    mut tally: Tally,
):
    for row in server[].network.faults().rows():
        tally.add(Kind(row.name), row.count)
    tally.add(Kind.RUNS)
    tally.add(Kind.REQUESTS, scenario.request_count)
    tally.add(Kind.SLOTS_USED_AGAIN, _slots_used_again(server))
    tally.add(Kind.HANDLER_WAITS, ledger[].waits)
    tally.add(Kind.HANDLERS_CUT_OFF, ledger[].cut_off)
    for lacked in ledger[].lacked_fiber:
        tally.add(Kind.TASKS_WITHOUT_FIBER, Int(lacked))
    tally.add(Kind.NO_LARGE_BUFFERS, ledger[].without_large_buffers)


def _slots_used_again(server: PointerTo[_Server]) -> Int:
    var count = 0
    for generation in server[].worker.state[].connections.state[].generations:
        count += max(Int(generation) // 2 - 1, 0)
    return count
