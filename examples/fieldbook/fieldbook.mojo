# Run: mojo build -I . -o /tmp/fieldbook examples/fieldbook/fieldbook.mojo && echo a-long-password | /tmp/fieldbook --add-person ann && /tmp/fieldbook --static examples/fieldbook/static --tls no
"""A logbook of a small team: people sign in, write notes with pictures, and see
those of the others at once."""

from std.os import makedirs
from std.sys import argv

from flare.http import AccessLog, Listener, NotifySocket
from flare.metrics import Metrics
from flare.prelude import *
from flare.runtime import Broadcast
from flare.tls import TlsIdentity, TlsServerConfig

from people import add_person
from service import routes, serve
from services import Change, Common, Counts, create_tables
from services import open_database, picture_files


def options() raises -> Dict[String, String]:
    """Returns the options of the command line, or their defaults."""
    var found: Dict[String, String] = {
        "--listen": "127.0.0.1:8080",
        "--data": "fieldbook-data",
        "--static": "static",
        "--workers": "2",
        # `no` for browsers that use no TLS: neither here nor to a proxy.
        "--tls": "yes",
        "--certificate": "",
        "--key": "",
        "--add-person": "",
    }
    var words = argv()
    for i in range(1, len(words), 2):
        var name = String(words[i])
        if name not in found or i + 1 == len(words):
            raise Error(name, " is unknown or has no value")
        found[name] = String(words[i + 1])
    return found^


def listen(said: Dict[String, String], metrics: Metrics) raises -> HttpServer:
    """Takes over the sockets of systemd, or opens one."""
    var config = ServerConfig(
        metrics=metrics, access_log=AccessLog.json_lines()
    )
    var listeners = Listener.from_systemd()
    if len(listeners) == 0:
        listeners.append(Listener.bind(said["--listen"]))
    var server = HttpServer(config=config^)
    while len(listeners) > 0:
        if said["--certificate"] == "":
            server.add(listeners.pop())
        else:
            var identity = TlsIdentity.files(
                said["--certificate"], said["--key"]
            )
            server.add_tls(listeners.pop(), TlsServerConfig(identity^))
    server.notify(NotifySocket.from_systemd())
    return server^


def main() raises:
    var said = options()
    var data = said["--data"]
    makedirs(data + "/pictures", exist_ok=True)
    var database = open_database(data)
    create_tables(database)
    if said["--add-person"] != "":
        # The password is the first line of standard input.
        return add_person(database, said["--add-person"], input())
    database.close()
    var metrics = Metrics()
    var common = Common(
        data, picture_files(data), Broadcast[Change](), Counts.of(metrics)
    )
    serve(
        listen(said, metrics),
        routes(said["--static"], metrics),
        common,
        workers=Int(said["--workers"]),
        secure=said["--tls"] == "yes",
    )
