# Run: DATABASE_URL=postgres://app:secret@localhost/shop mojo run -I . examples/jobs/add.mojo ann@example.com Hello
"""Adds a job: a mail with an address and a text. Prints its number."""

from std.os import getenv
from std.sys import argv

from flare.postgres import Database
from jobs import Mail, add, create_tables


def main() raises:
    if len(argv()) != 3:
        raise Error("give an address and a text")
    var db = Database(getenv("DATABASE_URL"))
    create_tables(db)
    print(add(db, Mail(String(argv()[1]), String(argv()[2]))))
