"""Measures `HeaderMap` with the ten fields of a usual response."""

from std.benchmark import black_box

from measure import measure

from flare.message import HeaderMap

comptime NAMES: List[StaticString] = [
    "Content-Type",
    "Server",
    "Cache-Control",
    "ETag",
    "Last-Modified",
    "Vary",
    "Accept-Ranges",
    "Strict-Transport-Security",
    "X-Request-ID",
    "X-Served-By",
]
"""The names of the fields."""


def main() raises:
    """Prints the figures.

    Raises:
        Error: Never.
    """
    var names = materialize[NAMES]()
    var value: StaticString = "a value of usual length"
    var full = HeaderMap()
    for name in names:
        full.append(name, value)

    def append(i: Int) raises {imm} -> Int:
        var fields = HeaderMap()
        for name in names:
            fields.append(black_box(name), value)
        return len(fields)

    measure("header_map/append, of ten", append, operations=10)

    def append_two(i: Int) raises {imm} -> Int:
        var fields = HeaderMap()
        fields.append(black_box(names[0]), value)
        fields.append(black_box(names[1]), value)
        return len(fields)

    measure("header_map/make one of two and free it", append_two)

    def replace(i: Int) raises {mut full, imm names, imm value} -> Int:
        full.set(black_box(names[i % 10]), value)
        return len(full)

    measure("header_map/set, replacing one of ten", replace)

    def find(i: Int) raises {imm} -> Int:
        return full.view().get(names[i % 10]).value().byte_length()

    measure("header_map/get, one of ten", find)

    def miss(i: Int) raises {imm} -> Int:
        return Int("Content-Disposition" in full)

    measure("header_map/get, missing", miss)

    def walk(i: Int) raises {imm} -> Int:
        var sum = 0
        for line in full:
            sum += line.name.byte_length() + line.value.byte_length()
        return sum

    measure("header_map/iterate, a line", walk, operations=10)
