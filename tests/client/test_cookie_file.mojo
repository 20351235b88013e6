"""Tests the file of a client's cookies."""

from std.os import makedirs, remove, stat
from std.os.path import exists
from std.testing import assert_raises

from flare.http import (
    ClientConfig,
    Cookie,
    CookieJar,
    FileError,
    HttpClient,
    load_cookies,
    save_cookies,
)
from flare.sys.errno import EFBIG, EISDIR, ENOENT

from tests.asserting import assert_equal, assert_true
from tests.client.stand import Ending, Reply, Stand
from tests.tcp.loops import on_each_backend

comptime _FOLDER: StaticString = "build/cookie_files"


def test_a_client_begins_with_the_cookies_of_its_last_run() raises:
    on_each_backend(_two_runs)


def test_a_file_that_does_not_exist_has_no_cookies() raises:
    assert_equal(len(load_cookies(_path("none"))), 0)


def test_the_file_is_for_its_owner_alone() raises:
    var jar = CookieJar()
    jar.set(Cookie("a", "1", domain="h.test"))
    var path = _path("private")
    save_cookies(jar, path)
    assert_equal(Int(stat(path).st_mode) & 0o777, 0o600)
    # Another file of the name is replaced.
    jar.set(Cookie("b", "2", domain="h.test"))
    save_cookies(jar, path)
    assert_equal(len(load_cookies(path)), 2)


def test_a_jar_may_have_cookies_already() raises:
    var path = _path("more")
    var jar = CookieJar()
    jar.set(Cookie("a", "1", domain="h.test"))
    save_cookies(jar, path)
    var other = CookieJar()
    other.set(Cookie("b", "2", domain="h.test"))
    assert_equal(load_cookies(path, other^).to_request_header(), "b=2; a=1")


def test_files_that_cannot_be_read_are_errors() raises:
    assert_equal(_errno_of_load(_FOLDER), EISDIR)
    var path = _path("long")
    with open(path, "w") as file:
        file.write(String("#") * (1 << 20) * 17)
    assert_equal(_errno_of_load(path), EFBIG)
    remove(path)
    with open(path, "w") as file:
        file.write("<html>")
    with assert_raises(contains="message.bad_cookie line 1"):
        _ = load_cookies(path)


def test_a_file_that_cannot_be_written_is_an_error() raises:
    var failure = Optional[Error](None)
    try:
        save_cookies(CookieJar(), "/no/such/folder/cookies.txt")
    except e:
        failure = e^
    var error = FileError.of(failure.value())
    assert_equal(error.value().operation, FileError.OPEN)
    assert_equal(error.value().errno, ENOENT)


comptime TESTS = __functions_in_module()


def _two_runs() raises:
    var path = _path("runs")
    if exists(path):
        remove(path)
    var first = Stand(
        [
            Reply(
                (
                    "HTTP/1.1 200 OK\r\nSet-Cookie: a=1; Max-Age=100\r\n"
                    "Set-Cookie: b=2; HttpOnly\r\nContent-Length: 0\r\n\r\n"
                ),
                Ending.CLOSE,
            )
        ]
    )
    var config = ClientConfig(cookies=load_cookies(path))
    var client = HttpClient(first.url(), config=config^)
    _ = client.get("/")
    client.save_cookies(path)
    first^.join()
    var second = Stand(
        [Reply("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Ending.CLOSE)]
    )
    config = ClientConfig(cookies=load_cookies(path))
    client = HttpClient(second.url(), config=config^)
    _ = client.get("/")
    assert_true("Cookie: a=1; b=2\r\n" in second.request(0), second.request(0))
    second^.join()


def _path(name: StringSlice) raises -> String:
    makedirs(String(_FOLDER), exist_ok=True)
    return String(_FOLDER, "/", name)


def _errno_of_load(path: StringSlice) raises -> Int:
    try:
        _ = load_cookies(path)
    except e:
        return FileError.of(e).value().errno
    return 0
