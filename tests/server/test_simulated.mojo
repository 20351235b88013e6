"""Lets clients of all kinds loose on a server, on networks of all kinds."""

from std.sys import get_defined_int
from std.testing import assert_equal, assert_true

from flare.core import heap_create, heap_destroy
from flare.http.server.config import ServerConfig
from flare.http.server.log import LogSink
from flare.runtime.backends.simulated_faults import (
    Draws,
    SimulatedFaultCounts,
    SimulatedFaults,
)
from flare.testing.test_server import TestServer

from tests.server.answers import read_answers
from tests.server.traffic import Client, NumberedHandler, plan_requests

comptime _SEEDS = get_defined_int["SEEDS", 200]()
comptime _ONE_SEED = get_defined_int["SEED", -1]()


def test_every_request_is_answered_once_in_order_or_its_connection_closed() raises:
    var total = _Total()
    var failures = List[String]()
    for seed in range(max(_SEEDS, _ONE_SEED + 1)):
        if _ONE_SEED >= 0 and seed != _ONE_SEED:
            continue
        try:
            _run(seed, total)
        except e:
            failures.append(
                String(
                    "seed ",
                    seed,
                    ": ",
                    e,
                    (
                        "\n    repeat it: python3 tools/run_tests.py --only"
                        " tests/server"
                    ),
                    " -D SEED=",
                    seed,
                )
            )
    if failures:
        raise Error("\n".join(failures))
    print(
        "   ",
        total.requests,
        "requests,",
        total.answers,
        "answers,",
        total.closed,
        "connections closed early;",
        total.faults,
    )
    if _ONE_SEED >= 0:
        return
    # What never strikes proves nothing.
    assert_true(total.answers > 1000, "few answers")
    assert_true(total.closed > 20, "few connections closed early")
    assert_true(total.faults.short_receives > 100)
    assert_true(total.faults.short_sends > 100)
    assert_true(total.faults.delays > 100)
    assert_true(total.faults.reordered > 20)
    assert_true(total.faults.resets > 10)
    assert_true(total.faults.missing_buffers > 20)
    assert_true(total.faults.accept_errors > 5)
    assert_true(total.faults.late_cancels > 5)
    assert_true(total.faults.stale_completions > 100)


def _run(seed: Int, mut total: _Total) raises:
    var draws = Draws(seed + 1_000_000)
    var config = ServerConfig(log=LogSink.nowhere())
    config.half_close_allowed = seed % 4 == 1
    var faults = SimulatedFaults.frequent()
    # A third without trouble, so that every answer must come.
    if seed % 3 == 0:
        faults = SimulatedFaults.frequent(resets=10)
    var runs = heap_create(List[Int](length=64, fill=0))
    var server = TestServer(
        NumberedHandler(runs), seed=seed, faults=faults, config=config
    )
    var clients = List[Client]()
    var number = 0
    for _ in range(1 + draws.below(4)):
        var client = Client(server.connect(), plan_requests(draws, number))
        client.ends_early = seed % 4 < 2 and draws.strikes(500)
        if seed % 5 == 0 and draws.strikes(500):
            client.leaves_at = draws.below(client.unsent.byte_length())
        clients.append(client^)
    total.requests += number
    _converse(server, clients, draws)
    var problem = String()
    for client in clients:
        problem += _judge(
            client,
            config.half_close_allowed,
            faults.resets > 0,
            runs[],
            total,
        )
        if draws.strikes(700):
            client.peer.close()
    server.stop()
    for client in clients:
        if not client.peer.is_closed():
            problem += "a connection is open after the end; "
        client.peer.close()
    problem += server.remains()
    total.faults.add(server.network.faults())
    _ = server^
    heap_destroy(runs)
    if problem != "":
        raise Error(problem)


def _converse(
    server: TestServer[NumberedHandler],
    mut clients: List[Client],
    mut draws: Draws,
):
    var is_sending = True
    while is_sending:
        is_sending = False
        for ref client in clients:
            if client.unsent != "":
                is_sending = True
                if draws.strikes(600):
                    client.send_some(draws)
            if draws.strikes(500):
                client.received.extend(Span(client.peer.received()))
        if draws.strikes(500):
            server.settle()
        else:
            server.turn_now()
        if draws.strikes(300):
            server.advance(1 + draws.below(30))
    # Each client may hold up the others' answers until it has read its own.
    for _ in range(3):
        for ref client in clients:
            client.received.extend(Span(server.receive(client.peer)))


def _judge(
    client: Client,
    half_close_allowed: Bool,
    may_break: Bool,
    runs: List[Int],
    mut total: _Total,
) -> String:
    var is_head = List[Bool]()
    for request in client.requests:
        is_head.append(request.is_head)
        if runs[request.number] > 1:
            return String("request ", request.number, " ran twice; ")
    var answers = read_answers(Span(client.received), is_head)
    if len(answers) > len(client.requests):
        return "more answers than requests; "
    var whole = 0
    for i in range(len(answers)):
        ref request = client.requests[i]
        if not answers[i].is_whole:
            break
        whole += 1
        if runs[request.number] != 1:
            return String("answer ", request.number, " without a run; ")
        if (
            answers[i].status != request.status
            or answers[i].content != request.content
        ):
            return String(
                "answer ",
                i,
                " to ",
                request.octets[byte = : min(request.octets.byte_length(), 40)],
                " is ",
                answers[i].status,
                " of ",
                answers[i].content.byte_length(),
                " octets, not ",
                request.status,
                " of ",
                request.content.byte_length(),
                "; ",
            )
    total.answers += whole
    var is_complete = whole == len(client.requests)
    if not is_complete:
        total.closed += 1
        if not client.peer.is_closed():
            return "an answer is missing and the connection open; "
        # A reset by the server itself is no excuse.
        if not (
            client.has_left
            or may_break
            and client.peer.is_reset()
            or client.ends_early
            and not half_close_allowed
            # While somebody waits to be accepted, any answer may be the last.
            or whole > 0
            and answers[whole - 1].closes
        ):
            return String(
                "closed after ", whole, " of ", len(client.requests), "; "
            )
        return ""
    if client.requests[whole - 1].is_last and not client.peer.is_closed():
        return "not closed after its last request; "
    return ""


struct _Total(Movable):
    var requests: Int
    var answers: Int
    var closed: Int
    var faults: SimulatedFaultCounts

    def __init__(out self):
        self.requests = 0
        self.answers = 0
        self.closed = 0
        self.faults = SimulatedFaultCounts()


comptime TESTS = __functions_in_module()
