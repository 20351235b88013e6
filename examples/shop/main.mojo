# Run: mojo run -I . examples/shop/main.mojo [--database FILE|postgres://…] [--port N] [--workers N]
"""Serves a small shop: pages, a JSON API, and orders that never oversell."""

from std.sys import argv

from flare.http import (
    AddHeader,
    App,
    CatchErrors,
    CrossOriginProtection,
    HttpServer,
    SecurityHeaders,
)
from flare.net import SocketAddr

from shop import POLICY, Place, apologize, open_database, router
from store import create_tables


def main() raises:
    var given = Dict[String, String]()
    var words = argv()
    for i in range(1, len(words) - 1, 2):
        given[String(words[i])] = String(words[i + 1])
    var location = given.pop("--database", "build/shop.db")
    var port = UInt16(Int(given.pop("--port", "8080")))
    var workers = Int(given.pop("--workers", "2"))
    if len(words) % 2 == 0 or len(given) > 0:
        raise Error("the first line of main.mojo lists the options")
    var place = Place(location, workers)
    create_tables(open_database(0, place))
    var app = App.per_worker[open_database](place^, router())
    # Outside in: headers for all answers, also for refusals and errors.
    var shop = SecurityHeaders(
        AddHeader(
            CrossOriginProtection(CatchErrors(app^, apologize)),
            name="Content-Security-Policy",
            value=POLICY,
        )
    )
    HttpServer.bind(SocketAddr.any_v4(port)).serve(shop^, num_workers=workers)
