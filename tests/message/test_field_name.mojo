"""Tests for `flare.message.field_name`."""

from flare.core import lower_octet
from flare.message import FieldName, known_field

from tests.asserting import assert_equal, assert_true


def test_every_known_name_is_found_in_any_case() raises:
    for id in range(1, FieldName.COUNT):
        var name = String(FieldName.text(UInt8(id)))
        assert_true(name.byte_length() >= 2, name)
        assert_equal(Int(known_field(name.as_bytes())), id, name)
        for spelled in [
            name.lower(),
            name.upper(),
            _mixed(name, 0),
            _mixed(name, 1),
        ]:
            assert_equal(Int(known_field(spelled.as_bytes())), id, spelled)


def test_a_name_with_one_octet_changed_is_unknown() raises:
    for id in range(1, FieldName.COUNT):
        var name = FieldName.text(UInt8(id)).as_bytes()
        for i in range(len(name)):
            for changed in range(256):
                var octets = List[UInt8](name)
                octets[i] = UInt8(changed)
                if lower_octet(UInt8(changed)) == lower_octet(name[i]):
                    assert_equal(Int(known_field(Span(octets))), id)
                else:
                    # One octet can turn a name into another known one.
                    var found = known_field(Span(octets))
                    if found != FieldName.UNKNOWN:
                        _assert_is(octets, found)


def test_a_name_cut_short_or_made_longer_is_unknown() raises:
    for id in range(1, FieldName.COUNT):
        var name = String(FieldName.text(UInt8(id)))
        for more in ["x", "-", " ", "\0", name]:
            var longer = name + more
            assert_equal(known_field(longer.as_bytes()), 0, longer)
        var shorter = name.as_bytes()[: name.byte_length() - 1]
        var found = known_field(shorter)
        if found != FieldName.UNKNOWN:
            _assert_is(List[UInt8](shorter), found)
        assert_equal(known_field(name.as_bytes()[1:]), 0, name)


def test_names_of_any_length_are_looked_up() raises:
    var octets = List[UInt8]()
    for _ in range(600):
        assert_equal(known_field(Span(octets)), FieldName.UNKNOWN)
        octets.append(UInt8(ord("a")))


def test_the_constants_stand_for_their_names() raises:
    assert_equal(FieldName.text(FieldName.HOST), "Host")
    assert_equal(FieldName.text(FieldName.CONTENT_LENGTH), "Content-Length")
    assert_equal(
        FieldName.text(FieldName.TRANSFER_ENCODING), "Transfer-Encoding"
    )
    assert_equal(FieldName.text(FieldName.CONNECTION), "Connection")
    assert_equal(FieldName.text(FieldName.EXPECT), "Expect")
    assert_equal(FieldName.text(FieldName.TE), "TE")
    assert_equal(FieldName.text(FieldName.SET_COOKIE), "Set-Cookie")
    assert_equal(FieldName.text(FieldName.RETRY_AFTER), "Retry-After")
    assert_equal(
        FieldName.text(FieldName.SEC_WEBSOCKET_KEY), "Sec-WebSocket-Key"
    )
    assert_equal(FieldName.text(FieldName.WWW_AUTHENTICATE), "WWW-Authenticate")
    assert_equal(FieldName.text(FieldName.ALT_SVC), "Alt-Svc")
    assert_equal(FieldName.text(FieldName.UNKNOWN), "")
    assert_equal(FieldName.text(UInt8(FieldName.COUNT)), "")
    assert_equal(FieldName.text(255), "")


def test_all_ids_fit_one_word_of_bits() raises:
    var all = UInt64(0)
    for id in range(FieldName.COUNT):
        assert_equal(all & FieldName.bit(UInt8(id)), 0)
        all |= FieldName.bit(UInt8(id))


def _assert_is(octets: List[UInt8], id: UInt8) raises:
    var text = String(from_utf8_lossy=Span(octets))
    assert_equal(text.lower(), FieldName.text(id).lower())


def _mixed(name: String, odd: Int) -> String:
    var text = String()
    for i in range(name.byte_length()):
        var letter = String(name[byte=i])
        text += letter.upper() if i % 2 == odd else letter.lower()
    return text^


comptime TESTS = __functions_in_module()
