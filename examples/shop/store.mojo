"""Keeps products and orders in the tables of a database."""

from flare.json import FromJson, ToJson

from database import AnyDatabase, AnyTransaction

comptime QUANTITY_MAX = 99
comptime LINES_MAX = 20
comptime KEY_OCTETS = 32
comptime NAME_OCTETS_MAX = 200
# The text for the customer begins after the code.
comptime SOLD_OUT: StaticString = "shop.sold_out "
comptime TABLES: List[StaticString] = [
    (
        "CREATE TABLE IF NOT EXISTS products ("
        "id BIGINT PRIMARY KEY,"
        " name TEXT NOT NULL,"
        " cents BIGINT NOT NULL CHECK (cents >= 0),"
        " stock BIGINT NOT NULL CHECK (stock >= 0)"
        ")"
    ),
    (
        "CREATE TABLE IF NOT EXISTS orders ("
        "key TEXT PRIMARY KEY,"
        " name TEXT NOT NULL,"
        " address TEXT NOT NULL"
        ")"
    ),
    (
        "CREATE TABLE IF NOT EXISTS lines ("
        "order_key TEXT NOT NULL REFERENCES orders (key),"
        " product BIGINT NOT NULL REFERENCES products (id),"
        " quantity BIGINT NOT NULL CHECK (quantity > 0),"
        " cents BIGINT NOT NULL CHECK (cents >= 0),"
        " PRIMARY KEY (order_key, product)"
        ")"
    ),
    (
        "INSERT INTO products (id, name, cents, stock) VALUES"
        " (1, 'Teapot', 2450, 12),"
        " (2, 'Fish & chips for two', 1890, 30),"
        " (3, 'Lamp', 4900, 3),"
        " (4, 'Very last umbrella', 1500, 1)"
        " ON CONFLICT (id) DO NOTHING"
    ),
]


@fieldwise_init
struct Product(Copyable, ToJson):
    var id: Int
    var name: String
    var cents: Int
    var stock: Int


@fieldwise_init
struct Line(Copyable, FromJson, ToJson):
    var product: Int
    var quantity: Int


@fieldwise_init
struct NewOrder(Copyable, FromJson):
    var key: String
    """32 hexadecimal digits, which the client draws. They make the address of
    the order a secret, and an order that is sent twice happens once."""
    var name: String
    var address: String
    var lines: List[Line]

    def first_problem(self) -> Optional[String]:
        """Returns the first mistake of the order, or `None`."""
        if not is_key(self.key):
            return String("key: expected 32 hexadecimal digits")
        if not 1 <= self.name.byte_length() <= NAME_OCTETS_MAX:
            return String("name: expected 1 to 200 octets")
        if not 1 <= self.address.byte_length() <= NAME_OCTETS_MAX:
            return String("address: expected 1 to 200 octets")
        if "\0" in self.name or "\0" in self.address:
            return String("name, address: unexpected NUL")
        if not 1 <= len(self.lines) <= LINES_MAX:
            return String("lines: expected 1 to 20")
        for i in range(len(self.lines)):
            ref line = self.lines[i]
            if not 1 <= line.quantity <= QUANTITY_MAX:
                return String("quantity: expected 1 to 99")
            for j in range(i):
                if self.lines[j].product == line.product:
                    return String("lines: a product occurs twice")
        return None


@fieldwise_init
struct OrderedLine(Copyable, ToJson):
    var name: String
    var quantity: Int
    var cents: Int


@fieldwise_init
struct Order(Copyable, ToJson):
    var key: String
    var name: String
    var address: String
    var lines: List[OrderedLine]
    var cents: Int


@fieldwise_init
struct _Customer(Copyable):
    var name: String
    var address: String


def is_key(text: StringSlice) -> Bool:
    """Returns whether a text may be the key of an order."""
    for octet in text.as_bytes():
        var code = Int(octet)
        var is_digit = 48 <= code <= 57 or 97 <= code <= 102
        if not is_digit:
            return False
    return text.byte_length() == KEY_OCTETS


def create_tables(db: AnyDatabase) raises:
    """Creates the tables and some products, if they are missing."""
    for statement in materialize[TABLES]():
        _ = db.execute(statement)


def all_products(db: AnyDatabase) raises -> List[Product]:
    """Returns the products, in the order of their numbers."""
    return db.query[Product](
        "SELECT id, name, cents, stock FROM products ORDER BY id LIMIT 100"
    )


def find_product(db: AnyDatabase, id: Int) raises -> Optional[Product]:
    """Returns a product, if there is one of this number."""
    return db.query_optional[Product](
        "SELECT id, name, cents, stock FROM products WHERE id = $1", id
    )


def find_order(db: AnyDatabase, key: String) raises -> Optional[Order]:
    """Returns an order, if there is one of this key."""
    var customer = db.query_optional[_Customer](
        "SELECT name, address FROM orders WHERE key = $1", key
    )
    if not customer:
        return None
    var lines = db.query[OrderedLine](
        (
            "SELECT name, quantity, lines.cents AS cents FROM lines"
            " JOIN products ON product = id WHERE order_key = $1 ORDER BY id"
        ),
        key,
    )
    var cents = 0
    for line in lines:
        cents += line.quantity * line.cents
    ref found = customer.value()
    return Order(key, found.name, found.address, lines^, cents)


def place(db: AnyDatabase, order: NewOrder) raises:
    """Places an order: all of it, or nothing. An order with the same key that
    was placed before is left as it is.

    Raises:
        An error that begins with `SOLD_OUT`.
    """

    def body(tx: AnyTransaction) raises {imm order}:
        var added = tx.execute(
            (
                "INSERT INTO orders (key, name, address) VALUES ($1, $2, $3)"
                " ON CONFLICT (key) DO NOTHING"
            ),
            order.key,
            order.name,
            order.address,
        )
        if added == 0:
            return
        var lines = order.lines.copy()

        def is_before(a: Line, b: Line) -> Bool:
            return a.product < b.product

        # In one order for all: two orders never wait for each other.
        sort(lines, is_before)
        for line in lines:
            _take(tx, order.key, line)

    db.transaction(body)


def _take(tx: AnyTransaction, key: String, line: Line) raises:
    # The condition and the change are one statement, so that no other order
    # comes between them.
    var taken = tx.execute(
        "UPDATE products SET stock = stock - $2 WHERE id = $1 AND stock >= $2",
        line.product,
        line.quantity,
    )
    if taken == 0:
        var found = tx.query_optional[Product](
            "SELECT id, name, cents, stock FROM products WHERE id = $1",
            line.product,
        )
        if not found:
            raise Error(SOLD_OUT, "there is no product ", line.product)
        ref product = found.value()
        raise Error(SOLD_OUT, product.name, ": ", product.stock, " left")
    _ = tx.execute(
        (
            "INSERT INTO lines (order_key, product, quantity, cents)"
            " SELECT $1, id, $3, cents FROM products WHERE id = $2"
        ),
        key,
        line.product,
        line.quantity,
    )
