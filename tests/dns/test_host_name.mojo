"""Tests for the rules of host names, and for the names to ask for."""

from flare.dns import DnsError, resolve
from flare.dns.host_name import check_host_name, is_localhost
from flare.dns.search import whole_names

from tests.asserting import assert_equal, assert_false, assert_true


def test_names_in_use_are_accepted() raises:
    for name in [
        "a",
        "example.com",
        "example.com.",
        "EXAMPLE.com",
        "_dmarc.example.com",
        "xn--bcher-kva.example",
        "3com.com",
        "a-.b--c.d",
        "0x.example",
        "1.2.3.4a",
        "12a",
        "0xg",
    ]:
        assert_equal(_refusal(name), "", name)


def test_what_no_host_name_has_is_refused() raises:
    for name in [
        "a\0b",
        "a\r\nb",
        "user@example.com",
        "a b",
        "a/b",
        "a:80",
        "[::1]",
        "fe80::1%eth0",
        "bücher.example",
        "a\x7f",
        "a\\b",
    ]:
        assert_equal(
            _refusal(name), "the name has an octet that no host name has", name
        )


def test_empty_names_and_labels_are_refused() raises:
    assert_equal(_refusal(""), "the name is empty")
    assert_equal(_refusal("."), "the name is empty")
    for name in ["a..b", ".a", "a.."]:
        assert_equal(_refusal(name), "a label of the name is empty", name)


def test_the_limits_of_lengths_are_inclusive() raises:
    var label = _repeated("a", 63)
    assert_equal(_refusal(label), "")
    assert_equal(_refusal(label + "a"), "a label of the name is over 63 octets")
    var name = label + "." + label + "." + label + "." + _repeated("b", 61)
    assert_equal(name.byte_length(), 253)
    assert_equal(_refusal(name), "")
    assert_equal(_refusal(name + "."), "")
    assert_equal(_refusal(name + "b"), "the name is over 253 octets")
    assert_equal(
        _refusal(_repeated("a", 1_000_000)), "the name is over 253 octets"
    )


def test_a_name_that_ends_in_a_number_is_refused() raises:
    for name in ["1", "1.2.3", "127.1", "2130706433", "a.0x7f", "0x", "a.1."]:
        assert_equal(
            _refusal(name),
            "the name ends in a number and is no address",
            name,
        )


def test_a_refused_name_is_shown_escaped_and_cut() raises:
    try:
        _ = resolve("a\r\nHost: b")
        assert_true(False, "it raises")
    except e:
        assert_equal(
            String(e),
            (
                "dns.bad_name resolve: the name has an octet that no host name"
                ' has: "a\\x0d\\x0aHost: b"'
            ),
        )
        var error = DnsError.of(e).value()
        assert_equal(error.kind, DnsError.BAD_NAME)
        assert_equal(error.operation, "resolve")
        assert_equal(error.host, "")
    try:
        _ = resolve(_repeated("a", 1000))
        assert_true(False, "it raises")
    except e:
        assert_true(String(e).endswith('aaa..."'))
        assert_true(String(e).byte_length() < 200)


def test_localhost_and_the_names_below_it_are_this_machine() raises:
    for name in ["localhost", "LOCALHOST", "localhost.", "a.b.LocalHost"]:
        assert_true(is_localhost(name.as_bytes()), name)
    for name in ["", ".", "localhos", "xlocalhost", "localhost.example"]:
        assert_false(is_localhost(name.as_bytes()), name)


def test_short_names_are_made_longer_first() raises:
    var search: List[String] = ["One.example", "two.example."]
    assert_equal(
        whole_names("Db", search, 1),
        ["db.one.example", "db.two.example", "db"],
    )
    assert_equal(
        whole_names("a.b", search, 1),
        ["a.b", "a.b.one.example", "a.b.two.example"],
    )
    assert_equal(
        whole_names("a.b", search, 2),
        ["a.b.one.example", "a.b.two.example", "a.b"],
    )
    assert_equal(whole_names("db.", search, 5), ["db"])
    assert_equal(whole_names("db", [], 1), ["db"])
    var long = _repeated("a.", 121)
    assert_equal(len(whole_names(long + "bb", search, 0)), 1)


def _refusal(name: StringSlice) -> String:
    try:
        check_host_name(name.as_bytes())
        return String()
    except e:
        return String(e.reason)


def _repeated(text: StaticString, count: Int) -> String:
    var all = String()
    for _ in range(count):
        all += text
    return all^


comptime TESTS = __functions_in_module()
