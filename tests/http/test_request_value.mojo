"""Tests values that middleware passes to handlers."""

from std.testing import assert_raises

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http import (
    Handler,
    Path,
    Request,
    RequestValue,
    Response,
    ResponseStream,
    Router,
    ok,
)
from flare.http.exchange import ExchangeState
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_false, assert_true


def test_a_handler_gets_the_values_of_the_middleware_around_it() raises:
    for http2 in [False, True]:
        var router = Router()
        router.get("/user/:id", show)
        router.get("/plain", show_plainly)
        router.get("/stream", show_in_a_stream)
        var client = TestClient(_Sets(router^), http2=http2)
        assert_equal(
            String(client.get("/user/3?ann").text()), "3 ann 7, a long text"
        )
        assert_equal(
            String(client.get("/plain?bob").text()), "bob 7, a long text"
        )
        assert_equal(String(client.get("/stream?eve").text()), "eve")


def test_a_value_that_nothing_has_set_is_an_error_of_the_program() raises:
    for http2 in [False, True]:
        var router = Router()
        router.get("/user/:id", show)
        router.get("/find", find)
        router.get("/explain", explain)
        var client = TestClient(router^, http2=http2)
        var answer = client.get("/user/3")
        assert_equal(answer.status, 500)
        assert_equal(String(answer.text()), "Internal Server Error")
        assert_equal(String(client.get("/find").text()), "no user")
        var text = String(client.get("/explain").text())
        assert_true(
            text.startswith(
                "http.no_value no middleware around the handler has set "
            ),
            text,
        )
        assert_true(text.endswith("User"), text)


def test_a_request_does_not_see_the_values_of_an_earlier_one() raises:
    for http2 in [False, True]:
        var router = Router()
        router.get("/find", find)
        var client = TestClient(_SetsByTurns(router^), http2=http2)
        assert_equal(String(client.get("/find?set").text()), "set")
        assert_equal(String(client.get("/find").text()), "no user")
        assert_equal(String(client.get("/find?again").text()), "again")


def test_values_are_destroyed_once_at_the_end_of_the_request() raises:
    for path in ["/", "/raise", "/twice"]:
        for http2 in [False, True]:
            var counts = heap_create(_Counts(0, 0))
            var client = TestClient(_SetsCounted(counts), http2=http2)
            for i in range(3):
                _ = client.get(path)
                var made = 2 * (i + 1) if path == "/twice" else i + 1
                assert_equal(counts[].small, made, path)
                assert_equal(counts[].large, made, path)
            _ = client^
            heap_destroy(counts)


def test_a_second_value_of_a_type_replaces_the_first_in_place() raises:
    var exchange = heap_create(ExchangeState())
    var req = Request(unsafe_exchange=exchange)
    req.set(7)
    req.set(String("a text that needs memory of its own"))
    var number = RequestValue[Int].of(req)
    var text = RequestValue[String].of(req)
    req.set(8)
    req.set(String("another text that needs memory of its own"))
    assert_equal(number[], 8)
    assert_true(text[].startswith("another"))
    text[] += "!"
    number[] += 1
    assert_equal(RequestValue[Int].of(req)[], 9)
    assert_true(RequestValue[String].of(req)[].endswith("own!"))
    exchange[].end()
    assert_false(RequestValue[Int].find(req))
    heap_destroy(exchange)


def test_a_request_has_room_for_any_number_of_types() raises:
    var exchange = heap_create(ExchangeState())
    var req = Request(unsafe_exchange=exchange)
    comptime for i in range(20):
        req.set(_Numbered[i](i, i * i))
        req.set(_Short[i](UInt8(i)))
    comptime for i in range(20):
        assert_equal(RequestValue[_Numbered[i]].of(req)[].b, i * i)
        assert_equal(RequestValue[_Short[i]].of(req)[].a, UInt8(i))
    assert_false(RequestValue[_Numbered[20]].find(req))
    exchange[].end()
    comptime for i in range(20):
        assert_false(RequestValue[_Short[i]].find(req))
    heap_destroy(exchange)


def test_a_request_to_send_takes_no_values() raises:
    var req = Request("GET", "http://a.test/")
    with assert_raises(contains="http.read_only"):
        req.set(7)


comptime TESTS = __functions_in_module()


@fieldwise_init
struct User(Movable):
    var name: String
    var note: String


@fieldwise_init
struct Level(Movable):
    var number: UInt8


@fieldwise_init
struct _Numbered[n: Int](Movable):
    var a: Int
    var b: Int


@fieldwise_init
struct _Short[n: Int](Movable):
    var a: UInt8


@fieldwise_init
struct _Counts(Movable):
    var small: Int
    var large: Int


struct _Small(Movable):
    var counts: PointerTo[_Counts]

    def __init__(out self, counts: PointerTo[_Counts]):
        self.counts = counts

    def __deinit__(deinit self):
        self.counts[].small += 1


struct _Large(Movable):
    var counts: PointerTo[_Counts]
    var more: Int

    def __init__(out self, counts: PointerTo[_Counts]):
        self.counts = counts
        self.more = 0

    def __deinit__(deinit self):
        self.counts[].large += 1


@fieldwise_init
struct _Sets[H: Handler](Handler):
    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        req.set(User(String(req.query), "a long text that is on the heap"))
        req.set(Level(7))
        return self.inner.serve(req)


@fieldwise_init
struct _SetsByTurns[H: Handler](Handler):
    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        if req.query.byte_length() > 0:
            req.set(User(String(req.query), ""))
        return self.inner.serve(req)


@fieldwise_init
struct _SetsCounted(Handler):
    var counts: PointerTo[_Counts]

    def serve(self, req: Request) raises -> Response:
        req.set(_Small(self.counts))
        req.set(_Large(self.counts))
        if req.path == "/twice":
            req.set(_Small(self.counts))
            req.set(_Large(self.counts))
        if req.path == "/raise":
            raise Error("on purpose")
        return ok()


def show(
    id: Path[Int], user: RequestValue[User], level: RequestValue[Level]
) raises -> String:
    return String(
        id.value,
        " ",
        user[].name,
        " ",
        level[].number,
        ", ",
        user[].note[byte=:11],
    )


def show_plainly(req: Request) raises -> Response:
    ref user = RequestValue[User].of(req)[]
    var level = RequestValue[Level].of(req)
    return ok(String(user.name, " ", level[].number, ", ", user.note[byte=:11]))


def show_in_a_stream(req: Request) raises -> Response:
    def write(req: Request, stream: ResponseStream) raises {}:
        stream.write_text(RequestValue[User].of(req)[].name)

    return Response.stream(write)


def find(req: Request) raises -> Response:
    var user = RequestValue[User].find(req)
    return ok(user.value()[].name if user else String("no user"))


def explain(req: Request) raises -> Response:
    try:
        return ok(RequestValue[User].of(req)[].name)
    except e:
        return ok(String(e))
