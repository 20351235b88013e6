"""Speaks TLS with the peers of tests/python/test_tls_peers.py.

    tls_peer server FOLDER OPTION…     prints its port, then a line for each
                                       connection, until its input ends
    tls_peer client FOLDER HOST PORT OPTION…   prints one line

A line says how the connection ended, and what was agreed on in it. A server
sends back what it reads. A client with the option `get` speaks HTTP, and prints
the response behind its line.
"""

from std.sys import argv

from flare.net import SocketAddr
from flare.runtime import spawn
from flare.tls import (
    Pem,
    TlsConfig,
    TlsIdentity,
    TlsListener,
    TlsServerConfig,
    TlsStream,
)


def main() raises:
    var arguments = argv()
    var options = List[String]()
    for i in range(3, len(arguments)):
        options.append(String(arguments[i]))
    var folder = String(arguments[2])
    if arguments[1] == "server":
        serve(folder, options)
    else:
        print(ask(folder, options), flush=True)


def serve(folder: String, options: List[String]) raises:
    var config = TlsServerConfig(identity(folder, "server"))
    config.handshake_timeout_ms = 3_000
    for option in options:
        if option == "mutual":
            config.client_authorities.append(Pem(path=folder + "/ca.pem"))
        elif option == "rsa":
            config.identities[0] = identity(folder, "rsa")
        else:
            config.application_protocols.append(option)
    var listener = TlsListener.bind(SocketAddr.localhost(0), config)
    print(listener.local_address().port, flush=True)
    while True:
        var stream = listener.accept()

        def echo() raises {var stream^}:
            print(outcome_of(stream), flush=True)

        spawn(echo^).detach()


def outcome_of(stream: TlsStream) -> String:
    try:
        var octets = List[UInt8](length=20_000, fill=0)
        while True:
            var count = stream.read(Span(octets))
            if count == 0:
                stream.close()
                return String("end ", agreed(stream))
            stream.write_all(Span(octets)[0:count])
    except e:
        return String(e)


def ask(folder: String, options: List[String]) -> String:
    try:
        var config = TlsConfig(trusts_system_authorities=False)
        config.authorities.append(Pem(path=folder + "/ca.pem"))
        var request = String("hello")
        for i in range(2, len(options)):
            if options[i] == "identity":
                config.identity = identity(folder, "client")
            elif options[i] == "tls_1_3":
                config.requires_tls_1_3 = True
            elif options[i] == "get":
                request = "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"
            else:
                config.application_protocols.append(options[i])
        var stream = TlsStream.connect(
            options[0], UInt16(Int(options[1])), config
        )
        stream.write_all(request.as_bytes())
        var octets = List[UInt8](length=20_000, fill=0)
        var total = 0
        var response = String()
        while True:
            var count = stream.read(Span(octets))
            if count == 0:
                stream.close()
                return String("end ", total, " ", agreed(stream), response)
            total += count
            if request != "hello":
                response += "\n"
                response += String(from_utf8_lossy=Span(octets)[0:count])
    except e:
        return String(e)


def agreed(stream: TlsStream) -> String:
    return String(
        stream.version(),
        " ",
        stream.cipher(),
        " ",
        stream.application_protocol().or_else("-"),
        " ",
        stream.peer_subject().or_else("-"),
    )


def identity(folder: String, name: String) -> TlsIdentity:
    return TlsIdentity.files(
        String(folder, "/", name, ".pem"), String(folder, "/", name, ".key")
    )
