"""Checks which format the page of metrics has, and for which methods."""

from flare.http import HeaderMap, MetricsPage
from flare.metrics import Metrics
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true


def test_the_format_is_the_one_that_the_client_prefers() raises:
    comptime OPEN: StaticString = "application/openmetrics-text"
    var rows: List[Tuple[String, Bool]] = [
        ("", False),
        ("*/*", False),
        ("text/html, */*;q=0.8", False),
        ("text/plain", False),
        (String(OPEN), True),
        ("Application/OpenMetrics-Text ; version=1.0.0", True),
        (
            String(
                OPEN,
                ";version=1.0.0;q=0.5,",
                OPEN,
                ";version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            ),
            True,
        ),
        (String(OPEN, ";q=0.5,text/plain;q=0.5"), True),
        (String(OPEN, ";q=0.5,text/plain;q=0.51"), False),
        (String(OPEN, ";q=0.5,text/plain"), False),
        (String(OPEN, ";q=0"), False),
        (String(OPEN, ";q=0.000"), False),
        (String(OPEN, ";q=x"), False),
        (String(OPEN, ";q=5"), False),
        (String(OPEN, ";q=0.5555"), False),
        (String(OPEN, ";q=.5"), False),
        (String(OPEN, ";q="), True),
        (",;,=,;q", False),
    ]
    var client = TestClient(MetricsPage(Metrics()))
    for row in rows:
        var headers = HeaderMap()
        if row[0]:
            headers.set("Accept", row[0])
        var page = client.get("/", headers)
        var kind = page.headers.get("Content-Type").value()
        assert_equal(page.status, 200)
        assert_equal(kind.startswith(OPEN), row[1], row[0])
        assert_equal(page.text() == "# EOF\n", row[1], row[0])
        assert_equal(page.headers.get("Cache-Control").value(), "no-store")
        assert_equal(page.headers.get("Vary").value(), "Accept")


def test_only_reading_is_allowed() raises:
    var client = TestClient(MetricsPage(Metrics()))
    assert_equal(client.request("HEAD", "/").status, 200)
    var refused = client.post("/", "")
    assert_equal(refused.status, 405)
    assert_equal(refused.headers.get("Allow").value(), "GET, HEAD")
    assert_true(refused.headers.get("Cache-Control") is None)


comptime TESTS = __functions_in_module()
