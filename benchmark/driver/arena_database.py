"""Makes the tables of the arena's database, and knows what is in them."""

from __future__ import annotations

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
