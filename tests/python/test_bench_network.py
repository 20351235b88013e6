"""Tests the network namespace in which the benchmark measures."""

import errno
import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from benchmark.driver import command, environment, network
from benchmark.driver.network import own_network

CONNECT = """\
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10).close()
"""
PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
QUEUE = Path("/proc/sys/net/core/somaxconn")


def namespace():
    return os.readlink(network.NAMESPACE)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def refuse(*_):
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def child_connects(port):
    finished = subprocess.run(
        [sys.executable, "-c", CONNECT, str(port)],
        capture_output=True, text=True, timeout=60,
    )
    return finished.returncode == 0


class Unchanged(unittest.TestCase):
    """What a block leaves behind, whether or not it got a network."""

    def setUp(self):
        before = namespace(), descriptors(), network.congestion_control()
        self.addCleanup(self.assert_is_as_before, before)

    def assert_is_as_before(self, before):
        now = namespace(), descriptors(), network.congestion_control()
        self.assertEqual(now, before)


class WithoutPrivileges(Unchanged):
    def test_nothing_changes(self):
        before = namespace(), network.congestion_control()
        with own_network(refuse) as is_own:
            self.assertFalse(is_own)
            now = namespace(), network.congestion_control()
        self.assertEqual(now, before)

    def test_a_kernel_without_namespaces_is_no_failure(self):
        absent = Path("/proc/thread-self/ns/absent")
        with mock.patch.object(network, "NAMESPACE", absent):
            with own_network(self.fail) as is_own:
                self.assertFalse(is_own)

    def test_an_exception_passes(self):
        with self.assertRaises(ZeroDivisionError):
            with own_network(refuse):
                raise ZeroDivisionError

    def test_the_report_names_the_network_of_the_machine(self):
        described = environment.describe(["bench"], has_own_network=False)
        self.assertEqual(described["network"], "the machine's")
        self.assertEqual(
            described["congestion control"], network.congestion_control()
        )


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class Privileged(Unchanged):
    def test_a_child_reaches_a_listener_inside(self):
        outside = namespace()
        with own_network() as is_own:
            self.assertTrue(is_own)
            self.assertNotEqual(namespace(), outside)
            with socket.create_server(("127.0.0.1", 0)) as listener:
                self.assertTrue(child_connects(listener.getsockname()[1]))

    def test_a_listener_outside_is_reached_only_from_outside(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            with own_network():
                self.assertFalse(child_connects(port))
                with self.assertRaises(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port), 10)
            self.assertTrue(child_connects(port))

    def test_congestion_control_paces_on_no_machine(self):
        with own_network() as is_own:
            self.assertTrue(is_own)
            chosen = network.congestion_control()
            self.assertIn(chosen, ("cubic", "reno"))
            described = environment.describe(["bench"], has_own_network=True)
            with socket.socket() as made:
                used = made.getsockopt(
                    socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16
                )
        self.assertEqual(used.rstrip(b"\0").decode(), chosen)
        self.assertEqual(described["congestion control"], chosen)
        self.assertEqual(described["network"], "a namespace of its own")

    def test_what_is_not_permitted_gives_way_to_the_next(self):
        write = Path.write_text

        def write_unless_restricted(path, text):
            return refuse() if text == "cubic" else write(path, text)

        with mock.patch.object(Path, "write_text", write_unless_restricted):
            with own_network() as is_own:
                self.assertTrue(is_own)
                self.assertEqual(network.congestion_control(), "reno")

    def test_what_is_not_available_is_not_set(self):
        before = network.congestion_control()
        with mock.patch.object(network, "CONGESTION_CONTROLS", ["absent"]):
            with own_network() as is_own:
                self.assertTrue(is_own)
                self.assertEqual(network.congestion_control(), before)

    def test_ports_and_queues_are_those_outside(self):
        with own_network() as is_own:
            # Of this namespace, so that the machine keeps its own.
            self.assertTrue(is_own)
            PORTS.write_text("20000 50000")
            QUEUE.write_text("77")
            with own_network() as is_own:
                self.assertTrue(is_own)
                self.assertEqual(PORTS.read_text().split(), ["20000", "50000"])
                self.assertEqual(QUEUE.read_text(), "77\n")

    def test_an_exception_leads_back(self):
        outside = namespace()
        with self.assertRaises(ZeroDivisionError):
            with own_network():
                raise ZeroDivisionError
        self.assertEqual(namespace(), outside)

    def test_a_step_that_fails_leads_back(self):
        outside = namespace()
        for step in ("_raise_loopback", "_adjust"):
            with self.subTest(step), mock.patch.object(
                network, step, side_effect=refuse
            ):
                with own_network() as is_own:
                    self.assertFalse(is_own)
                    self.assertEqual(namespace(), outside)

    def test_being_interrupted_on_the_way_in_leads_back(self):
        with mock.patch.object(
            network, "_adjust", side_effect=KeyboardInterrupt
        ):
            with self.assertRaises(KeyboardInterrupt):
                with own_network():
                    self.fail("it went on")

    def test_only_what_measures_runs_inside(self):
        where = {}

        def noting(step, given):
            def note(*_):
                where[step] = namespace()
                return given

            return mock.patch.object(command, step, side_effect=note)

        # The command pins whoever calls it, which here is the tests.
        with (
            mock.patch("os.sched_getaffinity", return_value={0, 1}),
            mock.patch("os.sched_setaffinity"),
            mock.patch("signal.signal"),
            mock.patch.object(command, "write_pool"),
            mock.patch.object(command, "Pool"),
            mock.patch.object(command, "allow_many_descriptors"),
            mock.patch.object(command, "_need_programs"),
            mock.patch.object(command, "_say"),
            noting("_prepare", ([], {})),
            noting("_measure", []),
            noting("_draw", None),
        ):
            self.assertEqual(command.main(["--no-build"]), 1)
        self.assertEqual(where["_prepare"], namespace())
        self.assertEqual(where["_draw"], namespace())
        self.assertNotEqual(where["_measure"], namespace())


if __name__ == "__main__":
    unittest.main()
