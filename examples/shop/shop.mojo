"""Connects the addresses of the shop with pages and JSON."""

from std.sys import stderr

from flare.http import FormFields, FromForm, conflict, form_value
from flare.http import service_unavailable
from flare.prelude import *

from cart import put, quantity_of, read_cart, write_cart
from database import AnyDatabase
from pages import cart_page, order_page, problem_page, products_page
from store import (
    KEY_OCTETS,
    QUANTITY_MAX,
    SOLD_OUT,
    Line,
    NewOrder,
    Product,
    all_products,
    find_order,
    find_product,
    is_key,
    place,
)
from style import STYLE

comptime POLICY: StaticString = (
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)


@fieldwise_init
struct Choice(FromForm):
    """The form of a product."""

    var product: Int
    var quantity: Int

    @staticmethod
    def from_form(fields: FormFields) raises -> Self:
        return Self(
            form_value[Int](fields, "product"),
            form_value[Int](fields, "quantity"),
        )


@fieldwise_init
struct Customer(FromForm):
    """The form of an order."""

    var key: String
    var name: String
    var address: String

    @staticmethod
    def from_form(fields: FormFields) raises -> Self:
        return Self(
            form_value[String](fields, "key"),
            form_value[String](fields, "name"),
            form_value[String](fields, "address"),
        )


@fieldwise_init
struct Place(Copyable):
    """The place of the database, and how many workers share it."""

    var location: String
    var workers: Int


def open_database(worker: Int, place: Place) raises -> AnyDatabase:
    """Opens the database for one worker."""
    return AnyDatabase(place.location, workers=place.workers)


def private(var response: Response) raises -> Response:
    """Keeps a page of one customer out of caches."""
    response.headers.set("Cache-Control", "no-store")
    return response^


def count(lines: List[Line]) -> Int:
    """Returns how many things are in a cart."""
    var sum = 0
    for line in lines:
        sum += line.quantity
    return sum


def show_products(req: Request, db: State[AnyDatabase]) raises -> Response:
    var page = products_page(all_products(db[]), count(read_cart(req)))
    return private(ok_html(page^))


def cart_answer(
    db: AnyDatabase, cart: List[Line], key: String, problem: String
) raises -> Response:
    """Returns the page of the cart."""
    var products = List[Product]()
    var lines = List[Line]()
    for line in cart:
        var product = find_product(db, line.product)
        if product:
            products.append(product.take())
            lines.append(line.copy())
    return ok_html(cart_page(products, lines, count(lines), key, problem))


def present(db: AnyDatabase, cart: List[Line]) raises -> List[Line]:
    """Returns the lines of a cart, without products that are gone."""
    var lines = List[Line]()
    for line in cart:
        if find_product(db, line.product):
            lines.append(line.copy())
    return lines^


def show_cart(req: Request, db: State[AnyDatabase]) raises -> Response:
    return private(cart_answer(db[], read_cart(req), new_key(), ""))


def changed(
    req: Request, var lines: List[Line], choice: Choice, before: Int
) raises -> Response:
    """Sets the quantity of a product, and shows the cart."""
    if not 0 <= choice.quantity <= QUANTITY_MAX or choice.product < 0:
        return unprocessable("a quantity is 0 to 99")
    put(lines, choice.product, before + choice.quantity)
    var response = redirect("/cart", Status.SEE_OTHER)
    write_cart(req, response, lines)
    return response^


def add_to_cart(req: Request, choice: Form[Choice]) raises -> Response:
    var lines = read_cart(req)
    var before = quantity_of(lines, choice.value.product)
    return changed(req, lines^, choice.value, before)


def set_in_cart(req: Request, choice: Form[Choice]) raises -> Response:
    return changed(req, read_cart(req), choice.value, 0)


