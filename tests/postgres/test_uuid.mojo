"""Tests for `flare.postgres.uuid` and `flare.postgres.uuid_text`."""

from std.testing import assert_raises

from flare.json import decode, dumps
from flare.postgres import Uuid
from flare.postgres.uuid_text import UUID_OCTETS, uuid_octets, uuid_of

from tests.asserting import assert_equal, assert_false, assert_true

comptime _TEXT: StaticString = "00112233-4455-6677-8899-aabbccddeeff"


def test_text_and_octets() raises:
    var key = Uuid.parse(_TEXT)
    assert_equal(String(key), String(_TEXT))
    assert_equal(String(Uuid.parse(_TEXT.upper())), String(_TEXT))
    var octets = List[UInt8]()
    for i in range(UUID_OCTETS):
        octets.append(UInt8(i * 17))
        assert_equal(Int(key.octets[i]), i * 17)
    assert_true(uuid_of(Span(octets)) == key.octets)


def test_other_texts_are_refused() raises:
    for i in range(_TEXT.byte_length()):
        # Cut, with another character at each place, and longer.
        assert_false(Bool(uuid_octets(_TEXT.as_bytes()[:i])))
        for octet in [0, 45, 47, 58, 64, 71, 96, 103, 255]:
            var octets = List[UInt8](_TEXT.as_bytes())
            if Int(octets[i]) == octet:
                continue
            octets[i] = UInt8(octet)
            assert_false(Bool(uuid_octets(Span(octets))))
    with assert_raises(contains="postgres.bad_parameter"):
        _ = Uuid.parse(String(_TEXT, "0"))
    with assert_raises(contains="postgres.bad_parameter"):
        _ = Uuid.parse("{00112233-4455-6677-8899-aabbccddeef}")


def test_a_drawn_one_has_its_version() raises:
    for _ in range(100):
        var text = String(Uuid.random())
        assert_equal(text[byte=14:15], "4")
        assert_true(text[byte=19:20] in "89ab")
    assert_true(Uuid.random() != Uuid.random())


def test_json() raises:
    assert_equal(dumps(Uuid.parse(_TEXT)), String('"', _TEXT, '"'))
    assert_true(decode[Uuid](String('"', _TEXT, '"')) == Uuid.parse(_TEXT))
    with assert_raises(contains="no UUID"):
        _ = decode[Uuid]('"00112233"')
    with assert_raises():
        _ = decode[Uuid]("7")


comptime TESTS = __functions_in_module()
