"""Checks that instruments count in the area of their thread."""

from std.testing import assert_raises

from flare.core import Erased, heap_create, heap_destroy
from flare.metrics import HistogramUnit, Metrics, all_bounds
from flare.metrics.registry_state import (
    claim_areas,
    enter_area,
    release_areas,
)
from flare.runtime.current import set_current_reactor
from flare.runtime.reactor import Reactor, ReactorConfig
from flare.runtime.start import open_reactor
from flare.sys.thread import join_thread, start_thread

from tests.asserting import assert_equal, assert_true
from tests.metrics.support import value_of


def test_a_counter_only_grows() raises:
    var metrics = Metrics()
    var orders = metrics.counter("orders_total", "Orders.")
    assert_equal(value_of(metrics, "orders_total"), "0")
    orders.add()
    orders.add(41)
    orders.add(-5)
    orders.add(0)
    assert_equal(value_of(metrics, "orders_total"), "42")
    # The same name is the same counter.
    metrics.counter("orders_total", "Orders.").add()
    assert_equal(value_of(metrics, "orders_total"), "43")


def test_a_gauge_grows_and_shrinks() raises:
    var metrics = Metrics()
    var depth = metrics.gauge("queue_depth", "Entries.")
    depth.add(5)
    depth.add(-7)
    assert_equal(value_of(metrics, "queue_depth"), "-2")
    depth.set(3)
    assert_equal(value_of(metrics, "queue_depth"), "3")


def test_a_histogram_counts_up_to_each_bound() raises:
    var metrics = Metrics()
    var times = metrics.histogram(
        "job_duration_seconds",
        "Jobs.",
        bounds=[1_000_000, 2_500_000],
    )
    for ns in [-1, 0, 1_000_000, 1_000_001, 2_500_000, 2_500_001, 1 << 40]:
        times.observe(ns)
    comptime NAME: StaticString = "job_duration_seconds"
    assert_equal(value_of(metrics, String(NAME, '_bucket{le="0.001"}')), "3")
    assert_equal(value_of(metrics, String(NAME, '_bucket{le="0.0025"}')), "5")
    assert_equal(value_of(metrics, String(NAME, '_bucket{le="+Inf"}')), "7")
    assert_equal(value_of(metrics, String(NAME, "_count")), "7")
    # 1 + 1.000001 + 2.5 + 2.500001 ms, and 2 to the power of 40 ns.
    assert_equal(value_of(metrics, String(NAME, "_sum")), "1099.518627778")


def test_sizes_are_told_apart_from_one_octet_on() raises:
    var metrics = Metrics()
    var sizes = metrics.histogram(
        "upload_size_bytes", "Uploads.", unit=HistogramUnit.BYTES
    )
    for octets in [0, 1, 100, 101, 100_000_000, 100_000_001]:
        sizes.observe(octets)
    comptime NAME: StaticString = "upload_size_bytes"
    assert_equal(value_of(metrics, String(NAME, '_bucket{le="100"}')), "3")
    assert_equal(value_of(metrics, String(NAME, '_bucket{le="1000"}')), "4")
    assert_equal(
        value_of(metrics, String(NAME, '_bucket{le="100000000"}')), "5"
    )
    assert_equal(value_of(metrics, String(NAME, "_count")), "6")
    assert_equal(value_of(metrics, String(NAME, "_sum")), "200000203")


def test_a_size_beyond_all_spoils_no_sum() raises:
    var metrics = Metrics()
    var sizes = metrics.histogram(
        "upload_size_bytes", "Uploads.", unit=HistogramUnit.BYTES
    )
    sizes.observe(Int.MAX)
    assert_equal(value_of(metrics, "upload_size_bytes_sum"), String(1 << 53))
    assert_equal(
        value_of(metrics, 'upload_size_bytes_bucket{le="100000000"}'), "0"
    )
    assert_equal(value_of(metrics, "upload_size_bytes_count"), "1")


def test_every_edge_is_a_bound_if_asked_to() raises:
    var metrics = Metrics(duration_bounds=all_bounds())
    var times = metrics.histogram("a_seconds", "A.")
    times.observe(1_600_000)
    times.observe(1_600_001)
    assert_equal(value_of(metrics, 'a_seconds_bucket{le="0.0015"}'), "0")
    assert_equal(value_of(metrics, 'a_seconds_bucket{le="0.0016"}'), "1")
    assert_equal(value_of(metrics, 'a_seconds_bucket{le="0.0017"}'), "2")
    assert_equal(value_of(metrics, 'a_seconds_bucket{le="100"}'), "2")
    var sizes = all_bounds(HistogramUnit.BYTES)
    assert_equal(sizes[0], 1)
    assert_equal(sizes[1], 2)
    assert_equal(sizes[len(sizes) - 1], 100_000_000)
    _ = metrics.histogram(
        "b_bytes", "B.", unit=HistogramUnit.BYTES, bounds=sizes
    )


def test_label_sets_are_counted_apart() raises:
    var metrics = Metrics()
    var paid = metrics.counter(
        "paid_total", "Payments.", labels=["kind", "state"]
    )
    var card = paid.of("card", "done")
    card.add(2)
    paid.of("card", "failed").add()
    paid.of("card", "done").add()
    paid.of("", "done").add(9)
    assert_equal(value_of(metrics, 'paid_total{kind="card",state="done"}'), "3")
    assert_equal(
        value_of(metrics, 'paid_total{kind="card",state="failed"}'), "1"
    )
    # An empty value is no label.
    assert_equal(value_of(metrics, 'paid_total{state="done"}'), "9")
    with assert_raises(contains="metrics.bad_label"):
        _ = paid.of("card")
    with assert_raises(contains="metrics.bad_label"):
        _ = paid.of("a", "b", "c", "d", "e")


