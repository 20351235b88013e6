#!/usr/bin/env python3
"""Writes the product pool that every server of the benchmark answers from.

    benchmark/baselines/products.py FILE

500 products of 3 to 5 KB each, the same octets wherever this runs. The file is
one JSON array with one product per line, so that a server without a JSON
parser finds each product as a line without its last comma.
"""

import json
import sys

PRODUCTS = 500
PRODUCT_OCTETS = range(3000, 5001)
SEED = 0x5DEECE66D
MASK = (1 << 64) - 1
BRANDS = (
    "Alder", "Basalt", "Cinder", "Drift", "Ember", "Fathom", "Glacier",
    "Harbor", "Inlet", "Jasper", "Kiln", "Larch", "Mistral", "Northwind",
    "Opal", "Prairie", "Quill", "Rowan", "Sable", "Timber",
)
CATEGORIES = (
    "audio", "books", "camping", "cycling", "furniture", "garden", "kitchen",
    "lighting", "stationery", "tools",
)
WORDS = (
    "about", "adjustable", "after", "aluminium", "around", "balanced",
    "because", "brushed", "canvas", "carries", "closes", "cork", "daily",
    "dense", "double", "drawer", "every", "fabric", "firm", "folds", "four",
    "frame", "grip", "hand", "heavy", "hinge", "holds", "hollow", "inside",
    "joint", "keeps", "kettle", "lamp", "layer", "lid", "linen", "lock",
    "long", "matte", "narrow", "never", "oak", "opens", "outer", "panel",
    "plain", "quiet", "rests", "rim", "rubber", "screw", "seam", "shelf",
    "short", "simple", "slides", "soft", "steel", "stitched", "strap",
    "surface", "table", "thick", "under", "walnut", "warm", "washable",
    "weather", "wide", "without", "wool", "woven",
)
ATTRIBUTES = (
    "color", "country", "finish", "material", "model", "warranty", "weight",
)


class Generator:
    """Draws numbers by xorshift64*, which every language can repeat."""

    def __init__(self, seed):
        self.state = seed

    def draw(self):
        """Gives the next 64 bits."""
        self.state ^= self.state >> 12
        self.state = (self.state ^ self.state << 25) & MASK
        self.state ^= self.state >> 27
        return self.state * 0x2545F4914F6CDD1D & MASK

    def below(self, bound):
        """Gives a number under `bound`."""
        return (self.draw() >> 32) % bound

    def between(self, low, high):
        """Gives a number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def choice(self, values):
        """Gives one of `values`."""
        return values[self.below(len(values))]

    def words(self, low, high):
        """Gives `low` to `high` words."""
        count = self.between(low, high)
        return " ".join(self.choice(WORDS) for _ in range(count))


def uuid(draw):
    """Gives a UUID of version 4."""
    digits = f"{draw.draw():016x}{draw.draw():016x}"
    variant = "89ab"[draw.below(4)]
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}"
        f"-{variant}{digits[17:20]}-{digits[20:]}"
    )


def paragraph(draw):
    """Gives six to eight sentences."""
    sentences = (
        draw.words(10, 16).capitalize() + "."
        for _ in range(draw.between(6, 8))
    )
    return " ".join(sentences)


def product(draw):
    """Gives one product."""
    identity = uuid(draw)
    return {
        "id": identity,
        "name": draw.words(2, 4).title(),
        "brand": draw.choice(BRANDS),
        "category": draw.choice(CATEGORIES),
        "price": draw.between(199, 99999) / 100,
        "rating": draw.between(10, 50) / 10,
        "review_count": draw.below(20000),
        "description": "\n\n".join(paragraph(draw) for _ in range(5)),
        "tags": [
            f"{draw.choice(WORDS)}-{draw.choice(WORDS)}"
            for _ in range(draw.between(5, 15))
        ],
        "attributes": {name: draw.words(1, 3) for name in ATTRIBUTES},
        "images": [
            f"https://images.example/{identity}/{draw.draw():016x}.jpg"
            for _ in range(draw.between(3, 8))
        ],
    }


def products():
    """Gives the JSON text of each product, in ASCII."""
    draw = Generator(SEED)
    texts = [
        json.dumps(product(draw), separators=(",", ":"))
        for _ in range(PRODUCTS)
    ]
    if not all(len(text) in PRODUCT_OCTETS for text in texts):
        sys.exit("a product is not of 3 to 5 KB")
    return texts


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write("[\n" + ",\n".join(products()) + "\n]\n")


if __name__ == "__main__":
    main()
