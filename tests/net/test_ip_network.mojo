"""Tests for `flare.net.ip_network`."""

from flare.net import IpAddr, IpNetwork

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable):
    var network: StaticString
    var inside: StaticString
    var outside: StaticString


def test_a_block_ends_where_its_prefix_does() raises:
    var rows: List[_Row] = [
        _Row("10.0.0.0/8", "10.255.255.255", "11.0.0.0"),
        _Row("10.0.0.0/8", "::ffff:10.1.2.3", "::ffff:9.255.255.255"),
        _Row("192.0.2.128/25", "192.0.2.128", "192.0.2.127"),
        _Row("192.0.2.1", "192.0.2.1", "192.0.2.0"),
        _Row("192.0.2.1/32", "192.0.2.1", "192.0.2.2"),
        _Row("0.0.0.0/0", "255.255.255.255", "::1"),
        _Row("::/0", "ffff::", "0.0.0.0"),
        _Row("::/0", "::1", "::ffff:1.2.3.4"),
        _Row("fd00::/8", "fdff:1::2", "fe00::"),
        _Row("2001:db8::/63", "2001:db8:0:1::", "2001:db8:0:2::"),
        _Row("2001:db8::/64", "2001:db8::ffff:0:0:0", "2001:db8:0:1::"),
        _Row("2001:db8::/65", "2001:db8::7fff:0:0:0", "2001:db8::8000:0:0:0"),
        _Row("::1", "::1", "::2"),
    ]
    for row in rows:
        var network = IpNetwork.parse(row.network)
        assert_true(network.contains(IpAddr.parse(row.inside)), row.network)
        assert_false(network.contains(IpAddr.parse(row.outside)), row.network)


def test_the_text_is_that_of_the_block() raises:
    assert_equal(String(IpNetwork.parse("10.0.0.0/8")), "10.0.0.0/8")
    assert_equal(String(IpNetwork.parse("10.0.0.1")), "10.0.0.1/32")
    assert_equal(String(IpNetwork.parse("FD00::/8")), "fd00::/8")
    assert_equal(String(IpNetwork.parse("::1")), "::1/128")


def test_bits_behind_the_prefix_are_dropped_unless_somebody_wrote_them() raises:
    var network = IpNetwork(IpAddr.parse("10.1.2.3"), 8)
    assert_equal(String(network), "10.0.0.0/8")
    assert_equal(String(IpNetwork(IpAddr.parse("::ff"), 124)), "::f0/124")
    assert_equal(String(IpNetwork(IpAddr.parse("1.2.3.4"), 99)), "1.2.3.4/32")
    assert_equal(String(IpNetwork(IpAddr.parse("1.2.3.4"), -1)), "0.0.0.0/0")


def test_what_is_no_block_is_refused() raises:
    comptime NUMBER = "the length of the prefix is no number"
    comptime LONG = "the prefix is longer than the address"
    comptime BITS = "there are bits behind the prefix"
    var rows: List[Tuple[String, String]] = [
        (String("10.0.0.0/"), String(NUMBER)),
        (String("10.0.0.0/a"), String(NUMBER)),
        (String("10.0.0.0/-1"), String(NUMBER)),
        (String("10.0.0.0/8/8"), String(NUMBER)),
        (String("10.0.0.0/0008"), String(NUMBER)),
        (String("10.0.0.0/08"), String(LONG)),
        (String("10.0.0.0/33"), String(LONG)),
        (String("::/129"), String(LONG)),
        (String("10.1.0.0/8"), String(BITS)),
        (String("::1/127"), String(BITS)),
        (String("::ffff:10.0.0.0/104"), String("is written as IPv4")),
        (String("/8"), String("the text is empty")),
        (String(""), String("the text is empty")),
        (String("10.0.0/8"), String("")),
    ]
    for row in rows:
        var refusal = String()
        try:
            _ = IpNetwork.parse(row[0])
        except e:
            refusal = String(e)
        assert_true(refusal.startswith("net.bad_address parse"), row[0])
        assert_true(row[1] in refusal, String(row[0], ": ", refusal))


comptime TESTS = __functions_in_module()
