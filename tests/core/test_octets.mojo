"""Tests for `flare.core.octets`, against loops over single octets.

Every input ends at a page that must not be touched, so that a vector load past
the end of a span ends the process.
"""

from std.memory import unsafe_memcpy

from flare.core.octets import (
    TOKEN_OCTETS,
    OctetSet,
    copy_octets,
    equals,
    equals_ignoring_case,
    equals_lower,
    find_member,
    find_octet,
    is_token,
    lower_octet,
    write_escaped,
)
from flare.sys.memory import (
    PAGE_OCTETS,
    at_address,
    map_private,
    protect_none,
    unmap,
)
from fuzz.random import Random

from tests.asserting import assert_equal, assert_false, assert_true


def test_find_octet_agrees_with_a_loop_at_every_length_and_place() raises:
    var page = _Page()
    for n in range(70):
        for at in range(n + 1):
            var octets = List[UInt8](length=n, fill=65)
            if at < n:
                octets[at] = 66
            var s = page.place(octets)
            assert_equal(find_octet(s, 66), at)
            for start in range(0, n + 1, 7):
                assert_equal(find_octet(s, 66, start), at if start <= at else n)
    page.free()


def test_a_second_occurrence_changes_nothing() raises:
    var page = _Page()
    var random = Random(32)
    for _ in range(3000):
        var octets = random.octets_of("ab", random.below(80))
        var s = page.place(octets)
        var start = random.between(0, len(octets))
        var expected = len(octets)
        for i in range(len(octets) - 1, start - 1, -1):
            if octets[i] == UInt8(ord("b")):
                expected = i
        assert_equal(find_octet(s, UInt8(ord("b")), start), expected)
    page.free()


def test_find_member_agrees_with_a_loop() raises:
    comptime DIGITS = OctetSet.of("0123456789")
    var page = _Page()
    var random = Random(33)
    for _ in range(3000):
        var octets = random.octets_of("0189/:a\x7f ", random.below(70))
        if random.chance(30):
            octets = random.octets(random.below(70))
        var s = page.place(octets)
        var start = random.between(0, len(octets))
        var inside = len(octets)
        var outside = len(octets)
        for i in range(len(octets) - 1, start - 1, -1):
            if octets[i] >= 48 and octets[i] <= 57:
                inside = i
            else:
                outside = i
        assert_equal(find_member[DIGITS](s, start), inside)
        assert_equal(find_member[DIGITS, False](s, start), outside)
    page.free()


def test_one_octet_at_a_time_and_sixteen_agree_for_every_octet() raises:
    var page = _Page()
    for b in range(256):
        var octets = List[UInt8](length=17, fill=UInt8(b))
        var s = page.place(octets)
        assert_equal(is_token(s), UInt8(b) in materialize[TOKEN_OCTETS]())
        assert_equal(is_token(s[0:1]), UInt8(b) in materialize[TOKEN_OCTETS]())
    page.free()


def test_token_octets_are_those_of_the_rfc() raises:
    var count = 0
    for b in range(256):
        var octet = UInt8(b)
        var alphanumeric = (
            (b >= 48 and b <= 57)
            or (b >= 65 and b <= 90)
            or (b >= 97 and b <= 122)
        )
        var mark = False
        for m in "!#$%&'*+-.^_`|~".as_bytes():
            mark = mark or m == octet
        assert_equal(octet in materialize[TOKEN_OCTETS](), alphanumeric or mark)
        count += 1 if alphanumeric or mark else 0
    assert_equal(count, 77)
    assert_false(is_token(Span[UInt8, ImmStaticOrigin]()))


def test_lower_octet_changes_capitals_only() raises:
    for b in range(256):
        var expected = b + 32 if b >= 65 and b <= 90 else b
        assert_equal(Int(lower_octet(UInt8(b))), expected)


def test_comparisons_agree_with_a_loop_at_every_length() raises:
    var page = _Page()
    var other_page = _Page()
    var random = Random(34)
    for n in range(70):
        for _ in range(60):
            var small = random.octets_of("abcxyz{[@`-09", n)
            var mixed = List[UInt8]()
            for b in small:
                var capital = b >= 97 and b <= 122 and random.chance(50)
                mixed.append(b - 32 if capital else b)
            if random.chance(50) and n > 0:
                mixed[random.below(n)] ^= UInt8(1) << UInt8(random.below(8))
            var a = page.place(mixed)
            var b = other_page.place(small)
            var same = True
            var same_ignoring_case = True
            for i in range(n):
                same = same and mixed[i] == small[i]
                same_ignoring_case = same_ignoring_case and lower_octet(
                    mixed[i]
                ) == lower_octet(small[i])
            var same_lower = True
            for i in range(n):
                same_lower = same_lower and lower_octet(mixed[i]) == small[i]
            assert_equal(equals(a, b), same)
            assert_equal(equals_ignoring_case(a, b), same_ignoring_case)
            assert_equal(equals_lower(a, b), same_lower)
            if n > 0:
                assert_false(equals(a[1:], b))
                assert_false(equals_lower(a[1:], b))
                assert_false(equals_ignoring_case(a, b[1:]))
    page.free()
    other_page.free()


def test_copies_have_every_octet_and_no_more() raises:
    for count in range(700):
        var source = List[UInt8](capacity=count)
        for i in range(count):
            source.append(UInt8(i % 251 + 1))
        var target = List[UInt8](length=count + 2, fill=0)
        copy_octets(
            target.unsafe_ptr()
            .unsafe_offset(1)
            .unsafe_origin_cast[MutUntrackedOrigin](),
            source.unsafe_ptr(),
            count,
        )
        assert_equal(target[0], 0)
        assert_equal(target[count + 1], 0, String(count))
        for i in range(count):
            assert_equal(target[i + 1], source[i], String(count))


def test_escaped_octets_are_printable_and_unambiguous() raises:
    var seen = List[String]()
    for b in range(256):
        var octets: List[UInt8] = [UInt8(b)]
        var text = String()
        write_escaped(Span(octets), text)
        for octet in text.as_bytes():
            assert_true(octet >= 32 and octet < 127)
        assert_equal(
            text.byte_length(), 1 if b >= 32 and b < 127 and b != 92 else 4
        )
        assert_false(text in seen)
        seen.append(text)
    var text = String()
    write_escaped("a\\x41\r\n\x1b".as_bytes(), text)
    assert_equal(text, "a\\x5cx41\\x0d\\x0a\\x1b")


struct _Page(Movable):
    var base: Int

    def __init__(out self) raises:
        self.base = map_private(2 * PAGE_OCTETS)
        assert_true(self.base > 0)
        assert_equal(protect_none(self.base + PAGE_OCTETS, PAGE_OCTETS), 0)

    def place(self, octets: List[UInt8]) -> Span[UInt8, MutUntrackedOrigin]:
        var n = len(octets)
        var front = at_address(self.base + PAGE_OCTETS - n)
        unsafe_memcpy(dest=front, src=octets.unsafe_ptr(), count=n)
        return Span(unsafe_ptr=front, length=n)

    def free(self):
        _ = unmap(self.base, 2 * PAGE_OCTETS)


comptime TESTS = __functions_in_module()
