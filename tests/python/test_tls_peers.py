"""Lets flare speak TLS with other implementations, on both sides."""

import socket
import ssl
import subprocess
import sys
import threading
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import without_libraries  # noqa: E402
from loopback.subject import ROOT, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "tls_peer.mojo"
FOLDER = ROOT / "build" / "tls_certificates"
SECONDS_MAX = 20
AEAD = "ECDHE-ECDSA-AES128-GCM-SHA256"
CBC = "ECDHE-ECDSA-AES128-SHA256:@SECLEVEL=0"
# Without authenticated encryption, without ephemeral keys, without either, and
# without a certificate.
WEAK = (
    "ECDHE-RSA-AES128-SHA256",
    "AES128-GCM-SHA256",
    "AES128-SHA",
    "ADH-AES128-GCM-SHA256",
)


def setUpModule():
    subprocess.run(
        ["sh", ROOT / "tests/tls/make_certificates.sh", FOLDER], check=True
    )
    build(SOURCE)


class Server:
    """Runs flare as a server, and reads what it says of each connection."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [build(SOURCE), "server", FOLDER, *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def connect(self):
        return socket.create_connection(
            ("127.0.0.1", self.port), timeout=SECONDS_MAX
        )

    def line(self):
        return self.process.stdout.readline().rstrip("\n")


class Peer:
    """Accepts one connection for flare's client, in a thread."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.error = None
        self.thread = threading.Thread(target=self.run, args=(serve,))
        self.thread.start()

    def run(self, serve):
        connection, _ = self.listener.accept()
        connection.settimeout(SECONDS_MAX)
        with connection:
            try:
                serve(connection)
            except (ssl.SSLError, OSError) as error:
                self.error = error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.thread.join(SECONDS_MAX)
        self.listener.close()


def ask(port, *options, host="localhost", **popen):
    finished = subprocess.run(
        [build(SOURCE), "client", FOLDER, host, str(port), *options],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        **popen,
    )
    return finished.stdout.strip()


def server_context(name="server"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / f"{name}.pem", FOLDER / f"{name}.key")
    return context


def client_context():
    return ssl.create_default_context(cafile=FOLDER / "ca.pem")


def only(context, version):
    context.minimum_version = version
    context.maximum_version = version
    return context


def answer(context, octets=b"answer", ends=True):
    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as stream:
            stream.recv(5)
            stream.sendall(octets)
            if ends:
                stream.unwrap()

    return serve


