"""Holds the items of the data set, and answers with some of them as JSON."""

from std.memory import ArcPointer

from flare.http import Json, Path, Query, State
from flare.json import FromJson, JsonReader, JsonWriter, ToJson, decode

comptime FACTOR_DEFAULT = 1


@fieldwise_init
struct Rating(Copyable, FromJson, ToJson):
    """Is what customers thought of an item."""

    var score: Int
    var count: Int


@fieldwise_init
struct Tags(Copyable, FromJson, ToJson):
    """Is a list of texts that all copies share: to copy it allocates nothing.
    """

    var texts: ArcPointer[List[String]]

    @staticmethod
    def from_json(json: JsonReader) raises -> Self:
        return Self(ArcPointer(List[String].from_json(json)))

    def to_json(self, json: JsonWriter) raises:
        self.texts[].to_json(json)


@fieldwise_init
struct Item(Copyable, FromJson):
    """Is an item as the file has it."""

    var id: Int
    var name: String
    var category: String
    var price: Int
    var quantity: Int
    var active: Bool
    var tags: Tags
    var rating: Rating


@fieldwise_init
struct PricedItem(Copyable, ToJson):
    """Is an item as an answer has it."""

    var id: Int
    var name: String
    var category: String
    var price: Int
    var quantity: Int
    var active: Bool
    var tags: Tags
    var rating: Rating
    var total: Int

    def __init__(out self, item: Item, factor: Int):
        self.id = item.id
        self.name = item.name
        self.category = item.category
        self.price = item.price
        self.quantity = item.quantity
        self.active = item.active
        self.tags = item.tags.copy()
        self.rating = item.rating.copy()
        self.total = item.price * item.quantity * factor


@fieldwise_init
struct Page(ToJson):
    """Is the first items, and how many they are."""

    var items: List[PricedItem]
    var count: Int


@fieldwise_init
struct Dataset(Movable):
    """Holds all items."""

    var items: List[Item]


def read_dataset(folder: String) raises -> Dataset:
    """Reads the file of the data set.

    Args:
        folder: The folder that it lies in.

    Returns:
        The data set.
    """
    with open(folder + "/dataset.json", "r") as file:
        return Dataset(decode[List[Item]](file.read()))


def page(
    count: Path[Int], m: Query["m", Int], dataset: State[Dataset]
) raises -> Json[Page]:
    """Answers with the first items; `m` multiplies their totals."""
    ref all = dataset[].items
    var shown = min(max(count.value, 0), len(all))
    var factor = m.value.or_else(FACTOR_DEFAULT)
    var items = List[PricedItem](capacity=shown)
    for i in range(shown):
        items.append(PricedItem(all[i], factor))
    return Json(Page(items^, shown))
