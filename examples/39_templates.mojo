# Run: mojo run -I . examples/39_templates.mojo
# Prints: <!DOCTYPE html><html lang='en'><title>Fish &amp; chips</title>
# Prints: <li><a href='/dishes/1'>Cod</a> 9.5</li>
# Prints: <li><a href='/dishes/2'>&lt;script&gt;</a> 3.0</li>
# Prints: html.bad_template fill: a value in an attribute without quotes
"""Writes pages: each value is escaped for the place where it appears."""

from flare.html import HtmlPage, Markup, html
from flare.prelude import *
from flare.testing import TestClient


@fieldwise_init
struct Dish(Copyable):
    var id: Int
    var name: String
    var price: Float64


def layout(title: String, content: Markup) raises -> Markup:
    return html(
        t"<!DOCTYPE html><html"
        t" lang='en'><title>{title}</title>\n{content}</html>"
    )


def menu(req: Request) raises -> Response:
    var dishes = [Dish(1, "Cod", 9.5), Dish(2, "<script>", 3)]
    var page = HtmlPage()
    page.add(t"<ul>\n")
    for dish in dishes:
        page.add(
            t"<li><a href='/dishes/{dish.id}'>{dish.name}</a>"
            t" {dish.price}</li>\n"
        )
    page.add(t"</ul>")
    return ok_html(layout("Fish & chips", page.take()))


def main() raises:
    var router = Router()
    router.get("/", menu)
    var client = TestClient(router^)
    print(client.get("/").text())
    try:
        _ = html(t"<p class={1}>")
    except e:
        print(e)
