"""Makes the tables of the arena's database, and knows what is in them."""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Callable
from pathlib import Path

from .arena import JSON, TEXT, Asked, page, request

ITEMS = 100_000
CATEGORIES = (
    "electronics", "clothing", "home", "sports", "toys",
    "books", "food", "beauty", "tools", "office",
)  # fmt: skip
TAGS = ("fast", "naïve", 'a "b"', "<new>")
FORTUNES = 200
_SAYINGS = (
    "fortune: No such file or directory",
    "A computer scientist is someone who fixes things that aren't broken.",
    "After enough decimal places, nobody gives a damn.",
    "A bad random number generator: 1, 1, 1, 1, 1, 4.33e+67, 1, 1, 1",
    "A computer program does what you tell it to do, not what you want.",
    "Emacs is a nice operating system, but I prefer UNIX.",
    "Any program that runs right is obsolete.",
    "A list is only as strong as its weakest link.",
    "Feature: A bug with seniority.",
    "Computers make very fast, very accurate mistakes.",
    '<script>alert("This should not be displayed in a browser.");</script>',
    "フレームワークのベンチマーク",
)
# The range whose items are asked for, and how many; load/arena.lua has the same.
PRICES = (10, 50)
LIMITS = (5, 10, 20, 35, 50)
ADDED_FORTUNE = (0, "Additional fortune added at request time.")


def item(number: int) -> dict:
    """Gives an item of the table, as answers show it."""
    return {
        "id": number,
        "name": f"Item {number}",
        "category": CATEGORIES[number % 10],
        "price": number * 37 % 500 + 1,
        "quantity": number * 11 % 97,
        "active": number % 4 != 0,
        "tags": list(TAGS[: number % 4 + 1]),
        "rating": {"score": number % 50, "count": number * 13 % 1000},
    }


def fortunes() -> list[tuple[int, str]]:
    """Gives the sayings of the table."""
    made = [
        f"Saying {number} is \"quoted\" & <b>isn't</b> bold — {'x' * (number % 40)}"
        for number in range(len(_SAYINGS) + 1, FORTUNES + 1)
    ]
    return list(enumerate((*_SAYINGS, *made), 1))


def asked_of(profile: str, folder: Path) -> list[Asked]:
    """Gives the requests of a profile; those that change an item leave it as
    it was."""
    if profile == "async_db":
        none = Asked(
            request("GET", "/async-db?min=9999"), JSON, b"",
            is_right=functools.partial(_is_range, 9999, PRICES[1], 0),
        )
        return [*map(_range_asked, LIMITS), none]
    if profile == "api":
        sums = Asked(request("GET", "/baseline11?a=13&b=42"), TEXT, b"55")
        items = Asked(
            request("GET", "/json/50?m=1"), JSON, page(folder, 50, 1)
        )
        return [*[sums] * 3, *[items] * 3, *[_range_asked(50)] * 2]
    if profile == "fortunes":
        fortunes_page = request("GET", "/fortunes")
        return [
            Asked(fortunes_page, "text/html", b"", is_right=_is_fortunes)
        ]
    if profile == "crud":
        return _crud_asked()
    raise ValueError(f"no profile {profile}")


def _range_asked(limit: int) -> Asked:
    low, high = PRICES
    return Asked(
        request("GET", f"/async-db?min={low}&max={high}&limit={limit}"),
        JSON,
        b"",
        is_right=functools.partial(_is_range, low, high, limit),
    )


def _is_range(low: int, high: int, limit: int, content: bytes) -> bool:
    """Tells whether these are so many different items of a range of prices,
    in whatever order."""
    found = json.loads(content)
    items = found["items"]
    return (
        found["count"] == len({one["id"] for one in items}) == limit
        and all(one == item(one["id"]) for one in items)
        and all(low <= one["price"] <= high for one in items)
    )


def _is_fortunes(content: bytes) -> bool:
    text = content.decode()
    rows = re.findall(r"<tr><td>(\d+)</td><td>(.*?)</td></tr>", text)
    wanted = sorted(
        [*fortunes(), ADDED_FORTUNE], key=lambda row: row[1].encode()
    )
    return (
        text.startswith("<!DOCTYPE html>")
        and "<script>" not in text
        and [(int(id), html.unescape(words)) for id, words in rows] == wanted
    )


def _crud_asked() -> list[Asked]:
    def same(wanted: object) -> Callable[[bytes], bool]:
        return lambda content: json.loads(content) == wanted

    def read(number: int, cached: str, wanted: dict) -> Asked:
        path = f"/crud/items/{number:05}"
        return Asked(
            request("GET", path), JSON, b"", is_right=same(wanted),
            cached=cached,
        )

    def sent(
        method: str, path: str, number: int, status: int
    ) -> Asked:
        fields = ("name", "category", "price", "quantity", "id")
        content = {name: item(number)[name] for name in fields}
        return Asked(
            request(method, path, content=json.dumps(content).encode()),
            "", b"", status=status, is_right=lambda content: True,
        )

    ids = [i for i in range(1, 400) if item(i)["category"] == "office"]
    office = {
        "items": [item(i) for i in ids[10:20]], "total": 10, "page": 2,
        "limit": 10,
    }
    listed = "/crud/items?category=office&page=02&limit=10"
    added = {
        **item(ITEMS + 1), "active": True, "tags": [],
        "rating": {"score": 0, "count": 0},
    }
    return [
        sent("PUT", "/crud/items/00042", 42, 200),
        read(42, "MISS", item(42)),
        read(42, "HIT", item(42)),
        sent("PUT", f"/crud/items/{2 * ITEMS}", 1, 404),
        Asked(request("GET", listed), JSON, b"", is_right=same(office)),
        sent("POST", "/crud/items", ITEMS + 1, 201),
        read(ITEMS + 1, "MISS", added),
    ]


def statements(items: int = ITEMS) -> str:
    """Gives the statements that make the tables."""
    rows = ", ".join(
        f"({number}, {_quoted(text)})" for number, text in fortunes()
    )
    return f"""
        CREATE TABLE items (
            id int PRIMARY KEY, name text NOT NULL, category text NOT NULL,
            price int NOT NULL, quantity int NOT NULL, active boolean NOT NULL,
            tags jsonb NOT NULL, rating_score int NOT NULL,
            rating_count int NOT NULL
        );
        INSERT INTO items SELECT
            i, 'Item ' || i, (ARRAY[{_list(CATEGORIES)}])[i % 10 + 1],
            i * 37 % 500 + 1, i * 11 % 97, i % 4 <> 0,
            to_jsonb((ARRAY[{_list(TAGS)}])[1:i % 4 + 1]),
            i % 50, i * 13 % 1000
        FROM generate_series(1, {items}) i;
        CREATE TABLE fortune (id int PRIMARY KEY, message text NOT NULL);
        INSERT INTO fortune VALUES {rows};
        ANALYZE;
    """


def _list(texts: tuple[str, ...]) -> str:
    return ", ".join(map(_quoted, texts))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
