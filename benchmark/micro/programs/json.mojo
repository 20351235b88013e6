"""Reads a text of JSON."""

from flare.json import loads


def main() raises:
    print(loads('{"items": [1, 2, 3]}')["items"][1].int_value())
