"""Tests that clients which send too much are refused."""

from std.testing import assert_raises

from flare.http import (
    FnHandler,
    RateKeys,
    RateLimit,
    RateLimitConfig,
    RateLimiter,
    Request,
    Response,
    Router,
    ok,
)
from flare.message import HeaderMap
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true


def test_one_request_too_many_is_answered_429() raises:
    for http2 in [False, True]:
        for is_exact in [False, True]:
            var client = TestClient(
                RateLimit(
                    FnHandler(_hello),
                    RateLimitConfig(
                        requests=3,
                        window_seconds=3000,
                        key=_by_user,
                        is_exact=is_exact,
                    ),
                ),
                http2=http2,
            )
            for user in ["ann", "bob"]:
                for _ in range(3):
                    var answer = client.get("/", _of(user))
                    assert_equal(answer.status, 200)
                    assert_equal(_value(answer, "RateLimit"), "")
                for _ in range(2):
                    var answer = client.get("/", _of(user))
                    assert_equal(answer.status, 429)
                    assert_equal(String(answer.text()), "Too Many Requests")
                    _check_wait(_value(answer, "Retry-After"), 1000)
                    assert_equal(
                        _value(answer, "RateLimit"),
                        String(
                            '"default";r=0;t=', _value(answer, "Retry-After")
                        ),
                    )
                    assert_equal(
                        _value(answer, "RateLimit-Policy"),
                        '"default";q=3;w=3000',
                    )
            # Requests without a key are not counted.
            for _ in range(5):
                assert_equal(client.get("/").status, 200)


def test_each_response_states_what_is_left_if_asked_to() raises:
    for http2 in [False, True]:
        var client = TestClient(
            RateLimit(
                FnHandler(_hello),
                RateLimitConfig(
                    requests=100,
                    window_seconds=100_000,
                    burst=2,
                    name="search",
                    key=_by_user,
                    reports=True,
                ),
            ),
            http2=http2,
        )
        var rest = ['"search";r=1;t=', '"search";r=0;t=', '"search";r=0;t=']
        for i in range(3):
            var answer = client.get("/raise", _of("ann"))
            assert_equal(answer.status, 500 if i < 2 else 429)
            var text = _value(answer, "RateLimit")
            assert_true(text.startswith(rest[i]), text)
            _check_wait(text[byte = rest[i].byte_length() :], 1000)
            assert_equal(
                _value(answer, "RateLimit-Policy"), '"search";q=100;w=100000'
            )


def test_a_clock_that_is_behind_leaves_no_negative_rest() raises:
    var limiter = RateLimiter(RateLimitConfig(requests=2, window_seconds=60))
    for _ in range(2):
        _ = limiter.admit_key(1, 1_000_000_000)
    # As that of another worker may be.
    var answer = limiter.admit_key(1, 0)
    var headers = HeaderMap()
    limiter.report(answer, headers)
    var text = String(headers.get("RateLimit").value())
    assert_true(";r=0;" in text, text)


def test_routes_that_share_a_limit_have_weights() raises:
    for http2 in [False, True]:
        var limiter = RateLimiter(
            RateLimitConfig(requests=10, window_seconds=3600, key=_by_user)
        )
        var router = Router()
        router.get("/", RateLimit(FnHandler(_hello), limiter))
        router.get("/search", RateLimit(FnHandler(_hello), limiter, weight=5))
        router.get("/free", _hello)
        var client = TestClient(router^, http2=http2)
        var rows: List[Tuple[String, Int]] = [
            ("/search", 200),
            ("/", 200),
            ("/search", 429),
            ("/", 200),
            ("/", 200),
            ("/", 200),
            ("/", 200),
            ("/", 429),
            ("/free", 200),
        ]
        for path, status in rows:
            assert_equal(client.get(path, _of("ann")).status, status, path)
        assert_equal(client.get("/search", _of("bob")).status, 200)


