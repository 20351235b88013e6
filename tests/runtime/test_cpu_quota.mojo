"""Tests for `flare.runtime.cpu_quota`."""

from flare.runtime.cpu_quota import (
    group_path,
    groups_upwards,
    parse_cfs_quota,
    parse_cpu_max,
)

from tests.asserting import assert_equal, assert_false


@fieldwise_init
struct _Row(Copyable):
    var text: StaticString
    var cpus: Int


def test_cpu_max_fills_whole_cpus_rounded_up() raises:
    var rows: List[_Row] = [
        _Row("max 100000\n", 0),
        _Row("100000 100000\n", 1),
        _Row("100001 100000\n", 2),
        _Row("99999 100000", 1),
        _Row("1 100000", 1),
        _Row("150000 100000", 2),
        _Row("200000 100000", 2),
        _Row("800000 50000", 16),
        _Row("0 100000", 0),
        _Row("100000 0", 0),
        _Row("100000", 0),
        _Row("100000 100000 1", 0),
        _Row("-1 100000", 0),
        _Row("1e5 100000", 0),
        _Row("999999999999999 1", 999999999999999),
        _Row("1000000000000000 1", 0),
        _Row("", 0),
    ]
    for row in rows:
        var cpus = parse_cpu_max(row.text)
        assert_equal(cpus.or_else(0), row.cpus, String(row.text))


def test_version_1_quotas_fill_whole_cpus_rounded_up() raises:
    assert_equal(parse_cfs_quota("250000\n", "100000\n").or_else(0), 3)
    assert_equal(parse_cfs_quota("200000\n", "100000\n").or_else(0), 2)
    assert_false(parse_cfs_quota("-1\n", "100000\n"))
    assert_false(parse_cfs_quota("", ""))
    assert_false(parse_cfs_quota("100000", ""))
    assert_false(parse_cfs_quota("1 2", "3"))


def test_the_group_is_found_by_its_controller() raises:
    var text = (
        "12:cpuset:/a\n4:cpu,cpuacct:/docker/b:c\n1:name=systemd:/d\n0::/e/f\n"
    )
    assert_equal(group_path(text, "").or_else("none"), "/e/f")
    assert_equal(group_path(text, "cpu").or_else("none"), "/docker/b:c")
    assert_equal(group_path(text, "cpuacct").or_else("none"), "/docker/b:c")
    assert_equal(group_path(text, "memory").or_else("none"), "none")
    assert_equal(group_path("", "").or_else("none"), "none")
    assert_equal(group_path("0:\n::\n0::x\n", "").or_else("none"), "none")
    assert_equal(group_path("0::/../x\n", "").or_else("none"), "/")


def test_a_group_is_followed_by_those_above_it() raises:
    assert_equal(groups_upwards("/a/bc"), [String("/a/bc"), "/a", ""])
    assert_equal(groups_upwards("/a"), [String("/a"), ""])
    assert_equal(groups_upwards("/"), [String("")])
    assert_equal(groups_upwards("//a//b/"), [String("//a//b"), "//a", ""])


comptime TESTS = __functions_in_module()
