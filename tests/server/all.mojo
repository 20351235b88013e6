"""Runs every test of the server on a simulated network in one binary."""

from std.testing import TestSuite

from tests.server import (
    test_access_lines,
    test_access_log,
    test_after_response,
    test_budget,
    test_connection_state,
    test_content_room,
    test_cut_off,
    test_deadlines,
    test_departures,
    test_event_streams,
    test_exchanges,
    test_health,
    test_https,
    test_https_crowds,
    test_limits,
    test_metrics,
    test_overload,
    test_refusals,
    test_refused_content,
    test_replaced_answers,
    test_restart_delay,
    test_route_limits,
    test_splits,
    test_start_barrier,
    test_status_page,
    test_status_view,
    test_stops,
    test_stream_rules,
    test_streams,
    test_trimming,
    test_turn_end,
    test_unsent_pool,
    test_upgraded_octets,
    test_stubborn,
    test_worker_questions,
)


def main() raises:
    var failures = List[String]()
    _run[test_access_lines.TESTS](failures)
    _run[test_access_log.TESTS](failures)
    _run[test_after_response.TESTS](failures)
    _run[test_budget.TESTS](failures)
    _run[test_connection_state.TESTS](failures)
    _run[test_content_room.TESTS](failures)
    _run[test_cut_off.TESTS](failures)
    _run[test_deadlines.TESTS](failures)
    _run[test_departures.TESTS](failures)
    _run[test_event_streams.TESTS](failures)
    _run[test_exchanges.TESTS](failures)
    _run[test_health.TESTS](failures)
    _run[test_https.TESTS](failures)
    _run[test_https_crowds.TESTS](failures)
    _run[test_limits.TESTS](failures)
    _run[test_metrics.TESTS](failures)
    _run[test_overload.TESTS](failures)
    _run[test_refusals.TESTS](failures)
    _run[test_refused_content.TESTS](failures)
    _run[test_replaced_answers.TESTS](failures)
    _run[test_restart_delay.TESTS](failures)
    _run[test_route_limits.TESTS](failures)
    _run[test_splits.TESTS](failures)
    _run[test_start_barrier.TESTS](failures)
    _run[test_status_page.TESTS](failures)
    _run[test_status_view.TESTS](failures)
    _run[test_stops.TESTS](failures)
    _run[test_stream_rules.TESTS](failures)
    _run[test_streams.TESTS](failures)
    _run[test_trimming.TESTS](failures)
    _run[test_turn_end.TESTS](failures)
    _run[test_unsent_pool.TESTS](failures)
    _run[test_upgraded_octets.TESTS](failures)
    _run[test_stubborn.TESTS](failures)
    _run[test_worker_questions.TESTS](failures)
    if failures:
        raise Error("\n".join(failures))


def _run[tests: Tuple](mut failures: List[String]):
    try:
        TestSuite.discover_tests[tests]().run()
    except e:
        failures.append(String(e))
