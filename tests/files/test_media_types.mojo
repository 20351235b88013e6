"""Tests the media types of files."""

from std.testing import assert_raises

from flare.http.files import MediaTypes

from tests.asserting import assert_equal


def test_a_file_has_the_type_of_its_extension() raises:
    var rows: List[Tuple[String, String]] = [
        ("a.7z", "application/x-7z-compressed"),
        ("index.html", "text/html; charset=utf-8"),
        ("index.htm", "text/html; charset=utf-8"),
        ("a.css", "text/css; charset=utf-8"),
        ("app.js", "text/javascript; charset=utf-8"),
        ("app.mjs", "text/javascript; charset=utf-8"),
        ("a.json", "application/json; charset=utf-8"),
        ("app.js.map", "application/json; charset=utf-8"),
        ("a.svg", "image/svg+xml; charset=utf-8"),
        ("a.xml", "application/xml; charset=utf-8"),
        ("a.csv", "text/csv; charset=utf-8"),
        ("a.md", "text/markdown; charset=utf-8"),
        ("a.txt", "text/plain; charset=utf-8"),
        ("a.webmanifest", "application/manifest+json; charset=utf-8"),
        ("favicon.ico", "image/vnd.microsoft.icon"),
        ("a.png", "image/png"),
        ("a.jpg", "image/jpeg"),
        ("a.jpeg", "image/jpeg"),
        ("a.webp", "image/webp"),
        ("a.avif", "image/avif"),
        ("a.woff", "font/woff"),
        ("a.woff2", "font/woff2"),
        ("a.wasm", "application/wasm"),
        ("a.pdf", "application/pdf"),
        ("a.mp4", "video/mp4"),
        ("a.webm", "video/webm"),
        ("a.m3u8", "application/vnd.apple.mpegurl"),
        ("a.ts", "video/mp2t"),
        ("a.yaml", "application/yaml"),
        ("a.tar.gz", "application/gzip"),
        ("a.zst", "application/zstd"),
    ]
    var types = MediaTypes()
    for row in rows:
        assert_equal(types.of(row[0]), row[1], row[0])


def test_the_case_of_an_extension_does_not_matter() raises:
    var types = MediaTypes()
    for name in ["A.PNG", "a.Png", "dir.txt/a.pNG"]:
        assert_equal(types.of(name), "image/png", name)


def test_a_path_has_the_type_of_its_last_segment() raises:
    var types = MediaTypes()
    assert_equal(types.of("/a.css/b.png"), "image/png")
    assert_equal(types.of("a.css/b"), "application/octet-stream")
    assert_equal(types.of("/srv/x/a.b.css"), "text/css; charset=utf-8")


def test_a_name_without_a_known_extension_is_octets() raises:
    var types = MediaTypes()
    var rows: List[String] = [
        "",
        "a",
        ".",
        "a.",
        "..",
        ".css",
        "/.css",
        "a/.css",
        "a.css/",
        "css",
        "a.cs",
        "a.csss",
        "a.css ",
        "a.unknown",
        "a.c.s",
        "a.000",
        "a.~",
        "a.sixteen_octets_x",
        "a.seventeen_octets_",
        "a.a_very_long_extension_that_nothing_has",
        "/",
    ]
    for row in rows:
        assert_equal(types.of(row), "application/octet-stream", row)


def test_more_types_are_added_and_known_ones_replaced() raises:
    var types = MediaTypes(
        {
            "Foo": "text/x-foo",
            "css": "text/css",
            "sixteen_octets_x": "a/b",
        }
    )
    assert_equal(types.of("a.foo"), "text/x-foo")
    assert_equal(types.of("a.FOO"), "text/x-foo")
    assert_equal(types.of("a.css"), "text/css")
    assert_equal(types.of("a.sixteen_octets_x"), "a/b")
    assert_equal(types.of("a.png"), "image/png")
    assert_equal(types.of("a.fo"), "application/octet-stream")
    assert_equal(types.copy().of("a.foo"), "text/x-foo")


def test_a_malformed_type_or_extension_is_refused() raises:
    var rows: List[Tuple[String, String]] = [
        ("", "a/b"),
        (".foo", "a/b"),
        ("a.b", "a/b"),
        ("a/b", "a/b"),
        ("seventeen_octets_", "a/b"),
        ("foo", ""),
        ("foo", "a/b\r\nX: y"),
        ("foo", "é"),
    ]
    for row in rows:
        with assert_raises(contains="http.bad_media_type"):
            var extra = Dict[String, String]()
            extra[row[0]] = row[1]
            _ = MediaTypes(extra)


comptime TESTS = __functions_in_module()
