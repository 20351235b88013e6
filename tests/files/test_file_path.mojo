"""Tests which paths of requests are paths of files."""

from flare.core import Buffer
from flare.http.files.file_path import PathKind, read_file_path

from tests.asserting import assert_equal, assert_true


def test_paths_are_decoded_segment_by_segment() raises:
    _check("a", "a")
    _check("a/b.txt", "a/b.txt")
    _check("%61/b%20c", "a/b c")
    _check("caf%C3%A9", "café")
    _check("%ff", None, octet=255)
    _check("a%3Fb", "a?b")
    _check("...", None)
    _check("a..b", "a..b")
    _check("a/..b", None)


def test_folders_end_with_a_slash() raises:
    _check_folder("", ".")
    _check_folder("a/", "a")
    _check_folder("a/b/", "a/b")


def test_no_file_has_such_a_path() raises:
    var paths: List[StaticString] = [
        ".",
        "..",
        "../a",
        "a/..",
        "a/../b",
        "a/.",
        "./a",
        "%2e",
        "%2e%2e/a",
        "a/%2E./b",
        "a%2fb",
        "..%2fa",
        "a%2F",
        "a%5cb",
        "a\\b",
        "..\\a",
        "a%00b",
        "a%00",
        "%",
        "%4",
        "%zz",
        "/",
        "//",
        "/a",
        "a//b",
        "a//",
        ".git/config",
        "a/.htaccess",
        ".well-known2",
        "a/.well-known/b",
    ]
    for path in paths:
        for dot_names in [False, True]:
            if dot_names and (
                path.startswith(".git")
                or path.startswith("a/.h")
                or ".well" in path
            ):
                continue
            var into = Buffer()
            assert_true(
                read_file_path(path.as_bytes(), dot_names=dot_names, into=into)
                == PathKind.NOTHING,
                path,
            )


def test_names_with_a_dot_are_served_if_asked_for() raises:
    _check(".git/config", ".git/config", dot_names=True)
    _check("a/...", "a/...", dot_names=True)
    _check(".well-known/acme", ".well-known/acme")


def test_a_path_has_as_many_octets_as_the_kernel_takes() raises:
    var into = Buffer()
    var longest = String("a") * 4095
    assert_true(
        read_file_path(longest.as_bytes(), dot_names=False, into=into)
        == PathKind.FILE
    )
    assert_equal(len(into), 4096)
    longest += "a"
    assert_true(
        read_file_path(longest.as_bytes(), dot_names=False, into=into)
        == PathKind.NOTHING
    )


def _check(
    received: StringSlice,
    wanted: Optional[String],
    *,
    dot_names: Bool = False,
    octet: Int = -1,
) raises:
    var into = Buffer()
    var kind = read_file_path(
        received.as_bytes(), dot_names=dot_names, into=into
    )
    if octet >= 0:
        assert_true(kind == PathKind.FILE)
        assert_equal(Int(into.span()[0]), octet)
        return
    if not wanted:
        return assert_true(kind == PathKind.NOTHING, String(received))
    assert_true(kind == PathKind.FILE, String(received))
    _assert_octets(into, wanted.value())


def _check_folder(received: StringSlice, wanted: StringSlice) raises:
    var into = Buffer()
    assert_true(
        read_file_path(received.as_bytes(), dot_names=False, into=into)
        == PathKind.FOLDER
    )
    _assert_octets(into, wanted)


def _assert_octets(found: Buffer, wanted: StringSlice) raises:
    assert_equal(
        String(StringSlice(unsafe_from_utf8=found.span())),
        String(wanted, "\0"),
    )


comptime TESTS = __functions_in_module()
