"""Serves an API with its description (tests/python/test_openapi.py).

Arguments: the backend.
"""

from std.sys import argv

from flare.http import (
    Extractor,
    Form,
    FromFields,
    FromText,
    HttpServer,
    Json,
    Path,
    ProblemDetails,
    Problems,
    Query,
    QueryOf,
    Rejection,
    Request,
    Response,
    ServerConfig,
    State,
    Validated,
    App,
    no_content,
    ok,
    redirect,
)
from flare.json import (
    FromJson,
    JsonDescriptions,
    JsonNames,
    JsonOmitsNone,
    JsonReader,
    JsonRefusesUnknownFields,
    JsonSchema,
    JsonWriter,
    SchemaSet,
    ToJson,
)
from flare.net import SocketAddr
from flare.openapi import (
    ApiOperation,
    ApiRouter,
    DescribesRequest,
    OpenApi,
    RouteDescription,
    SecurityScheme,
)
from flare.runtime import BackendKind

comptime KEY: StaticString = "s3cret"


@fieldwise_init
struct Color(
    Copyable, FromJson, FromText, ImplicitlyCopyable, JsonSchema, ToJson
):
    var is_red: Bool

    @staticmethod
    def from_text(text: StringSlice) raises -> Self:
        if text == "red" or text == "green":
            return Self(text == "red")
        raise Error("unknown color")

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        return Self.from_text(json.string())

    def to_json(self, json: JsonWriter) raises:
        json.string("red" if self.is_red else "green")

    @staticmethod
    def json_schema(mut schemas: SchemaSet) raises -> String:
        return '{"type":"string","enum":["red","green"]}'


@fieldwise_init
struct Size(Copyable, FromJson, JsonRefusesUnknownFields, ToJson):
    var width: UInt32
    var height: UInt32


@fieldwise_init
struct Item(Copyable, FromJson, JsonDescriptions, JsonNames, ToJson, Validated):
    var name: String
    var price: Float64
    var stock: Int
    var color: Color
    var size: Optional[Size]
    var note: Optional[String]
    var tags: List[String]
    var prices: Dict[String, Float64]
    var unit_number: UInt64

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        return "unitNumber" if field == "unit_number" else field

    @staticmethod
    def json_description(field: StaticString) -> StaticString:
        if field == "price":
            return 'In "euros" <without> taxes.'
        return ""

    def validate(self, mut problems: Problems):
        problems.require(self.price >= 0, "/price", "must not be negative")


@fieldwise_init
struct Folder(Copyable, FromJson, ToJson):
    var name: String
    var sizes: List[Size]
    var by_name: Dict[String, Optional[Size]]


@fieldwise_init
struct Page[T: Copyable & Deinitable & ToJson](Copyable, JsonOmitsNone, ToJson):
    var items: List[Self.T]
    var next: Optional[Int]


@fieldwise_init
struct Search(FromFields, Validated):
    var text: String
    var limit: Optional[Int]
    var colors: List[Color]
    var is_new: Optional[Bool]

    def validate(self, mut problems: Problems):
        problems.require(
            self.limit.or_else(1) > 0, "/limit", "must be positive"
        )


@fieldwise_init
struct Order(FromFields):
    var name: String
    var count: Int
    var note: Optional[String]


@fieldwise_init
struct ApiKey(DescribesRequest, Extractor):
    comptime PATH_PARAMETERS: Int = 0

    @staticmethod
    def extract[
        RouterState: AnyType, first_parameter: Int
    ](req: Request) raises -> Self:
        var key = req.headers.get("x-api-key")
        if not key or key.value() != KEY:
            raise Error(Rejection(401, "X-Api-Key is missing or wrong"))
        return Self()

    @staticmethod
    def describe_request[
        first_parameter: Int
    ](mut route: RouteDescription, mut schemas: SchemaSet) raises:
        route.requires(SecurityScheme.header("X-Api-Key"))
        route.answers(401, media_type="text/plain", schema='{"type":"string"}')


@fieldwise_init
struct Shop(Copyable):
    var items: List[Item]


def list_items(
    shop: State[Shop], limit: Query["limit", Int]
) -> Json[Page[Item]]:
    var items = List[Item]()
    for item in shop[].items:
        if len(items) == limit.value.or_else(100):
            return Json(Page[Item](items^, len(items)))
        items.append(item.copy())
    return Json(Page[Item](items^, None))


def show_item(shop: State[Shop], id: Path[Int]) raises -> Response:
    if id.value < 0 or id.value >= len(shop[].items):
        return ProblemDetails(404, "There is no such item.").into_response()
    return Json(shop[].items[id.value].copy()).into_response()


def add_item(shop: State[Shop], item: Json[Item]) -> Json[Item]:
    shop[].items.append(item.value.copy())
    return Json(item.value.copy(), status=201)


def remove_item(key: ApiKey, id: Path[Int]) raises -> Response:
    return no_content()


def echo_folder(folder: Json[Folder]) -> Json[Folder]:
    return Json(folder.value.copy())


def search(search: QueryOf[Search]) -> Json[List[Color]]:
    return Json(search.value.colors.copy())


def order(order: Form[Order]) -> String:
    return String(order.value.name, " x ", order.value.count)


def paint(color: Path[Color], times: Path[UInt64]) -> String:
    return String("red" if color.value.is_red else "green", times.value)


def read_file(path: Path[String]) -> String:
    return path.value


def old_place(req: Request) raises -> Response:
    return redirect("/items")


def upload(req: Request) raises -> Response:
    return ok(String(len(req.text().as_bytes())))


def main() raises:
    var api = ApiRouter[Shop](tag="items")
    api.get("/items", list_items, "Lists the items")
    api.get(
        "/items/:id",
        show_item,
        ApiOperation("Shows an item")
        .answers[Item](200)
        .problem(404, "There is no such item.")
        .parameter("id", "The place of the item, from 0."),
    )
    api.post("/items", add_item, ApiOperation("Adds an item").answers(201))
    api.delete(
        "/items/:number",
        remove_item,
        ApiOperation("Removes an item").answers(204),
    )
    api.put("/folders", echo_folder, ApiOperation(tag="folders"))
    api.get("/search", search, ApiOperation("Finds colors", tag="search"))
    api.post("/orders", order, ApiOperation("Orders", tag="orders"))
    api.get("/paint/:color/:times", paint, "Paints")
    api.get("/files/*path", read_file, "Reads a file")
    api.get("/old", old_place, ApiOperation("Moved").answers(302).deprecated())
    api.post(
        "/uploads",
        upload,
        ApiOperation("Takes a file")
        .accepts("application/octet-stream")
        .answers(200),
    )
    api.get("/secret", old_place, ApiOperation().hidden())
    api.publish(
        OpenApi(
            "Shop",
            "1.2",
            description="Sells <b>things</b> & more.",
        )
    )
    var backend = BackendKind.IO_URING
    if argv()[1] == "epoll":
        backend = BackendKind.EPOLL
    var server = HttpServer.bind(
        SocketAddr.localhost(0), ServerConfig(backend=backend)
    )
    print(server.local_address().port, flush=True)
    server.serve(App(state=Shop([]), handler=api^))
