"""Tests that `StaticFiles` compresses files once and keeps the result."""

from std.time import sleep

from flare.http import CacheRule, ContentCoding, FileOptions, Response
from flare.http import StaticFiles, decompress
from flare.message import HeaderMap
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true

from .folder import Folder

comptime _TEXT: StaticString = "var a = 1; "


def test_texts_are_compressed_for_who_accepts_it() raises:
    var folder = Folder()
    var text = _TEXT * 20_000
    folder.write("a.js", text)
    var client = TestClient(_files(folder))
    var rows: List[Tuple[String, ContentCoding]] = [
        ("gzip, deflate, br, zstd", ContentCoding.BROTLI),
        ("gzip", ContentCoding.GZIP),
        ("br;q=0.1, gzip;q=0.2", ContentCoding.GZIP),
        ("zstd", ContentCoding.IDENTITY),
        ("identity", ContentCoding.IDENTITY),
    ]
    var tags = List[String]()
    for row in rows:
        var response = client.get("/a.js", headers=_accept(row[0]))
        assert_equal(response.status, 200)
        assert_equal(_field(response, "Vary"), "Accept-Encoding")
        assert_equal(
            _field(response, "Content-Type"), "text/javascript; charset=utf-8"
        )
        tags.append(_field(response, "ETag"))
        var octets = response.body.octets()
        if row[1] == ContentCoding.IDENTITY:
            assert_equal(_field(response, "Content-Encoding"), "none")
            assert_true(octets == text.as_bytes())
            continue
        assert_equal(
            _field(response, "Content-Encoding"), String(row[1].name())
        )
        assert_true(len(octets) < text.byte_length() // 100)
        assert_true(Span(decompress(octets, row[1])) == text.as_bytes())
    assert_true(tags[0] != tags[1])
    assert_true(tags[0] != tags[4])
    assert_true(tags[1] != tags[4])
    assert_equal(tags[1], tags[2])
    assert_equal(tags[3], tags[4])
    folder.remove()


def test_compressed_forms_have_conditions_and_ranges_of_their_own() raises:
    var folder = Folder()
    folder.write("a.css", _TEXT * 200)
    var client = TestClient(_files(folder))
    var whole = client.get("/a.css", headers=_accept("br"))
    var plain = client.get("/a.css")
    for coded in [True, False]:
        var fields = _accept("br" if coded else "identity")
        fields.append("If-None-Match", _field(whole, "ETag"))
        var again = client.get("/a.css", headers=fields)
        assert_equal(again.status, 304 if coded else 200)
        assert_equal(_field(again, "Vary"), "Accept-Encoding")
    assert_equal(_field(whole, "Last-Modified"), _field(plain, "Last-Modified"))
    var fields = _accept("br")
    fields.append("Range", "bytes=3-")
    fields.append("If-Range", _field(whole, "ETag"))
    var part = client.get("/a.css", headers=fields)
    assert_equal(part.status, 206)
    assert_true(part.body.octets() == whole.body.octets()[3:])
    folder.remove()


def test_what_gains_nothing_stays_as_it_is() raises:
    var folder = Folder()
    folder.write("short.js", "a" * 1023)
    folder.write("photo.png", "a" * 5000)
    folder.write("kept.js", "a" * 5000)
    with open(folder.of("dense.js"), "w") as file:
        file.write_bytes(_without_patterns(20_000))
    var client = TestClient(
        StaticFiles(
            folder.path,
            cache_control=[CacheRule("kept.js", "no-transform")],
            options=FileOptions(compress_cached=True),
        )
    )
    for name in ["short.js", "photo.png", "kept.js"]:
        var response = client.get(String("/", name), headers=_accept("br"))
        assert_equal(_field(response, "Content-Encoding"), "none")
        # No other client gets anything else.
        assert_equal(_field(response, "Vary"), "none")
    var dense = client.get("/dense.js", headers=_accept("br"))
    assert_equal(_field(dense, "Content-Encoding"), "none")
    assert_equal(_field(dense, "Vary"), "Accept-Encoding")
    folder.remove()


def test_siblings_come_before_compressed_forms() raises:
    var folder = Folder()
    folder.write("a.js", _TEXT * 200)
    folder.write("a.js.br", "BR")
    var client = TestClient(
        StaticFiles(
            folder.path,
            precompressed=True,
            options=FileOptions(compress_cached=True),
        )
    )
    var sibling = client.get("/a.js", headers=_accept("br"))
    assert_equal(String(sibling.text()), "BR")
    var made = client.get("/a.js", headers=_accept("gzip"))
    assert_equal(_field(made, "Content-Encoding"), "gzip")
    folder.remove()


def test_a_changed_file_is_compressed_again() raises:
    var folder = Folder()
    var client = TestClient(
        StaticFiles(
            folder.path,
            options=FileOptions(recheck_ms=0, compress_cached=True),
        )
    )
    # In place, with the same length, within the tick of the clock.
    for octet in ["a", "b", "b", "c"]:
        folder.write("a.js", String(octet) * 5000)
        sleep(0.003)
        for coding in [ContentCoding.BROTLI, ContentCoding.GZIP]:
            var response = client.get("/a.js", headers=_accept(coding.name()))
            var content = decompress(response.body.octets(), coding)
            assert_true(Span(content) == (String(octet) * 5000).as_bytes())
    folder.remove()


def test_compressed_forms_count_as_memory() raises:
    var folder = Folder()
    var text = List[UInt8]()
    for _ in range(20):
        text.extend(_without_patterns(2000))
    with open(folder.of("a.js"), "w") as file:
        file.write_bytes(text)
    var sizes = List[Int]()
    for compresses in [False, True]:
        var files = _files(folder, compresses=compresses)
        var client = TestClient(files.copy())
        sizes.append(0)
        for coding in ["br", "gzip"]:
            var response = client.get("/a.js", headers=_accept(coding))
            sizes[len(sizes) - 1] += len(response.body)
        sizes.append(Int(files.statistics().cached_octets))
    assert_equal(sizes[3], sizes[1] + sizes[2])
    folder.remove()


def _files(folder: Folder, *, compresses: Bool = True) raises -> StaticFiles:
    return StaticFiles(
        folder.path, options=FileOptions(compress_cached=compresses)
    )


def _without_patterns(count: Int) -> List[UInt8]:
    var octets = List[UInt8](capacity=count)
    var state = UInt64(88172645463325252)
    for _ in range(count):
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        octets.append(UInt8(state >> 32 & 255))
    return octets^


def _accept(codings: StringSlice) raises -> HeaderMap:
    var headers = HeaderMap()
    headers.append("Accept-Encoding", codings)
    return headers^


def _field(response: Response, name: StringSlice) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else "none"


comptime TESTS = __functions_in_module()
