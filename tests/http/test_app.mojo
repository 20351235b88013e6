"""Tests states of workers and the value that all share."""

from std.testing import assert_raises

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.http import (
    App,
    Handler,
    Request,
    Response,
    Router,
    Shared,
    State,
    ok,
)
from flare.runtime import Scheduler, sleep, spawn
from flare.sys.thread import join_thread, start_thread
from flare.testing import TestClient
from tests.asserting import assert_equal
from tests.http.support import asked


def test_every_handler_of_a_worker_sees_the_same_state() raises:
    var client = TestClient(App(state=_Counters(0), handler=_router()))
    assert_equal(asked(client, "/plain"), "200 1")
    assert_equal(asked(client, "/function"), "200 2")
    assert_equal(asked(client, "/plain"), "200 3")


def test_a_copy_has_a_state_of_its_own() raises:
    var app = App(state=_Counters(5), handler=_router())
    app.state().hits = 6
    var first = TestClient(app.copy())
    var second = TestClient(app^)
    assert_equal(asked(first, "/plain"), "200 7")
    assert_equal(asked(first, "/plain"), "200 8")
    assert_equal(asked(second, "/plain"), "200 7")


def test_the_state_is_at_the_same_place_after_a_move() raises:
    var app = App(state=_Counters(0), handler=_plain_router())
    var place = Int(Pointer(to=app.state()))
    var moved = app^
    assert_equal(Int(Pointer(to=moved.state())), place)
    _ = moved^


def test_a_handler_without_app_gets_a_clear_error() raises:
    var exchange_error = _error_of(_plain_router())
    assert_equal(
        exchange_error,
        (
            "http.no_state no App is around the handler that wants"
            " tests.http.test_app._Counters"
        ),
    )


def test_a_state_of_another_type_is_a_clear_error() raises:
    var app = App(state=_Other(1), handler=_plain_router())
    assert_equal(
        _error_of(app),
        (
            "http.no_state the App holds tests.http.test_app._Other, not"
            " tests.http.test_app._Counters"
        ),
    )


def test_an_app_within_an_app_hides_the_outer_state() raises:
    var inner = App(state=_Other(7), handler=_ReadsOther())
    var router = Router()
    router.get("/inner", inner^)
    router.get("/plain", _plain)
    var client = TestClient(App(state=_Counters(0), handler=router^))
    assert_equal(asked(client, "/inner"), "200 7")
    assert_equal(asked(client, "/plain"), "200 1")


def test_the_outer_state_is_back_behind_an_inner_app() raises:
    var inner = App(state=_Other(7), handler=_ReadsOther())
    var client = TestClient(App(state=_Counters(3), handler=_AddsHits(inner^)))
    assert_equal(asked(client, "/"), "200 7 and 3")


def test_each_worker_builds_its_own_state_once() raises:
    var app = App.per_worker[_build](_BuiltRouter())
    var first = TestClient(app.copy())
    assert_equal(asked(first, "/"), "200 worker 0 asked 1")
    assert_equal(asked(first, "/"), "200 worker 0 asked 2")
    var second = TestClient(app^)
    assert_equal(asked(second, "/"), "200 worker 0 asked 1")


def test_a_state_is_built_out_of_an_argument() raises:
    # A text that Mojo stores on the heap.
    var place = String("/a/path/of/more/than/23/octets")
    var app = App.per_worker[_build_at](place, _BuiltRouter())
    var first = TestClient(app.copy())
    var other = TestClient(
        App.per_worker[_build_at](String("b"), _BuiltRouter())
    )
    assert_equal(asked(first, "/"), String("200 ", place, " 0 asked 1"))
    assert_equal(asked(first, "/"), String("200 ", place, " 0 asked 2"))
    assert_equal(asked(other, "/"), "200 b 0 asked 1")
    var second = TestClient(app^)
    assert_equal(asked(second, "/"), String("200 ", place, " 0 asked 1"))


