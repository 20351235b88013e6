"""Answers with items of the data set as JSON."""

from flare.http import Json, Path, Query, State
from flare.json import ToJson

from arena import Arena
from dataset import Item, Rating, Tags

comptime FACTOR_DEFAULT = 1


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


def page(
    count: Path[Int], m: Query["m", Int], arena: State[Arena]
) raises -> Json[Page]:
    """Answers with the first items; `m` multiplies their totals."""
    ref all = arena[].dataset.items
    var shown = min(max(count.value, 0), len(all))
    var factor = m.value.or_else(FACTOR_DEFAULT)
    var items = List[PricedItem](capacity=shown)
    for i in range(shown):
        items.append(PricedItem(all[i], factor))
    return Json(Page(items^, shown))
