"""Keeps the cart in a cookie, as `1x2.3x1`: two of product 1, one of product 3.
"""

from flare.http import Cookie, Request, Response, SameSite

from store import LINES_MAX, QUANTITY_MAX, Line

comptime _COOKIE: StaticString = "cart"
comptime _AGE_S = 30 * 24 * 3600
# Of a number of a product.
comptime _DIGITS_MAX = 9


def read_cart(req: Request) -> List[Line]:
    """Returns the lines of the cart, without parts that no shop has written."""
    var lines = List[Line]()
    var text = req.cookie(_COOKIE)
    if not text:
        return lines^
    for part in text.value().split("."):
        var sides = part.split("x")
        if len(sides) != 2:
            continue
        var product, quantity = _number(sides[0]), _number(sides[1])
        if product and quantity:
            put(lines, product.value(), quantity.value())
    return lines^


def quantity_of(lines: List[Line], product: Int) -> Int:
    """Returns how many of a product are in the cart."""
    for line in lines:
        if line.product == product:
            return line.quantity
    return 0


def put(mut lines: List[Line], product: Int, quantity: Int):
    """Sets the quantity of a product; 0 takes it out."""
    var bounded = min(quantity, QUANTITY_MAX)
    for i in range(len(lines)):
        if lines[i].product == product:
            if bounded > 0:
                lines[i].quantity = bounded
            else:
                _ = lines.pop(i)
            return
    if bounded > 0 and len(lines) < LINES_MAX:
        lines.append(Line(product, bounded))


def write_cart(req: Request, mut response: Response, lines: List[Line]) raises:
    """Adds the cookie that keeps the cart."""
    var text = String()
    for line in lines:
        if text:
            text += "."
        text += String(line.product, "x", line.quantity)
    response.set_cookie(
        Cookie(
            _COOKIE,
            text,
            path="/",
            max_age=_AGE_S,
            # Without TLS, a browser would drop the cookie.
            secure=req.is_secure(),
            http_only=True,
            same_site=SameSite.LAX,
        )
    )


def _number(text: StringSlice) -> Optional[Int]:
    if not 1 <= text.byte_length() <= _DIGITS_MAX:
        return None
    var value = 0
    for octet in text.as_bytes():
        var digit = Int(octet) - ord("0")
        if not 0 <= digit <= 9:
            return None
        value = 10 * value + digit
    return value
