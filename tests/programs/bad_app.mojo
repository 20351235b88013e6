"""Must not build: the app holds a state that the router does not expect."""

from flare.http import App, Router


@fieldwise_init
struct Counters(Copyable):
    var hits: Int


@fieldwise_init
struct Names(Copyable):
    var first: String


def main() raises:
    var app = App(state=Counters(0), handler=Router[Names]())
    _ = app^
