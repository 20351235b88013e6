"""Measures what `Router.serve` adds to a handler, without server and socket.

The handler is called directly, and behind routers of 1 and of 200 routes, as a
plain function and as one of extractors, also with a description.
"""

from std.benchmark import black_box, keep

from measure import measure

from flare.core import Buffer, heap_create
from flare.http import Handler, Path, Request, Response, Router, no_content
from flare.http.exchange import Exchange, ExchangeState
from flare.http.handler import FnHandler
from flare.openapi import ApiRouter
from flare.proto.h1 import H1Limits, H1Machine, H1State, Role


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a request is not answered.
    """
    var plain = Router()
    plain.get("/users/:id", by_name)
    var typed = Router()
    typed.get[by_place]("/users/{id}")
    var described = ApiRouter()
    described.get[by_place]("/users/{id}")
    var many = Router()
    for i in range(199):
        many.get(String("/resource-", i, "/:id"), by_name)
    many.get("/users/:id", by_name)
    for text in ["/users/1234", "/users/%31234"]:
        var exchange = exchange_of(text)
        measure_handler("function", text, FnHandler(nothing), exchange)
        measure_handler("1 route", text, plain, exchange)
        measure_handler("1 route, Path[Int]", text, typed, exchange)
        measure_handler("1 route, ApiRouter", text, described, exchange)
        measure_handler("200 routes", text, many, exchange)


def nothing(req: Request) raises -> Response:
    return no_content()


def by_name(req: Request) raises -> Response:
    keep(req.param("id").byte_length())
    return no_content()


def by_place(id: Path[Int]) raises -> Response:
    keep(id.value)
    return no_content()


def exchange_of(target: StringSlice) raises -> Exchange:
    var octets = heap_create(Buffer())
    octets[].append(
        String("GET ", target, " HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()
    )
    var machine = H1Machine(heap_create(H1State(Role.SERVER, H1Limits())))
    var exchange = heap_create(ExchangeState())
    exchange[].begin()
    var event = machine.next_event(
        octets[].span(),
        Pointer(to=exchange[].head).unsafe_origin_cast[MutUntrackedOrigin](),
    )
    exchange[].octets = octets[].unsafe_front()
    exchange[].octet_count = event.consumed
    return exchange


def measure_handler[
    H: Handler
](
    name: StringSlice, target: StringSlice, handler: H, exchange: Exchange
) raises:
    def serve(i: Int) raises {imm} -> Int:
        return handler.serve(
            Request(unsafe_exchange=black_box(exchange))
        ).status

    measure(String("router/", name, ", ", target), serve)
