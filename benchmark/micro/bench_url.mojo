"""Measures parsing URLs, request targets and queries."""

from std.benchmark import black_box

from measure import measure

from flare.message import Method, RequestTarget, Url

comptime URLS: List[StaticString] = [
    "http://localhost:8080/",
    "https://api.example.com/v1/customers/48213/orders?page=3&sort=price",
    "https://shop.example.com/catalogue/%C3%A4pfel?q=gr%C3%BCn+gelb",
]
"""What is parsed as a URL."""
comptime TARGETS: List[StaticString] = [
    "/plaintext",
    "/catalogue/garden/chairs?sort=price&page=3",
    "/catalogue/%C3%A4pfel?q=gr%C3%BCn+gelb",
]
"""What is parsed as a request target."""


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a text is refused.
    """
    for text in materialize[URLS]():

        def parse(i: Int) raises {imm} -> Int:
            return Url.parse(black_box(text)).port()

        measure(
            String("url/URL of ", text.byte_length(), " octets"),
            parse,
            octets=text.byte_length(),
        )
    for text in materialize[TARGETS]():

        def parse_target(i: Int) raises {imm} -> Int:
            try:
                return Int(
                    RequestTarget.parse(
                        black_box(text).as_bytes(), Method.GET
                    ).path_octets
                )
            except e:
                raise Error(e)

        measure(
            String("url/target of ", text.byte_length(), " octets"),
            parse_target,
            octets=text.byte_length(),
        )
