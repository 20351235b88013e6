"""Builds programs as users write them: some must serve, others must not build.
"""

import http.client
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from combined_build import module_of
from library_package import include_options
from quick import program_options

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs"
MOJO = pathlib.Path(os.environ.get("MOJO", ROOT / ".venv" / "bin" / "mojo"))
BUILD_SECONDS_MAX = 600
ANSWER_SECONDS_MAX = 10


def build(name, folder):
    """Builds one program; gives the finished compiler and the binary."""
    binary = os.path.join(folder, name)
    finished = subprocess.run(
        [MOJO, "build", *program_options(), "-o", binary,
         PROGRAMS / f"{name}.mojo"],
        capture_output=True, text=True, timeout=BUILD_SECONDS_MAX,
    )
    return finished, binary


class Server:
    """Runs one way to serve, on a port that the kernel chooses."""

    def __init__(self, *command):
        self.process = subprocess.Popen(
            [*command, "0"], stderr=subprocess.PIPE, text=True
        )
        self.port = self._port()
        self.client = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=ANSWER_SECONDS_MAX
        )

    def _port(self):
        """Reads the log up to the port."""
        for line in self.process.stderr:
            found = re.search(r"listening on 127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found[1])
        code = self.process.wait(ANSWER_SECONDS_MAX)
        raise AssertionError(f"ended with {code} before serving")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def ask(self, method, path, body=None):
        """Sends a request; gives status and content."""
        self.client.request(method, path, body=body)
        response = self.client.getresponse()
        self.headers = response.headers
        return response.status, response.read().decode()

    def stop(self):
        """Sends SIGTERM; gives the exit code."""
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(ANSWER_SECONDS_MAX)


class Servers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        finished, cls.binary = build("servers", cls.folder.name)
        if finished.returncode != 0:
            raise AssertionError(finished.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_function_answers_by_url(self):
        with Server(self.binary, "function") as server:
            self.assertEqual(server.ask("GET", "/"), (200, "hello"))
            self.assertEqual(
                server.ask("POST", "/data", b"{}"),
                (200, '{"received": true}'),
            )
            self.assertEqual(
                server.headers["Content-Type"], "application/json"
            )
            self.assertEqual(
                server.ask("GET", "/other"), (404, "not found: /other")
            )
            self.assertEqual(server.stop(), 0)

    def test_a_router_answers_by_method_and_path(self):
        with Server(self.binary, "router") as server:
            self.assertEqual(server.ask("GET", "/"), (200, "hello"))
            self.assertEqual(server.ask("GET", "/users/7"), (200, "user 7"))
            self.assertEqual(
                server.ask("GET", "/users/a%2Fb"), (200, "user a/b")
            )
            self.assertEqual(server.ask("POST", "/users"), (200, "hello"))
            self.assertEqual(
                server.ask("GET", "/items/4?page=2"), (200, "item 4 page 2")
            )
            self.assertEqual(server.ask("GET", "/items/four")[0], 400)
            self.assertEqual(server.ask("GET", "/nowhere")[0], 404)
            self.assertEqual(server.ask("DELETE", "/users")[0], 405)
            self.assertEqual(server.headers["Allow"], "POST, OPTIONS")
            self.assertEqual(server.ask("BREW", "/users")[0], 501)
            self.assertEqual(server.ask("OPTIONS", "/users/7"), (204, ""))
            self.assertEqual(server.headers["Allow"], "GET, HEAD, OPTIONS")
            self.assertEqual(server.ask("HEAD", "/users/7"), (200, ""))
            self.assertEqual(server.headers["Content-Length"], "6")
            self.assertEqual(server.stop(), 0)

    def test_an_app_keeps_its_state(self):
        with Server(self.binary, "app") as server:
            for i in range(1, 6):
                self.assertEqual(server.ask("GET", "/"), (200, str(i)))
            self.assertEqual(server.stop(), 0)

    def test_four_workers_answer_on_one_port(self):
        with Server(self.binary, "workers") as server:
            for _ in range(40):
                self.assertEqual(server.ask("GET", "/"), (200, "hello"))
                server.client.close()
            self.assertEqual(server.stop(), 0)

    def test_a_handler_known_when_building_answers(self):
        with Server(self.binary, "comptime") as server:
            self.assertEqual(server.ask("GET", "/any"), (200, "hello"))
            self.assertEqual(server.ask("POST", "/", b"x" * 65537)[0], 413)
            self.assertEqual(server.stop(), 0)


class JustInTime(unittest.TestCase):
    """What `mojo run` loads has no linker behind it. A server that it loads over
    the driver library is in `test_wheel.py`."""

    # Compiled as one, and run one after the other.
    EXAMPLES = ("04_tcp_echo", "14_reactor", "17_multicore")

    def test_scripts_wait_turn_a_reactor_and_start_workers(self):
        with tempfile.TemporaryDirectory() as folder:
            imports, calls = [], []
            for name in self.EXAMPLES:
                source = ROOT / "examples" / f"{name}.mojo"
                shutil.copyfile(source, f"{folder}/{module_of(source)}.mojo")
                imports.append(
                    f"from {module_of(source)} import main as main_{name}\n"
                )
                calls.append(f"    main_{name}()\n")
            entry = pathlib.Path(folder) / "entry.mojo"
            entry.write_text(
                "".join([*imports, "def main() raises:\n", *calls])
            )
            finished = subprocess.run(
                [MOJO, "run", *include_options(ROOT), entry],
                capture_output=True, text=True, timeout=BUILD_SECONDS_MAX,
            )
        self.assertEqual(finished.returncode, 0, finished.stderr)
        for line in (
            "client: and goodbye",
            "3 lines",
            "hello from one of the workers",
        ):
            self.assertIn(line, finished.stdout)


class Scripts(unittest.TestCase):
    def test_json_of_the_types_of_the_language_needs_no_struct(self):
        with tempfile.TemporaryDirectory() as folder:
            finished, binary = build("bare_json", folder)
            self.assertEqual(finished.returncode, 0, finished.stderr)
            printed = subprocess.run(
                [binary], capture_output=True, text=True,
                timeout=ANSWER_SECONDS_MAX,
            ).stdout
        self.assertEqual(printed, 'a {"b":[0.5,null],"a":[]}\n')


class Refusals(unittest.TestCase):
    def refused(self, name):
        with tempfile.TemporaryDirectory() as folder:
            finished, _ = build(name, folder)
        self.assertNotEqual(finished.returncode, 0, f"{name} was built")
        return finished.stdout + finished.stderr

    def test_a_bad_call_is_refused_where_it_stands_and_says_what_to_write(self):
        source = (PROGRAMS / "bad_calls.mojo").read_text().split("\n")
        wanted = {}
        for number, line in enumerate(source, 1):
            if line.strip().startswith("# error: "):
                wanted[number + 1] = line.strip().removeprefix("# error: ")
        found = {}
        for number, text in re.findall(
            r"bad_calls\.mojo:(\d+):\d+: error: (.*)", self.refused("bad_calls")
        ):
            # The first error of a line is the one that is read.
            found.setdefault(int(number), text)
        self.assertGreater(len(wanted), 20)
        self.assertEqual(sorted(found), sorted(wanted))
        for number, text in wanted.items():
            self.assertTrue(
                found[number].startswith(text), f"{number}: {found[number]}"
            )

    def test_a_router_with_a_state_is_not_served_without_its_app(self):
        self.assertRegex(
            self.refused("bad_app_missing"),
            r"expects the state bad_app_missing\.Counters: write"
            r" serve\(App\(state=…, handler=router\^\)\)",
        )

    def test_a_struct_that_is_taken_as_json_says_so(self):
        self.assertIn(
            "bad_from_json.Item is not read from JSON: conform to FromJson",
            self.refused("bad_from_json"),
        )

    def test_a_struct_that_is_returned_as_json_says_so(self):
        self.assertIn(
            "bad_to_json.Item is not written as JSON: conform to ToJson",
            self.refused("bad_to_json"),
        )

    def test_a_configuration_that_contradicts_itself_names_the_field(self):
        self.assertIn(
            "ServerConfig.max_body_size must be at least max_header_size",
            self.refused("bad_config"),
        )

    def test_a_function_cannot_ask_for_a_state_that_is_not_there(self):
        self.assertRegex(
            self.refused("bad_state"),
            r"State\[bad_state\.Counters\] needs a router of that state: write"
            r" Router\[bad_state\.Counters\]\(\), not"
            r" Router\[bad_state\.Names\]\(\)",
        )

    def test_an_app_cannot_hold_a_state_that_its_router_does_not_expect(self):
        self.assertRegex(
            self.refused("bad_app"),
            r"expects the state bad_app\.Names, but the App holds"
            r" bad_app\.Counters",
        )

    def test_a_path_parameter_of_a_type_that_cannot_be_read_names_it(self):
        self.assertRegex(
            self.refused("bad_extractor"),
            r"bad_extractor\.Colour is not read from text",
        )

    def test_a_detached_fiber_holds_no_view_of_the_request(self):
        self.assertIn(
            "capture a copy, such as String(req.path)",
            self.refused("bad_detach"),
        )

    def test_a_dictionary_in_json_has_strings_for_keys(self):
        self.assertIn(
            "the keys of a dictionary in JSON are of type String",
            self.refused("bad_dictionary"),
        )


if __name__ == "__main__":
    unittest.main()
