"""Starts the arena's server, with the benchmark's data set or one like it."""

import functools
import hashlib
import os
import re
import ssl
import sys
import tempfile
import unittest
from pathlib import Path

import brotli

import tested_programs
from loopback.client import Client
from loopback.secure_socket import SecureSocket
from loopback.subject import BACKENDS, ROOT, Subject

sys.path.insert(0, str(ROOT))

from benchmark.driver.arena import (  # noqa: E402
    write_certificate,
    write_data,
    write_files,
)

# A project may have the benchmark's own files beside it.
SHARED = next(
    (
        folder / "shared" / "data" / "arena"
        for folder in ROOT.parents
        if (folder / "shared" / "data" / "arena" / "dataset.json").exists()
    ),
    None,
)


@functools.lru_cache
def build():
    """Builds the server over the driver library; gives its path."""
    return tested_programs.build(ROOT / "benchmark" / "arena" / "server.mojo")


@functools.lru_cache
def scratch():
    """Gives a folder that ends with the process."""
    folder = tempfile.TemporaryDirectory()
    # The cache keeps the object, and so the folder.
    folder.path = Path(folder.name)
    return folder


@functools.lru_cache
def made_data():
    """Makes a folder with a data set like the benchmark's; gives its path."""
    folder = scratch().path / "data"
    write_data(folder)
    return folder


@functools.lru_cache
def made_files():
    """Makes a folder with a data set and files; gives its path."""
    folder = scratch().path / "files"
    write_data(folder)
    write_files(folder / "static", brotli.compress)
    return folder


def data():
    """Gives the folder of the data set."""
    return SHARED or made_data()


@functools.lru_cache
def certificates(name):
    """Makes a certificate as the benchmark mounts it; gives its folder."""
    folder = scratch().path / name
    write_certificate(folder)
    return folder


def fingerprint(folder):
    """Gives the digest of the certificate in a folder."""
    text = (folder / "server.crt").read_text()
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).hexdigest()


def client_context(folder, protocols=("http/1.1",)):
    """Makes a context that trusts the certificate of a folder."""
    context = ssl.create_default_context(cafile=folder / "server.crt")
    # The certificate has no alternative name, which Python would ask for.
    context.check_hostname = False
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class Arena(Subject):
    """Is one process of the arena's server.

    `ports` are those of its listeners: plain, inside of TLS, and those of HTTP/2,
    inside of TLS and without.
    """

    def __init__(self, backend, *options, listeners=4, folder=None):
        options = ("--host", "127.0.0.1", "--port", "0", "--tls-port", "0",
                   "--tls-check-port", "0", "--h2-port", "0",
                   "--h2c-port", "0", "--workers", "1",
                   "--data", folder or data(),
                   "--certificates", certificates("mounted"),
                   "--tls-check-certificates", scratch().path / "absent",
                   "--backend", backend, *options)
        super().__init__(backend, command=[build(), *map(str, options)])
        try:
            self.ports = self._read_ports()
            if len(self.ports) != listeners:
                raise AssertionError(f"{self.ports}: {self.log()}")
        except BaseException:
            self.stop()
            raise

    def _read_ports(self):
        # All are printed before the log says that the server listens.
        self.await_log(rb"listening on")
        os.set_blocking(self.process.stdout.fileno(), False)
        others = (self.process.stdout.read() or b"").split()
        return [self.port, *map(int, others)]

    def connect_secure(self, port=None, context=None):
        """Opens a connection inside of TLS."""
        context = context or client_context(certificates("mounted"))
        client = Client(port or self.ports[1])
        try:
            client.socket = SecureSocket(client.socket, context)
        except BaseException:
            client.close()
            raise
        client.secure = True
        return client

    def peak_kib(self):
        """Gives the most memory that the process ever had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


class WithArena(unittest.TestCase):
    """Starts one server for a class, and checks at the end that it is well."""

    backend = BACKENDS[0]

    @classmethod
    def setUpClass(cls):
        cls.arena = Arena(cls.backend)
        cls.addClassCleanup(cls.arena.stop)

    @classmethod
    def tearDownClass(cls):
        code = cls.arena.stop()
        if code != 0:
            raise AssertionError(f"exit code {code}: {cls.arena.log()}")
        for line in cls.arena.log():
            if not re.match(rb"no (listener|files) |flare: listening", line):
                raise AssertionError(f"the log says {line}")

    def connect(self):
        """Opens a connection that ends with the test."""
        client = self.arena.connect()
        self.addCleanup(client.close)
        return client

    def connect_secure(self, **options):
        """Opens a connection inside of TLS that ends with the test."""
        client = self.arena.connect_secure(**options)
        self.addCleanup(client.close)
        return client


def request(line, *fields, content=None):
    """Gives the octets of a request; `content` gets a Content-Length."""
    lines = [f"{line} HTTP/1.1", "Host: localhost:8080", *fields]
    if content is not None:
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + (content or b"")


def chunked(line, *chunks, fields=()):
    """Gives the octets of a request with content in chunks."""
    head = request(line, "Transfer-Encoding: chunked", *fields)
    body = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks)
    return head + body + b"0\r\n\r\n"


def client_hello(version, suites):
    """Gives the octets that open a handshake up to TLS 1.2 with these suites,
    which no library of today would offer."""

    def vector(width, octets):
        return len(octets).to_bytes(width, "big") + octets

    def extension(number, octets):
        return number.to_bytes(2, "big") + vector(2, octets)

    codes = b"".join(suite.to_bytes(2, "big") for suite in suites)
    groups = vector(2, bytes.fromhex("001d00170018"))
    signatures = vector(2, bytes.fromhex("08040401050102010203"))
    extensions = (
        extension(10, groups)
        + extension(11, vector(1, b"\0"))
        + extension(13, signatures)
    )
    hello = (
        version.to_bytes(2, "big")
        + os.urandom(32)
        + vector(1, b"")
        + vector(2, codes)
        + vector(1, b"\0")
        + vector(2, extensions)
    )
    message = b"\x01" + vector(3, hello)
    return b"\x16\x03\x01" + vector(2, message)
