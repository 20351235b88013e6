"""Tests for `flare.message.status`."""

from flare.message import (
    Status,
    allows_content,
    reason_phrase,
    status_line,
)

from tests.asserting import assert_equal, assert_false, assert_true


def test_status_lines_are_whole() raises:
    assert_equal(status_line(200), "HTTP/1.1 200 OK\r\n")
    assert_equal(status_line(100), "HTTP/1.1 100 Continue\r\n")
    assert_equal(
        status_line(511),
        "HTTP/1.1 511 Network Authentication Required\r\n",
    )
    assert_equal(status_line(Status.NOT_FOUND), "HTTP/1.1 404 Not Found\r\n")


def test_unregistered_codes_have_no_line_and_no_phrase() raises:
    var known = 0
    for code in range(-600, 2000):
        var line = status_line(code)
        if line == "":
            assert_equal(reason_phrase(code), "")
            continue
        known += 1
        assert_true(Status.is_valid(code))
        assert_equal(
            line, String("HTTP/1.1 ", code, " ", reason_phrase(code), "\r\n")
        )
    assert_equal(known, 61)
    for code in [Int.MIN, -1, 0, 99, 104, 199, 306, 418, 509, 512, Int.MAX]:
        assert_equal(status_line(code), "")


def test_interim_responses_and_204_and_304_have_no_content() raises:
    for code in range(100, 600):
        var is_allowed = code >= 200 and code != 204 and code != 304
        assert_equal(allows_content(code), is_allowed)


def test_reason_phrases_are_those_of_the_registry() raises:
    assert_equal(reason_phrase(Status.OK), "OK")
    assert_equal(reason_phrase(Status.NO_CONTENT), "No Content")
    assert_equal(reason_phrase(Status.CONTENT_TOO_LARGE), "Content Too Large")
    assert_equal(reason_phrase(431), "Request Header Fields Too Large")
    assert_equal(reason_phrase(505), "HTTP Version Not Supported")


def test_classes_end_at_the_hundreds() raises:
    for code in range(50, 700):
        assert_equal(Status.is_informational(code), code // 100 == 1)
        assert_equal(Status.is_successful(code), code // 100 == 2)
        assert_equal(Status.is_redirection(code), code // 100 == 3)
        assert_equal(Status.is_client_error(code), code // 100 == 4)
        assert_equal(Status.is_server_error(code), code // 100 == 5)
        assert_equal(Status.is_valid(code), 1 <= code // 100 <= 5)


def test_some_responses_never_have_content() raises:
    for code in [100, 101, 103, 199, 204, 304]:
        assert_true(Status.forbids_content(code))
    for code in [200, 203, 205, 206, 303, 305, 404]:
        assert_false(Status.forbids_content(code))


comptime TESTS = __functions_in_module()
