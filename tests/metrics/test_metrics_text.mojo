"""Checks the two text formats to the octet."""

from flare.metrics import Metrics, MetricsFormat
from flare.metrics.metrics_text import MetricsText

from tests.asserting import assert_equal, assert_true


def test_both_formats_of_a_counter_and_a_gauge() raises:
    var metrics = Metrics()
    metrics.counter("orders_total", 'A "b" \\ c\nd.').add(3)
    metrics.gauge("depth", "Entries.").add(-4)
    assert_equal(
        metrics.text(),
        (
            "# TYPE orders_total counter\n"
            '# HELP orders_total A "b" \\\\ c\\nd.\n'
            "orders_total 3\n"
            "# TYPE depth gauge\n"
            "# HELP depth Entries.\n"
            "depth -4\n"
        ),
    )
    assert_equal(
        metrics.text(MetricsFormat.OPEN_METRICS),
        (
            "# TYPE orders counter\n"
            '# HELP orders A \\"b\\" \\\\ c\\nd.\n'
            "orders_total 3\n"
            "# TYPE depth gauge\n"
            "# HELP depth Entries.\n"
            "depth -4\n"
            "# EOF\n"
        ),
    )


def test_octets_that_are_no_text_do_not_spoil_the_page() raises:
    var metrics = Metrics()
    var calls = metrics.counter("calls_total", "Calls.", labels=["a", "b"])
    calls.of(_raw(0x61, 0xFF), "end").add()
    calls.of(_raw(0xC3, 0xA9, 0xC3), "end").add()
    calls.of(_raw(0xF0, 0x9F, 0x98, 0x80, 0xED, 0xA0, 0x80), "end").add()
    var page = metrics.text()
    _ = StringSlice(from_utf8=page.as_bytes())
    var wanted: List[String] = ["a?", "é?", "😀???"]
    for text in wanted:
        var line = String('calls_total{a="', text, '",b="end"} 1\n')
        assert_true(line in page, page)


def test_both_formats_of_a_histogram() raises:
    var metrics = Metrics()
    var times = metrics.histogram(
        "job_seconds",
        "Jobs.",
        labels=["kind"],
        bounds=[5_000_000, 1_000_000_000],
    )
    # A family without series is not shown.
    assert_equal(metrics.text(), "")
    var one = times.of("a")
    one.observe(5_000_000)
    one.observe(2_000_000_000)
    assert_equal(
        metrics.text(),
        (
            "# TYPE job_seconds histogram\n"
            "# HELP job_seconds Jobs.\n"
            'job_seconds_bucket{kind="a",le="0.005"} 1\n'
            'job_seconds_bucket{kind="a",le="1"} 1\n'
            'job_seconds_bucket{kind="a",le="+Inf"} 2\n'
            'job_seconds_sum{kind="a"} 2.005\n'
            'job_seconds_count{kind="a"} 2\n'
        ),
    )
    assert_equal(
        metrics.text(MetricsFormat.OPEN_METRICS),
        (
            "# TYPE job_seconds histogram\n"
            "# UNIT job_seconds seconds\n"
            "# HELP job_seconds Jobs.\n"
            'job_seconds_bucket{kind="a",le="0.005"} 1\n'
            'job_seconds_bucket{kind="a",le="1.0"} 1\n'
            'job_seconds_bucket{kind="a",le="+Inf"} 2\n'
            'job_seconds_sum{kind="a"} 2.005\n'
            'job_seconds_count{kind="a"} 2\n'
            "# EOF\n"
        ),
    )


def test_values_of_labels_are_escaped() raises:
    var metrics = Metrics()
    var users = metrics.gauge("users", "Users.", labels=["name"])
    users.of('a"b\\c\nd{e="f"} 1').add(1)
    assert_equal(
        metrics.text(),
        (
            "# TYPE users gauge\n"
            "# HELP users Users.\n"
            'users{name="a\\"b\\\\c\\nd{e=\\"f\\"} 1"} 1\n'
        ),
    )


def test_numbers_have_the_digits_that_they_need() raises:
    var rows: List[Tuple[Int, Int, String]] = [
        (0, 0, "0"),
        (-1, 0, "-1"),
        (Int.MAX, 0, "9223372036854775807"),
        (0, 9, "0"),
        (1, 9, "0.000000001"),
        (1_500_000_000, 9, "1.5"),
        (2_000_000_000, 9, "2"),
        (-1_050_000_000, 9, "-1.05"),
        (Int.MAX, 9, "9223372036.854775807"),
        (12_345, 3, "12.345"),
    ]
    for row in rows:
        var text = MetricsText(MetricsFormat.PROMETHEUS)
        text.begin_sample("a", "")
        text.end_sample(row[0], row[1])
        assert_equal(text.end(), String("a ", row[2], "\n"))


def test_media_types_have_their_versions() raises:
    assert_true(
        String(MetricsFormat.PROMETHEUS.media_type()).find("version=0.0.4") > 0
    )
    assert_true(
        String(MetricsFormat.OPEN_METRICS.media_type()).find("version=1.0.0")
        > 0
    )


comptime TESTS = __functions_in_module()


def _raw(*octets: Int) -> String:
    var text = List[UInt8]()
    for octet in octets:
        text.append(UInt8(octet))
    return String(StringSlice(unsafe_from_utf8=Span(text)))
