"""Measures reading and writing JSON: one product, and a list of them.

    bench_json PRODUCTS

PRODUCTS is the pool that benchmark/baselines/products.py writes.
"""

from std.benchmark import black_box
from std.sys import argv

from measure import measure

from flare.json import FromJson, ToJson, decode, dumps, loads

comptime LISTED = 25
"""How many products the list holds."""


@fieldwise_init
struct Attributes(Copyable, FromJson, ToJson):
    """Holds what a product is made of."""

    var color: String
    var country: String
    var finish: String
    var material: String
    var model: String
    var warranty: String
    var weight: String


@fieldwise_init
struct Product(Copyable, FromJson, ToJson):
    """Holds a product of the pool."""

    var id: String
    var name: String
    var brand: String
    var category: String
    var price: Float64
    var rating: Float64
    var review_count: Int
    var description: String
    var tags: List[String]
    var attributes: Attributes
    var images: List[String]


def main() raises:
    """Prints the figures.

    Raises:
        Error: If the pool cannot be read.
    """
    var texts = List[String]()
    with open(String(argv()[1]), "r") as file:
        for line in file.read().split("\n"):
            if line.startswith("{"):
                texts.append(String(line.removesuffix(",")))
    var list = List[String](capacity=LISTED)
    for i in range(LISTED):
        list.append(texts[i])
    measure_all[Product]("product", texts[0])
    measure_all[List[Product]](
        "list", String("[", StaticString(",").join(list), "]")
    )


def measure_all[T: FromJson & ToJson](name: StaticString, text: String) raises:
    """Measures both directions of one text.

    Parameters:
        T: What the text is read into.

    Args:
        name: What the text holds.
        text: The text.

    Raises:
        Error: If the text is malformed.
    """
    var octets = text.byte_length()

    def read_value(i: Int) raises {imm} -> Int:
        return len(loads(black_box(text)))

    measure(String("json/loads ", name), read_value, octets=octets)

    def read_struct(i: Int) raises {imm} -> Int:
        var value = decode[T](black_box(text))
        return Int(Pointer(to=value))

    measure(String("json/decode ", name), read_struct, octets=octets)
    var value = loads(text)

    def write_value(i: Int) raises {imm} -> Int:
        return dumps(black_box(value)).byte_length()

    measure(String("json/dumps value ", name), write_value, octets=octets)
    var typed = decode[T](text)

    def write_struct(i: Int) raises {imm} -> Int:
        return dumps(typed).byte_length()

    measure(String("json/dumps struct ", name), write_struct, octets=octets)
