"""Tests for `flare.tls.error`: the text form, and what is read back."""

from flare.net import NetError
from flare.sys.openssl import LIBRARY_NAMES, OpenSslState, openssl
from flare.tls import TlsError
from flare.tls.failure import failure_of, kind_of_certificate
from flare.tls.library import find_trust_store, required

from tests.asserting import assert_equal, assert_false, assert_true


def test_every_kind_is_read_back_from_its_text() raises:
    for kind in range(TlsError.TOO_LARGE + 1):
        var error = TlsError(kind, "handshake", alert=kind, code=2 * kind)
        var read = TlsError.of(Error(String(error)))
        assert_true(Bool(read), String(error))
        assert_true(read.value() == error, String(error))


def test_the_codes_are_those_that_are_documented() raises:
    var rows: List[Tuple[Int, String]] = [
        (TlsError.EXPIRED, String("tls.expired ")),
        (TlsError.NOT_YET_VALID, String("tls.not_yet_valid ")),
        (TlsError.SELF_SIGNED, String("tls.self_signed ")),
        (TlsError.UNKNOWN_AUTHORITY, String("tls.unknown_authority ")),
        (TlsError.WRONG_NAME, String("tls.wrong_name ")),
        (TlsError.PROTOCOL, String("tls.protocol ")),
        (TlsError.TRUNCATED, String("tls.truncated ")),
        (TlsError.NO_LIBRARY, String("tls.no_library ")),
        (TlsError.TOO_LARGE, String("tls.too_large ")),
    ]
    for row in rows:
        assert_true(String(TlsError(row[0], "read")).startswith(row[1]), row[1])


def test_what_an_error_is_about_is_escaped_and_cut() raises:
    var error = TlsError(TlsError.BAD_NAME, "connect")
    var text = String(error.about("a: b\n\x1b[0m".as_bytes()))
    assert_true(text.endswith("server: a: b\\x0a\\x1b[0m"), text)
    assert_true(TlsError.of(Error(text)).value() == error)
    var long = String("x") * 1000
    assert_true(String(error.about(long.as_bytes())).byte_length() < 400)


def test_other_texts_are_not_errors_of_tls() raises:
    var texts: List[String] = [
        "",
        "tls.",
        "tls.expired",
        "tls.expired ",
        "tls.nothing read",
        "tls.expired nothing",
        "tls.expired read alert=",
        "tls.expired read alert=0",
        "tls.expired read alert=1 code=2 more",
        "tls.expired read code=2 alert=1",
        "net.reset read errno=104",
        " tls.expired read",
    ]
    for text in texts:
        assert_false(Bool(TlsError.of(Error(text))), text)
    assert_false(Bool(NetError.of(Error("tls.expired read: x"))))


def test_a_missing_library_is_one_error_that_names_the_packages() raises:
    assert_false(OpenSslState("libnothere.so.3").is_loaded)
    try:
        _ = required(None)
        assert_true(False, "there is no such library")
    except e:
        var text = String(e)
        assert_true(text.startswith("tls.no_library load: "), text)
        for package in ["libssl3", "openssl-libs", "openssl@3"]:
            assert_true(package in text, text)
        assert_equal(TlsError.of(e).value().kind, TlsError.NO_LIBRARY)


def test_a_library_without_the_functions_is_not_loaded() raises:
    assert_false(OpenSslState("libc.so.6").is_loaded)
    assert_true(OpenSslState(comptime (LIBRARY_NAMES[0])).is_loaded)
    assert_true(Bool(openssl()))


def test_the_first_trust_store_that_is_there_is_taken() raises:
    assert_false(Bool(find_trust_store([])))
    assert_false(Bool(find_trust_store(["/nowhere/a", "/nowhere/b"])))
    var found = find_trust_store(["/nowhere/a", "README.md", "LICENSE"])
    assert_equal(found.value(), "README.md")


def test_reasons_of_the_library_have_kinds() raises:
    # Part 20 is that of TLS; the numbers are SSL_R_….
    var rows: List[Tuple[Int, Int, Int, Int]] = [
        (20, 156, TlsError.PLAIN_HTTP, 0),
        (20, 258, TlsError.VERSION, 0),
        (20, 193, TlsError.NO_SHARED_CIPHER, 0),
        (20, 199, TlsError.NO_CERTIFICATE, 0),
        (20, 235, TlsError.NO_APPLICATION_PROTOCOL, 0),
        (20, 1070, TlsError.VERSION, 70),
        (20, 1120, TlsError.NO_APPLICATION_PROTOCOL, 120),
        (20, 1040, TlsError.ALERT, 40),
        (20, 267, TlsError.PROTOCOL, 0),
        (20, 123, TlsError.WRONG_KEY, 0),
        (20, 134, TlsError.EXPIRED, 0),
        (20, 1255, TlsError.ALERT, 255),
        (20, 1256, TlsError.PROTOCOL, 0),
        # ERR_R_…: what TLS says of other parts, and of itself.
        (20, 0x8000D, TlsError.BAD_CERTIFICATE, 0),
        (20, 0x8000B, TlsError.BAD_CERTIFICATE, 0),
        (20, 0x80006, TlsError.OTHER, 0),
        (20, 0xC0103, TlsError.OTHER, 0),
        (13, 134, TlsError.PROTOCOL, 0),
        (0, 0, TlsError.OTHER, 0),
    ]
    for row in rows:
        var error = failure_of("read", row[0], row[1], 10)
        assert_equal(error.kind, row[2], String(row[1]))
        assert_equal(error.alert, row[3], String(row[1]))


def test_reasons_to_refuse_a_certificate_have_kinds() raises:
    # The numbers are X509_V_ERR_….
    var rows: List[Tuple[Int, Int]] = [
        (9, TlsError.NOT_YET_VALID),
        (10, TlsError.EXPIRED),
        (18, TlsError.SELF_SIGNED),
        (19, TlsError.UNKNOWN_AUTHORITY),
        (20, TlsError.UNKNOWN_AUTHORITY),
        (23, TlsError.REVOKED),
        (62, TlsError.WRONG_NAME),
        (64, TlsError.WRONG_NAME),
        (66, TlsError.BAD_CERTIFICATE),
        (7, TlsError.BAD_CERTIFICATE),
    ]
    for row in rows:
        assert_equal(kind_of_certificate(row[0]), row[1], String(row[0]))


comptime TESTS = __functions_in_module()