def test_each_copy_of_the_argument_is_destroyed_once() raises:
    var drops = Shared(_Counters(0))
    var app = App.per_worker[_build_counted](_Counted(drops), _BuiltRouter())
    var client = TestClient(app.copy())
    assert_equal(asked(client, "/"), "200 counted asked 1")
    _ = client^
    assert_equal(drops.update(_hits), 1)
    _ = app^
    assert_equal(drops.update(_hits), 2)


def test_a_request_waits_for_the_state_that_another_builds() raises:
    var client = heap_create(TestClient(App.per_worker[_build](_BuiltRouter())))

    def ask() raises {var client} -> String:
        return asked(client[], "/")

    var first = spawn(ask)
    var second = spawn(ask)
    var texts = [first^.join(), second^.join()]
    sort(texts)
    assert_equal(texts[0], "200 worker 0 asked 1")
    assert_equal(texts[1], "200 worker 0 asked 2")
    heap_destroy(client)


def test_a_state_that_cannot_be_built_is_500() raises:
    var client = TestClient(App.per_worker[_cannot](_BuiltRouter()))
    assert_equal(asked(client, "/"), "500 Internal Server Error")
    assert_equal(asked(client, "/"), "500 Internal Server Error")


def test_copies_of_a_shared_value_are_one() raises:
    var shared = Shared(_Counters(1))
    var copy = shared

    def add(mut counters: _Counters) raises {}:
        counters.hits += 10

    copy.update(add)
    assert_equal(shared.update(_hits), 11)
    _ = copy^


def test_updates_of_many_threads_are_all_counted() raises:
    var shared = heap_create(Shared(_Counters(0)))
    Scheduler.start(4, False, _count_up, shared.unsafe_bitcast[NoneType]())
    assert_equal(shared[].update(_hits), 40_000)
    heap_destroy(shared)


def test_an_error_in_an_update_gives_the_lock_back() raises:
    var shared = Shared(_Counters(0))
    with assert_raises(contains="no more"):
        shared.update(_raises)
    assert_equal(shared.update(_hits), 1)


def test_an_update_within_an_update_is_refused() raises:
    var shared = Shared(_Counters(0))

    def again(mut counters: _Counters) raises {var shared}:
        shared.update(_raises)

    with assert_raises(contains="http.shared_again"):
        shared.update(again)
    assert_equal(shared.update(_hits), 0)


def test_an_update_may_not_wait() raises:
    # Waiting once gives this thread a loop.
    sleep(0)
    var shared = Shared(_Counters(0))
    with assert_raises(contains="sleep"):
        shared.update(_waits)
    assert_equal(shared.update(_hits), 1)
    sleep(0)


def test_an_update_may_not_wait_where_nothing_has_waited() raises:
    # A worker that is asked before its loop begins, or a thread of the user's.
    var refusals = heap_create(_Refusals(Shared(_Counters(0))))
    var thread = start_thread(_update_bare, refusals.unsafe_bitcast[NoneType]())
    assert_equal(thread[0], 0)
    join_thread(thread[1])
    assert_equal(refusals[].sleep, "net.other sleep errno=35")
    assert_equal(refusals[].nested, "net.other sleep errno=35")
    assert_equal(refusals[].spawn, "net.other spawn errno=35")
    assert_equal(refusals[].after, "no error")
    heap_destroy(refusals)


def _router() raises -> Router[_Counters]:
    var router = Router[_Counters]()
    router.get("/plain", _plain)
    router.get[_function]("/function")
    return router^


def _plain_router() raises -> Router[]:
    var router = Router()
    router.get("/", _plain)
    return router^


def _plain(req: Request) raises -> Response:
    var state = State[_Counters].of(req)
    state[].hits += 1
    return ok(String(state[].hits))


def _function(state: State[_Counters]) -> String:
    state[].hits += 1
    return String(state[].hits)


def _hits(mut counters: _Counters) raises -> Int:
    return counters.hits