def test_a_worker_admits_its_part_of_the_limit() raises:
    var limiter = RateLimiter(
        RateLimitConfig(
            requests=12, window_seconds=3600, key=_by_user, workers=4
        )
    )
    assert_equal(limiter.burst(), 3)
    var admitted = 0
    for i in range(8):
        admitted += Int(limiter.admit_key(1, 1000 + i).is_admitted())
    assert_equal(admitted, 3)
    # It regains one each 3600 / 3 seconds.
    var later = 1000 + 1200 * 1_000_000_000
    assert_true(limiter.admit_key(1, later + 8).is_admitted())
    assert_equal(limiter.admit_key(1, later + 8).is_admitted(), False)


def test_requests_without_an_address_share_a_key() raises:
    var client = TestClient(
        RateLimit(
            FnHandler(_hello), RateLimitConfig(requests=1, window_seconds=3600)
        )
    )
    assert_equal(client.get("/").status, 200)
    assert_equal(client.get("/").status, 429)


def test_an_error_of_the_key_function_is_a_500() raises:
    var client = TestClient(
        RateLimit(FnHandler(_hello), RateLimitConfig(requests=1, key=_fail))
    )
    assert_equal(client.get("/").status, 500)


def test_values_out_of_bounds_are_refused_at_once() raises:
    var rows: List[Tuple[RateLimitConfig, String]] = [
        (RateLimitConfig(requests=0), "requests"),
        (RateLimitConfig(requests=1_000_000_001), "requests"),
        (RateLimitConfig(requests=1, window_seconds=0), "window_seconds"),
        (
            RateLimitConfig(requests=1, window_seconds=31 * 86400 + 1),
            "window_seconds",
        ),
        (RateLimitConfig(requests=1, burst=0), "burst"),
        (RateLimitConfig(requests=1, burst=2), "burst"),
        (RateLimitConfig(requests=1, name="a b"), "name"),
        (RateLimitConfig(requests=1, entries=63), "entries"),
        (RateLimitConfig(requests=1, entries=(1 << 24) + 1), "entries"),
        (RateLimitConfig(requests=1, workers=0), "workers"),
        (RateLimitConfig(requests=1, workers=257), "workers"),
        (RateLimitConfig(requests=1, workers=2, is_exact=True), "workers"),
    ]
    for config, field in rows:
        with assert_raises(contains=String("http.bad_rate_limit ", field)):
            _ = RateLimit(FnHandler(_hello), config)
    var limiter = RateLimiter(RateLimitConfig(requests=9, workers=3))
    _ = RateLimit(FnHandler(_hello), limiter, weight=3)
    for weight in [0, 4]:
        with assert_raises(contains="http.bad_rate_limit weight"):
            _ = RateLimit(FnHandler(_hello), limiter, weight=weight)
    # The largest numbers do not overflow.
    var slow = RateLimiter(
        RateLimitConfig(
            requests=1_000_000_000, window_seconds=31 * 86400, workers=256
        )
    )
    assert_true(slow.admit_key(1, 1 << 60).is_admitted())


comptime TESTS = __functions_in_module()


def _by_user(req: Request, keys: RateKeys) raises -> Optional[UInt64]:
    var user = req.headers.get("X-User")
    if not user:
        return None
    return keys.of(user.value())


def _fail(req: Request, keys: RateKeys) raises -> Optional[UInt64]:
    raise Error("on purpose")


def _hello(req: Request) raises -> Response:
    if req.path == "/raise":
        raise Error("on purpose")
    return ok("hello")


def _of(user: StringSlice) raises -> HeaderMap:
    var fields = HeaderMap()
    fields.set("X-User", user)
    return fields^


def _check_wait(text: StringSlice, seconds: Int) raises:
    # The test may have taken a moment.
    assert_true(seconds - 60 < Int(text) <= seconds, String(text))


def _value(response: Response, name: StringSlice) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else String()
