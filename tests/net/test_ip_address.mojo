"""Tests for `flare.net.ip_address`."""

from flare.net import IpAddr
from fuzz.random import Random

from tests.asserting import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Scope(Copyable):
    var text: StaticString
    # Letters: unspecified, loopback, private, link-local, multicast,
    # broadcast, documentation, global.
    var letters: StaticString


def _letters(ip: IpAddr) -> String:
    var letters = String()
    if ip.is_unspecified():
        letters += "u"
    if ip.is_loopback():
        letters += "l"
    if ip.is_private():
        letters += "p"
    if ip.is_link_local():
        letters += "k"
    if ip.is_multicast():
        letters += "m"
    if ip.is_broadcast():
        letters += "b"
    if ip.is_documentation():
        letters += "d"
    if ip.is_global():
        letters += "g"
    return letters


def _check_scopes(rows: List[_Scope]) raises:
    for row in rows:
        assert_equal(_letters(IpAddr.parse(row.text)), row.letters, row.text)


def test_v4_scopes_end_where_their_blocks_end() raises:
    var rows: List[_Scope] = [
        _Scope("0.0.0.0", "u"),
        _Scope("0.0.0.1", ""),
        _Scope("0.255.255.255", ""),
        _Scope("1.0.0.0", "g"),
        _Scope("9.255.255.255", "g"),
        _Scope("10.0.0.0", "p"),
        _Scope("10.255.255.255", "p"),
        _Scope("11.0.0.0", "g"),
        _Scope("100.63.255.255", "g"),
        _Scope("100.64.0.0", ""),
        _Scope("100.127.255.255", ""),
        _Scope("100.128.0.0", "g"),
        _Scope("126.255.255.255", "g"),
        _Scope("127.0.0.0", "l"),
        _Scope("127.255.255.255", "l"),
        _Scope("128.0.0.0", "g"),
        _Scope("169.253.255.255", "g"),
        _Scope("169.254.0.0", "k"),
        _Scope("169.254.255.255", "k"),
        _Scope("169.255.0.0", "g"),
        _Scope("172.15.255.255", "g"),
        _Scope("172.16.0.0", "p"),
        _Scope("172.31.255.255", "p"),
        _Scope("172.32.0.0", "g"),
        _Scope("191.255.255.255", "g"),
        _Scope("192.0.0.0", ""),
        _Scope("192.0.0.8", ""),
        _Scope("192.0.0.9", "g"),
        _Scope("192.0.0.10", "g"),
        _Scope("192.0.0.11", ""),
        _Scope("192.0.0.255", ""),
        _Scope("192.0.1.0", "g"),
        _Scope("192.0.1.255", "g"),
        _Scope("192.0.2.0", "d"),
        _Scope("192.0.2.255", "d"),
        _Scope("192.0.3.0", "g"),
        _Scope("192.88.98.255", "g"),
        _Scope("192.88.99.0", ""),
        _Scope("192.88.99.255", ""),
        _Scope("192.88.100.0", "g"),
        _Scope("192.167.255.255", "g"),
        _Scope("192.168.0.0", "p"),
        _Scope("192.168.255.255", "p"),
        _Scope("192.169.0.0", "g"),
        _Scope("198.17.255.255", "g"),
        _Scope("198.18.0.0", ""),
        _Scope("198.19.255.255", ""),
        _Scope("198.20.0.0", "g"),
        _Scope("198.51.99.255", "g"),
        _Scope("198.51.100.0", "d"),
        _Scope("198.51.100.255", "d"),
        _Scope("198.51.101.0", "g"),
        _Scope("203.0.112.255", "g"),
        _Scope("203.0.113.0", "d"),
        _Scope("203.0.113.255", "d"),
        _Scope("203.0.114.0", "g"),
        _Scope("223.255.255.255", "g"),
        _Scope("224.0.0.0", "m"),
        _Scope("239.255.255.255", "m"),
        _Scope("240.0.0.0", ""),
        _Scope("255.255.255.254", ""),
        _Scope("255.255.255.255", "b"),
    ]
    _check_scopes(rows)


def test_v6_scopes_end_where_their_blocks_end() raises:
    var rows: List[_Scope] = [
        _Scope("::", "u"),
        _Scope("::1", "l"),
        _Scope("::2", ""),
        _Scope("::1:0:0:1", ""),
        _Scope("64:ff9b::8.8.8.8", "g"),
        _Scope("64:ff9b::10.0.0.1", ""),
        _Scope("64:ff9b::127.0.0.1", ""),
        _Scope("64:ff9b::1:808:808", ""),
        _Scope("64:ff9b:1::8.8.8.8", ""),
        _Scope("100::1", ""),
        _Scope("1fff:ffff::", ""),
        _Scope("2000::", "g"),
        _Scope("2000:ffff::", "g"),
        _Scope("2001::", ""),
        _Scope("2001:1::", ""),
        _Scope("2001:1::1", "g"),
        _Scope("2001:1::3", "g"),
        _Scope("2001:1::4", ""),
        _Scope("2001:2::1", ""),
        _Scope("2001:3::1", "g"),
        _Scope("2001:4:111::", ""),
        _Scope("2001:4:112::", "g"),
        _Scope("2001:4:113::", ""),
        _Scope("2001:1f:ffff::", ""),
        _Scope("2001:20::", "g"),
        _Scope("2001:3f:ffff::", "g"),
        _Scope("2001:40::", ""),
        _Scope("2001:1ff:ffff::", ""),
        _Scope("2001:200::", "g"),
        _Scope("2001:db7:ffff::", "g"),
        _Scope("2001:db8::", "d"),
        _Scope("2001:db8:ffff::", "d"),
        _Scope("2001:db9::", "g"),
        _Scope("2001:ffff::", "g"),
        _Scope("2002:7f00:1::", ""),
        _Scope("2002:ffff::", ""),
        _Scope("2003::", "g"),
        _Scope("2606:4700::1111", "g"),
        _Scope("3ffe:ffff::", "g"),
        _Scope("3fff::", "d"),
        _Scope("3fff:fff:ffff::", "d"),
        _Scope("3fff:1000::", "g"),
        _Scope("3fff:ffff::", "g"),
        _Scope("4000::", ""),
        _Scope("5f00::1", ""),
        _Scope("fbff:ffff::", ""),
        _Scope("fc00::", "p"),
        _Scope("fdff:ffff::", "p"),
        _Scope("fe00::", ""),
        _Scope("fe7f:ffff::", ""),
        _Scope("fe80::", "k"),
        _Scope("febf:ffff::", "k"),
        _Scope("fec0::", ""),
        _Scope("feff:ffff::", ""),
        _Scope("ff00::", "m"),
        _Scope("ffff:ffff::", "m"),
    ]
    _check_scopes(rows)


