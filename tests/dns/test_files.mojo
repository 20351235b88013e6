"""Tests for the files of the system: hosts(5) and resolv.conf(5)."""

from flare.dns import HostsFile, ResolvConf, ResolverConfig
from flare.net import SocketAddr

from tests.asserting import assert_equal, assert_true


def test_hosts_have_the_addresses_of_all_their_lines() raises:
    var file = HostsFile.parse(
        (
            "# a comment\n127.0.0.1 localhost\n10.0.0.1\tDb db.example # own\n"
            "::1 localhost\r\n\n10.0.0.2 db\n10.0.0.1 DB\n"
        ).as_bytes()
    )
    assert_equal(_addresses(file, "localhost"), "127.0.0.1 ::1 ")
    assert_equal(_addresses(file, "db"), "10.0.0.1 10.0.0.2 ")
    assert_equal(_addresses(file, "DB."), "10.0.0.1 10.0.0.2 ")
    assert_equal(_addresses(file, "db.example"), "10.0.0.1 ")
    assert_equal(_addresses(file, "own"), "")
    assert_equal(_addresses(file, "example"), "")


def test_lines_of_hosts_that_are_none_are_passed_over() raises:
    var long = List[UInt8]("10.0.0.3 ".as_bytes())
    long.extend(Span(List[UInt8](length=4096, fill=32)))
    long.extend("long\n".as_bytes())
    long.extend(
        (
            "db 10.0.0.1\nfe80::1%eth0 zone\n010.0.0.1 octal\n10.0.0.1\n"
            "10.0.0.1 bad@name good"
        ).as_bytes()
    )
    var file = HostsFile.parse(Span(long))
    for name in ["long", "db", "zone", "octal", "bad@name"]:
        assert_equal(_addresses(file, name), "", name)
    assert_equal(_addresses(file, "good"), "10.0.0.1 ")


def test_one_host_has_a_bounded_number_of_addresses() raises:
    var octets = List[UInt8]()
    for i in range(100):
        octets.extend(String("10.0.0.", i, " many\n").as_bytes())
    var file = HostsFile.parse(Span(octets))
    assert_equal(len(file.addresses_of("many")), 64)


def test_hosts_are_bounded_in_number() raises:
    var octets = List[UInt8]()
    for i in range(65_537):
        octets.extend(String("10.0.0.1 h", i, ".x\n").as_bytes())
    var file = HostsFile.parse(Span(octets))
    assert_equal(_addresses(file, "h65535.x"), "10.0.0.1 ")
    assert_equal(_addresses(file, "h65536.x"), "")


def test_an_empty_resolv_conf_has_the_values_of_the_manual() raises:
    var conf = ResolvConf.parse("".as_bytes())
    assert_equal(len(conf.servers), 0)
    assert_equal(len(conf.search), 0)
    assert_equal(conf.ndots, 1)
    assert_equal(conf.timeout_seconds, 5)
    assert_equal(conf.attempts, 2)
    var config = ResolverConfig.from_files("".as_bytes(), "".as_bytes())
    assert_true(config.servers[0] == SocketAddr.localhost(53))


def test_servers_domains_and_options_are_read() raises:
    var text: StaticString = (
        "; a comment\n# nameserver 9.9.9.9\nnameserver 10.0.0.1\n"
        "nameserver fe80::1%eth0\nnameserver\n  nameserver ::1 rest\n"
        "search a.example b.example bad@name\noptions ndots:3 timeout:7"
        " attempts:4 rotate edns0\nunknown 1\n"
    )
    var conf = ResolvConf.parse(text.as_bytes())
    assert_equal(len(conf.servers), 2)
    assert_equal(conf.search, ["a.example", "b.example"])
    assert_equal(conf.ndots, 3)
    assert_equal(conf.timeout_seconds, 7)
    assert_equal(conf.attempts, 4)
    var config = ResolverConfig.from_files("".as_bytes(), text.as_bytes())
    assert_true(config.servers[1] == SocketAddr.parse("[::1]:53"))
    assert_equal(config.server_timeout_ms, 7000)
    assert_true(not config.first_problem())


def test_the_last_of_domain_and_search_counts() raises:
    var conf = ResolvConf.parse("search a b\ndomain c d\n".as_bytes())
    assert_equal(conf.search, ["c"])
    conf = ResolvConf.parse("domain c\nsearch a b\n".as_bytes())
    assert_equal(conf.search, ["a", "b"])


def test_options_are_cut_to_their_bounds() raises:
    var conf = ResolvConf.parse(
        "options ndots:16 timeout:31 attempts:6\n".as_bytes()
    )
    assert_equal(conf.ndots, 15)
    assert_equal(conf.timeout_seconds, 30)
    assert_equal(conf.attempts, 5)
    conf = ResolvConf.parse(
        "options ndots:0 timeout:0 attempts:0 ndots:-1 ndots:\n".as_bytes()
    )
    assert_equal(conf.ndots, 0)
    assert_equal(conf.timeout_seconds, 1)
    assert_equal(conf.attempts, 1)
    conf = ResolvConf.parse(
        "options ndots:99999999999999999999999999\n".as_bytes()
    )
    assert_equal(conf.ndots, 15)


def test_a_fourth_server_and_a_33rd_domain_are_not_read() raises:
    var text = String()
    for i in range(5):
        text += String("nameserver 10.0.0.", i, "\n")
    text += "search"
    for i in range(40):
        text += String(" d", i, ".x")
    var conf = ResolvConf.parse(text.as_bytes())
    assert_equal(len(conf.servers), 3)
    assert_equal(len(conf.search), 32)


def _addresses(file: HostsFile, name: StringSlice) -> String:
    var text = String()
    for address in file.addresses_of(name):
        text.write(address, " ")
    return text^


comptime TESTS = __functions_in_module()
