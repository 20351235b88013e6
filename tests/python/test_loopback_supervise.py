"""Ends processes of the real server by faults, and watches who goes on."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import BACKENDS, ROOT, Subject, build  # noqa: E402

SOURCE = ROOT / "tests" / "programs" / "supervised.mojo"
# What a handler's fault costs the others; the promise to users.
RESTART_SECONDS_MAX = 0.1
EFFECT_SECONDS_MAX = 5.0


def setUpModule():
    build(SOURCE)


def get(path, method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


class Faults(unittest.TestCase):
    """Starts servers whose handlers end them."""

    def start(self, backend, *options, **subject):
        subject = Subject(
            backend, command=[build(SOURCE), backend, *options], **subject
        )
        self.addCleanup(subject.stop)
        return subject

    def each(self, *options, **popen):
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, *options, **popen)
                try:
                    yield subject
                finally:
                    subject.stop()

    def ask(self, subject, path):
        with subject.connect() as client:
            client.send(get(path))
            return client.answer().body.decode()

    def who(self, client):
        """Asks a connection for its process, worker and request."""
        client.send(get("/"))
        return [int(x) for x in client.answer().body.split()]

    def fail_on(self, subject, path, method="GET"):
        """Asks for a fault, and waits until it has ended the connection."""
        with subject.connect() as client:
            client.send(get(path, method))
            client.has_ended()

    def lines(self, subject):
        """Gives what flare wrote since it began to listen."""
        found = [x.decode() for x in subject.log() if x.startswith(b"flare: ")]
        return [x for x in found if not x.startswith("flare: listening")]

    def clients(self, subject, workers, each=3):
        """Connects until every worker has as many clients, by worker."""
        found = {worker: [] for worker in range(workers)}
        deadline = time.monotonic() + 10
        while min(len(x) for x in found.values()) < each:
            self.assertLess(time.monotonic(), deadline, found)
            client = subject.connect()
            self.addCleanup(client.close)
            found[self.who(client)[1]].append(client)
        return found

    def children(self, subject):
        path = f"/proc/{subject.process.pid}/task/{subject.process.pid}"
        return [int(x) for x in Path(f"{path}/children").read_text().split()]

    def await_true(self, condition):
        deadline = time.monotonic() + EFFECT_SECONDS_MAX
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)

    def switches(self, subject):
        text = Path(f"/proc/{subject.process.pid}/status").read_text()
        return re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", text)[1]

    def state(self, process):
        try:
            status = Path(f"/proc/{process}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return "X"
        return status.rsplit(")", 1)[1].split()[0]

    def is_gone(self, process):
        # Nobody may wait for the child of a parent that is gone.
        return self.state(process) in "ZX"

    def halt(self, process):
        """Halts a process: what comes from now on waits."""
        os.kill(process, signal.SIGSTOP)
        self.await_true(lambda: self.state(process) == "T")

    def order_to_stop(self, subject):
        """Sends the signal to a supervisor, and waits until it has acted."""
        self.await_true(lambda: self.state(subject.process.pid) == "S")
        before = self.switches(subject)
        subject.process.terminate()
        self.await_true(lambda: self.switches(subject) != before)


class AbortLine(Faults):
    def expect(self, path, number, where, method="GET", workers="1"):
        for subject in self.each("--alone", "--workers", workers):
            self.ask(subject, "/")
            self.fail_on(subject, path, method)
            self.assertEqual(subject.process.wait(10), -number)
            output = subject.process.stdout.read()
            subject.stop()
            name = signal.Signals(number).name
            lines = self.lines(subject)
            self.assertEqual(len(lines), 1, lines)
            self.assertRegex(
                lines[0],
                rf"^flare: {where[0]} died of {name}{where[1]};"
                r" the server ends\n$",
            )
            yield subject, output

    def test_a_bad_index_names_its_request(self):
        where = ("worker 0", r" in request 2 \(GET /index/:text\)")
        for subject, output in self.expect(
            "/index/octets-of-the-peer", signal.SIGILL, where
        ):
            self.assertRegex(output, rb"index \d+ is out of bounds")
            everything = b"".join(subject.log()) + output
            self.assertNotIn(b"octets-of-the-peer", everything)
            # The runtime's own handler has its turn behind ours.
            self.assertIn(b"#0 0x", everything)

    def test_an_extension_method_is_not_spelled_out(self):
        where = (
            "worker 0",
            r" in request 2 \(an extension method /index/:text\)",
        )
        for subject, _ in self.expect(
            "/index/a", signal.SIGILL, where, method="DESCRIBE"
        ):
            self.assertNotIn(b"DESCRIBE", b"".join(subject.log()))

    def test_an_overflowed_stack_names_its_request(self):
        where = (r"worker [01]", r" in request \d \(GET /overflow\)")
        for workers in ("1", "2"):
            for _ in self.expect(
                "/overflow", signal.SIGSEGV, where, workers=workers
            ):
                pass

    def test_every_thread_has_a_stack_for_it(self):
        for backend in BACKENDS:
            for worker in (0, 1):
                with self.subTest(backend=backend, worker=worker):
                    subject = self.start(
                        backend, "--alone", "--workers", "2"
                    )
                    client = self.clients(subject, 2, 1)[worker][0]
                    client.send(get("/overflow"))
                    client.has_ended()
                    self.assertEqual(
                        subject.process.wait(10), -signal.SIGSEGV
                    )
                    subject.stop()
                    self.assertRegex(
                        "".join(self.lines(subject)),
                        rf"^flare: worker {worker} died of SIGSEGV in request",
                    )

    def test_a_division_without_result_names_its_request(self):
        where = ("worker 0", r" in request 2 \(GET /divide/:one\)")
        for _ in self.expect("/divide/1", signal.SIGFPE, where):
            pass

    def test_an_abort_of_c_code_names_its_request(self):
        where = ("worker 0", r" in request 2 \(GET /abort\)")
        for _ in self.expect("/abort", signal.SIGABRT, where):
            pass

    def test_a_request_that_waited_is_named(self):
        where = ("worker 0", r" in request 2 \(GET /late-index/:ms\)")
        for _ in self.expect("/late-index/5", signal.SIGILL, where):
            pass

    def test_a_request_whose_answer_is_streamed_is_named(self):
        where = ("worker 0", r" in request 2 \(GET /streamed\)")
        for _ in self.expect("/streamed", signal.SIGILL, where):
            pass

    def test_a_fault_in_a_task_is_outside_of_requests(self):
        where = ("worker 0", " outside of any request")
        for _ in self.expect("/in-task", signal.SIGILL, where):
            pass

    def test_a_fault_on_another_thread_names_no_worker(self):
        where = ("a thread that is no worker", "")
        for _ in self.expect("/in-thread", signal.SIGILL, where):
            pass

    def test_signals_left_alone_are_left_alone(self):
        for subject in self.each("--alone", "--no-signals"):
            self.fail_on(subject, "/index/a")
            self.assertEqual(subject.process.wait(10), -signal.SIGILL)
            subject.stop()
            self.assertEqual(self.lines(subject), [])

    def test_a_fault_behind_serve_is_none_of_ours(self):
        for options in (["--alone"], []):
            for subject in self.each("--bad-index-after", *options):
                self.ask(subject, "/")
                subject.process.terminate()
                self.assertEqual(subject.process.wait(10), -signal.SIGILL)
                self.assertIn(b"out of bounds", subject.process.stdout.read())
                subject.stop()
                self.assertEqual(self.lines(subject), [])


class Restart(Faults):
    def test_only_the_connections_of_the_worker_are_lost(self):
        for subject in self.each("--workers", "2"):
            clients = self.clients(subject, 2)
            processes = {w: self.who(c[0])[0] for w, c in clients.items()}
            self.assertNotEqual(processes[0], processes[1])
            killer = clients[0].pop()
            killer.send(get("/index/a"))
            for client in [killer, *clients[0]]:
                client.has_ended()
            for client in clients[1]:
                self.assertEqual(self.who(client)[:2], [processes[1], 1])
            found = self.clients(subject, 2, 1)
            self.assertNotEqual(self.who(found[0][0])[0], processes[0])
            self.assertEqual(self.who(found[1][0])[0], processes[1])
            subject.process.terminate()
            self.assertEqual(subject.process.wait(10), 0)

    def test_the_lines_name_the_request_and_the_process(self):
        for subject in self.each():
            before = int(self.ask(subject, "/").split()[0])
            self.fail_on(subject, "/index/octets-of-the-peer")
            self.assertNotEqual(int(self.ask(subject, "/").split()[0]), before)
            subject.await_log(rb"restarting$")
            self.assertRegex(
                "".join(self.lines(subject)),
                r"^flare: worker 0 died of SIGILL in request 2 \(GET"
                r" /index/:text\); it is restarted\n"
                rf"flare: worker 0 \(process {before}\) died of SIGILL after"
                r" \d+ ms; restarting\n$",
            )
            self.assertNotIn(b"octets-of-the-peer", b"".join(subject.log()))

    def test_an_exit_is_a_death_too(self):
        for subject in self.each():
            self.fail_on(subject, "/exit")
            self.ask(subject, "/")
            subject.await_log(rb"restarting$")
            self.assertRegex(
                "".join(self.lines(subject)),
                r"^flare: worker 0 \(process \d+\) ended with exit code 3"
                r" after \d+ ms; restarting\n$",
            )

    def test_a_worker_is_missed_where_nobody_may_ask_how_it_ended(self):
        # A process that ignores SIGCHLD has no children to wait for.
        for subject in self.each(
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        ):
            before = self.ask(subject, "/").split()[0]
            self.fail_on(subject, "/index/a")
            self.assertNotEqual(self.ask(subject, "/").split()[0], before)
            subject.await_log(rb"\(process \d+\) ended after \d+ ms; restarting")

    def test_the_next_answer_comes_soon_after_each_death(self):
        for subject in self.each():
            seconds = []
            for _ in range(12):
                self.fail_on(subject, "/index/a")
                died = time.monotonic()
                self.ask(subject, "/")
                seconds.append(time.monotonic() - died)
            # Other programs may hold up some, but not half of them.
            median = sorted(seconds)[len(seconds) // 2]
            self.assertLess(median, RESTART_SECONDS_MAX, seconds)

    def test_traffic_goes_on_while_every_thousandth_request_kills(self):
        for subject in self.each("--workers", "2"):
            answered = lost = 0
            client = None
            while answered < 5000:
                client = client or subject.connect()
                try:
                    client.send(get("/nth/1000") * 50)
                    for _ in range(50):
                        self.assertEqual(client.answer().body, b"alive")
                        answered += 1
                except (EOFError, ConnectionError):
                    client.close()
                    client = None
                    lost += 1
            # One connection at a time: each death takes exactly one with it.
            self.await_true(lambda: len(self.deaths(subject)) >= lost)
            self.assertEqual(len(self.deaths(subject)), lost)
            self.assertGreaterEqual(lost, 1)
            client.close()

    def deaths(self, subject):
        return [x for x in self.lines(subject) if "; restarting" in x]

    def test_who_waits_for_a_dead_worker_is_answered_by_the_next(self):
        for subject in self.each():
            dead = int(self.ask(subject, "/").split()[0])
            # The supervisor sleeps while the queue fills.
            self.halt(subject.process.pid)
            try:
                os.kill(dead, signal.SIGKILL)
                self.await_true(lambda: self.is_gone(dead))
                clients = [subject.connect() for _ in range(50)]
                for client in clients:
                    self.addCleanup(client.close)
                    client.send(get("/"))
                clients[0].socket.settimeout(0.1)
                with self.assertRaises(TimeoutError):
                    clients[0].head()
                clients[0].socket.settimeout(10)
            finally:
                subject.process.send_signal(signal.SIGCONT)
            for client in clients:
                answer = client.answer().body.split()
                self.assertNotEqual(int(answer[0]), dead)
                client.close()

    def test_counters_outlive_a_worker(self):
        for subject in self.each():
            for _ in range(4):
                self.ask(subject, "/")
            with subject.connect() as parked:
                parked.send(get("/delay/30000"))
                self.await_true(lambda: self.counters(subject)[3] == 1)
                before = self.counters(subject)
                self.fail_on(subject, "/index/a")
            after = self.counters(subject)
            # The fatal request, and the one that asks.
            self.assertEqual(after[2], before[2] + 2)
            self.assertEqual(after[0], before[0] + 2)
            self.assertEqual((after[1], after[3]), (1, 0))

    def counters(self, subject):
        """Gives connections accepted and open, requests, and fibers."""
        text = self.ask(subject, "/statistics")
        return [int(x) for x in text.split()]

    def test_the_supervisor_loses_no_descriptor(self):
        for subject in self.each():
            self.ask(subject, "/")
            before = subject.descriptors()
            for _ in range(8):
                self.fail_on(subject, "/index/a")
                self.ask(subject, "/")
            # It closes a worker's end just behind the worker's start.
            self.await_true(lambda: subject.descriptors() <= before)

    def test_the_supervisor_sleeps(self):
        for subject in self.each():
            with subject.connect() as client:
                # It may still hear that the worker serves.
                self.await_true(lambda: not self.wakes(subject, client))

    def wakes(self, subject, client):
        before = self.switches(subject)
        for _ in range(200):
            self.who(client)
        return self.switches(subject) != before

    def test_a_worker_that_never_serves_ends_the_server(self):
        for subject in self.each("--dies-at-start"):
            self.assertEqual(subject.process.wait(10), 1)
            output = subject.process.stdout.read().decode()
            subject.stop()
            self.assertRegex(
                output + "".join(x.decode() for x in subject.log()),
                r"http\.worker_died worker 0 \(process \d+\) died of SIGILL"
                r" before it served, 5 times",
            )
            delays = [
                re.search(r"restarting(?: in (\d+) ms)?$", x)[1]
                for x in self.lines(subject)
                if "restarting" in x
            ]
            self.assertEqual(delays, [None, "10", "20", "40"])
            self.assertNotIn("after\n", output)

    def test_a_worker_that_hangs_at_its_start_is_started_again(self):
        subject = self.start("io_uring", "--hangs-at-start")
        started = time.monotonic()
        deadline = started + 20
        while len(self.lines(subject)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertGreater(time.monotonic() - started, 4)
        self.assertRegex(
            "".join(self.lines(subject)),
            r"^flare: worker 0 does not begin to serve; it is killed\n"
            r"flare: worker 0 \(process \d+\) died of SIGKILL after"
            r" \d+ ms; restarting\n$",
        )
        # The next one hangs too: only the second signal ends it.
        subject.process.terminate()
        with self.assertRaises(subprocess.TimeoutExpired):
            subject.process.wait(0.1)
        subject.process.terminate()
        self.assertEqual(subject.process.wait(10), 0)

    def test_a_supervisor_that_cannot_fork_says_why(self):
        # A process that may have six descriptors gets no channel to a worker.
        for backend in BACKENDS:
            with self.subTest(backend=backend):
                subject = self.start(backend, descriptors_max=6)
                self.assertEqual(subject.process.wait(10), 1)
                output = subject.process.stdout.read()
                subject.stop()
                everything = output + b"".join(subject.log())
                self.assertIn(b"net.no_descriptors serve", everything)
                self.assertEqual(len(self.lines(subject)), 4)

    def test_a_handler_known_when_building_is_supervised_too(self):
        # Its configuration chooses the backend.
        subject = self.start("io_uring", "--comptime")
        dead = int(self.ask(subject, "/").split()[0])
        os.kill(dead, signal.SIGKILL)
        self.await_true(lambda: self.is_gone(dead))
        self.assertNotEqual(int(self.ask(subject, "/").split()[0]), dead)
        subject.await_log(b"died of SIGKILL after")

    def test_octets_held_back_by_c_are_written_once(self):
        for subject in self.each("--workers", "2"):
            self.fail_on(subject, "/exit")
            self.ask(subject, "/")
            subject.process.terminate()
            subject.process.wait(10)
            output = subject.process.stdout.read()
            self.assertEqual(output.count(b"held back"), 1, output)
            self.assertEqual(output.count(b"after"), 1, output)


class Stop(Faults):
    def expect_end(self, subject, code=0):
        self.assertEqual(subject.process.wait(10), code)
        for child in self.workers:
            self.assertTrue(self.is_gone(child), child)

    def each_with_workers(self, *options, **popen):
        for subject in self.each("--workers", "2", *options, **popen):
            self.ask(subject, "/")
            self.await_true(lambda: len(self.children(subject)) == 2)
            self.workers = self.children(subject)
            try:
                yield subject
            finally:
                # Whoever is left holds the streams that `stop` waits for.
                for child in self.workers:
                    if subject.process.poll() is not None:
                        self.end(child)

    def end(self, process):
        if not self.is_gone(process):
            os.kill(process, signal.SIGKILL)

    def test_a_signal_finishes_what_is_in_flight(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            for subject in self.each_with_workers():
                clients = self.clients(subject, 2)
                waiting = [each[0] for each in clients.values()]
                for client in waiting:
                    client.send(get("/delay/200"))
                self.await_parked(subject, 2)
                subject.process.send_signal(number)
                for client in waiting:
                    answer = client.answer()
                    self.assertEqual(answer.body, b"waited")
                    self.assertTrue(answer.closes())
                self.expect_end(subject)
                self.assertEqual(self.lines(subject), [])

    def await_parked(self, subject, count):
        def parked():
            rows = self.ask(subject, "/statistics").splitlines()
            return sum(int(row.split()[3]) for row in rows) >= count

        self.await_true(parked)

    def queue_up(self, subject, count=20):
        clients = [subject.connect() for _ in range(count)]
        for client in clients:
            self.addCleanup(client.close)
            client.send(get("/"))
        return clients

    def expect_last_answers(self, clients, dead):
        for client in clients:
            answer = client.answer()
            self.assertNotEqual(int(answer.body.split()[0]), dead)
            self.assertTrue(answer.closes())
            client.close()

    def test_who_waits_for_a_dead_worker_is_answered_before_the_end(self):
        for subject in self.each():
            # The longest delay of a restart gives the time to stop in it.
            for _ in range(4):
                self.fail_on(subject, "/index/a")
            dead = int(self.ask(subject, "/").split()[0])
            self.halt(subject.process.pid)
            try:
                os.kill(dead, signal.SIGKILL)
                self.await_true(lambda: self.is_gone(dead))
                clients = self.queue_up(subject)
            finally:
                subject.process.send_signal(signal.SIGCONT)
            subject.await_log(rf"process {dead}\) died".encode())
            subject.process.terminate()
            self.expect_last_answers(clients, dead)
            self.assertEqual(subject.process.wait(10), 0)

    def expect_end_after_a_death(self, subject, dead):
        self.assertEqual(subject.process.wait(10), 0)
        self.assertRegex(
            "".join(self.lines(subject)),
            rf"^flare: worker 0 \(process {dead}\) died of SIGKILL"
            r" while it stopped after \d+ ms; restarting\n$",
        )

    def test_a_worker_that_dies_while_it_stops_leaves_its_queue_to_another(
        self,
    ):
        for subject in self.each():
            with subject.connect() as client:
                dead = self.who(client)[0]
                # It does not come to read the order.
                self.halt(dead)
                clients = self.queue_up(subject)
                self.order_to_stop(subject)
                os.kill(dead, signal.SIGKILL)
                self.expect_last_answers(clients, dead)
            self.expect_end_after_a_death(subject, dead)

    def test_the_next_one_that_dies_before_it_serves_is_replaced_too(self):
        for subject in self.each():
            dead = int(self.ask(subject, "/").split()[0])
            self.halt(subject.process.pid)
            os.kill(dead, signal.SIGKILL)
            self.await_true(lambda: self.is_gone(dead))
            clients = self.queue_up(subject)
            subject.process.terminate()
            subject.process.send_signal(signal.SIGCONT)
            # As early as it can be seen.
            self.await_true(lambda: self.children(subject) not in ([], [dead]))
            for child in self.children(subject):
                os.kill(child, signal.SIGKILL)
            for client in clients:
                try:
                    client.answer()
                except (EOFError, ConnectionError):
                    # It had been accepted.
                    pass
            self.assertEqual(subject.process.wait(10), 0)
            self.assertIn(
                "while it stopped after", "".join(self.lines(subject))
            )

    def each_before_it_serves(self):
        """Stops servers whose worker has not got to serve, and kills it."""
        for subject in self.each("--reads-at-start", stdin=subprocess.PIPE):
            self.await_true(lambda: self.children(subject))
            dead = self.children(subject)[0]
            clients = self.queue_up(subject)
            self.order_to_stop(subject)
            os.kill(dead, signal.SIGKILL)
            # The child is not there before it is forked.
            self.await_true(lambda: self.children(subject) not in ([], [dead]))
            try:
                yield subject, clients, dead
            finally:
                subject.process.stdin.close()

    def test_a_worker_that_dies_before_it_served_leaves_its_queue_to_another(
        self,
    ):
        for subject, clients, dead in self.each_before_it_serves():
            subject.process.stdin.close()
            self.expect_last_answers(clients, dead)
            self.expect_end_after_a_death(subject, dead)

    def test_a_worker_that_never_serves_is_started_once_while_it_stops(self):
        for subject, _, dead in self.each_before_it_serves():
            second = self.children(subject)[0]
            os.kill(second, signal.SIGKILL)
            started = time.monotonic()
            self.assertEqual(subject.process.wait(10), 0)
            self.assertLess(time.monotonic() - started, 5)
            subject.stop()
            self.assertRegex(
                "".join(self.lines(subject)),
                rf"^flare: worker 0 \(process {dead}\) died of SIGKILL"
                r" while it stopped after \d+ ms; restarting\n"
                rf"flare: worker 0 \(process {second}\) died of SIGKILL"
                r" while it stopped\n$",
            )

    def test_what_lives_on_behind_its_request_is_ended(self):
        for options in ([], ["--alone"]):
            for subject in self.each(*options):
                self.ask(subject, "/leave-behind")
                subject.process.terminate()
                self.assertEqual(subject.process.wait(10), 0)
                output = subject.process.stdout.read().decode().splitlines()
                subject.stop()
                log = b"".join(subject.log()).decode()
                self.assertRegex(log, r"cut off by net\.cancelled sleep")
                self.assertEqual(log.count("finally\n"), 1, log)
                self.assertEqual(log.count("owner destroyed\n"), 1, log)
                self.assertIn("1 0", output, "what is present")

    def test_what_ignores_being_cancelled_does_not_hold_up_the_end(self):
        for options in (["--alone"], []):
            for subject in self.each(*options):
                self.ask(subject, "/ignore-cancel")
                started = time.monotonic()
                subject.process.terminate()
                self.assertEqual(subject.process.wait(10), 0)
                self.assertLess(time.monotonic() - started, 5)
                output = subject.process.stdout.read().decode().splitlines()
                subject.stop()
                self.assertEqual(self.lines(subject), [])
                self.assertIn("1 0", output, "what is present")

    def test_an_end_that_nobody_may_ask_about_is_an_end(self):
        for subject in self.each(
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        ):
            self.ask(subject, "/")
            started = time.monotonic()
            subject.process.terminate()
            self.assertEqual(subject.process.wait(10), 0)
            self.assertLess(time.monotonic() - started, 5)
            self.assertEqual(self.lines(subject), [])

    def test_workers_that_die_again_and_again_do_not_hold_up_the_end(self):
        for subject in self.each("--short"):
            dead = int(self.ask(subject, "/").split()[0])
            self.halt(dead)
            clients = [subject.connect() for _ in range(20)]
            for client in clients:
                self.addCleanup(client.close)
                client.send(get("/index/a"))
            self.order_to_stop(subject)
            os.kill(dead, signal.SIGKILL)
            self.assertEqual(subject.process.wait(10), 0)

    def test_a_signal_to_all_processes_counts_once(self):
        for subject in self.each_with_workers(start_new_session=True):
            with subject.connect() as client:
                client.send(get("/delay/200"))
                self.await_parked(subject, 1)
                os.killpg(subject.process.pid, signal.SIGINT)
                self.assertEqual(client.answer().body, b"waited")
            self.expect_end(subject)

    def test_a_signal_to_a_worker_alone_is_dropped(self):
        for subject in self.each_with_workers():
            clients = self.clients(subject, 2, 1)
            before = {w: self.who(c[0])[0] for w, c in clients.items()}
            for child in self.workers:
                os.kill(child, signal.SIGTERM)
            for worker, found in clients.items():
                self.assertEqual(self.who(found[0])[0], before[worker])

    def test_the_first_signal_behind_an_order_to_stop_lets_requests_finish(
        self,
    ):
        for subject in self.each_with_workers():
            with subject.connect() as client:
                client.send(get("/delay/1000"))
                self.await_parked(subject, 1)
                self.ask(subject, "/stop")
                self.await_true(lambda: self.is_refused(subject))
                subject.process.terminate()
                self.assertEqual(client.answer().body, b"waited")
            self.expect_end(subject)

    def test_a_second_signal_ends_at_once(self):
        for subject in self.each_with_workers():
            with subject.connect() as client:
                client.send(get("/delay/30000"))
                self.await_parked(subject, 1)
                started = time.monotonic()
                subject.process.terminate()
                # One signal that waits would swallow another one.
                client.socket.settimeout(0.1)
                with self.assertRaises(TimeoutError):
                    client.head()
                client.socket.settimeout(10)
                subject.process.terminate()
                self.assertTrue(client.has_ended())
                self.expect_end(subject)
                self.assertLess(time.monotonic() - started, 5)

    def test_a_worker_that_never_waits_is_killed(self):
        for subject in self.each_with_workers("--short"):
            with subject.connect() as client:
                client.send(get("/busy"))
                self.await_busy(subject)
                subject.process.terminate()
                self.assertTrue(client.has_ended())
                self.expect_end(subject)
                output = subject.process.stdout.read().decode()
                subject.stop()
                self.assertRegex(
                    "".join(self.lines(subject)),
                    r"^flare: worker [01] does not stop; it is killed\n",
                )
                # Requests differ; connections are gone with the worker.
                self.assertRegex(output, r"after\n\d+ 0\n\d+ 0\n$")

    def await_busy(self, subject):
        ticks = os.sysconf("SC_CLK_TCK")

        def busy():
            times = []
            for child in self.workers:
                text = Path(f"/proc/{child}/stat").read_text()
                times.append(int(text.rsplit(")", 1)[1].split()[11]))
            return max(times) > ticks // 20

        self.await_true(busy)

    def test_the_end_of_the_supervisor_ends_the_workers(self):
        for subject in self.each_with_workers():
            # One of them would not listen to a polite request.
            with subject.connect() as client:
                client.send(get("/busy"))
                self.await_busy(subject)
                subject.process.kill()
                subject.process.wait(10)
                for child in self.workers:
                    self.await_true(lambda: self.is_gone(child))
            # The kernel takes io_uring's own hold on a socket down a bit later.
            self.await_true(lambda: self.is_refused(subject))

    def is_refused(self, subject):
        try:
            subject.connect().close()
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:
            pass
        return False

    def test_signals_left_alone_end_all_processes(self):
        for subject in self.each_with_workers("--no-signals"):
            subject.process.terminate()
            self.assertEqual(subject.process.wait(10), -signal.SIGTERM)
            for child in self.workers:
                self.await_true(lambda: self.is_gone(child))

    def test_a_handler_stops_all_workers(self):
        for subject in self.each_with_workers():
            self.ask(subject, "/stop")
            self.expect_end(subject)
            self.assertIn(b"after", subject.process.stdout.read())
            self.assertEqual(self.lines(subject), [])

    def test_a_handler_cuts_off_all_workers(self):
        for subject in self.each_with_workers():
            clients = self.clients(subject, 2, 1)
            for each in clients.values():
                each[0].send(get("/delay/30000"))
            self.await_parked(subject, 2)
            self.fail_on(subject, "/stop-now")
            self.expect_end(subject)

    def test_a_thread_of_the_supervisor_stops_all_workers(self):
        for subject in self.each_with_workers(
            "--stop-on-input", stdin=subprocess.PIPE
        ):
            self.addCleanup(subject.process.stdin.close)
            with subject.connect() as client:
                client.send(get("/delay/200"))
                self.await_parked(subject, 1)
                subject.process.stdin.write(b"x")
                subject.process.stdin.flush()
                self.assertEqual(client.answer().body, b"waited")
            self.expect_end(subject)

    def test_a_signal_right_behind_the_start_ends_all_processes(self):
        for _ in range(5):
            for subject in self.each("--workers", "2"):
                subject.process.terminate()
                # The program may not have got to catching signals.
                self.assertIn(
                    subject.process.wait(10), (0, -signal.SIGTERM)
                )
                self.assertEqual(self.lines(subject), [])

    def test_a_signal_at_a_restart_ends_all_processes(self):
        for _ in range(5):
            for subject in self.each("--workers", "2"):
                self.fail_on(subject, "/index/a")
                subject.process.terminate()
                self.assertEqual(subject.process.wait(10), 0)

    def test_a_supervised_server_serves_again(self):
        for subject in self.each("--twice"):
            first = self.ask(subject, "/")
            subject.process.terminate()
            while subject.process.stdout.readline() != b"after\n":
                pass
            with subject.connect() as client:
                self.assertNotEqual(
                    self.who(client)[0], int(first.split()[0])
                )
            subject.process.terminate()
            self.assertEqual(subject.process.wait(10), 0)
            output = subject.process.stdout.read().decode().splitlines()
            self.assertEqual(output.count("after"), 1)
            self.assertEqual(output[-1], "2 0", "requests of both times")


if __name__ == "__main__":
    unittest.main()