def test_label_sets_beyond_the_limit_are_others() raises:
    var metrics = Metrics()
    var users = metrics.gauge("users", "Users.", labels=["name"])
    for i in range(1000):
        users.of(String("u", i)).add(1)
    assert_true(metrics.text().find("other") < 0)
    for i in range(990, 1100):
        users.of(String("u", i)).add(1)
    assert_equal(value_of(metrics, 'users{name="u0"}'), "1")
    assert_equal(value_of(metrics, 'users{name="u999"}'), "2")
    assert_equal(value_of(metrics, 'users{name="other"}'), "100")
    assert_true(metrics.text().find('"u1000"') < 0)


def test_a_long_value_is_cut_between_characters() raises:
    var metrics = Metrics()
    var users = metrics.counter("users_total", "Users.", labels=["name"])
    users.of(String("x") * 128).add()
    users.of(String("x") * 129).add()
    users.of(String("x") * 127 + "ä").add(5)
    assert_equal(
        value_of(
            metrics, String('users_total{name="', String("x") * 128, '"}')
        ),
        "2",
    )
    assert_equal(
        value_of(
            metrics, String('users_total{name="', String("x") * 127, '"}')
        ),
        "5",
    )


def test_workers_count_apart_and_are_added() raises:
    var metrics = Metrics()
    var counter = metrics.counter("a_total", "A.")
    var gauge = metrics.gauge("b", "B.")
    var family = metrics.counter("c_total", "C.", labels=["x"])
    var known = family.of("known")
    counter.add(1)
    gauge.add(10)
    known.add(100)
    var state = metrics.unsafe_state()
    var first = claim_areas(state, 2)
    var reactor = _reactor()
    for worker in range(2):
        _ = enter_area(state, reactor, first + worker, 64)
        set_current_reactor(reactor)
        counter.add(1)
        gauge.add(10)
        known.add(100)
        # These are bound on this thread.
        family.of("late").add(1000)
        family.of(String("own", worker)).add(7)
        set_current_reactor(None)
    assert_equal(value_of(metrics, "a_total"), "3")
    assert_equal(value_of(metrics, "b"), "30")
    assert_equal(value_of(metrics, 'c_total{x="known"}'), "300")
    assert_equal(value_of(metrics, 'c_total{x="late"}'), "2000")
    assert_equal(value_of(metrics, 'c_total{x="own0"}'), "7")
    assert_equal(value_of(metrics, 'c_total{x="own1"}'), "7")
    ref counted = state[].families[len(state[].families) - 1][]
    assert_equal(state[].areas[first].series_count(counted), 3)
    reactor.destroy()


def test_a_series_that_another_thread_has_bound_is_found_by_its_labels() raises:
    var metrics = Metrics()
    var family = metrics.counter("c_total", "C.", labels=["x"])
    var state = metrics.unsafe_state()
    var first = claim_areas(state, 2)
    var reactor = _reactor()
    _ = enter_area(state, reactor, first, 64)
    set_current_reactor(reactor)
    _ = family.of("other one")
    var bound = family.of("mine")
    bound.add(1)
    _ = enter_area(state, reactor, first + 1, 64)
    # It has another index here.
    bound.add(10)
    set_current_reactor(None)
    bound.add(100)
    assert_equal(value_of(metrics, 'c_total{x="mine"}'), "111")
    assert_equal(value_of(metrics, 'c_total{x="other one"}'), "0")
    reactor.destroy()


def test_a_worker_that_starts_again_keeps_counts_and_forgets_gauges() raises:
    var metrics = Metrics()
    var counter = metrics.counter("a_total", "A.", labels=["x"])
    var gauge = metrics.gauge("b", "B.")
    var state = metrics.unsafe_state()
    var first = claim_areas(state, 1)
    var reactor = _reactor()
    for _ in range(2):
        # A process that is forked again knows no series.
        _ = enter_area(state, reactor, first, 64)
        set_current_reactor(reactor)
        counter.of("one").add()
        counter.of("two").add(2)
        gauge.add()
        set_current_reactor(None)
    assert_equal(value_of(metrics, 'a_total{x="one"}'), "2")
    assert_equal(value_of(metrics, 'a_total{x="two"}'), "4")
    assert_equal(value_of(metrics, "b"), "1")
    # Another server continues in the same area.
    release_areas(state, first)
    assert_equal(claim_areas(state, 1), first)
    assert_equal(claim_areas(state, 1), first + 1)
    reactor.destroy()


def test_threads_without_a_place_lose_no_count() raises:
    var metrics = Metrics()
    var counter = metrics.counter("a_total", "A.", labels=["x"])
    var shared = heap_create(_Together(metrics))
    var threads = List[UInt64]()
    for _ in range(4):
        threads.append(
            start_thread(_count_much, shared.unsafe_bitcast[NoneType]())[1]
        )
    for thread in threads:
        join_thread(thread)
    assert_equal(value_of(metrics, 'a_total{x="same"}'), "40000")
    for i in range(10):
        assert_equal(value_of(metrics, String('a_total{x="', i, '"}')), "4000")
    _ = counter
    heap_destroy(shared)


comptime TESTS = __functions_in_module()


@fieldwise_init
struct _Together(Movable):
    var metrics: Metrics


def _count_much(argument: Erased) abi("C") -> Optional[Erased]:
    var metrics = argument.unsafe_bitcast[_Together]()[].metrics
    try:
        var family = metrics.counter("a_total", "A.", labels=["x"])
        var same = family.of("same")
        for i in range(10_000):
            same.add()
            family.of(String(i % 10)).add()
    except:
        return None
    return None


def _reactor() raises -> Reactor:
    return open_reactor(ReactorConfig(fibers_max=8))[1].value()
