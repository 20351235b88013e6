"""Tests for `flare.message.known_field`, against `known_field`."""

from flare.core import TOKEN_OCTETS
from flare.message import FieldName
from flare.message.known_field import (
    OCTETS_BEFORE_COLON,
    known_field,
    known_received_field,
)

from tests.asserting import assert_equal


def test_every_known_name_is_found_in_any_case() raises:
    for id in range(1, FieldName.COUNT):
        var name = String(FieldName.text(UInt8(id)))
        for text in [name, name.lower(), name.upper()]:
            assert_equal(_found(text.as_bytes()), UInt8(id), text)


def test_a_name_with_one_octet_changed_is_found_only_where_it_is_known() raises:
    for id in range(1, FieldName.COUNT):
        var name = List[UInt8](FieldName.text(UInt8(id)).as_bytes())
        for i in range(len(name)):
            var was = name[i]
            for octet in range(256):
                if UInt8(octet) not in materialize[TOKEN_OCTETS]():
                    continue
                name[i] = UInt8(octet)
                assert_equal(_found(name), known_field(name))
            name[i] = was


def test_names_of_other_lengths_are_unknown() raises:
    for id in range(1, FieldName.COUNT):
        var name = String(FieldName.text(UInt8(id)))
        for text in [name + "s", "x" + name, name + name + name]:
            assert_equal(
                _found(text.as_bytes()), known_field(text.as_bytes()), text
            )


def _found(name: Span[UInt8, _]) -> UInt8:
    # Octets that are letters too stand around the name.
    var octets = List[UInt8](length=OCTETS_BEFORE_COLON, fill=97)
    octets.extend(name)
    return known_received_field(
        octets.unsafe_ptr().unsafe_mut_cast[False](),
        OCTETS_BEFORE_COLON,
        len(octets),
    )


comptime TESTS = __functions_in_module()
