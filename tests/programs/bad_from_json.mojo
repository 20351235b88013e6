"""Must not build: the struct that a handler takes is not read from JSON."""

from flare.http import Json, Router


@fieldwise_init
struct Item(Copyable):
    var price: Int


def add(item: Json[Item]) raises -> String:
    return String(item.value.price)


def main() raises:
    var router = Router()
    router.post("/items", add)
