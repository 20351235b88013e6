"""Tests for what a resolver is told: each value has its bounds."""

from std.testing import assert_raises

from flare.dns import DnsError, Resolver, ResolverConfig
from flare.net import SocketAddr

from tests.asserting import assert_equal, assert_true


def test_configurations_out_of_bounds_are_refused() raises:
    var config = ResolverConfig()
    assert_true(not config.first_problem())
    config.servers = []
    assert_equal(config.first_problem().value(), "servers must be 1 to 8")
    config = ResolverConfig()
    config.servers = [SocketAddr.localhost(0)]
    assert_equal(
        config.first_problem().value(), "a server needs an address and a port"
    )
    config = ResolverConfig()
    config.attempts = 0
    assert_equal(config.first_problem().value(), "attempts must be 1 to 5")
    config = ResolverConfig()
    config.cache_entries_max = 0
    assert_true(Bool(config.first_problem()))


def test_answers_are_kept_a_bounded_time() raises:
    for seconds in [-1, 0, 1, 604_800, 604_801, Int.MAX]:
        var is_right = seconds in (1, 604_800)
        var config = ResolverConfig()
        config.cache_seconds_max = seconds
        assert_equal(not config.first_problem(), is_right, String(seconds))
        config = ResolverConfig()
        config.negative_cache_seconds_max = seconds
        assert_equal(not config.first_problem(), is_right, String(seconds))


def test_a_search_list_is_as_long_as_one_of_the_system() raises:
    var config = ResolverConfig()
    for _ in range(ResolverConfig.SEARCH_MAX):
        config.search.append("a.example")
    assert_true(not config.first_problem())
    config.search.append("a.example")
    assert_equal(config.first_problem().value(), "search has up to 32 domains")
    with assert_raises(contains="dns.bad_config search has up to 32 domains"):
        _ = Resolver(config^)


def test_a_search_domain_is_a_host_name() raises:
    var label = String("a") * 63
    var longest = String(label, ".", label, ".", label, ".", String("a") * 61)
    for domain in [
        "example",
        "a.example.",
        "_tcp.example",
        String(label, ".example"),
        longest,
        longest + ".",
    ]:
        assert_equal(_refusal(domain), "")
    for domain in [
        "",
        ".",
        "a..example",
        ".example",
        "a.example\0",
        "a\0.example",
        "a.example\r",
        "a.example\nb",
        "a@example",
        "a example",
        "a/b",
        "127.1",
        "é.example",
        String(label, "a.example"),
        longest + "a",
    ]:
        var text = _refusal(domain)
        assert_true(text.startswith("dns.bad_name resolve: "), text)
        assert_true(
            _is_printable(text.as_bytes()), "the text of the error is escaped"
        )


def test_one_bad_domain_of_many_is_found() raises:
    var config = ResolverConfig()
    config.search = ["a.example", "b.example", "c\0.example"]
    try:
        _ = Resolver(config^)
        assert_true(False, "a search domain with NUL")
    except e:
        assert_equal(DnsError.of(e).value().kind, DnsError.BAD_NAME)
        assert_equal(
            String(e),
            (
                "dns.bad_name resolve: the name has an octet that no host name"
                ' has: "c\\x00.example"'
            ),
        )


def test_a_server_at_no_address_is_the_one_on_this_machine() raises:
    var config = ResolverConfig.from_files(
        "".as_bytes(),
        "nameserver 0.0.0.0\nnameserver ::\nnameserver 192.0.2.53\n".as_bytes(),
    )
    assert_true(not config.first_problem())
    assert_equal(
        config.servers,
        [
            SocketAddr.localhost(53),
            SocketAddr.localhost_v6(53),
            SocketAddr.parse("192.0.2.53:53"),
        ],
    )


def _refusal(domain: String) -> String:
    var config = ResolverConfig()
    config.search = [domain]
    var problem = config.first_problem()
    try:
        _ = Resolver(config^)
    except e:
        var error = DnsError.of(e)
        if error and error.value().kind == DnsError.BAD_NAME and problem:
            return String(e)
        return String("another error: ", e)
    return "not the same" if problem else ""


def _is_printable(octets: Span[UInt8, _]) -> Bool:
    for octet in octets:
        if octet < 32 or octet > 126:
            return False
    return True


comptime TESTS = __functions_in_module()
