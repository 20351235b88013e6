# Run: DATABASE_URL=postgres://app:secret@localhost/bank mojo run -I . examples/accounts/main.mojo
"""Serves the accounts on port 8080, or on the port of the first argument."""

from std.os import getenv
from std.sys import argv

from accounts import create_tables, open_database, service
from flare.http import HttpServer
from flare.net import SocketAddr


def main() raises:
    var location = getenv("DATABASE_URL")
    var port = Int(argv()[1]) if len(argv()) > 1 else 8080
    create_tables(open_database(0, location))
    HttpServer.bind(SocketAddr.localhost(UInt16(port))).serve(
        service(location), num_workers=2
    )
