"""Checks which families a registry refuses."""

from std.testing import assert_raises

from flare.metrics import HistogramUnit, Metrics
from flare.metrics.registry_state import claim_areas

from tests.asserting import assert_equal


def test_bad_names_are_refused() raises:
    var metrics = Metrics()
    for name in ["", "1a", "a-b", "a b", "a.b", "ä", "a{", "a\n"]:
        with assert_raises(contains="metrics.bad_name"):
            _ = metrics.counter(String(name, "_total"), "A.")
        with assert_raises(contains="metrics.bad_name"):
            _ = metrics.gauge(name, "A.")
    for name in ["flare_x", "http_server_x", "process_x"]:
        with assert_raises(contains="belongs to the server"):
            _ = metrics.gauge(name, "A.")
    with assert_raises(contains="no _total"):
        _ = metrics.counter("orders", "A.")
    with assert_raises(contains="no unit"):
        _ = metrics.histogram("job", "A.")
    with assert_raises(contains="no unit"):
        _ = metrics.histogram("a_seconds", "A.", unit=HistogramUnit.BYTES)
    for name in ["a", "_a", "A9_", "a:b"]:
        _ = metrics.gauge(name, "A.")


def test_bad_labels_are_refused() raises:
    var metrics = Metrics()
    var rows: List[List[String]] = [
        [],
        ["a", "b", "c", "d", "e"],
        ["a", "a"],
        [""],
        ["1"],
        ["a:b"],
        ["__a"],
        ["le"],
        ["quantile"],
    ]
    for row in rows:
        with assert_raises(contains="metrics.bad_label"):
            _ = metrics.counter("a_total", "A.", labels=row)
        with assert_raises(contains="metrics.bad_label"):
            _ = metrics.gauge("a", "A.", labels=row)
        with assert_raises(contains="metrics.bad_label"):
            _ = metrics.histogram("a_seconds", "A.", labels=row)
    _ = metrics.gauge("a", "A.", labels=["a", "b", "_c", "less"])


def test_a_name_has_one_meaning() raises:
    var metrics = Metrics()
    _ = metrics.counter("a_total", "A.")
    _ = metrics.histogram("b_seconds", "B.")
    # Another help is the same family.
    _ = metrics.counter("a_total", "Another text.")
    with assert_raises(contains="metrics.name_taken"):
        _ = metrics.counter("a_total", "A.", labels=["x"])
    for name in ["a", "a_total", "a_created", "b_seconds", "b_seconds_sum"]:
        with assert_raises(contains="metrics.name_taken"):
            _ = metrics.gauge(name, "A.")
    with assert_raises(contains="metrics.name_taken"):
        _ = metrics.histogram("b_seconds", "B.", bounds=[1_000_000])
    _ = metrics.gauge("a_sum", "A.")


def test_bounds_are_edges_in_order() raises:
    var metrics = Metrics()
    for bound in [-1, 0, 1, 999, 1_010_000, Int.MAX]:
        with assert_raises(contains="metrics.bad_bounds is no edge"):
            _ = metrics.histogram("a_seconds", "A.", bounds=[bound])
        with assert_raises(contains="metrics.bad_bounds"):
            _ = Metrics(duration_bounds=[bound])
    for second in [1_000_000, 900_000]:
        with assert_raises(contains="metrics.bad_bounds are not in order"):
            _ = metrics.histogram("a_seconds", "A.", bounds=[1_000_000, second])
    # 2 to the power of 64, divided by 1,000, times 1,000 would wrap.
    with assert_raises(contains="metrics.bad_bounds"):
        _ = metrics.histogram(
            "a_bytes",
            "A.",
            unit=HistogramUnit.BYTES,
            bounds=[18_446_744_073_709_552],
        )


def test_no_family_follows_a_server() raises:
    var metrics = Metrics()
    _ = metrics.gauge("a", "A.")
    _ = claim_areas(metrics.unsafe_state(), 1)
    with assert_raises(contains="metrics.started"):
        _ = metrics.gauge("b", "B.")
    # One that exists may be asked for.
    _ = metrics.gauge("a", "A.")


def test_families_have_bounded_memory() raises:
    var metrics = Metrics()
    var made = 0
    with assert_raises(contains="metrics.too_many"):
        for i in range(1000):
            _ = metrics.histogram(
                String("a", i, "_seconds"), "A.", labels=["x"]
            )
            made += 1
    assert_equal(made > 10, True)


comptime TESTS = __functions_in_module()
