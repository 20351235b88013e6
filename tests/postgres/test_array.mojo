"""Tests how the binary form of arrays is divided."""

from flare.postgres.array import ArrayReader
from flare.postgres.big_endian import append_big_endian

from tests.asserting import assert_equal


def test_elements() raises:
    var octets = _header(1, 25)
    _add_dimension(octets, 3)
    append_big_endian(octets, 2, 4)
    octets.extend("ab".as_bytes())
    append_big_endian(octets, -1, 4)
    append_big_endian(octets, 0, 4)
    assert_equal(_describe(octets), "25:ab 25:NULL 25: ")


def test_no_dimension_is_no_element() raises:
    assert_equal(_describe(_header(0, 23)), "")


def test_other_shapes_are_refused() raises:
    assert_equal(_describe(_header(2, 23)), "has more than one dimension")
    var longer = _header(0, 23)
    longer.append(0)
    assert_equal(_describe(longer), _MALFORMED)
    for count in [-1, 2, 1 << 30]:
        var octets = _header(1, 23)
        _add_dimension(octets, count)
        append_big_endian(octets, 0, 4)
        assert_equal(_describe(octets), _MALFORMED)
    for length in [-2, 2, 1 << 30]:
        var octets = _header(1, 23)
        _add_dimension(octets, 1)
        append_big_endian(octets, length, 4)
        octets.append(7)
        assert_equal(_describe(octets), _MALFORMED)


def test_cut_arrays_are_refused() raises:
    var octets = _header(1, 25)
    _add_dimension(octets, 2)
    for text in [StaticString("abc"), "d"]:
        append_big_endian(octets, text.byte_length(), 4)
        octets.extend(text.as_bytes())
    for count in range(len(octets)):
        var cut = List[UInt8](Span(octets)[:count])
        assert_equal(_describe(cut), _MALFORMED, String(count))


comptime TESTS = __functions_in_module()
comptime _MALFORMED: StaticString = "is no array in binary form"


def _header(dimensions: Int, type_id: Int) -> List[UInt8]:
    var octets = List[UInt8]()
    append_big_endian(octets, dimensions, 4)
    append_big_endian(octets, 0, 4)
    append_big_endian(octets, type_id, 4)
    return octets^


def _add_dimension(mut octets: List[UInt8], count: Int):
    append_big_endian(octets, count, 4)
    append_big_endian(octets, 1, 4)


def _describe(octets: List[UInt8]) raises -> String:
    """Returns the elements, or the fault."""
    var reader = ArrayReader(
        Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=octets.unsafe_ptr().unsafe_origin_cast[
                ImmUntrackedOrigin
            ](),
            length=len(octets),
        )
    )
    var text = String()
    for _ in range(reader.count):
        var element = reader.next()
        text += String(element.type_id, ":")
        if element.is_null:
            text += "NULL "
        else:
            text += String(StringSlice(from_utf8=element.octets), " ")
    if reader.fault != "":
        return String(reader.fault)
    _ = octets
    return text
