"""Writes the pages of the shop. Each value is escaped for its place."""

from flare.html import HtmlPage, Markup, html

from store import QUANTITY_MAX, Line, Order, Product


def money(cents: Int) -> String:
    """Returns a price, as `24.50`."""
    var rest = cents % 100
    return String(cents // 100, ".", "0" if rest < 10 else "", rest, " €")


def layout(title: String, count: Int, content: Markup) raises -> Markup:
    """Returns a whole page around its content.

    Args:
        title: The title and heading.
        count: How many things are in the cart.
        content: The rest.
    """
    return html(
        t"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="stylesheet" href="/style.css"></head>
<body><a class="skip" href="#main">To the content</a>
<header><a href="/">Shop</a> <a href="/cart">Cart ({count})</a></header>
<main id="main"><h1>{title}</h1>
{content}</main></body></html>
"""
    )


def products_page(products: List[Product], count: Int) raises -> Markup:
    """Returns the page of all products."""
    var page = HtmlPage()
    page.add(t"<ul>")
    for product in products:
        page.add(
            t"""<li><p><strong>{product.name}</strong><br>
{money(product.cents)} · {product.stock} left</p>"""
        )
        if product.stock > 0:
            var most = min(product.stock, QUANTITY_MAX)
            page.add(
                t"""<form method="post" action="/cart/add">
<input type="hidden" name="product" value="{product.id}">
<label>Quantity <input type="number" name="quantity" value="1" min="1"
max="{most}" required></label>
<button aria-label="Add {product.name} to the cart">Add</button></form>"""
            )
        page.add(t"</li>\n")
    page.add(t"</ul>")
    return layout("Products", count, page.take())


def cart_page(
    products: List[Product],
    lines: List[Line],
    count: Int,
    key: String,
    problem: String,
) raises -> Markup:
    """Returns the page of the cart, with the form of the order.

    Args:
        products: The products in the order of the lines.
        lines: The lines of the cart.
        count: How many things are in the cart.
        key: The key of the order that the form may place.
        problem: Why an order was refused, or empty.
    """
    var page = HtmlPage()
    if problem:
        page.add(t'<p class="problem" role="alert">{problem}</p>')
    if len(lines) == 0:
        page.add(t'<p>The cart is empty. <a href="/">To the products</a></p>')
        return layout("Cart", 0, page.take())
    var total = 0
    page.add(t"<ul>")
    for i in range(len(lines)):
        ref product = products[i]
        var quantity = lines[i].quantity
        total += quantity * product.cents
        page.add(
            t"""<li><p><strong>{product.name}</strong><br>
{money(product.cents)} each</p><form method="post" action="/cart/set">
<input type="hidden" name="product" value="{product.id}">
<label>Quantity <input type="number" name="quantity" value="{quantity}" min="0"
max="{QUANTITY_MAX}" required></label>
<button aria-label="Change the quantity of {product.name}">Change</button>
</form></li>
"""
        )
    page.add(
        t"""</ul><p>Total: <strong>{money(total)}</strong></p>
<form class="order" method="post" action="/orders">
<input type="hidden" name="key" value="{key}">
<label>Name <input name="name" maxlength="60" autocomplete="name" required>
</label><label>Address <input name="address" maxlength="60"
autocomplete="street-address" required></label>
<button>Order and pay {money(total)}</button></form>"""
    )
    return layout("Cart", count, page.take())


def order_page(order: Order, count: Int) raises -> Markup:
    """Returns the page of an order."""
    var page = HtmlPage()
    page.add(t"<p>For {order.name}, {order.address}</p><ul>")
    for line in order.lines:
        page.add(
            t"""<li><p>{line.quantity} × {line.name}</p>
{money(line.quantity * line.cents)}</li>
"""
        )
    page.add(t"</ul><p>Total: <strong>{money(order.cents)}</strong></p>")
    return layout("Thank you for your order", count, page.take())


def problem_page(text: String) raises -> Markup:
    """Returns a page that apologizes."""
    return layout(
        "Sorry",
        0,
        html(t'<p>{text}</p><p><a href="/">To the products</a></p>'),
    )
