"""Measures templates."""

from measure import measure

from flare.html import HtmlPage, html


@fieldwise_init
struct _Fortune(Copyable):
    var id: Int
    var message: String


def main() raises:
    """Prints the figures.

    Raises:
        Error: Never.
    """
    var fortunes = List[_Fortune]()
    for i in range(200):
        fortunes.append(
            _Fortune(i, String("A computer scientist fixes what isn't broken."))
        )
    fortunes.append(
        _Fortune(200, "<script>alert('This is no alert.');</script>")
    )

    def one(i: Int) raises {imm} -> Int:
        var name = StaticString("Ada & Grace")
        return len(html(t"<a href='/items/{i}' title='{name}'>{name}</a>"))

    measure("html/a link with three values", one)

    def table(i: Int) raises {imm} -> Int:
        var page = HtmlPage()
        page.add(
            t"<!DOCTYPE"
            t" html><html><title>Fortunes</title><table><tr><th>id</th>"
            t"<th>message</th></tr>"
        )
        for fortune in fortunes:
            page.add(
                t"<tr><td>{fortune.id}</td><td>{fortune.message}</td></tr>"
            )
        page.add(t"</table></html>")
        return len(page.take())

    measure("html/201 rows of two values", table)
