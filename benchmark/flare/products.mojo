"""Holds the product pool of one worker and answers from it.

Each worker builds its own, so that no count of references is shared between
cores.
"""

from std.math import sqrt

from flare.http import SealedContent

comptime PRODUCTS = 500
comptime LIST = 25
comptime PICKS = 100
# The least power of two that holds all picks: the width of a vector is one.
comptime LANES = 128
comptime BINS = 10
comptime TOP = 5
comptime SEED: UInt64 = 0x9E37_79B9_7F4A_7C15
comptime FACTOR: UInt64 = 0x2545_F491_4F6C_DD1D


@fieldwise_init
struct Priced(ImplicitlyCopyable):
    """Holds of a product what the statistics need."""

    var price: Float64
    var brand: Int


@fieldwise_init
struct BrandCount(ImplicitlyCopyable):
    """Holds how often a brand was drawn."""

    var brand: Int
    var count: Int


struct Statistics[origin: ImmOrigin](Writable):
    """Sums up products; written as JSON."""

    var mean: Float64
    var deviation: Float64
    var bins: Array[Int, BINS]
    var top: Array[BrandCount, TOP]
    var brands: Pointer[List[String], Self.origin]

    def __init__(
        out self, picks: List[Priced], ref[Self.origin] brands: List[String]
    ):
        """Sums up.

        Args:
            picks: The products, the cheapest first.
            brands: The names of all brands, sorted.
        """
        self.brands = Pointer(to=brands)
        var sum = Float64(0)
        for pick in picks:
            sum += pick.price
        self.mean = sum / PICKS
        var low = picks[0].price
        var width = picks[PICKS - 1].price - low
        var squares = Float64(0)
        self.bins = Array[Int, BINS](fill=0)
        var counts = List[Int](length=len(brands), fill=0)
        for pick in picks:
            squares += (pick.price - self.mean) * (pick.price - self.mean)
            var place = (
                Int((pick.price - low) * BINS / width) if width > 0 else 0
            )
            self.bins[min(place, BINS - 1)] += 1
            counts[pick.brand] += 1
        self.deviation = sqrt(squares / PICKS)
        self.top = Array[BrandCount, TOP](fill=BrandCount(0, 0))
        for brand, count in enumerate(counts):
            # Of equal counts the first name leads.
            if count > self.top[TOP - 1].count:
                self._insert(BrandCount(brand, count))

    def _insert(mut self, found: BrandCount):
        var place = TOP - 1
        while place > 0 and self.top[place - 1].count < found.count:
            self.top[place] = self.top[place - 1]
            place -= 1
        self.top[place] = found

    def write_to(self, mut writer: Some[Writer]):
        """Writes a JSON object.

        Args:
            writer: Receives it.
        """
        writer.write('{"count":', PICKS)
        writer.write(',"mean_cents":', _cents(self.mean))
        writer.write(',"standard_deviation_cents":', _cents(self.deviation))
        writer.write(',"histogram":[', self.bins[0])
        for place in range(1, BINS):
            writer.write(",", self.bins[place])
        writer.write('],"top_brands":[')
        for place in range(TOP):
            var found = self.top[place]
            if found.count > 0:
                writer.write(',{"brand":"' if place > 0 else '{"brand":"')
                writer.write(self.brands[][found.brand])
                writer.write('","count":', found.count, "}")
        writer.write("]}")


struct Pool(Movable):
    """Holds the JSON texts of all products and the turn of each route."""

    var _texts: List[String]
    var _lists: List[SealedContent]
    var _priced: List[Priced]
    var _brands: List[String]
    var _read_next: Int
    var _list_next: Int
    var _generator: Generator

    def __init__(out self, path: StringSlice) raises:
        """Reads the pool from a file with one product per line.

        Args:
            path: The file.

        Raises:
            An error if the file cannot be read or holds other than 500 products.
        """
        self._texts = List[String]()
        self._lists = List[SealedContent]()
        self._priced = List[Priced]()
        self._brands = List[String]()
        self._read_next = 0
        self._list_next = 0
        self._generator = Generator()
        var content: String
        with open(String(path), "r") as file:
            content = file.read()
        for line in content.split("\n"):
            if line.startswith("{"):
                self._add(String(line.removesuffix(",")))
        if len(self._texts) != PRODUCTS:
            raise Error("no pool of products: ", path)
        self._price()
        self._seal_lists()

    def _seal_lists(mut self) raises:
        var all = String()
        var ends: List[Int] = [0]
        for first in range(0, len(self._texts), LIST):
            var products = self._texts[first : first + LIST]
            all.write("[", StaticString(",").join(products), "]")
            ends.append(all.byte_length())
        var content = SealedContent(all)
        for i in range(1, len(ends)):
            self._lists.append(content[ends[i - 1] : ends[i]])

    def _add(mut self, var text: String) raises:
        var brand = String(_between(text, '"brand":"', '"'))
        if brand not in self._brands:
            self._brands.append(brand^)
        self._texts.append(text^)

    def _price(mut self) raises:
        sort(self._brands)
        for text in self._texts:
            var brand = _between(text, '"brand":"', '"')
            var price = Float64(_between(text, '"price":', ","))
            self._priced.append(
                Priced(price, self._brands.index(String(brand)))
            )

    def read(mut self) -> String:
        """Takes the next product.

        Returns:
            Its JSON text, shared with the pool.
        """
        var number = self._read_next
        self._read_next = (number + 1) % len(self._texts)
        return self._texts[number]

    def list(mut self) -> SealedContent:
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
            picks.append(self._priced[self._generator.draw()])
        return summed_up(picks, self._brands)


struct Generator(ImplicitlyCopyable):
    """Draws the numbers of products."""

    var _state: UInt64

    def __init__(out self):
        self._state = SEED

    def draw(mut self) -> Int:
        """Draws a number.

        Returns:
            The number of a product.
        """
        var state = self._state
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        self._state = state
        return Int(((state * FACTOR) >> 32) % UInt64(PRODUCTS))


def summed_up(picks: List[Priced], brands: List[String]) -> String:
    """Sums up 100 products.

    Args:
        picks: The products.
        brands: The names of all brands, sorted.

    Returns:
        A JSON object.
    """
    return String(Statistics(_sorted_by_price(picks), brands))


def _sorted_by_price(picks: List[Priced]) -> List[Priced]:
    # The place of each is how many cost less, or as much and were drawn before.
    # A vector counts them all at once, in a fourth of the time of `sort`.
    var keys = List[Int32](length=LANES, fill=Int32.MAX)
    for i in range(PICKS):
        keys[i] = Int32(_cents(picks[i].price) * LANES + i)
    var every_key = keys.unsafe_ptr().unsafe_load[width=LANES]()
    var sorted = List[Priced](length=PICKS, fill=picks[0])
    for i in range(PICKS):
        sorted[every_key.lt(keys[i]).reduce_bit_count()] = picks[i]
    return sorted^


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
