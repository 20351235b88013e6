"""Tests for `flare.message.field_line`."""

from flare.message import FieldLine, FieldSection

from tests.asserting import assert_equal, assert_false, assert_true


struct Sample(Movable):
    var octets: List[UInt8]
    var lines: List[FieldLine]

    def __init__(out self):
        self.octets = List[UInt8]("A:one bb: a: two Aa:one".as_bytes())
        self.lines = [
            FieldLine(0, 1, 2, 3),
            FieldLine(6, 2, 9, 0),
            FieldLine(10, 1, 13, 3),
            FieldLine(17, 2, 20, 3),
        ]

    def view(self) -> FieldSection[origin_of(self)]:
        return FieldSection[origin_of(self)](
            Span[UInt8, origin_of(self)](
                unsafe_ptr=self.octets.unsafe_ptr().unsafe_origin_cast[
                    origin_of(self)
                ](),
                length=len(self.octets),
            ),
            Span[FieldLine, origin_of(self)](
                unsafe_ptr=self.lines.unsafe_ptr().unsafe_origin_cast[
                    origin_of(self)
                ](),
                length=len(self.lines),
            ),
        )


def test_lines_are_walked_in_order() raises:
    var text = String()
    var sample = Sample()
    for line in sample.view():
        text.write(line.name, "=", line.value, ";")
    assert_equal(text, "A=one;bb=;a=two;Aa=one;")


def test_values_of_a_name_come_in_order_and_in_any_case() raises:
    var sample = Sample()
    var section = sample.view()
    var text = String()
    for value in section.values("a"):
        text.write(value, ";")
    assert_equal(text, "one;two;")
    assert_equal(section.count("A"), 2)
    assert_equal(section.count("BB"), 1)
    assert_equal(section.count("b"), 0)


def test_a_name_that_is_only_a_prefix_is_not_found() raises:
    var sample = Sample()
    var section = sample.view()
    assert_true("aA" in section)
    assert_false("aAa" in section)
    assert_false("b" in section)
    assert_false("" in section)
    assert_equal(section.find("a", 1), 2)
    assert_equal(section.find("a", 3), 4)


def test_get_gives_the_first_value_and_tells_empty_from_absent() raises:
    var sample = Sample()
    var section = sample.view()
    assert_equal(section.get("a").value(), "one")
    assert_equal(section.get("bb").value(), "")
    assert_false(section.get("c"))


def test_an_empty_section_has_nothing() raises:
    var sample = Sample()
    sample.lines.clear()
    var section = sample.view()
    assert_equal(len(section), 0)
    assert_equal(section.count("a"), 0)
    for _ in section:
        raise Error("walked over a line that is not there")


comptime TESTS = __functions_in_module()
