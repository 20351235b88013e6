# Run: mojo run -I . examples/46_validation.mojo
# Prints: 200 ordered 1
# Prints: 422 /items must not be empty
# Prints: 422 /items/0/name must not be empty, /items/0/price must be positive
# Prints: 422 /items/0/name expected a string, got a number, /note the field is missing
"""Lists everything that is wrong with a request in one answer."""

from flare.http import Problems, Validated
from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct Item(Copyable, FromJson, Validated):
    var name: String
    var price: Float64

    def validate(self, mut problems: Problems):
        problems.require(self.name != "", "/name", "must not be empty")
        problems.require(self.price > 0, "/price", "must be positive")


@fieldwise_init
struct Order(Copyable, FromJson, Validated):
    var items: List[Item]
    var note: String

    def validate(self, mut problems: Problems):
        problems.require(len(self.items) > 0, "/items", "must not be empty")
        problems.at("items", self.items)


def place(order: Json[Order]) -> String:
    return String("ordered ", len(order.value.items))


def main() raises:
    var router = Router()
    router.post("/orders", place)
    var client = TestClient(router^)
    var headers = HeaderMap()
    headers.append("Content-Type", "application/json")
    for content in [
        '{"items": [{"name": "lamp", "price": 9.5}], "note": ""}',
        '{"items": [], "note": ""}',
        '{"items": [{"name": "", "price": 0}], "note": ""}',
        '{"items": [{"name": 7, "price": 1}]}',
    ]:
        var response = client.post("/orders", content, headers)
        if response.status == 200:
            print(200, response.text())
            continue
        var problems = List[String]()
        for problem in response.json()["errors"].elements():
            problems.append(
                problem["pointer"].string_value()
                + " "
                + problem["detail"].string_value()
            )
        print(response.status, ", ".join(problems))
