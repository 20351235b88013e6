"""Speaks TLS over a socket in memory, so that tests see each step: an end
without a close_notify is an error, and each side may end on its own."""

import contextlib
import functools
import socket
import ssl
import subprocess
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CERTIFICATES = ROOT / "build" / "tls_certificates"
NAME = "localhost"
RECEIVE_OCTETS = 1 << 18


class TruncatedError(Exception):
    """Says that the peer ended the transport without a close_notify."""


@functools.lru_cache
def certificates():
    """Makes the certificates of the tests once, and tells where they are."""
    script = ROOT / "tests/tls/make_certificates.sh"
    subprocess.run(["sh", script, CERTIFICATES], check=True, cwd=ROOT)
    return CERTIFICATES


def client_context(certificate=None):
    """Makes a context that trusts the authority of the tests."""
    context = ssl.create_default_context(cafile=certificates() / "ca.pem")
    if certificate:
        context.load_cert_chain(
            certificates() / f"{certificate}.pem",
            certificates() / f"{certificate}.key",
        )
    return context


@functools.lru_cache
def shared_context():
    """Gives a context that all connections of a process may use."""
    return client_context()


class SecureSocket:
    """Is a connected socket inside of which TLS is spoken."""

    def __init__(self, transport, context=None, name=NAME, session=None):
        self.transport = transport
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.tls = (context or shared_context()).wrap_bio(
            self.incoming, self.outgoing, server_hostname=name, session=session
        )
        self.has_ended = False
        self._unsent = b""
        # What arrived before this side was ended, and was not read.
        self._early = b""
        # One thread may read while another one sends.
        self._machine = threading.Lock()
        self._sending = threading.Lock()
        self._repeat(self.tls.do_handshake)
        self._push()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _push(self):
        # Whoever sends already takes along what others want to say.
        while self.outgoing.pending or self._unsent:
            if not self._sending.acquire(blocking=False):
                return
            try:
                self._unsent += self.outgoing.read()
                while self._unsent:
                    # What does not fit in time is sent by the next call.
                    count = self.transport.send(self._unsent)
                    self._unsent = self._unsent[count:]
            finally:
                self._sending.release()

    def _pull(self):
        octets = self.transport.recv(RECEIVE_OCTETS)
        with self._machine:
            if octets:
                self.incoming.write(octets)
            else:
                self.incoming.write_eof()

    def _repeat(self, step):
        while True:
            try:
                with self._machine:
                    return step()
            except ssl.SSLWantReadError:
                self._push()
                self._pull()

    def sendall(self, octets):
        """Sends octets, each call in records of its own."""
        view = memoryview(octets)
        while view:
            with self._machine:
                count = self.tls.write(view)
            view = view[count:]
            self._push()

    def send(self, octets):
        """Sends octets, in one record at most."""
        with self._machine:
            count = self.tls.write(octets)
        self._push()
        return count

    def recv(self, count):
        """Reads octets; none behind a close_notify.

        Raises TruncatedError where the transport ends without one."""
        if self._early:
            octets, self._early = self._early[:count], self._early[count:]
            return octets
        if self.has_ended:
            return b""
        try:
            return self._repeat(lambda: self.tls.read(count))
        except ssl.SSLZeroReturnError:
            self.has_ended = True
            return b""
        except ssl.SSLEOFError as error:
            raise TruncatedError from error
        finally:
            self._push()

    def shutdown(self, how):
        """Says that nothing more is sent, and ends that side of the socket."""
        assert how == socket.SHUT_WR
        with self._machine:
            # OpenSSL awaits the peer's close_notify too, and throws away what
            # it finds before.
            with contextlib.suppress(ssl.SSLError):
                while octets := self.tls.read(RECEIVE_OCTETS):
                    self._early += octets
            with contextlib.suppress(ssl.SSLError):
                self.tls.unwrap()
        self._push()
        self.transport.shutdown(how)

    def close(self):
        """Closes the socket; nothing is said to the peer."""
        self.transport.close()

    def __getattr__(self, name):
        return getattr(self.transport, name)
