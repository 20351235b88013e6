"""Lets a scanner judge the HTTPS server, and a browser use it."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.programs import (  # noqa: E402
    find_program,
    has_no_browser_package,
)
from loopback.secure_socket import ROOT, certificates  # noqa: E402
from loopback.subject import BACKENDS, Subject, build  # noqa: E402

# Where `make setup-peers` puts the scanner and what it brings.
SCANNER = ROOT / ".venv" / "scanner"
SCAN_SECONDS_MAX = 120
BROWSER_SECONDS_MAX = 60
# Why rows of the scanner are not judged.
EXEMPT = {
    "certificate_info": "no store has the authority of the tests; what else it"
    " finds in the certificate is judged by the profile",
    "http_headers": "header fields are up to the program's handlers",
}
# What the profile has against the server: an authority that nobody knows.
EXEMPT_ISSUES = {"certificate_path_validation"}
GROUPS = {"X25519", "secp256r1", "secp384r1"}
SUITES_1_3 = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
}
REFUSED = {"is_tls_version_supported": False, "accepted": set()}
# What its program writes: octets that came, those that are wrong, answers that
# are right, octets that were sent, what was agreed on, and the protocol.
PAGE = (
    r"^1048576 0 20 300000 TLSv1\.3\s(TLS_\w+)\slocalhost\s-\s\w+ true"
    r" (h2|http/1\.1)$"
)


def setUpModule():
    build()


def suites_1_2(key):
    return {
        f"TLS_ECDHE_{key}_WITH_{cipher}"
        for cipher in (
            "AES_128_GCM_SHA256",
            "AES_256_GCM_SHA384",
            "CHACHA20_POLY1305_SHA256",
        )
    }


def rows(key):
    """Gives what each row of the scanner must say of a server with a key."""
    return {
        "ssl_2_0_cipher_suites": REFUSED,
        "ssl_3_0_cipher_suites": REFUSED,
        "tls_1_0_cipher_suites": REFUSED,
        "tls_1_1_cipher_suites": REFUSED,
        "tls_1_2_cipher_suites": {
            "is_tls_version_supported": True, "accepted": suites_1_2(key),
        },
        "tls_1_3_cipher_suites": {
            "is_tls_version_supported": True, "accepted": SUITES_1_3,
        },
        "tls_compression": {"supports_compression": False},
        "tls_1_3_early_data": {"supports_early_data": False},
        "openssl_ccs_injection": {"is_vulnerable_to_ccs_injection": False},
        "tls_fallback_scsv": {"supports_fallback_scsv": True},
        "heartbleed": {"is_vulnerable_to_heartbleed": False},
        "robot": {"robot_result": "NOT_VULNERABLE_RSA_NOT_SUPPORTED"},
        "session_renegotiation": {
            "supports_secure_renegotiation": True,
            "is_vulnerable_to_client_renegotiation_dos": False,
        },
        "session_resumption": {
            "session_id_resumption_result": "NOT_SUPPORTED",
            "tls_ticket_resumption_result": "FULLY_SUPPORTED",
        },
        "elliptic_curves": {"supported": GROUPS},
        "tls_extended_master_secret": {"supports_ems_extension": True},
    }


def scan(port):
    """Gives the rows of the scanner as JSON, and the issues of Mozilla's
    profile for servers that not only the newest clients use."""
    if not SCANNER.exists():
        raise AssertionError("no scanner is there: run `make setup-peers`")
    if str(SCANNER) not in sys.path:
        sys.path.insert(0, str(SCANNER))
    with warnings.catch_warnings():
        # It reads authorities that its own library finds old-fashioned.
        warnings.simplefilter("ignore")
        import sslyze
        from sslyze.json.json_output import ServerScanResultAsJson
        from sslyze.mozilla_tls_profile import tls_config_checker as profile

        scanner = sslyze.Scanner()
        scanner.queue_scans([
            sslyze.ServerScanRequest(
                server_location=sslyze.ServerNetworkLocation(
                    "localhost", port, ip_address="127.0.0.1"
                ),
                scan_commands={
                    each for each in sslyze.ScanCommand
                    if each.value != "http_headers"
                },
            )
        ])
        result = next(scanner.get_results())
        issues = {}
        try:
            profile.check_server_against_tls_configuration(
                result,
                profile.MozillaTlsConfiguration.get(
                    profile.TlsConfigurationEnum.MOZILLA_INTERMEDIATE
                ),
            )
        except profile.ServerNotCompliantWithTlsConfiguration as error:
            issues = error.issues
        text = ServerScanResultAsJson.model_validate(result).model_dump_json()
    return json.loads(text)["scan_result"], issues


def found_in(result):
    """Sums up the suites and groups of a row by their names."""
    found = dict(result)
    if "accepted_cipher_suites" in found:
        found["accepted"] = {
            each["cipher_suite"]["name"]
            for each in found["accepted_cipher_suites"]
        }
    if "supported_curves" in found:
        found["supported"] = {each["name"] for each in found["supported_curves"]}
    return found


class Scans(unittest.TestCase):
    def judge(self, port, key):
        found, issues = scan(port)
        self.assertEqual(set(issues), EXEMPT_ISSUES, issues)
        wanted = rows(key)
        self.assertEqual(set(found), set(wanted) | set(EXEMPT))
        for name, row in wanted.items():
            with self.subTest(name):
                self.assertEqual(found[name]["status"], "COMPLETED")
                result = found_in(found[name]["result"])
                self.assertEqual({x: result[x] for x in row}, row)

    def test_the_intermediate_profile_of_mozilla_is_kept_to(self):
        subject = Subject("io_uring", secure=True)
        self.addCleanup(subject.stop)
        self.judge(subject.port, "ECDSA")
        self.assertEqual(subject.stop(), 0)

    def test_it_is_kept_to_with_an_rsa_key(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, source in (("server", "rsa"), ("other", "other")):
                for ending in (".pem", ".key"):
                    shutil.copy(
                        certificates() / (source + ending),
                        f"{folder}/{name}{ending}",
                    )
            subject = Subject("epoll", "--tls", folder)
            self.addCleanup(subject.stop)
            self.judge(subject.port, "RSA")
            self.assertEqual(subject.stop(), 0)


def browse(url, *options):
    """Gives the page that a browser makes of what it loads."""
    command = [
        find_program("chromium-headless-shell", "chromium"),
        "--headless", "--dump-dom", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-extensions",
        # Where shared memory is small, it would die.
        "--disable-dev-shm-usage",
    ]
    if os.geteuid() == 0:
        # It refuses to run as root inside of its sandbox.
        command.append("--no-sandbox")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        finished = subprocess.run(
            [*command, f"--user-data-dir={profile}", *options, url],
            capture_output=True,
            text=True,
            timeout=BROWSER_SECONDS_MAX,
            env={**os.environ, "HOME": profile},
        )
    if finished.returncode != 0:
        raise AssertionError(finished.stderr)
    return finished.stdout


def key_digest(name):
    """Gives what a browser calls a certificate's key by."""
    key = subprocess.run(
        ["openssl", "x509", "-in", certificates() / f"{name}.pem", "-noout",
         "-pubkey"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    octets = base64.b64decode("".join(key.split("\n")[1:-2]))
    return base64.b64encode(hashlib.sha256(octets).digest()).decode()


@unittest.skipIf(
    has_no_browser_package(), "this system has no package of the browser"
)
class Browser(unittest.TestCase):
    def test_a_page_loads_and_its_program_asks_on(self):
        for backend, options, protocol in (
            *((backend, (), "h2") for backend in BACKENDS),
            ("epoll", ("--http1",), "http/1.1"),
        ):
            with self.subTest(backend, protocol=protocol):
                subject = Subject(backend, *options, secure=True)
                self.addCleanup(subject.stop)
                before = subject.statistics()
                found = browse(
                    f"https://localhost:{subject.port}/page",
                    "--ignore-certificate-errors-spki-list="
                    + key_digest("server"),
                )
                text = re.search(r"<body>(.*)</body>", found, re.DOTALL)
                self.assertIsNotNone(text, found)
                self.assertRegex(text[1], PAGE)
                self.assertEqual(text[1].split()[-1], protocol)
                after = subject.statistics()
                count = {x: after[x] - before[x] for x in after}
                # One is that of the second look at the counters.
                self.assertGreaterEqual(count["requests"] - 1, 24)
                self.assertLessEqual(count["connections_accepted"] - 1, 6)
                self.assertEqual(count["handler_errors"], 0)
                self.assertEqual(subject.stop(), 0)

    def test_who_is_not_vouched_for_is_not_believed(self):
        subject = Subject("io_uring", secure=True)
        self.addCleanup(subject.stop)
        with self.assertRaises(AssertionError) as caught:
            browse(f"https://localhost:{subject.port}/")
        self.assertIn("ERR_CERT_AUTHORITY_INVALID", str(caught.exception))
        self.assertEqual(subject.stop(), 0)


if __name__ == "__main__":
    unittest.main()
