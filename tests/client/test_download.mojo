"""Tests the parts of downloads that need no server:
tests/python/test_download.py has the others.
"""

from std.os import listdir, remove, rmdir, stat
from std.tempfile import mkdtemp
from std.testing import assert_raises

from flare.http import ClientError, FileError, HttpClient
from flare.http.client.download.content_range import ContentRange
from flare.http.client.download.file_error import file_failure
from flare.http.client.download.part_record import record_of, validator_in
from flare.http.client_error import Phase
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.errno import ENOSPC

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import Ending, Reply, Stand
from tests.tcp.loops import on_each_backend


@fieldwise_init
struct RangeRow(Copyable, Movable):
    var value: String
    var start: Int
    var end: Int
    var size: Int


def test_a_content_range_says_which_octets_of_how_many_are_sent() raises:
    var rows: List[RangeRow] = [
        RangeRow("bytes 0-0/1", 0, 1, 1),
        RangeRow("bytes 2-4/9", 2, 5, 9),
        RangeRow("BYTES 2-8/9", 2, 9, 9),
        RangeRow("bytes 007-008/9", 7, 9, 9),
        RangeRow("bytes */9", 9, 9, 9),
        RangeRow("bytes */0", 0, 0, 0),
        RangeRow(
            "bytes 0-999999999999999998/999999999999999999",
            0,
            999_999_999_999_999_999,
            999_999_999_999_999_999,
        ),
    ]
    for row in rows:
        var found = ContentRange.parse(row.value.as_bytes())
        assert_true(Bool(found), row.value)
        assert_equal(found.value().start, row.start, row.value)
        assert_equal(found.value().end, row.end, row.value)
        assert_equal(found.value().size, row.size, row.value)


def test_a_content_range_that_is_malformed_or_unknown_is_none() raises:
    var rows: List[String] = [
        "",
        "bytes",
        "bytes ",
        "bytes 2-4",
        "bytes 2-4/",
        "bytes /9",
        "bytes -/9",
        "bytes 2-/9",
        "bytes -4/9",
        "bytes 4-2/9",
        "bytes 2-9/9",
        "bytes 2-4/*",
        "bytes */*",
        "bytes **/9",
        "bytes 2-4/9, 5-6/9",
        "bytes 2-4-6/9",
        "bytes +2-4/9",
        "bytes=2-4/9",
        "octets 2-4/9",
        "bytes 0-1/1000000000000000000",
    ]
    for row in rows:
        assert_false(Bool(ContentRange.parse(row.as_bytes())), row)


def test_a_record_is_read_for_its_own_url_only() raises:
    var url = String("http://a/b")
    for validator in ['"v1"', '"\xc3\xa4"', "Sun, 06 Nov 1994 08:49:37 GMT"]:
        var text = String(validator)
        var record = record_of(text, url)
        assert_equal(validator_in(Span(record), url, 0), text)
        assert_equal(validator_in(Span(record), "http://a/c", 0), "")
        assert_equal(validator_in(Span(record), "http://a/", 0), "")
        # A program that was killed may have left any shorter record.
        for count in range(len(record)):
            assert_equal(validator_in(Span(record)[:count], url, 0), "")
    assert_equal(len(record_of('"v1"', "x" * (16 * 1024 - 6))), 16 * 1024)
    assert_equal(len(record_of('"v1"', "x" * (16 * 1024 - 5))), 0)


def test_the_error_of_a_file_is_read_back() raises:
    var error = file_failure(
        Phase.CONTENT, FileError.WRITE, -ENOSPC, "/a: b/\n.part"
    )
    assert_equal(
        String(error),
        "client.file content: file.write errno=28 ENOSPC: /a: b/\\x0a.part",
    )
    assert_equal(ClientError.of(error).value().kind, ClientError.FILE)
    assert_false(ClientError.of(error).value().can_retry())
    for text in [String(error), ClientError.of(error).value().detail]:
        var file = FileError.of(Error(text))
        assert_equal(file.value().operation, FileError.WRITE)
        assert_equal(file.value().errno, ENOSPC)
        assert_equal(file.value().path, "/a: b/\\x0a.part")
    for other in ["", "file.write", "file.x errno=1 A: b", "file.write: a b"]:
        assert_false(Bool(FileError.of(Error(String(other)))), other)


def test_a_path_without_a_name_is_refused() raises:
    on_each_backend(_refused)


def test_a_program_needs_no_progress() raises:
    on_each_backend(_plain)


def test_a_cancelled_download_keeps_its_part_and_frees_its_lock() raises:
    on_each_backend(_cancelled)


def _cancelled() raises:
    var folder = mkdtemp()
    var path = String(folder, "/a")
    var begin = String(
        'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 9\r\n\r\nok'
    )
    var rest = String(
        'HTTP/1.1 206 OK\r\nETag: "a"\r\nContent-Range: bytes 2-8/9\r\n',
        "Content-Length: 7\r\n\r\n-better",
    )
    var stand = Stand([Reply(begin, Ending.HOLD), Reply(rest, Ending.KEEP)])
    var url = stand.url("/x")
    var client = HttpClient()

    var same_client = client.copy()

    def download() raises {var same_client^, var url, var path} -> Int:
        return same_client.download(url, path).octets

    var downloading = spawn(download^)
    while len(listdir(folder)) < 2 or _length_of(path + ".part") < 2:
        sleep(1)
    # The same process may not write it twice either.
    with assert_raises(contains="file.lock errno=11 EAGAIN"):
        _ = client.download(url, path)
    downloading.cancel()
    with assert_raises(contains="cancelled"):
        _ = downloading^.join()
    var done = client.download(url, path)
    assert_equal(done.octets, 9)
    assert_equal(done.kept_octets, 2)
    assert_true('If-Range: "a"' in stand.request(1), stand.request(1))
    with open(path, "r") as file:
        assert_equal(file.read(), "ok-better")
    client.close_idle()
    stand^.join()
    remove(path)
    rmdir(folder)


def _length_of(path: String) raises -> Int:
    return Int(stat(path).st_size)


def _refused() raises:
    var client = HttpClient()
    for path in ["", "a\0b"]:
        try:
            _ = client.download("http://127.0.0.1:1/", path)
        except e:
            assert_equal(FileError.of(e).value().operation, FileError.OPEN)
            continue
        assert_true(False, "a download to no file")


def _plain() raises:
    var folder = mkdtemp()
    var stand = Stand(
        [
            Reply(
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Ending.KEEP
            ),
            Reply("HTTP/1.1 404 OK\r\nContent-Length: 0\r\n\r\n", Ending.KEEP),
        ]
    )
    var client = HttpClient()
    var path = String(folder, "/a")
    var done = client.download(stand.url("/x"), path)
    assert_equal(done.octets, 2)
    assert_equal(done.kept_octets, 0)
    try:
        _ = client.download(stand.url("/y"), String(folder, "/b"))
        assert_true(False, "a 404 is a file")
    except e:
        assert_equal(ClientError.of(e).value().status, 404)
    assert_equal(len(listdir(folder)), 1)
    with open(path, "r") as file:
        assert_equal(file.read(), "ok")
    # The first answer was read to its end.
    assert_equal(stand.connections(), 1)
    client.close_idle()
    stand^.join()
    remove(path)
    rmdir(folder)


comptime TESTS = __functions_in_module()