class Clients(unittest.TestCase):
    def test_both_versions_are_spoken(self):
        rows = [
            (ssl.TLSVersion.TLSv1_2, "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_"),
            (ssl.TLSVersion.TLSv1_3, "TLSv1.3 TLS_AES_"),
        ]
        for version, wanted in rows:
            with Peer(answer(only(server_context(), version))) as peer:
                said = ask(peer.port)
            self.assertIn(f"end 6 {wanted}", said)
            self.assertTrue(said.endswith(" - CN=server"), said)

    def test_a_megabyte_arrives_whole(self):
        octets = bytes(range(256)) * 4096
        with Peer(answer(server_context(), octets)) as peer:
            self.assertIn("end 1048576 ", ask(peer.port))

    def test_an_old_version_is_refused(self):
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            context = server_context()
            context.set_ciphers("ALL:@SECLEVEL=0")
            with Peer(answer(only(context, version))) as peer:
                said = ask(peer.port)
            self.assertTrue(said.startswith("tls.version handshake"), said)

    def test_tls_1_2_is_refused_where_1_3_is_required(self):
        context = only(server_context(), ssl.TLSVersion.TLSv1_2)
        with Peer(answer(context)) as peer:
            said = ask(peer.port, "tls_1_3")
        self.assertTrue(said.startswith("tls.version handshake"), said)

    def test_a_suite_without_authenticated_encryption_is_refused(self):
        context = only(server_context(), ssl.TLSVersion.TLSv1_2)
        context.set_ciphers(CBC)
        with Peer(answer(context)) as peer:
            said = ask(peer.port)
        self.assertTrue(said.startswith("tls.alert handshake alert=40"), said)

    def test_weak_suites_are_refused(self):
        for suite in WEAK:
            with self.subTest(suite):
                context = only(server_context("rsa"), ssl.TLSVersion.TLSv1_2)
                context.set_ciphers(f"{suite}:@SECLEVEL=0")
                with Peer(answer(context)) as peer:
                    said = ask(peer.port)
                self.assertTrue(
                    said.startswith("tls.alert handshake alert=40"), said
                )

    def test_a_server_that_renegotiates_is_refused(self):
        server = subprocess.Popen(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_2",
                "-cert", FOLDER / "server.pem", "-key", FOLDER / "server.key",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        watch = threading.Timer(SECONDS_MAX, server.kill)
        self.addCleanup(watch.cancel)
        watch.start()

        def read_until(text):
            output = ""
            while not output.endswith(text):
                octet = server.stdout.read(1)
                self.assertTrue(octet, output)
                output += octet

        def renegotiate():
            # It obeys once it has read what the client says first.
            read_until("hello")
            server.stdin.write("R\n")
            server.stdin.flush()

        read_until("ACCEPT 127.0.0.1:")
        port = int(server.stdout.readline())
        asking = threading.Thread(target=renegotiate)
        asking.start()
        # The refusal goes out although nothing else is said.
        said = ask(port)
        asking.join()
        self.assertTrue(said.startswith("tls.alert read alert=40"), said)
        read_until("no renegotiation")

    def test_certificates_are_checked(self):
        rows = [
            ("other", "tls.wrong_name"),
            ("expired", "tls.expired"),
            ("early", "tls.not_yet_valid"),
            ("self_signed", "tls.self_signed"),
            ("stranger", "tls.unknown_authority"),
        ]
        for name, wanted in rows:
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                context = only(server_context(name), version)
                with Peer(answer(context)) as peer:
                    said = ask(peer.port)
                self.assertTrue(said.startswith(f"{wanted} handshake"), said)
                self.assertIsInstance(peer.error, ssl.SSLError)

    def test_an_address_is_checked(self):
        with Peer(answer(server_context())) as peer:
            self.assertIn("end 6", ask(peer.port, host="127.0.0.1"))
        with Peer(answer(server_context("other"))) as peer:
            said = ask(peer.port, host="127.0.0.1")
        self.assertTrue(said.startswith("tls.wrong_name handshake"), said)

    def test_the_name_is_asked_for(self):
        names = []
        context = server_context()
        context.sni_callback = lambda _, name, __: names.append(name)
        with Peer(answer(context)) as peer:
            ask(peer.port)
        self.assertEqual(names, ["localhost"])

    def test_an_application_protocol_is_agreed_on(self):
        context = server_context()
        context.set_alpn_protocols(["http/1.1"])
        with Peer(answer(context)) as peer:
            self.assertIn(" http/1.1 ", ask(peer.port, "h2", "http/1.1"))

    def test_a_client_certificate_is_shown_to_who_asks(self):
        subjects = []

        def serve(connection):
            with context.wrap_socket(connection, server_side=True) as stream:
                subjects.append(stream.getpeercert()["subject"])
                stream.recv(5)
                stream.unwrap()

        context = server_context()
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(FOLDER / "ca.pem")
        with Peer(serve) as peer:
            self.assertIn("end 0", ask(peer.port, "identity"))
        self.assertIn((("commonName", 'client, "x"'),), subjects[0])

        def refuse(connection):
            stream = context.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
            try:
                stream.do_handshake()
            finally:
                # Closing over unread octets would take the alert along.
                with socket.socket(fileno=stream.detach()) as rest:
                    rest.shutdown(socket.SHUT_WR)
                    while rest.recv(4096):
                        pass

        with Peer(refuse) as peer:
            said = ask(peer.port)
        self.assertTrue(said.startswith("tls.alert read alert=116"), said)

    def test_an_end_without_a_word_is_truncated(self):
        with Peer(answer(server_context(), ends=False)) as peer:
            said = ask(peer.port)
        self.assertTrue(said.startswith("tls.truncated read"), said)

    def test_a_server_that_leaves_or_talks_plainly_is_told_apart(self):
        def leave(connection):
            connection.recv(10000)

        def talk(connection):
            connection.recv(10000)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            connection.recv(10000)

        with Peer(leave) as peer:
            said = ask(peer.port)
        self.assertTrue(said.startswith("tls.truncated handshake"), said)
        with Peer(talk) as peer:
            said = ask(peer.port)
        self.assertTrue(said.startswith("tls.protocol handshake"), said)


    def test_a_machine_without_the_library_is_told_what_to_install(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            said = ask(port, env=without_libraries(self))
        self.assertTrue(said.startswith("tls.no_library load: "), said)
        self.assertEqual(len(said.split("\n")), 1)


class Servers(unittest.TestCase):
    def exchange(self, server, context, host="localhost"):
        with server.connect() as connection:
            with context.wrap_socket(
                connection, server_hostname=host
            ) as stream:
                stream.sendall(b"hello")
                self.assertEqual(stream.recv(5), b"hello")
                stream.unwrap()

    def test_both_versions_are_spoken(self):
        with Server() as server:
            rows = [
                (ssl.TLSVersion.TLSv1_2, "end TLSv1.2 TLS_ECDHE_ECDSA_WITH_"),
                (ssl.TLSVersion.TLSv1_3, "end TLSv1.3 TLS_"),
            ]
            for version, wanted in rows:
                self.exchange(server, only(client_context(), version))
                said = server.line()
                self.assertTrue(said.startswith(wanted), said)

    def test_an_rsa_certificate_works(self):
        context = ssl.create_default_context(cafile=FOLDER / "rsa.pem")
        with Server("rsa") as server:
            for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                self.exchange(server, only(context, version))
                self.assertTrue(server.line().startswith("end "))

    def test_an_old_version_is_refused(self):
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            context = only(client_context(), version)
            context.set_ciphers("ALL:@SECLEVEL=0")
            self.expect_refusal(context, "tls.version handshake")

    def test_a_suite_without_authenticated_encryption_is_refused(self):
        context = only(client_context(), ssl.TLSVersion.TLSv1_2)
        context.set_ciphers(CBC)
        self.expect_refusal(context, "tls.no_shared_cipher")

    def test_weak_suites_are_refused(self):
        for suite in WEAK:
            with self.subTest(suite):
                context = ssl.create_default_context(cafile=FOLDER / "rsa.pem")
                only(context, ssl.TLSVersion.TLSv1_2)
                context.set_ciphers(f"{suite}:@SECLEVEL=0")
                self.expect_refusal(context, "tls.no_shared_cipher", "rsa")

    def expect_refusal(self, context, error, *options):
        with Server(*options) as server:
            with self.assertRaises(ssl.SSLError):
                self.exchange(server, context)
            said = server.line()
        self.assertTrue(said.startswith(error), said)

    def test_an_application_protocol_is_agreed_on(self):
        context = client_context()
        context.set_alpn_protocols(["http/1.1", "h2"])
        with Server("h2", "http/1.1") as server:
            self.exchange(server, context)
            self.assertIn(" h2 -", server.line())
            context.set_alpn_protocols(["spdy/3"])
            with self.assertRaises(ssl.SSLError):
                self.exchange(server, context)
            said = server.line()
        self.assertTrue(said.startswith("tls.no_application_protocol"), said)

    def test_a_client_certificate_is_asked_for_and_checked(self):
        context = only(client_context(), ssl.TLSVersion.TLSv1_2)
        with Server("mutual") as server:
            with self.assertRaises((ssl.SSLError, ConnectionError)):
                self.exchange(server, context)
            said = server.line()
            self.assertTrue(said.startswith("tls.no_certificate"), said)
            context.load_cert_chain(
                FOLDER / "client.pem", FOLDER / "client.key"
            )
            self.exchange(server, context)
            said = server.line()
        self.assertTrue(said.endswith('- O=Flare,CN=client\\, \\"x\\"'), said)

    def test_an_end_without_a_word_is_truncated(self):
        with Server() as server:
            connection = server.connect()
            stream = client_context().wrap_socket(
                connection, server_hostname="localhost"
            )
            stream.sendall(b"hello")
            stream.recv(5)
            stream.close()
            said = server.line()
        self.assertTrue(said.startswith("tls.truncated read"), said)

    def test_clients_that_speak_no_tls_hold_nobody_up(self):
        with Server() as server:
            silent = server.connect()
            half = server.connect()
            half.sendall(b"\x16\x03\x01\x02\x00\x01")
            with server.connect() as plain:
                plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                said = server.line()
                self.assertTrue(said.startswith("tls.plain_http"), said)
            self.exchange(server, client_context())
            self.assertTrue(server.line().startswith("end "))
            half.close()
            said = server.line()
            self.assertTrue(said.startswith("tls.truncated handshake"), said)
            said = server.line()
            self.assertTrue(said.startswith("net.timeout"), said)
            silent.close()

    def test_a_session_is_resumed_in_both_versions(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = only(client_context(), version)
            with Server() as server:
                session = None
                for is_resumed in (False, True):
                    with server.connect() as connection:
                        stream = context.wrap_socket(
                            connection,
                            server_hostname="localhost",
                            session=session,
                        )
                        stream.sendall(b"hello")
                        stream.recv(5)
                        self.assertEqual(stream.session_reused, is_resumed)
                        session = stream.session
                        stream.unwrap()

    def test_new_keys_are_made_and_renegotiation_is_refused(self):
        with Server() as server:
            with self.openssl(server, "-tls1_3") as peer:
                output, _ = peer.communicate("K\nhello\nQ\n", SECONDS_MAX)
            self.assertIn("Verify return code: 0 (ok)", output)
            self.assertIn("KEYUPDATE", output)
            self.assertTrue(server.line().startswith("end "))
            with self.openssl(server, "-tls1_2") as peer:
                peer.stdin.write("R\n")
                peer.stdin.flush()
                # It waits for a handshake that never begins.
                for line in peer.stdout:
                    if line.startswith("RENEGOTIATING"):
                        break
                peer.kill()
            self.assertFalse(server.line().startswith("end "))
            self.exchange(server, client_context())
            self.assertTrue(server.line().startswith("end "))

    def openssl(self, server, *options):
        return subprocess.Popen(
            [
                "openssl", "s_client", "-connect", f"127.0.0.1:{server.port}",
                "-servername", "localhost", "-verify_return_error",
                "-CAfile", FOLDER / "ca.pem", *options,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


if __name__ == "__main__":
    unittest.main()
