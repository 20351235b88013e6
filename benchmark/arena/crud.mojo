"""Creates, reads, changes and lists items of the database."""

from flare.http import (
    Handler,
    Json,
    Request,
    Response,
    Router,
    State,
    created,
    not_found,
    ok,
    ok_json,
    unprocessable,
)
from flare.json import FromJson, ToJson, decode, dumps
from flare.postgres import Database

from arena import Arena
from item_cache import ItemCache
from stored_items import ITEMS_MAX, ItemRow, StoredItem, number_of, stored

comptime _PAGE_ITEMS = 20
comptime _PAGES_MAX = 1_000_000
comptime _CATEGORY: StaticString = "electronics"
comptime _ONE: StaticString = (
    "SELECT id, name, category, price, quantity, active, tags, rating_score,"
    " rating_count FROM items WHERE id = $1"
)
comptime _PAGE: StaticString = (
    "SELECT id, name, category, price, quantity, active, tags, rating_score,"
    " rating_count FROM items WHERE category = $1 ORDER BY id LIMIT $2 OFFSET"
    " $3"
)
comptime _CREATE: StaticString = (
    "INSERT INTO items (id, name, category, price, quantity, active, tags,"
    " rating_score, rating_count) VALUES ($1, $2, $3, $4, $5, true, '[]', 0, 0)"
    " ON CONFLICT (id) DO UPDATE SET name = excluded.name, category ="
    " excluded.category, price = excluded.price, quantity = excluded.quantity"
)
comptime _CHANGE: StaticString = (
    "UPDATE items SET name = $2, category = $3, price = $4, quantity = $5"
    " WHERE id = $1"
)


@fieldwise_init
struct NewItem(FromJson, Movable):
    """Is an item as clients create it."""

    var id: Int32
    var name: String
    var category: String
    var price: Int32
    var quantity: Int32


@fieldwise_init
struct ChangedItem(FromJson, Movable):
    """Is an item as clients change it."""

    var name: String
    var category: String
    var price: Int32
    var quantity: Int32


@fieldwise_init
struct ItemPage(ToJson):
    """Is a part of the items of a category."""

    var items: List[StoredItem]
    var total: Int
    var page: Int
    var limit: Int


def add_crud(mut router: Router[Arena]) raises:
    """Adds the routes. One cache serves all workers."""
    var cache = ItemCache()
    router.get[list_items]("/crud/items")
    router.get("/crud/items/:id", ReadItem(cache.copy()))
    router.put("/crud/items/:id", ChangeItem(cache.copy()))
    router.post("/crud/items", CreateItem(cache^))


def list_items(req: Request, arena: State[Arena]) raises -> Json[ItemPage]:
    """Answers with a page of a category."""
    var category = String(
        req.query_parameters().get("category").or_else(_CATEGORY)
    )
    var page = min(max(number_of(req, "page", 1), 1), _PAGES_MAX)
    var limit = min(max(number_of(req, "limit", _PAGE_ITEMS), 1), ITEMS_MAX)
    var rows = database_of(req).query[ItemRow](
        _PAGE, category, limit, (page - 1) * limit
    )
    var items = stored(rows^)
    var total = len(items)
    return Json(ItemPage(items^, total, page, limit))


@fieldwise_init
struct ReadItem(Handler):
    """Answers with an item, from the cache if it was asked for lately."""

    var cache: ItemCache

    def serve(self, req: Request) raises -> Response:
        var found = id_of(req)
        if not found:
            return not_found()
        var id = found.value()
        var kept = self.cache.get(id)
        if kept:
            return _item_response(kept.take(), "HIT")
        var row = database_of(req).query_optional[ItemRow](_ONE, id)
        if not row:
            return not_found()
        var text = dumps(row.take().into_item())
        self.cache.set(id, text)
        return _item_response(text^, "MISS")


@fieldwise_init
struct ChangeItem(Handler):
    """Changes an item."""

    var cache: ItemCache

    def serve(self, req: Request) raises -> Response:
        var id = id_of(req)
        var found = content_of[ChangedItem](req)
        if not id:
            return not_found()
        if not found:
            return unprocessable()
        var item = found.take()
        var done = database_of(req).execute(
            _CHANGE,
            id.value(),
            item.name,
            item.category,
            item.price,
            item.quantity,
        )
        self.cache.remove(id.value())
        return ok("changed") if done.rows > 0 else not_found()


@fieldwise_init
struct CreateItem(Handler):
    """Creates an item, or changes the one of the same number."""

    var cache: ItemCache

    def serve(self, req: Request) raises -> Response:
        var found = content_of[NewItem](req)
        if not found:
            return unprocessable()
        var item = found.take()
        _ = database_of(req).execute(
            _CREATE,
            item.id,
            item.name,
            item.category,
            item.price,
            item.quantity,
        )
        self.cache.remove(Int(item.id))
        return created(String("/crud/items/", item.id))


def database_of(req: Request) raises -> ref[MutUntrackedOrigin] Database:
    """Returns the database of the worker."""
    ref arena = State[Arena].of(req)[]
    if not arena.database:
        raise Error("no database")
    return arena.database.value()


def id_of(req: Request) raises -> Optional[Int]:
    """Returns the number in the path, if it is one."""
    try:
        return Int(req.param("id"))
    except:
        return None


def content_of[
    T: Deinitable & FromJson & Movable
](req: Request) raises -> Optional[T]:
    """Returns the content, if it is such a value. Clients need not name its
    type."""
    var text = req.text()
    try:
        return decode[T](text)
    except:
        return None


def _item_response(var text: String, cached: StaticString) raises -> Response:
    var response = ok_json(text^)
    response.headers.set("X-Cache", cached)
    return response^
