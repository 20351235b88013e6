"""Answers with a page of sayings from the database."""

from flare.html import HtmlPage, Markup, html
from flare.http import Response, State, ok_html, service_unavailable

from arena import Arena

comptime _ALL: StaticString = "SELECT id, message FROM fortune"
comptime _ADDED: StaticString = "Additional fortune added at request time."


@fieldwise_init
struct Fortune(Copyable):
    """Is a saying."""

    var id: Int32
    var message: String


def fortunes(arena: State[Arena]) raises -> Response:
    """Answers with all sayings and one more, in the order of their octets."""
    if not arena[].database:
        return service_unavailable()
    var all = arena[].database.value().query[Fortune](_ALL)
    all.append(Fortune(0, _ADDED))

    def is_before(a: Fortune, b: Fortune) {} -> Bool:
        return a.message < b.message

    sort(all, is_before)
    return ok_html(_page(all))


def _page(all: List[Fortune]) raises -> Markup:
    var rows = HtmlPage()
    for fortune in all:
        rows.add(t"<tr><td>{fortune.id}</td><td>{fortune.message}</td></tr>")
    return html(
        t"<!DOCTYPE html><html><head><title>Fortunes</title></head><body>"
        t"<table><tr><th>id</th><th>message</th></tr>{rows.take()}</table>"
        t"</body></html>"
    )
