"""Asks the real server what only a client of HTTPS can ask, and does to its
handshakes what clients should not, on both backends."""

import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.client import Client  # noqa: E402
from loopback.h2_client import H2Client  # noqa: E402
from loopback.programs import (  # noqa: E402
    find_program,
    without_libraries,
)
from loopback.secure_socket import (  # noqa: E402
    ROOT,
    SecureSocket,
    TruncatedError,
    certificates,
    client_context,
)
from loopback.subject import (  # noqa: E402
    BACKENDS,
    Subject,
    WithSubject,
    build,
    delay,
    on_each_backend,
)

HELLO = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
SHOUT = (
    b"GET /shout HTTP/1.1\r\nHost: a\r\n"
    b"Connection: upgrade\r\nUpgrade: shout\r\n\r\n"
)
HANDSHAKE_SECONDS = 0.4
# How much is asked for while certificates are replaced, and how often they are.
REQUESTS_MIN = {"kept": 2000, "fresh": 300, "resuming": 300}
RELOADS_MIN = 40
LOAD_SECONDS_MAX = 60
ALERT = 21
ALERT_INTERNAL_ERROR = b"\x15\x03\x03\x00\x02\x02\x50"


def setUpModule():
    build()


def client_hello(**options):
    """Gives the first octets that a client of TLS sends."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = client_context().wrap_bio(
        incoming, outgoing, server_hostname="localhost", **options
    )
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def openssl(test, *options):
    """Starts a client that obeys orders, until the end of a test."""
    client = subprocess.Popen(
        [
            "openssl", "s_client", "-servername", "localhost", "-CAfile",
            certificates() / "ca.pem", "-connect",
            f"127.0.0.1:{test.subject.port}", *options,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    test.addCleanup(client.communicate)
    test.addCleanup(client.kill)
    return client


def say_again_and_again(client, text, order):
    """Gives text and then the same order, until the server ends."""
    until = time.monotonic() + 10
    while client.poll() is None and time.monotonic() < until:
        try:
            client.stdin.write(text)
            client.stdin.flush()
            text = order
            client.wait(0.05)
        except BrokenPipeError:
            return
        except subprocess.TimeoutExpired:
            pass


class OverTls(WithSubject):
    """Has connections of both kinds to one server of HTTPS."""

    def connect_with(self, context=None, **options):
        """Opens a connection that shakes hands as told."""
        client = self.connect(secure=False)
        client.socket = SecureSocket(client.socket, context, **options)
        client.secure = True
        return client

    def connect_plainly(self):
        """Opens a connection that says nothing."""
        return self.connect(secure=False)

    def ask(self, client, path):
        """Reads the content of one answer, in lines."""
        client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path)
        return client.answer().body.decode().split("\n")

    def subject_of(self, client):
        """Tells whom the certificate of the server is for."""
        certificate = client.socket.tls.getpeercert()
        return dict(x[0] for x in certificate["subject"])["commonName"]

    def refuses(self, context, **options):
        """Checks that the handshake fails, and gives the reason."""
        with self.assertRaises((ssl.SSLError, ConnectionResetError)) as caught:
            client = self.connect_with(context, **options)
            # In TLS 1.3 a client is done before its certificate was seen.
            client.send(HELLO)
            client.answer()
        return str(caught.exception)


def on_each(cases):
    """Makes a test class of `cases` for each kernel interface."""
    module = sys.modules[cases.__module__]
    on_each_backend(cases, transports=("tls",))
    for name, member in list(vars(module).items()):
        if name.startswith(f"{cases.__name__}_on_"):
            members = {"__module__": cases.__module__}
            setattr(module, name, type(name, (member, OverTls), members))
    return cases


@on_each
class Agreement:
    options = ("--ask-clients",)

    def test_the_newest_version_is_agreed_on(self):
        found = self.ask(self.connect(), b"/tls")
        self.assertEqual(found[0], "TLSv1.3")
        self.assertEqual(found[2:], ["localhost", "-", "full"])

    def test_version_1_2_is_spoken_and_older_ones_are_not(self):
        context = client_context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        self.assertEqual(
            self.ask(self.connect_with(context), b"/tls")[0], "TLSv1.2"
        )
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            context = client_context()
            context.minimum_version = context.maximum_version = version
            context.set_ciphers("ALL:@SECLEVEL=0")
            self.assertIn("PROTOCOL_VERSION", self.refuses(context).upper())

    def test_the_protocol_inside_is_the_best_that_is_offered(self):
        with H2Client(self.subject) as client:
            self.assertEqual(client.ask("GET", "/").body, b"hello")
        for offered, agreed in (
            (["h3", "http/1.1"], "http/1.1"),
            (["http/1.0"], "http/1.0"),
            ([], None),
        ):
            with self.subTest(offered):
                context = client_context()
                if offered:
                    context.set_alpn_protocols(offered)
                client = self.connect_with(context)
                found = client.socket.tls.selected_alpn_protocol()
                self.assertEqual(found, agreed)
                self.assertEqual(self.ask(client, b"/"), ["hello"])

    def test_a_client_that_offers_only_others_is_refused(self):
        context = client_context()
        context.set_alpn_protocols(["h3"])
        self.assertIn("application protocol", self.refuses(context))

    def test_the_certificate_is_chosen_by_the_name_that_is_asked_for(self):
        for name, subject in (
            ("localhost", "server"),
            ("other.test", "other"),
            ("a.wild.test", "other"),
        ):
            with self.subTest(name):
                client = self.connect_with(name=name)
                self.assertEqual(self.subject_of(client), subject)
                self.assertEqual(self.ask(client, b"/tls")[2], name)

    def test_a_client_may_show_who_it_is(self):
        client = self.connect_with(client_context("client"))
        found = self.ask(client, b"/tls")
        self.assertIn("O=Flare", found[3])
        self.assertIn("CN=client", found[3])

    def test_a_client_whom_nobody_vouches_for_is_refused(self):
        self.refuses(client_context("stranger"))
        self.refuses(client_context("self_signed"))
        self.refuses(client_context("expired"))
        self.expect_answers_still()

    def test_a_session_goes_on_in_both_versions(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.subTest(version):
                context = client_context()
                context.maximum_version = version
                first = self.connect_with(context)
                self.assertEqual(self.ask(first, b"/tls")[4], "full")
                second = self.connect_with(
                    context, session=first.socket.tls.session
                )
                self.assertEqual(self.ask(second, b"/tls")[4], "resumed")
                self.assertTrue(second.socket.tls.session_reused)

    def test_a_session_of_a_client_that_showed_who_it_is_says_so_again(self):
        context = client_context("client")
        first = self.connect_with(context)
        self.ask(first, b"/")
        second = self.connect_with(context, session=first.socket.tls.session)
        found = self.ask(second, b"/tls")
        self.assertEqual(found[4], "resumed")
        self.assertIn("CN=client", found[3])


@on_each
class Reload:
    def test_the_next_handshake_sees_the_new_certificate(self):
        old = self.connect()
        self.assertEqual(self.subject_of(old), "server")
        self.assertEqual(self.ask(old, b"/reload/renewed"), ["reloaded"])
        new = self.connect()
        self.assertEqual(self.subject_of(new), "renewed")
        # The one that lives goes on.
        self.assertEqual(self.ask(old, b"/"), ["hello"])
        self.assertEqual(self.ask(new, b"/reload/same"), ["reloaded"])
        self.assertEqual(self.subject_of(self.connect()), "renewed")
        self.assertEqual(self.ask(new, b"/reload/server"), ["reloaded"])
        self.assertEqual(self.subject_of(self.connect()), "server")

    def test_what_cannot_be_used_changes_nothing(self):
        client = self.connect()
        for name, code in (
            (b"nowhere", "tls.bad_file configure"),
            (b"truncated", "tls.bad_file configure"),
        ):
            with self.subTest(name):
                found = self.ask(client, b"/reload/" + name)[0]
                self.assertTrue(found.startswith(code), found)
                self.assertEqual(self.subject_of(self.connect()), "server")


@on_each
class ReloadUnderLoad:
    options = ("--workers", "2")

    def test_no_request_fails_while_certificates_are_replaced(self):
        self.failures, self.done = [], threading.Event()
        # Each thread counts for itself.
        self.counts = {
            (kind, i): 0
            for kind in ("kept", "fresh", "resuming")
            for i in range(2)
        }
        threads = [
            threading.Thread(target=self.ask_again_and_again, args=key)
            for key in self.counts
        ]
        for thread in threads:
            thread.start()
        try:
            self.replace_certificates()
        finally:
            self.done.set()
            for thread in threads:
                thread.join()
        self.assertEqual(self.failures, [])

    def replace_certificates(self):
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        control = self.connect()
        session, i = None, 0
        while i < RELOADS_MIN or not self.has_asked_enough():
            self.assertEqual(self.failures, [])
            self.assertLess(time.monotonic(), deadline, self.counts)
            name = ("renewed", "server")[i % 2]
            self.assertEqual(
                self.ask(control, b"/reload/" + name.encode()), ["reloaded"]
            )
            # An old ticket is worth nothing any more.
            for offered in (None, session):
                client = self.subject.connect(secure=False)
                with client:
                    client.socket = SecureSocket(
                        client.socket, session=offered
                    )
                    self.assertEqual(self.subject_of(client), name)
                    self.assertEqual(self.ask(client, b"/"), ["hello"])
                    session = client.socket.tls.session
            i += 1

    def has_asked_enough(self):
        return all(
            sum(self.counts[kind, i] for i in range(2)) >= count
            for kind, count in REQUESTS_MIN.items()
        )

    def ask_again_and_again(self, kind, i):
        try:
            client, session = self.subject.connect(), None
            while not self.done.is_set():
                if kind != "kept":
                    client.close()
                    client = self.subject.connect(secure=False)
                    client.socket = SecureSocket(
                        client.socket, session=session
                    )
                if self.ask(client, b"/") != ["hello"]:
                    raise AssertionError("another answer")
                if kind == "resuming":
                    session = client.socket.tls.session
                self.counts[kind, i] += 1
            client.close()
        except Exception as error:
            self.failures.append((kind, error))


@on_each
class Endings:
    options = ("--small-limits",)

    def test_a_last_answer_is_followed_by_a_close_notify(self):
        client = self.connect()
        client.send(LAST)
        self.assertEqual(client.answer().body, b"hello")
        client.expect_end()

    def test_a_connection_that_idles_too_long_ends_with_a_close_notify(self):
        client = self.connect()
        client.send(HELLO)
        client.answer()
        client.expect_end()

    def test_a_broken_stream_ends_without_one(self):
        client = self.connect()
        client.send(b"GET /broken/100000 HTTP/1.1\r\nHost: a\r\n\r\n")
        with self.assertRaises((TruncatedError, ConnectionResetError)):
            client.rest()

    def test_a_stream_for_http_1_0_that_breaks_off_ends_without_one(self):
        client = self.connect()
        client.send(b"GET /broken/100000 HTTP/1.0\r\n\r\n")
        with self.assertRaises((TruncatedError, ConnectionResetError)):
            client.rest()

    def test_another_protocol_learns_whether_its_end_was_announced(self):
        client = self.connect()
        client.send(SHOUT)
        client.head()
        client.send(b"over")
        client.end()
        self.assertEqual(client.rest(), b"OVERbye")
        before = len(self.subject.await_log(b"close_notify", 0))
        client = self.connect()
        client.send(SHOUT)
        client.head()
        client.send(b"over")
        self.assertEqual(client._exactly(4), b"OVER")
        client.socket.transport.shutdown(socket.SHUT_WR)
        self.subject.await_log(b"cut off.*close_notify", before + 1)
        with self.assertRaises((TruncatedError, ConnectionResetError)):
            client.rest()

    def test_what_stands_behind_a_close_notify_is_not_read(self):
        client = self.connect()
        client.send(HELLO)
        client.answer()
        tls = client.socket
        try:
            tls.tls.unwrap()
        except ssl.SSLError:
            pass
        tls.transport.sendall(tls.outgoing.read() + b"\x17\x03\x03\x00\x05abcde")
        client.expect_end()
        self.expect_answers_still()

    def test_a_client_that_leaves_in_the_middle_of_a_record_harms_nobody(self):
        for octets in (b"\x17", b"\x17\x03\x03\x40\x00", b"\x17\x03\x03\x00\x40abc"):
            client = self.connect()
            client.socket.transport.sendall(octets)
            client.close()
        self.expect_answers_still()

    def test_an_altered_record_ends_the_connection_with_an_alert(self):
        for request, content in ((b"", b"x" * 64), (delay(1000), b"y" * 64)):
            with self.subTest(request):
                client = self.connect()
                client.send(request)
                client.socket.transport.sendall(
                    b"\x17\x03\x03\x00\x40" + content
                )
                with self.assertRaises((ssl.SSLError, ConnectionResetError,
                                        TruncatedError)):
                    client.rest()
        self.expect_answers_still()

    def test_records_that_break_the_rules_are_refused(self):
        for name, octets in (
            ("giant", b"\x17\x03\x03\xff\xff" + b"x" * 70000),
            ("too short for its tag", b"\x17\x03\x03\x00\x08" + b"x" * 8),
            ("empty", b"\x17\x03\x03\x00\x00"),
            ("heartbeat", b"\x18\x03\x03\x00\x03\x01\x40\x00"),
            ("alert in the clear", b"\x15\x03\x03\x00\x02\x01\x00"),
            ("handshake in the clear", client_hello()),
        ):
            with self.subTest(name):
                client = self.connect()
                client.socket.transport.sendall(octets)
                with self.assertRaises((ssl.SSLError, ConnectionResetError,
                                        BrokenPipeError, TruncatedError)):
                    client.rest()
        self.expect_answers_still()

    def test_a_second_handshake_inside_of_a_connection_is_refused(self):
        client = openssl(self, "-tls1_2")
        self.assertTrue(client.stdout.readline())
        say_again_and_again(client, "", "R\n")
        self.assertIn("no renegotiation", client.stdout.read())
        self.expect_answers_still()


@on_each
class Handshakes:
    options = ("--small-limits",)

    def test_plain_http_gets_a_400_that_says_what_is_wrong(self):
        for request in (
            HELLO,
            b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
            b"DELETE /users/1 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
            b"patch / HTTP/1.1\r\n",
            b"G",
        ):
            with self.subTest(request):
                client = self.connect_plainly()
                client.send(request)
                answer = client.answer()
                self.assertEqual(answer.status, 400)
                self.assertTrue(answer.closes())
                self.assertIn(b"HTTPS", answer.body)
                self.assertIsNotNone(answer.field("Date"))
                client.expect_end()

    def test_what_is_neither_is_refused_with_an_alert(self):
        for octets in (
            b"\x00" * 100,
            b"\x16\x03\x01\xff\xff" + b"x" * 100,
            b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00" + b"x" * 50,
            b"\x80\x2e\x01\x03\x01" + b"x" * 60,
            b"\x17\x03\x03\x00\x10" + b"x" * 16,
            b"\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        ):
            with self.subTest(octets[:10]):
                client = self.connect_plainly()
                client.send(octets)
                found = client.rest()
                self.assertTrue(not found or found[0] == ALERT, found[:20])
        self.expect_answers_still()

    def test_a_client_that_says_nothing_is_given_up(self):
        client = self.connect_plainly()
        started = time.monotonic()
        client.expect_end()
        self.check_time(started, HANDSHAKE_SECONDS)

    def test_a_handshake_that_dribbles_is_given_up_in_the_same_time(self):
        client = self.connect_plainly()
        started = time.monotonic()
        client.socket.settimeout(0.02)
        try:
            for octet in client_hello():
                client.send(bytes([octet]))
                try:
                    if not client.socket.recv(1):
                        break
                except TimeoutError:
                    pass
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.check_time(started, HANDSHAKE_SECONDS)

    def test_a_client_that_stops_behind_its_first_flight_is_given_up(self):
        client = self.connect_plainly()
        started = time.monotonic()
        client.send(client_hello())
        self.assertEqual(client.rest()[0], 22)
        self.check_time(started, HANDSHAKE_SECONDS)

    def test_asking_for_new_keys_prolongs_no_deadline(self):
        # Neither that of an idle connection nor that of a head.
        for beginning in ("", "GET / HTTP/1.1"):
            with self.subTest(beginning):
                client = openssl(self, "-tls1_3")
                self.assertTrue(client.stdout.readline())
                started = time.monotonic()
                say_again_and_again(client, beginning, "K\n")
                self.check_time(started, HANDSHAKE_SECONDS)

    def test_a_handshake_may_come_octet_by_octet(self):
        client = self.connect_plainly()
        transport = client.socket

        class Dribble:
            def send(self, octets):
                transport.send(octets[:1])
                return 1

            def __getattr__(self, name):
                return getattr(transport, name)

        client.socket = SecureSocket(Dribble())
        client.send(HELLO)
        self.assertEqual(client.answer().body, b"hello")

    def test_clients_may_leave_at_each_step_of_a_handshake(self):
        hello = client_hello()
        for count in (0, 1, 5, 6, 100, len(hello)):
            for how in (Client.close, Client.reset, Client.end):
                with self.subTest(count=count, how=how.__name__):
                    client = self.connect_plainly()
                    client.send(hello[:count])
                    how(client)
                    if how is Client.end:
                        client.has_ended()
        self.expect_answers_still()

    def test_silent_clients_hold_nobody_up(self):
        silent = [self.connect_plainly() for _ in range(100)]
        for client in silent[50:]:
            client.send(client_hello()[:50])
        started = time.monotonic()
        self.expect_answers_still()
        self.assertLess(time.monotonic() - started, HANDSHAKE_SECONDS / 2)


@on_each_backend
class Mixed:
    options = ("--mixed", "--tls", str(certificates()))

    def setUp(self):
        if not hasattr(type(self), "secure_port"):
            line = self.subject.process.stdout.readline()
            type(self).secure_port = int(line)

    def connect_securely(self):
        client = Client(self.secure_port, secure=True)
        self.addCleanup(client.close)
        return client

    def ask(self, client, path, host=b"a.test:8080"):
        client.send(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, host))
        return client.answer()

    def test_one_server_speaks_both(self):
        self.assertEqual(self.ask(self.connect(), b"/tls").body, b"plain")
        found = self.ask(self.connect_securely(), b"/tls").body
        self.assertTrue(found.startswith(b"TLSv1.3"))

    def test_who_comes_without_tls_is_sent_to_it(self):
        for path, host, location in (
            (b"/secure", b"a.test", "https://a.test/secure"),
            (b"/secure?a=b%20c", b"a.test:80", "https://a.test/secure?a=b%20c"),
            (b"/secure", b"[::1]:8080", "https://[::1]/secure"),
            (b"/secure/7", b"b.test", "https://a.test:8443/secure/7"),
        ):
            with self.subTest(host):
                answer = self.ask(self.connect(), path, host)
                self.assertEqual(answer.status, 308)
                self.assertEqual(answer.field("Location"), location)
                self.assertIsNone(answer.field("Strict-Transport-Security"))
        client = self.connect()
        client.send(b"GET /secure HTTP/1.0\r\n\r\n")
        self.assertEqual(client.answer().status, 400)

    def test_browsers_are_told_to_come_back_inside_of_tls(self):
        answer = self.ask(self.connect_securely(), b"/secure")
        self.assertEqual(answer.body, b"hello")
        self.assertEqual(
            answer.field("Strict-Transport-Security"), "max-age=31536000"
        )


class Overload(unittest.TestCase):
    def test_who_cannot_be_accepted_gets_an_alert(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = Subject(
                    backend, "--overload-timeout", "200",
                    descriptors_max=40, secure=True,
                )
                self.addCleanup(subject.stop)
                clients = [subject.connect(secure=False) for _ in range(60)]
                for client in clients:
                    self.addCleanup(client.close)
                # Those who were accepted are given up a second later.
                found = [client.rest() for client in clients[40:]]
                self.assertEqual(set(found), {ALERT_INTERNAL_ERROR})


class Supervised(unittest.TestCase):
    def test_workers_in_processes_read_certificates_again(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("server", "other", "renewed"):
                for ending in (".pem", ".key"):
                    shutil.copy(certificates() / (name + ending), folder)
            subject = Subject(
                "io_uring", "--tls", folder, "--supervise", "--workers", "2"
            )
            self.addCleanup(subject.stop)
            subject.secure = True
            for ending in (".pem", ".key"):
                shutil.copy(f"{folder}/renewed{ending}", f"{folder}/server{ending}")
            with subject.connect() as client:
                client.send(b"GET /reload/renewed HTTP/1.1\r\nHost: a\r\n\r\n")
                self.assertIn(b"http.supervised", client.answer().body)
                client.send(b"GET /reload/same HTTP/1.1\r\nHost: a\r\n\r\n")
                self.assertEqual(client.answer().body, b"reloaded")
            # Each of the workers gets some of the connections.
            fresh = 0
            deadline = time.monotonic() + 10
            while fresh < 20:
                self.assertLess(time.monotonic(), deadline)
                with subject.connect() as client:
                    client.send(HELLO)
                    client.answer()
                    certificate = client.socket.tls.getpeercert()
                    name = dict(x[0] for x in certificate["subject"])
                    fresh = fresh + 1 if name["commonName"] == "renewed" else 0
            self.assertEqual(subject.stop(), 0)


class Stopping(unittest.TestCase):
    def test_a_server_that_stops_waits_little_for_handshakes(self):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = Subject(backend, secure=True)
                self.addCleanup(subject.stop)
                silent = subject.connect(secure=False)
                self.addCleanup(silent.close)
                begun = subject.connect(secure=False)
                self.addCleanup(begun.close)
                begun.send(client_hello())
                idle = subject.connect()
                self.addCleanup(idle.close)
                idle.send(HELLO)
                idle.answer()
                started = time.monotonic()
                subject.process.terminate()
                idle.expect_end()
                silent.expect_end()
                self.assertEqual(subject.process.wait(10), 0)
                self.assertLess(time.monotonic() - started, 4)


class WithoutTheLibrary(unittest.TestCase):
    """Starts servers where the loader finds no OpenSSL."""

    def setUp(self):
        self.environment = without_libraries(self)

    def test_who_uses_no_tls_serves(self):
        for backend in BACKENDS:
            subject = Subject(backend, env=self.environment)
            self.addCleanup(subject.stop)
            with subject.connect() as client:
                client.send(HELLO)
                self.assertEqual(client.answer().body, b"hello")
            self.assertEqual(subject.stop(), 0)

    def test_who_uses_tls_is_told_what_to_install(self):
        with self.assertRaises(RuntimeError) as caught:
            Subject("epoll", secure=True, env=self.environment)
        for part in (
            "tls.no_library load", "libssl3 on Debian",
            "openssl-libs on Fedora", "openssl@3 from Homebrew on macOS",
        ):
            self.assertIn(part, str(caught.exception))


class OtherClients(unittest.TestCase):
    """Lets clients of other makers ask, three times on one connection."""

    @classmethod
    def setUpClass(cls):
        cls.subject = Subject("io_uring", secure=True)
        cls.addClassCleanup(cls.subject.stop)

    def run_client(self, name, *command):
        finished = subprocess.run(
            [find_program(name), *command],
            input=LAST,
            capture_output=True,
            timeout=100,
        )
        self.assertEqual(finished.returncode, 0, finished)
        return finished.stdout.decode()

    def counted(self, name, *command):
        """Counts the connections that a client needs."""
        before = self.subject.statistics()["connections_accepted"]
        found = self.run_client(name, *command)
        after = self.subject.statistics()["connections_accepted"]
        self.assertEqual(found.split(), ["hello"] * 3)
        return after - before - 1

    def test_openssl(self):
        found = self.run_client(
            "openssl", "s_client", "-connect",
            f"127.0.0.1:{self.subject.port}", "-servername", "localhost",
            "-verify_return_error", "-quiet",
            "-CAfile", certificates() / "ca.pem",
        )
        self.assertTrue(found.endswith("hello"), found)

    def test_curl(self):
        url = f"https://localhost:{self.subject.port}/"
        self.assertEqual(
            self.counted(
                "curl", "-sS", "-w", " ", "--cacert",
                certificates() / "ca.pem", url, url, url,
            ),
            1,
        )

    def test_node(self):
        program = ROOT / "tests" / "programs" / "https_client.js"
        self.assertEqual(
            self.counted(
                "node", program, certificates() / "ca.pem",
                str(self.subject.port),
            ),
            1,
        )

    def test_go(self):
        program = ROOT / "tests" / "programs" / "https_client.go"
        self.assertEqual(
            self.counted(
                "go", "run", program, certificates() / "ca.pem",
                str(self.subject.port),
            ),
            1,
        )


if __name__ == "__main__":
    unittest.main()
