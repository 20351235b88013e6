# Run: mojo run -I . examples/13_cookies.mojo
# Prints: session=abc123
# Prints: id 42 3600
# Prints: theme dark
# Prints: https://shop.example/cart: visit=7
# Prints: https://evil.example/: nothing
# Prints: visits: 8
"""Reads and writes cookies, keeps them in a jar, and counts visits with one."""

from flare.http import (
    Cookie,
    CookieJar,
    SameSite,
    parse_cookie_header,
    parse_set_cookie_header,
)
from flare.prelude import *
from flare.testing import TestClient


def count(req: Request) raises -> Response:
    var last = req.cookie("visit")
    var visits = Int(last.value()) + 1 if last else 1
    var response = ok(String("visits: ", visits))
    response.set_cookie(
        Cookie(
            "visit",
            String(visits),
            path="/",
            max_age=86400,
            http_only=True,
            same_site=SameSite.LAX,
        )
    )
    return response^


def main() raises:
    var jar = CookieJar()
    jar.set(Cookie("session", "abc123", secure=True, http_only=True))
    print(jar.to_request_header())

    var c = parse_set_cookie_header("id=42; Path=/; Max-Age=3600")
    print(c.name, c.value, c.max_age)
    for pair in parse_cookie_header("theme=dark; lang=eo"):
        print(pair.name, pair.value)

    # A jar sends each cookie to its own site only.
    var answer = HeaderMap()
    answer.append("Set-Cookie", "visit=7; Path=/; Secure")
    answer.append("Set-Cookie", "evil=1; Domain=evil.example")
    var shop = Url.parse("https://shop.example/cart")
    print("ignored:", jar.receive(shop, answer.view()))
    for url in [shop.copy(), Url.parse("https://evil.example/")]:
        var header = jar.header_for(url)
        print(String(url, ": ", header if header else "nothing"))

    var headers = HeaderMap()
    headers.append("Cookie", jar.header_for(shop))
    print(TestClient(count).get("/", headers).text())
