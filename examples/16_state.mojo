# Run: mojo run -I . examples/16_state.mojo
# Prints: this worker answered 3 requests
# Prints: all workers answered 4 requests
"""Counts requests: per worker without a lock, and per process with one."""

from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct Counters(Copyable):
    var hits: Int
    var total: Shared[Int]


@fieldwise_init
struct CountHits[H: Handler](Handler):
    var inner: Self.H

    def serve(self, req: Request) raises -> Response:
        var counters = State[Counters].of(req)
        counters[].hits += 1
        counters[].total.update(add_one)
        return self.inner.serve(req)


def add_one(mut total: Int) raises:
    total += 1


def read(mut total: Int) raises -> Int:
    return total


def home(req: Request) raises -> Response:
    return ok("home")


# A router of a state hands it to the functions that ask for it; the build
# fails if one asks for another.
def stats(counters: State[Counters]) raises -> String:
    return String("this worker answered ", counters[].hits, " requests")


def main() raises:
    var total = Shared(0)
    var router = Router[Counters]()
    router.get("/", home)
    router.get[stats]("/stats")
    var app = App(state=Counters(0, total), handler=CountHits(router^))

    # A server copies the app for each worker, as is done here by hand.
    var first_worker = TestClient(app.copy())
    var second_worker = TestClient(app^)
    _ = first_worker.get("/")
    _ = first_worker.get("/")
    print(first_worker.get("/stats").text())
    print(second_worker.get("/stats").text())
    print("all workers answered", total.update(read), "requests")
