"""Must not build: nothing says how the type is read from a text."""

from flare.http import Path, Router


@fieldwise_init
struct Colour(Copyable):
    var number: Int


def show(colour: Path[Colour]) raises -> String:
    return String(colour.value.number)


def main() raises:
    var router = Router()
    router.get[show]("/{colour}")
