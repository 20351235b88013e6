"""Measures what validation adds to reading a value, and what a refusal costs.
"""

from std.benchmark import black_box

from measure import measure

from flare.http import Problems, Validated
from flare.json import FromJson, decode, problems_of


@fieldwise_init
struct Item(Copyable, FromJson, Validated):
    """One of ten in an order."""

    var name: String
    """A text."""
    var price: Float64
    """A number."""

    def validate(self, mut problems: Problems):
        """Checks both fields.

        Args:
            problems: Receives the problems.
        """
        problems.require(self.name != "", "/name", "must not be empty")
        problems.require(self.price > 0, "/price", "must be positive")


@fieldwise_init
struct Order(Copyable, FromJson, Validated):
    """What a client sends."""

    var items: List[Item]
    """Ten items."""

    def validate(self, mut problems: Problems):
        """Checks the items.

        Args:
            problems: Receives the problems.
        """
        problems.require(len(self.items) > 0, "/items", "must not be empty")
        problems.at("items", self.items)


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a text is not read.
    """
    var good = _text('{"name":"a lamp","price":12.5}')
    var wrong = _text('{"name":3}')
    var order = decode[Order](good)

    def reads(i: Int) raises {imm} -> Int:
        return len(decode[Order](black_box(good)).items)

    measure("validation/decode 10 items", reads, octets=good.byte_length())

    def validates(i: Int) raises {imm} -> Int:
        var problems = Problems()
        black_box(order).validate(problems)
        return len(problems)

    measure("validation/validate 10 items", validates)

    def first(i: Int) raises {imm} -> Int:
        try:
            return len(decode[Order](black_box(wrong)).items)
        except:
            return i

    measure(
        "validation/the first of 20 errors", first, octets=wrong.byte_length()
    )

    def all(i: Int) raises {imm} -> Int:
        return len(problems_of[Order](black_box(wrong).as_bytes()))

    measure("validation/all of 20 errors", all, octets=wrong.byte_length())

    def answered(i: Int) raises {imm} -> Int:
        var problems = Problems()
        for _ in range(20):
            problems.add(black_box("/items/3/price"), "must be positive")
        return String(problems.rejection()).byte_length()

    measure("validation/the answer of 20 problems", answered)


def _text(item: StaticString) -> String:
    var text = String('{"items":[')
    for i in range(10):
        if i > 0:
            text.write(",")
        text.write(item)
    text.write("]}")
    return text^