def order_cart(
    req: Request, db: State[AnyDatabase], customer: Form[Customer]
) raises -> Response:
    ref form = customer.value
    var cart = present(db[], read_cart(req))
    var order = NewOrder(form.key, form.name, form.address, cart^)
    # A browser may send a form twice. The second time, the cart is empty.
    if not (is_key(form.key) and find_order(db[], form.key)):
        var problem = order.first_problem()
        if not problem:
            problem = try_to_place(db[], order)
        if problem:
            var answer = cart_answer(
                db[], order.lines, new_key(), problem.value()
            )
            answer.status = Status.CONFLICT
            return private(answer^)
    var response = redirect(String("/orders/", form.key), Status.SEE_OTHER)
    write_cart(req, response, [])
    return response^


def try_to_place(db: AnyDatabase, order: NewOrder) raises -> Optional[String]:
    """Places an order, or returns why that is impossible."""
    try:
        place(db, order)
        return None
    except e:
        var text = String(e)
        if not text.startswith(SOLD_OUT):
            raise e^
        return String(text[byte = SOLD_OUT.byte_length() :])


def show_order(
    req: Request, db: State[AnyDatabase], key: Path[String]
) raises -> Response:
    var order = find_order(db[], key.value)
    if not order:
        return not_found("order")
    return private(ok_html(order_page(order.value(), count(read_cart(req)))))


def list_products(db: State[AnyDatabase]) raises -> Json[List[Product]]:
    return Json(all_products(db[]))


def show_product(db: State[AnyDatabase], id: Path[Int]) raises -> Response:
    var product = find_product(db[], id.value)
    if not product:
        return not_found("product")
    return Json(product.take()).into_response()


def order_json(
    db: State[AnyDatabase], wanted: Json[NewOrder]
) raises -> Response:
    ref order = wanted.value
    var problem = order.first_problem()
    if problem:
        return unprocessable(problem.take())
    problem = try_to_place(db[], order)
    if problem:
        return conflict(problem.take())
    var placed = find_order(db[], order.key).value().copy()
    return created_json(
        dumps(placed), location=String("/api/orders/", order.key)
    )


def show_order_json(
    db: State[AnyDatabase], key: Path[String]
) raises -> Response:
    var order = find_order(db[], key.value)
    if not order:
        return not_found("order")
    return private(Json(order.take()).into_response())


def show_style(req: Request) raises -> Response:
    var response = ok(STYLE)
    response.headers.set("Content-Type", "text/css; charset=utf-8")
    response.headers.set("Cache-Control", "max-age=3600")
    return response^


def new_key() raises -> String:
    """Returns 32 hexadecimal digits that cannot be guessed."""
    var octets: List[UInt8]
    with open("/dev/urandom", "r") as source:
        octets = source.read_bytes(KEY_OCTETS // 2)
    var key = String(capacity_bytes=KEY_OCTETS)
    for octet in octets:
        key += "0123456789abcdef"[byte=Int(octet) >> 4]
        key += "0123456789abcdef"[byte=Int(octet) & 15]
    return key^


def apologize(req: Request, e: Error) raises -> Response:
    # The text of the error is for the log only.
    print(req.method, req.path, e, file=stderr, flush=True)
    if req.path.startswith("/api/"):
        return service_unavailable()
    var response = ok_html(problem_page("The shop is busy. Please try again."))
    response.status = Status.SERVICE_UNAVAILABLE
    response.headers.set("Retry-After", "1")
    return response^


def router() raises -> Router[AnyDatabase]:
    var routes = Router[AnyDatabase]()
    routes.get("/", show_products)
    routes.get("/cart", show_cart)
    routes.post("/cart/add", add_to_cart)
    routes.post("/cart/set", set_in_cart)
    routes.post("/orders", order_cart)
    routes.get("/orders/:key", show_order)
    routes.get("/style.css", show_style)
    routes.get("/api/products", list_products)
    routes.get("/api/products/:id", show_product)
    routes.post("/api/orders", order_json)
    routes.get("/api/orders/:key", show_order_json)
    return routes^
