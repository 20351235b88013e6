"""Runs a program in a network of its own, in which names lead to a stand-in.

    named_network.py CERTIFICATE KEY ECHO_PORT PROGRAM

It is started in fresh namespaces for networks and mounts. The public names are
those of the loopback address, the certificate is all that the system trusts,
and the stand-in speaks HTTP over TLS there. What it was asked goes to standard
output behind what the program printed, as a line of JSON.
"""

import fcntl
import http.server
import json
import pathlib
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

NAMES = ("example.com", "api.example.com", "httpbin.org")
TRUST_STORE = "/etc/ssl/certs"
PROGRAM_SECONDS_MAX = 30
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def raise_loopback():
    """Switches on the only interface that the network has."""
    with socket.socket() as any_socket:
        request = struct.pack("16sh", b"lo", IFF_UP)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)


def mount(*arguments):
    """Mounts something in this namespace alone."""
    subprocess.run(["mount", *arguments], check=True)


def name_loopback(folder, certificate):
    """Leads the names to the loopback address, and trusts the certificate."""
    hosts = pathlib.Path(folder) / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {' '.join(NAMES)}\n")
    mount("--bind", hosts, "/etc/hosts")
    mount("-t", "tmpfs", "tmpfs", TRUST_STORE)
    store = pathlib.Path(TRUST_STORE) / "ca-certificates.crt"
    store.write_bytes(pathlib.Path(certificate).read_bytes())


class StandIn(http.server.BaseHTTPRequestHandler):
    """Answers as the public echo service does, and tells what it was asked."""

    protocol_version = "HTTP/1.1"
    asked: list = []

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = {
            "method": self.command,
            "url": f"https://{self.headers['Host']}{self.path}",
            "headers": dict(self.headers.items()),
            "data": body.decode(),
            "json": json.loads(body) if body else None,
        }
        self.asked.append(asked)
        content = json.dumps(asked).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it receives."""

    def handle(self):
        while octets := self.request.recv(4096):
            self.request.sendall(octets)


def start(server):
    """Serves on another thread."""
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main(certificate, key, echo_port, *program):
    raise_loopback()
    with tempfile.TemporaryDirectory() as folder:
        name_loopback(folder, certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 443), StandIn)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        start(server)
        if int(echo_port):
            address = ("127.0.0.1", int(echo_port))
            start(socketserver.ThreadingTCPServer(address, Echo))
        finished = subprocess.run(program, timeout=PROGRAM_SECONDS_MAX)
        print(json.dumps(StandIn.asked), flush=True)
    return finished.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
