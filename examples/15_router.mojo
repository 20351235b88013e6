# Run: mojo run -I . examples/15_router.mojo
# Prints: GET /users/7 -> 200 user 7
# Prints: GET /items/4?page=2 -> 200 item 4, page 2
# Prints: GET /items/four -> 400 {"type":"about:blank","title":"Bad Request","status":400
# Prints: DELETE /users -> 405 method not allowed
"""Routes by method and path, with parameters as text and as types."""

from flare.prelude import *
from flare.testing import TestClient


def get_user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


def create_user(req: Request) raises -> Response:
    return created(req.text(), location="/users/8")


# The types of the parameters declare the function's needs. A request that lacks
# it is answered 400 and never gets here.
def show_item(id: Path[Int], page: Query["page", Int]) raises -> String:
    return String("item ", id.value, ", page ", page.value.or_else(1))


def version() -> StaticString:
    return "1.0"


def main() raises:
    var api = Router()
    api.get[version]("/version")

    var router = Router()
    router.get("/users/:id", get_user)
    router.post("/users", create_user)
    router.get[show_item]("/items/{id}")
    router.mount("/api", api)

    # `HttpServer.bind(…).serve(router^)` would serve it; a test asks directly.
    var client = TestClient(router^)
    for target in [
        "/users/7",
        "/items/4?page=2",
        "/items/four",
        "/api/version",
    ]:
        show("GET", target, client.get(target))
    show("POST", "/users", client.post("/users", "Ada"))
    show("DELETE", "/users", client.delete("/users"))


def show(method: StringSlice, target: StringSlice, response: Response) raises:
    print(method, target, "->", response.status, response.text())
    var allow = response.headers.get("Allow")
    if allow:
        print("  Allow:", allow.value())
