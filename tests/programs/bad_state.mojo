"""Must not build: the function wants a state that the router does not have."""

from flare.http import Router, State


@fieldwise_init
struct Counters(Copyable):
    var hits: Int


@fieldwise_init
struct Names(Copyable):
    var first: String


def count(counters: State[Counters]) raises -> String:
    return String(counters[].hits)


def main() raises:
    var router = Router[Names]()
    router.get[count]("/")