def _raises(mut counters: _Counters) raises:
    counters.hits += 1
    raise Error("no more")


def _waits(mut counters: _Counters) raises:
    counters.hits += 1
    sleep(1)


@fieldwise_init
struct _Refusals(Movable):
    var shared: Shared[_Counters]
    var sleep: String
    var nested: String
    var spawn: String
    var after: String

    def __init__(out self, var shared: Shared[_Counters]):
        self = Self(shared^, "", "", "", "")


def _update_bare(argument: Erased) abi("C") -> Optional[Erased]:
    var refusals = argument.unsafe_bitcast[_Refusals]()
    refusals[].sleep = _refusal(refusals[].shared, _waits)
    refusals[].nested = _refusal(refusals[].shared, _waits_after_another)
    refusals[].spawn = _refusal(refusals[].shared, _spawns)
    try:
        sleep(0)
        refusals[].after = "no error"
    except e:
        refusals[].after = String(e)
    return None


def _refusal(
    shared: Shared[_Counters], body: def(mut _Counters) raises thin -> None
) -> String:
    try:
        shared.update(body)
    except e:
        return String(e)
    return "no error"


def _waits_after_another(mut counters: _Counters) raises:
    Shared(_Counters(0)).update(_add_one)
    sleep(0)


def _spawns(mut counters: _Counters) raises:
    def body() raises {}:
        pass

    spawn(body).join()


def _count_up(argument: Erased, index: Int):
    var shared = argument.unsafe_bitcast[Shared[_Counters]]()
    try:
        for _ in range(10_000):
            shared[].update(_add_one)
    except:
        pass


def _add_one(mut counters: _Counters) raises:
    counters.hits += 1


def _build(worker: Int) raises -> _Built:
    # Others that come meanwhile wait for it.
    sleep(1)
    return _Built(String("worker ", worker))


def _cannot(worker: Int) raises -> _Built:
    raise Error("the database is away")


def _error_of[H: Handler](handler: H) raises -> String:
    # The text of an error stays inside the server, so ask around the client.
    var text = heap_create(String())
    _ = TestClient(_Catches(handler.copy(), text)).get("/")
    var copy = text[]
    heap_destroy(text)
    return copy^


@fieldwise_init
struct _Counters(Copyable):
    var hits: Int


@fieldwise_init
struct _Other(Copyable):
    var number: Int


struct _Built(Movable):
    var name: String
    var asked: Int

    def __init__(out self, var name: String):
        self.name = name^
        self.asked = 0


@fieldwise_init
struct _Counted(Copyable):
    var drops: Shared[_Counters]

    def __deinit__(deinit self):
        def add(mut counters: _Counters) raises {}:
            counters.hits += 1

        try:
            self.drops.update(add)
        except:
            pass


def _build_at(worker: Int, place: String) raises -> _Built:
    return _Built(String(place, " ", worker))


def _build_counted(worker: Int, counted: _Counted) raises -> _Built:
    return _Built("counted")


@fieldwise_init
struct _BuiltRouter(Handler):
    def serve(self, req: Request) raises -> Response:
        var state = State[_Built].of(req)
        state[].asked += 1
        return ok(String(state[].name, " asked ", state[].asked))


@fieldwise_init
struct _ReadsOther(Handler):
    def serve(self, req: Request) raises -> Response:
        return ok(String(State[_Other].of(req)[].number))


@fieldwise_init
struct _AddsHits[H: Handler](Handler):
    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        var response = self.inner.serve(req)
        return ok(
            String(response.text(), " and ", State[_Counters].of(req)[].hits)
        )


@fieldwise_init
struct _Catches[H: Handler](Handler):
    var inner: Self.H
    var text: PointerTo[String]

    def serve(self, req: Request) raises -> Response:
        try:
            return self.inner.serve(req)
        except e:
            self.text[] = String(e)
            return ok()


comptime TESTS = __functions_in_module()
