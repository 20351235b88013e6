"""Reads and writes JSON of any depth and number
(tests/python/test_loopback_json.py)."""

from std.memory import ArcPointer
from std.sys import argv

from flare.http import (
    HttpServer,
    Json,
    Request,
    Response,
    Router,
    ServerConfig,
    ok,
)
from flare.json import (
    FromJson,
    JsonOmitsNone,
    JsonReader,
    JsonWriter,
    ToJson,
    Value,
    dumps,
)
from flare.net import SocketAddr
from flare.runtime import BackendKind


@fieldwise_init
struct Items(Copyable, FromJson, ToJson):
    var items: List[Value]


@fieldwise_init
struct Members(Copyable, FromJson, ToJson):
    var items: Dict[String, Value]


@fieldwise_init
struct Tree(Copyable, FromJson, JsonOmitsNone, ToJson):
    var id: Int
    var branches: List[Branch]
    # With these a level takes more stack than the limits count on.
    var label: Optional[String]
    var data: Optional[Value]
    var weights: Optional[List[Float64]]
    var leaves: Optional[List[Leaf]]
    var names: Optional[Dict[String, String]]


@fieldwise_init
struct Leaf(Copyable, FromJson, ToJson):
    var id: Int
    var label: String
    var weight: Float64


@fieldwise_init
struct Branch(Copyable, FromJson, ToJson):
    var tree: ArcPointer[Tree]

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        return Self(ArcPointer(Tree.from_json(json)))

    def to_json(self, json: JsonWriter) raises:
        self.tree[].to_json(json)


def part(req: Request) raises -> Response:
    return ok(dumps(req.json()["data"]))


def shown(req: Request) raises -> Response:
    return ok(String(req.json()["data"]))


def indented(req: Request) raises -> Response:
    return ok(dumps(req.json()["data"], indent=2))


def counted(req: Request) raises -> Response:
    return ok(String(len(req.json()["items"])))


def listed(items: Json[Items]) raises -> String:
    return String(len(items.value.items))


def named(members: Json[Members]) raises -> String:
    return String(len(members.value.items))


def mirrored(tree: Json[Tree]) raises -> Json[Tree]:
    return Json(tree.value.copy())


def main() raises:
    var config = ServerConfig()
    config.backend = (
        BackendKind.EPOLL if argv()[1] == "epoll" else BackendKind.IO_URING
    )
    var server = HttpServer.bind(SocketAddr.parse("127.0.0.1:0"), config^)
    print(server.local_address().port, flush=True)
    var router = Router()
    router.post("/part", part)
    router.post("/shown", shown)
    router.post("/indented", indented)
    router.post("/counted", counted)
    router.post[listed]("/listed")
    router.post[named]("/named")
    router.post[mirrored]("/mirrored")
    server.serve(router^)
