# Run: mojo run -I . examples/27_json.mojo
# Prints: items[1].price: expected a number, got a string
"""Reads JSON by keys and into structs, writes it, and says what is wrong."""

from flare.json import FromJson, JsonError, JsonNames, ToJson
from flare.json import decode, dumps, loads


@fieldwise_init
struct Item(Copyable, FromJson, ToJson):
    var name: String
    var price: Float64


@fieldwise_init
struct Order(FromJson, JsonNames, ToJson):
    var order_id: Int
    var items: List[Item]
    var note: Optional[String]

    @staticmethod
    def json_name(field: StaticString) -> StaticString:
        return "orderId" if field == "order_id" else field


def main() raises:
    var data = loads('{"json": {"hello": "flare", "big": 9007199254740993}}')
    print(data["json"]["hello"].string_value())
    print(data["json"]["big"].int_value(), "exactly")

    var order = decode[Order](
        '{"orderId": 7, "items": [{"name": "lamp", "price": 12.99}]}'
    )
    order.items.append(Item("desk", 99.5))
    print(dumps(order))
    print(dumps(loads(dumps(order)), indent=2))

    try:
        _ = decode[Order](
            '{"orderId": 8, "items": [{"name": "rug", "price": 5},'
            ' {"name": "cup", "price": "3.50"}]}'
        )
    except e:
        var error = JsonError.of(e)
        if error:
            print(error.value().path, error.value().reason, sep=": ")
