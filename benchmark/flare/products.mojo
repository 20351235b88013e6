"""Holds the product pool of one worker and answers from it.

Each worker builds its own, so that no count of references is shared between
cores.
"""

from std.math import sqrt

comptime LIST = 25
comptime PICKS = 100
comptime BINS = 10
comptime TOP = 5
comptime SEED: UInt64 = 0x9E37_79B9_7F4A_7C15
comptime FACTOR: UInt64 = 0x2545_F491_4F6C_DD1D


@fieldwise_init
struct Priced(ImplicitlyCopyable):
    """Holds of a product what the statistics need."""

    var price: Float64
    var brand: Int


struct Pool(Movable):
    """Holds the JSON texts of all products and the turn of each route."""

    var _texts: List[String]
    var _lists: List[String]
    var _priced: List[Priced]
    var _brands: List[String]
    var _read_next: Int
    var _list_next: Int
    var _generator: UInt64

    def __init__(out self, path: StringSlice) raises:
        """Reads the pool from a file with one product per line.

        Args:
            path: The file.

        Raises:
            An error if the file cannot be read or holds no products.
        """
        self._texts = List[String]()
        self._lists = List[String]()
        self._priced = List[Priced]()
        self._brands = List[String]()
        self._read_next = 0
        self._list_next = 0
        self._generator = SEED
        var content: String
        with open(String(path), "r") as file:
            content = file.read()
        for line in content.split("\n"):
            if line.startswith("{"):
                self._add(String(line.removesuffix(",")))
        if len(self._texts) == 0 or len(self._texts) % LIST != 0:
            raise Error("no pool of products: ", path)
        for first in range(0, len(self._texts), LIST):
            var products = self._texts[first : first + LIST]
            self._lists.append(
                String("[", StaticString(",").join(products), "]")
            )

    def _add(mut self, var text: String) raises:
        var brand = String(_between(text, '"brand":"', '"'))
        var price = Float64(_between(text, '"price":', ","))
        var number = 0
        while number < len(self._brands) and self._brands[number] != brand:
            number += 1
        if number == len(self._brands):
            self._brands.append(brand^)
        self._priced.append(Priced(price, number))
        self._texts.append(text^)

    def read(mut self) -> String:
        """Takes the next product.

        Returns:
            Its JSON text, shared with the pool.
        """
        var number = self._read_next
        self._read_next = (number + 1) % len(self._texts)
        return self._texts[number]

    def list(mut self) -> String:
        """Takes the next 25 products.

        Returns:
            A JSON array, shared with the pool.
        """
        var number = self._list_next
        self._list_next = (number + 1) % len(self._lists)
        return self._lists[number]

    def compute(mut self) -> String:
        """Sums up 100 products that are drawn.

        Returns:
            A JSON object.
        """
        var picks = List[Priced](capacity=PICKS)
        for _ in range(PICKS):
            picks.append(self._priced[self._draw()])

        def is_cheaper(a: Priced, b: Priced) -> Bool:
            return a.price < b.price

        sort(Span(picks), is_cheaper)
        var sum = Float64(0)
        for pick in picks:
            sum += pick.price
        var mean = sum / PICKS
        var squares = Float64(0)
        for pick in picks:
            squares += (pick.price - mean) * (pick.price - mean)
        var text = String(capacity_bytes=512)
        text.write('{"count":', PICKS, ',"mean_cents":', _cents(mean))
        text.write(',"standard_deviation_cents":')
        text.write(_cents(sqrt(squares / PICKS)), ',"histogram":[')
        _write_histogram(text, picks)
        text.write('],"top_brands":[')
        self._write_top_brands(text, picks)
        text.write("]}")
        return text^

    def _draw(mut self) -> Int:
        var state = self._generator
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        self._generator = state
        return Int((state * FACTOR) >> 32) % len(self._priced)

    def _write_top_brands(self, mut text: String, picks: List[Priced]):
        var counts = List[Int](length=len(self._brands), fill=0)
        for pick in picks:
            counts[pick.brand] += 1
        for place in range(TOP):
            var best = -1
            for number in range(len(counts)):
                if counts[number] > 0 and (
                    best < 0
                    or counts[number] > counts[best]
                    or (
                        counts[number] == counts[best]
                        and self._brands[number] < self._brands[best]
                    )
                ):
                    best = number
            if best < 0:
                return
            text.write(
                "," if place > 0 else "",
                '{"brand":"',
                self._brands[best],
                '","count":',
                counts[best],
                "}",
            )
            counts[best] = 0


def _write_histogram(mut text: String, picks: List[Priced]):
    # Sorted: the first is the lowest.
    var low = picks[0].price
    var width = picks[len(picks) - 1].price - low
    var bins = List[Int](length=BINS, fill=0)
    for pick in picks:
        var place = Int((pick.price - low) * BINS / width) if width > 0 else 0
        bins[min(place, BINS - 1)] += 1
    for place in range(BINS):
        text.write("," if place > 0 else "", bins[place])


def _cents(price: Float64) -> Int:
    return Int(price * 100 + 0.5)


def _between(
    text: StringSlice, before: StringSlice, after: StringSlice
) raises -> StringSlice[text.origin]:
    var begin = text.find(before)
    if begin < 0:
        raise Error("a product lacks ", before)
    begin += before.byte_length()
    var end = text.find(after, begin)
    return text[byte=begin:end]
