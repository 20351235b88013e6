"""Tests problem details that programs make."""

from std.testing import assert_raises

from flare.http import (
    CatchErrors,
    Extractor,
    ProblemDetails,
    Rejection,
    Request,
    Response,
    Router,
    internal_error,
)
from flare.testing import TestClient

from tests.asserting import assert_equal


@fieldwise_init
struct Paid(Extractor):
    comptime PATH_PARAMETERS: Int = 0

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        raise Error(ProblemDetails(402, "nothing is paid"))


def test_a_handler_returns_a_problem() raises:
    var router = Router()
    router.get("/full", _full)
    router.get("/short", _short)
    var client = TestClient(router^)
    var response = client.get("/full")
    assert_equal(response.status, 403)
    assert_equal(
        response.headers.get("Content-Type").value(), "application/problem+json"
    )
    assert_equal(
        response.text(),
        (
            '{"type":"https://example.com/credit","title":"No credit",'
            '"status":403,"detail":"30 of 50 \\"coins\\"",'
            '"instance":"/orders/7","balance":31,"ways":["card","cash"]}'
        ),
    )
    response = client.get("/short")
    assert_equal(response.status, 503)
    assert_equal(
        response.text(),
        '{"type":"about:blank","title":"Service Unavailable","status":503}',
    )


def test_a_problem_is_raised() raises:
    var router = Router()
    router.get("/extractor", _paid)
    router.get("/handler", _raises)
    router.get("/other", _raises_other)
    var client = TestClient(CatchErrors(router^, _answer))
    for path in ["/extractor", "/handler"]:
        var response = client.get(path)
        assert_equal(response.status, 402)
        assert_equal(
            response.text(),
            (
                '{"type":"about:blank","title":"Payment Required","status":402,'
                '"detail":"nothing is paid"}'
            ),
        )
        assert_equal(
            response.headers.get("Content-Type").value(),
            "application/problem+json",
        )
    assert_equal(client.get("/other").status, 500)


def test_members_of_the_standard_are_fields() raises:
    var problem = ProblemDetails(400)
    for name in ["type", "title", "status", "detail", "instance"]:
        with assert_raises(contains="http.bad_problem "):
            problem.set(name, 1)
    with assert_raises(contains="json.not_finite"):
        problem.set("x", Float64(1) / Float64(0))
    assert_equal(
        problem.text(),
        '{"type":"about:blank","title":"Bad Request","status":400}',
    )


comptime TESTS = __functions_in_module()
"""Every test of this module."""


def _full() raises -> ProblemDetails:
    var problem = ProblemDetails(
        403,
        '30 of 50 "coins"',
        title="No credit",
        type="https://example.com/credit",
        instance="/orders/7",
    )
    problem.set("balance", 30)
    var ways: List[String] = ["card", "cash"]
    problem.set("ways", ways)
    problem.set("balance", 31)
    return problem^


def _short() -> ProblemDetails:
    return ProblemDetails(503)


def _paid(paid: Paid) -> StaticString:
    return "never"


def _raises() raises -> StaticString:
    raise Error(ProblemDetails(402, "nothing is paid"))


def _raises_other() raises -> StaticString:
    raise Error("other")


def _answer(req: Request, error: Error) -> Response:
    return Rejection.response_of(error).or_else(internal_error())