def test_scopes_look_through_the_mapped_form() raises:
    var rows: List[_Scope] = [
        _Scope("::ffff:0.0.0.0", "u"),
        _Scope("::ffff:127.0.0.1", "l"),
        _Scope("::ffff:10.0.0.1", "p"),
        _Scope("::ffff:169.254.169.254", "k"),
        _Scope("::ffff:224.0.0.1", "m"),
        _Scope("::ffff:255.255.255.255", "b"),
        _Scope("::ffff:192.0.2.1", "d"),
        _Scope("::ffff:8.8.8.8", "g"),
        _Scope("::127.0.0.1", ""),
        _Scope("::fffe:127.0.0.1", ""),
        _Scope("1::ffff:127.0.0.1", ""),
    ]
    _check_scopes(rows)


def test_version_predicates_keep_the_mapped_form_apart() raises:
    var v4 = IpAddr.v4(1, 2, 3, 4)
    assert_true(v4.is_v4())
    assert_false(v4.is_v6())
    assert_false(v4.is_v4_mapped())
    var mapped = v4.to_v4_mapped()
    assert_false(mapped.is_v4())
    assert_true(mapped.is_v6())
    assert_true(mapped.is_v4_mapped())
    assert_false(v4 == mapped)
    assert_true(mapped.unmapped() == v4)
    assert_true(v4.unmapped() == v4)
    assert_true(mapped.to_v4_mapped() == mapped)
    var v6 = IpAddr.parse("2001:db8::1")
    assert_true(v6.unmapped() == v6)
    assert_true(v6.to_v4_mapped() == v6)
    assert_false(v6.is_v4_mapped())


def test_named_addresses_are_what_their_names_say() raises:
    assert_equal(String(IpAddr.localhost_v4()), "127.0.0.1")
    assert_equal(String(IpAddr.localhost_v6()), "::1")
    assert_equal(String(IpAddr.unspecified_v4()), "0.0.0.0")
    assert_equal(String(IpAddr.unspecified_v6()), "::")
    assert_true(IpAddr.localhost_v4().is_loopback())
    assert_true(IpAddr.localhost_v6().is_v6())


def test_octets_are_in_network_order() raises:
    var v4 = IpAddr.parse("1.2.3.4")
    var quad = v4.v4_octets()
    for i in range(4):
        assert_equal(quad[i], UInt8(i + 1))
    assert_equal(v4.v4_number(), 0x0102_0304)
    assert_true(IpAddr.v4(quad) == v4)
    assert_true(IpAddr.from_v4_number(0x0102_0304) == v4)
    var v6 = IpAddr.parse("102:304:506:708:90a:b0c:d0e:f10")
    var octets = v6.v6_octets()
    for i in range(16):
        assert_equal(octets[i], UInt8(i + 1))
    assert_true(IpAddr.v6(octets) == v6)
    var mapped = v4.v6_octets()
    assert_equal(mapped[9], 0)
    assert_equal(mapped[10], 255)
    assert_equal(mapped[11], 255)
    assert_equal(mapped[15], 4)


def test_equal_addresses_have_equal_hashes_and_others_differ() raises:
    var seen = Dict[IpAddr, String]()
    for text in ["1.2.3.4", "::ffff:1.2.3.4", "::1", "1::", "::", "0.0.0.0"]:
        seen[IpAddr.parse(text)] = String(text)
    assert_equal(len(seen), 6)
    assert_equal(seen[IpAddr.parse("0:0:0:0:0:0:0:1")], "::1")
    assert_equal(seen[IpAddr.v4(1, 2, 3, 4)], "1.2.3.4")


def test_every_address_prints_to_text_that_parses_to_itself() raises:
    for run in range(5000):
        var random = Random(1, run)
        var octets = Array[UInt8, 16](fill=0)
        for i in range(16):
            # Zero octets are drawn often, so that gaps of every length and
            # place occur.
            if random.chance(40):
                octets[i] = random.octet()
        var ip = IpAddr.v6(octets)
        if random.chance(20):
            ip = IpAddr.from_v4_number(UInt32(random.next() >> 32))
        elif random.chance(20):
            ip = IpAddr.from_v4_number(
                UInt32(random.next() >> 32)
            ).to_v4_mapped()
        assert_true(IpAddr.parse(String(ip)) == ip, String(ip))


comptime TESTS = __functions_in_module()
