"""Must not build: the struct that a handler returns is not written as JSON."""

from flare.http import Json, Router


@fieldwise_init
struct Item(Copyable):
    var price: Int


def cheapest() raises -> Json[Item]:
    return Json(Item(1))


def main() raises:
    var router = Router()
    router.get("/items/cheapest", cheapest)
