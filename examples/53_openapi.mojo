# Run: mojo run -I . examples/53_openapi.mojo
# Prints: 3.1.0 Shop
# Prints: /items get: Lists the items -> 200 400
# Prints: /items post: Adds an item -> 201 400 415 422
# Prints: /items/{id} get: Shows an item -> 200 400 404
# Prints: {"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number","format":"double"},"note":{"type":["string","null"]}},"required":["name","price"]}
# Prints: /docs 200 text/html; charset=utf-8
"""Describes an API as OpenAPI, out of the types of its functions."""

from flare.http import ProblemDetails
from flare.openapi import ApiOperation, ApiRouter, OpenApi
from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct Item(Copyable, FromJson, ToJson):
    var name: String
    var price: Float64
    var note: Optional[String]


def list_items(limit: Query["limit", Int]) -> Json[List[Item]]:
    var items: List[Item] = [Item("lamp", 9.5, None)]
    return Json(items^)


def add_item(item: Json[Item]) -> Json[Item]:
    return Json(item.value.copy(), status=201)


def show_item(id: Path[Int]) raises -> Response:
    if id.value > 0:
        return ProblemDetails(404, "There is no such item.").into_response()
    return Json(Item("lamp", 9.5, None)).into_response()


def main() raises:
    var api = ApiRouter(tag="items")
    api.get("/items", list_items, "Lists the items")
    api.post("/items", add_item, ApiOperation("Adds an item").answers(201))
    # The type of a `Response` says nothing: the notes do.
    var notes = ApiOperation("Shows an item").answers[Item](200).problem(404)
    api.get("/items/:id", show_item, notes^)
    api.publish(OpenApi("Shop", "1.0"))

    var client = TestClient(api^)
    var document = client.get("/openapi.json").json()
    print(document["openapi"].text(), document["info"]["title"].text())
    for path in document["paths"].members():
        for method in path.value.members():
            ref operation = method.value
            var line = String(path.key, " ", method.key, ": ")
            line.write(operation["summary"].text(), " ->")
            for response in operation["responses"].members():
                line.write(" ", response.key)
            print(line)
    print(dumps(document["components"]["schemas"]["Item"]))
    var page = client.get("/docs")
    print("/docs", page.status, page.headers.get("Content-Type").value())
