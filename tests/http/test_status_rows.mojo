"""Checks what the status page computes and shows, without a server."""

from flare.core.sha256 import sha256_digest
from flare.http import StatusPage
from flare.http.status.latency import HEAT_ROWS, heat_rows, quantile_us
from flare.http.status.page_document import CONTENT_SECURITY_POLICY, DOCUMENT
from flare.http.status.route_rows import RouteRow
from flare.http.status.status_report import time_text
from flare.metrics import Metrics
from flare.metrics.buckets import BUCKETS, BucketTable
from flare.testing import TestClient
from std.base64 import b64encode
from std.testing import assert_raises

from tests.asserting import assert_equal, assert_false, assert_true


def test_the_document_fits_the_first_flight_and_its_policy() raises:
    var octets = DOCUMENT.byte_length()
    assert_true(octets <= 14 * 1024, String(octets))
    for part in ["script", "style"]:
        var start = DOCUMENT.find(String("<", part, ">"))
        var end = DOCUMENT.find(String("</", part, ">"))
        assert_true(0 < start < end)
        var text = DOCUMENT[byte = start + part.byte_length() + 2 : end]
        var digest = sha256_digest(text.as_bytes())
        var hash = List[UInt8]()
        for i in range(32):
            hash.append(digest[i])
        assert_true(
            String(part, "-src 'sha256-", b64encode(Span(hash)), "'")
            in CONTENT_SECURITY_POLICY
        )
    assert_false("unsafe" in CONTENT_SECURITY_POLICY)
    # It names no other host, and no element calls a script by an attribute.
    assert_equal(DOCUMENT.count("//"), DOCUMENT.count("//www.w3.org/2000/svg"))
    assert_false(" style=" in DOCUMENT)
    assert_false(" onclick=" in DOCUMENT)


def test_quantiles_lie_within_their_bucket() raises:
    var table = BucketTable()
    var counts = List[Int](length=BUCKETS + 2, fill=0)
    assert_false(quantile_us(counts, table.edges, per_mille=500))
    # The cells after the buckets are no times.
    counts[BUCKETS] = 100
    assert_false(quantile_us(counts, table.edges, per_mille=500))
    for us in [1, 7, 40, 150, 3000, 99_000, 2_000_000, 50_000_000]:
        var cells = List[Int](length=BUCKETS + 2, fill=0)
        cells[table.bucket_of(us * 1000)] = 10
        for per_mille in [1, 500, 990, 999, 1000]:
            var found = quantile_us(
                cells, table.edges, per_mille=per_mille
            ).value()
            # A bucket is an eighth wide at most.
            assert_true(us * 7 <= found * 8 + 8, String(us, " ", found))
            assert_true(found * 7 <= us * 8 + 8, String(us, " ", found))


def test_quantiles_count_ranks() raises:
    var table = BucketTable()
    var counts = List[Int](length=BUCKETS + 2, fill=0)
    counts[table.bucket_of(100_000)] = 98
    counts[table.bucket_of(10_000_000)] = 1
    counts[table.bucket_of(1_000_000_000)] = 1
    var rows: List[Tuple[Int, Int]] = [
        (500, 100),
        (980, 100),
        (981, 10_000),
        (990, 10_000),
        (991, 1_000_000),
        (1000, 1_000_000),
    ]
    for row in rows:
        var found = quantile_us(counts, table.edges, per_mille=row[0]).value()
        assert_true(abs(found - row[1]) * 14 <= row[1], String(found))


def test_rows_of_the_heat_map_grow_with_time() raises:
    var table = BucketTable()
    var rows = heat_rows(table.edges)
    assert_equal(len(rows), BUCKETS)
    for i in range(1, len(rows)):
        assert_true(rows[i - 1] <= rows[i] <= rows[i - 1] + 1)
    assert_equal(rows[0], 0)
    assert_equal(rows[BUCKETS - 1], HEAT_ROWS - 1)
    var powers: List[Tuple[Int, Int]] = [
        (1_001, 0),
        (10_001, 6),
        (1_000_001, 18),
        (99_000_000_000, 47),
    ]
    for power in powers:
        assert_equal(rows[table.bucket_of(power[0])], power[1])


def test_names_of_rows_have_no_control_octets() raises:
    assert_equal(RouteRow.name_of("GET", "/a".as_bytes()), "GET /a")
    assert_equal(RouteRow.name_of("GET", "".as_bytes()), "GET (no route)")
    assert_equal(RouteRow.name_of("GET", "/\n\r\0".as_bytes()), "GET /   ")


def test_times_have_two_or_three_digits() raises:
    var rows: List[Tuple[Int, String]] = [
        (0, "-"),
        (1, "1 µs"),
        (999, "999 µs"),
        (1000, "1.00 ms"),
        (1256, "1.25 ms"),
        (12_560, "12.5 ms"),
        (125_600, "125 ms"),
        (1_000_000, "1.00 s"),
        (99_999_999, "99.9 s"),
        (100_000_000, "100 s"),
    ]
    for row in rows:
        assert_equal(time_text(row[0]), row[1])


def test_a_page_with_bad_arguments_is_refused() raises:
    for slow_ms in [0, -1, 3_600_001]:
        with assert_raises(contains="http.bad_status_page slow_ms"):
            _ = StatusPage(Metrics(), slow_ms=slow_ms)
    _ = StatusPage(Metrics(), slow_ms=3_600_000)


def test_a_client_without_an_address_is_refused() raises:
    var client = TestClient(StatusPage(Metrics()))
    assert_equal(client.get("/").status, 403)


comptime TESTS = __functions_in_module()
