"""Reads items from the database, and answers with them as JSON."""

from flare.http import Json, Request, State
from flare.json import JsonWriter, ToJson
from flare.postgres import Column, FromColumn

from arena import Arena
from dataset import Rating

comptime _BY_PRICE: StaticString = (
    "SELECT id, name, category, price, quantity, active, tags, rating_score,"
    " rating_count FROM items WHERE price BETWEEN $1 AND $2 LIMIT $3"
)
comptime PRICE_LOW = 10
comptime PRICE_HIGH = 50
comptime ITEMS_MAX = 50


@fieldwise_init
struct StoredJson(FromColumn, Movable, ToJson):
    """Is JSON text of the table, which answers pass on as it is."""

    var text: String

    @staticmethod
    def from_column(column: Column) raises -> Self:
        """Takes the text of a column of type `jsonb`."""
        return Self(String.from_column(column))

    def to_json(self, json: JsonWriter) raises:
        """Writes the text."""
        # The database has checked it.
        json.unsafe_raw(self.text.as_bytes())


@fieldwise_init
struct StoredItem(Movable, ToJson):
    """Is an item as an answer has it."""

    var id: Int
    var name: String
    var category: String
    var price: Int
    var quantity: Int
    var active: Bool
    var tags: StoredJson
    var rating: Rating


@fieldwise_init
struct StoredItems(Movable, ToJson):
    """Is items, and how many they are."""

    var items: List[StoredItem]
    var count: Int


@fieldwise_init
struct ItemRow(Movable):
    """Is an item as the table has it."""

    var id: Int32
    var name: String
    var category: String
    var price: Int32
    var quantity: Int32
    var active: Bool
    var tags: StoredJson
    var rating_score: Int32
    var rating_count: Int32

    def into_item(deinit self) -> StoredItem:
        """Returns the item as an answer has it."""
        return StoredItem(
            Int(self.id),
            self.name^,
            self.category^,
            Int(self.price),
            Int(self.quantity),
            self.active,
            self.tags^,
            Rating(Int(self.rating_score), Int(self.rating_count)),
        )


def items_by_price(
    req: Request, arena: State[Arena]
) raises -> Json[StoredItems]:
    """Answers with items whose price is in a range; with none if the database
    does not answer."""
    var low = number_of(req, "min", PRICE_LOW)
    var high = number_of(req, "max", PRICE_HIGH)
    var limit = min(max(number_of(req, "limit", ITEMS_MAX), 1), ITEMS_MAX)
    var items = List[StoredItem]()
    if arena[].database:
        ref database = arena[].database.value()
        try:
            items = stored(database.query[ItemRow](_BY_PRICE, low, high, limit))
        except:
            # The benchmark asks for an empty list then.
            pass
    var count = len(items)
    return Json(StoredItems(items^, count))


def stored(var rows: List[ItemRow]) -> List[StoredItem]:
    """Turns rows into items."""
    var items = List[StoredItem](capacity=len(rows))
    rows.reverse()
    while len(rows) > 0:
        items.append(rows.pop().into_item())
    return items^


def number_of(req: Request, name: StringSlice, default: Int) -> Int:
    """Returns the number in a parameter; the default if it is missing or none.
    """
    try:
        return Int(req.query_parameters().get(name).or_else(""))
    except:
        return default
