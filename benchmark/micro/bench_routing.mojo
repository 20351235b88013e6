"""Measures `RouteTable.find` with 200 routes: the table alone, no handler."""

from measure import measure

from flare.core import heap_create
from flare.http.routing import Captures, MatchKind, RouteTable
from flare.message import Method

comptime RESOURCES: List[StaticString] = [
    "users",
    "teams",
    "projects",
    "issues",
    "comments",
    "labels",
    "milestones",
    "releases",
    "branches",
    "commits",
    "tags",
    "files",
    "hooks",
    "keys",
    "tokens",
    "sessions",
    "invoices",
    "payments",
    "customers",
    "products",
    "prices",
    "orders",
    "shipments",
    "addresses",
    "carts",
    "reviews",
    "ratings",
    "images",
    "videos",
    "events",
    "alerts",
    "metrics",
    "reports",
    "exports",
    "imports",
    "jobs",
    "queues",
    "workers",
    "nodes",
    "regions",
]


def _table() raises -> RouteTable:
    var table = RouteTable()
    for resource in materialize[RESOURCES]():
        var all = String("/api/v1/", resource)
        table.add("GET", all, len(table))
        table.add("POST", all, len(table))
        table.add("GET", all + "/:id", len(table))
        table.add("DELETE", all + "/:id", len(table))
        table.add("GET", all + "/:id/history/*", len(table))
    return table^


def _measure(
    name: StaticString,
    table: RouteTable,
    method: Method,
    paths: List[String],
    kind: MatchKind,
) raises:
    var captures = heap_create(Captures())

    def find(i: Int) raises {imm} -> Int:
        ref path = paths[i % len(paths)]
        var found = table.find(
            method,
            Span[UInt8, origin_of(path)](),
            path.as_bytes(),
            captures,
        )
        if found.kind != kind:
            raise Error(path, " is ", found.kind)
        return found.endpoint

    measure(String("routing/", name), find)


def _table_of_dead_ends() raises -> RouteTable:
    # Every node of the first eight levels has a literal and a parameter child.
    var table = RouteTable()
    for i in range(1 << 8):
        var pattern = String()
        for bit in range(8):
            pattern += "/a" if (i >> bit) & 1 == 0 else String("/:p", bit)
        table.add("GET", pattern + "/end", i)
    return table^


def main() raises:
    """Runs the measurement.

    Raises:
        Error: If a request is not answered as it should be.
    """
    var table = _table()
    var literal = List[String]()
    var parameter = List[String]()
    var rest = List[String]()
    var escaped = List[String]()
    var long = List[String]()
    var missing = List[String]()
    for resource in materialize[RESOURCES]():
        var all = String("/api/v1/", resource)
        literal.append(all)
        parameter.append(all + "/8472")
        rest.append(all + "/8472/history/2026/11/21")
        escaped.append(all + "/a%20b")
        long.append(
            all + "/0123456789abcdef0123456789abcdef/history/2026-11-21/noon/1"
        )
        missing.append(all + "/8472/future")
    _measure("literal", table, Method.GET, literal, MatchKind.FOUND)
    _measure("parameter", table, Method.GET, parameter, MatchKind.FOUND)
    _measure("rest", table, Method.GET, rest, MatchKind.FOUND)
    _measure("HEAD through GET", table, Method.HEAD, literal, MatchKind.FOUND)
    _measure("escaped parameter", table, Method.GET, escaped, MatchKind.FOUND)
    _measure("over 64 octets", table, Method.GET, long, MatchKind.FOUND)
    _measure("404", table, Method.GET, missing, MatchKind.NOT_FOUND)
    _measure(
        "405",
        table,
        Method.PATCH,
        literal,
        MatchKind.METHOD_NOT_ALLOWED,
    )
    _measure(
        "404, 511 dead ends",
        _table_of_dead_ends(),
        Method.GET,
        ["/a/a/a/a/a/a/a/a/other"],
        MatchKind.NOT_FOUND,
    )
