"""Tests for `flare.postgres.connect`."""

from flare.net import IpAddr
from flare.postgres.connect import connect_parameters, sqlstate_in
from flare.postgres.location import DatabaseLocation
from flare.postgres.options import DatabaseOptions, PostgresTls

from tests.asserting import assert_equal, assert_true

# The keywords of version 15 that a variable or a file would set, but for
# `service` and, with a Unix socket, `requirepeer`.
comptime _KEYWORDS: List[StaticString] = [
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "krbsrvname",
    "options",
    "passfile",
    "password",
    "port",
    "requirepeer",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "user",
]


def test_every_keyword_has_a_value() raises:
    for version in [150_018, 160_000, 170_000, 180_000]:
        for tls in [PostgresTls.DISABLED, PostgresTls.ENCRYPTED]:
            var options = DatabaseOptions()
            options.tls = tls
            options.application_name = ""
            var found = _parameters(version, "postgres://me:@db/x", options)
            for i in range(len(found[0])):
                assert_true(found[1][i] != "", found[0][i])
            comptime for i in range(len(_KEYWORDS)):
                assert_true(comptime (_KEYWORDS[i]) in found[0])


def test_later_versions_have_more_keywords() raises:
    var options = DatabaseOptions()
    var of_15 = _parameters(150_018, "postgres://me@localhost/x", options)
    var of_17 = _parameters(170_000, "postgres://me@localhost/x", options)
    assert_true("require_auth" not in of_15[0])
    assert_true("sslnegotiation" not in of_15[0])
    assert_true("require_auth" in of_17[0] and "sslnegotiation" in of_17[0])
    assert_true("min_protocol_version" not in of_17[0])


def test_each_address_of_a_host_is_tried() raises:
    var options = DatabaseOptions()
    var found = _parameters(150_018, "postgres://me@localhost/x", options)
    assert_equal(_value(found, "host"), "localhost,localhost")
    assert_equal(_value(found, "hostaddr"), "::1,127.0.0.1")
    assert_equal(_value(found, "sslmode"), "disable")
    found = _parameters(150_018, "postgres://me@/x?host=/run", options)
    assert_equal(_value(found, "host"), "/run,/run")
    assert_equal(_value(found, "hostaddr"), ",")
    found = _parameters(
        150_018,
        "postgres://me@db/x?sslmode=verify-full&sslrootcert=/c",
        options,
    )
    assert_equal(_value(found, "sslmode"), "verify-full")
    assert_equal(_value(found, "sslrootcert"), "/c")


def test_the_code_in_a_verbose_text() raises:
    assert_equal(
        sqlstate_in(
            'connection to server at "::1", port 5432 failed: FATAL:  28P01: '
            "password authentication failed\nLOCATION:  x"
        ),
        "28P01",
    )
    for text in ["", "FATAL:  x", "FATAL:  28p01: x", "FATAL:  28P01", "::  "]:
        assert_equal(sqlstate_in(String(text)), "")


def _parameters(
    version: Int, url: StringSlice, options: DatabaseOptions
) raises -> Tuple[List[String], List[String]]:
    var changed = options.copy()
    var place = DatabaseLocation.parse(url, changed)
    var addresses: List[IpAddr] = [
        IpAddr.localhost_v6(),
        IpAddr.localhost_v4(),
    ]
    var p = connect_parameters(version, place, changed, addresses)
    return (
        _texts(p.keywords.octets, p.keywords.starts),
        _texts(p.values.octets, p.values.starts),
    )


def _texts(octets: List[UInt8], starts: List[Int]) -> List[String]:
    var texts = List[String]()
    for start in starts:
        var end = start
        while octets[end] != UInt8(0):
            end += 1
        texts.append(String(unsafe_from_utf8=Span(octets)[start:end]))
    return texts^


def _value(found: Tuple[List[String], List[String]], name: String) -> String:
    for i in range(len(found[0])):
        if found[0][i] == name:
            return found[1][i]
    return "absent"


comptime TESTS = __functions_in_module()
