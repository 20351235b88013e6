# Run: mojo run -I . examples/41_public_api.mojo
# Prints: https://shop.example: 200, may read: https://shop.example
# Prints: https://evilshop.example: 200, may read: no
# Prints: preflight: 204 GET, HEAD, POST, PUT, PATCH, DELETE
# Prints: too long: 413
# Prints: too many: 429
"""Protects an API that pages of one other origin use."""

from flare.http import Cors, CorsConfig, Limit, RateLimit, RateLimitConfig
from flare.prelude import *
from flare.testing import TestClient


def items(req: Request) raises -> Response:
    return ok_json("[]")


def add(req: Request) raises -> Response:
    return created_json(req.text(), "/items/1")


def main() raises:
    var router = Router()
    router.get("/items", items)
    router.post("/items", add)
    # Outside in: pages can also read the refusals. Preflights do not count.
    var limited = RateLimit(
        Limit(router^, body_octets=1024, time_ms=500),
        RateLimitConfig(requests=3, window_seconds=60),
    )
    var api = Cors(
        limited^,
        CorsConfig(origins=["https://shop.example"], credentials=True),
    )

    var client = TestClient(api^)
    for origin in ["https://shop.example", "https://evilshop.example"]:
        var headers = HeaderMap()
        headers.set("Origin", origin)
        var response = client.get("/items", headers)
        var reader = value_of(response, "Access-Control-Allow-Origin")
        print(origin, ": ", response.status, ", may read: ", reader, sep="")

    var headers = HeaderMap()
    headers.set("Origin", "https://shop.example")
    headers.set("Access-Control-Request-Method", "PUT")
    var answer = client.request("OPTIONS", "/items", "", headers)
    var methods = value_of(answer, "Access-Control-Allow-Methods")
    print("preflight:", answer.status, methods)
    print("too long:", client.post("/items", "x" * 1025).status)
    print("too many:", client.get("/items").status)


def value_of(response: Response, name: StringSlice) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else "no"
