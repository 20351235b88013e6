"""Runs a program in a network of its own, in which names lead to a stand-in.

    named_network.py CERTIFICATE KEY ECHO_PORT PROGRAM

It is started in fresh namespaces for networks and mounts. The public names are
those of the loopback address, the certificate is all that the system trusts,
and the stand-in speaks HTTP over TLS there, and WebSocket without TLS. What it
was asked goes to standard output behind what the program printed, as a line of
JSON.
"""

import base64
import fcntl
import hashlib
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

NAMES = (
    "example.com", "api.example.com", "echo.websocket.events", "httpbin.org",
)
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


class WebSocketEcho(socketserver.StreamRequestHandler):
    """Sends back short messages (RFC 6455), and fails loudly on others."""

    GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    CLOSE = 8

    def handle(self):
        fields = {}
        assert self.rfile.readline() == b"GET / HTTP/1.1\r\n"
        while (line := self.rfile.readline().strip()):
            name, value = line.split(b": ", 1)
            fields[name.lower()] = value
        assert fields[b"host"] == b"echo.websocket.events"
        key = fields[b"sec-websocket-key"]
        accept = base64.b64encode(hashlib.sha1(key + self.GUID).digest())
        self.wfile.write(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
            b"Upgrade: websocket\r\nSec-WebSocket-Accept: " + accept
            + b"\r\n\r\n"
        )
        opcode = None
        while opcode != self.CLOSE:
            opcode = self.echo()

    def echo(self):
        first, second = self.rfile.read(2)
        assert first & 0x70 == 0 and first & 0x80 and 0x80 <= second < 0xFE
        key = self.rfile.read(4)
        masked = self.rfile.read(second & 0x7F)
        payload = bytes(o ^ key[i % 4] for i, o in enumerate(masked))
        StandIn.asked.append({"opcode": first & 15, "text": payload.hex()})
        self.wfile.write(bytes([first, len(payload)]) + payload)
        return first & 15


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
        start(socketserver.ThreadingTCPServer(("127.0.0.1", 80), WebSocketEcho))
        if int(echo_port):
            address = ("127.0.0.1", int(echo_port))
            start(socketserver.ThreadingTCPServer(address, Echo))
        finished = subprocess.run(program, timeout=PROGRAM_SECONDS_MAX)
        print(json.dumps(StandIn.asked), flush=True)
    return finished.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
