"""Tests the value of Content-Disposition for files that are saved."""

from flare.http import attachment

from tests.asserting import assert_equal


def test_names_of_ascii_are_quoted() raises:
    _check("report.pdf", 'attachment; filename="report.pdf"')
    _check("my report 2.pdf", 'attachment; filename="my report 2.pdf"')
    _check("", "attachment")


def test_other_names_are_sent_escaped_as_well() raises:
    _check(
        "Übersicht.pdf",
        (
            'attachment; filename="_bersicht.pdf";'
            " filename*=UTF-8''%C3%9Cbersicht.pdf"
        ),
    )
    # One mark for each character, whatever its length.
    _check(
        "€😀",
        "attachment; filename=\"__\"; filename*=UTF-8''%E2%82%AC%F0%9F%98%80",
    )


def test_nothing_in_a_name_ends_the_value_or_leads_elsewhere() raises:
    _check(
        'a"b;c%41.txt',
        (
            'attachment; filename="a_b_c_41.txt";'
            " filename*=UTF-8''a%22b%3Bc%2541.txt"
        ),
    )
    _check("../etc/passwd", 'attachment; filename=".._etc_passwd"')
    _check(
        "a\\b\r\nX: y",
        "attachment; filename=\"a_b__X_ y\"; filename*=UTF-8''a_b__X%3A%20y",
    )


def _check(name: StringSlice, value: StringSlice) raises:
    assert_equal(attachment(name), value)


comptime TESTS = __functions_in_module()
