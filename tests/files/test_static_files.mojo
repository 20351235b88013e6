"""Tests what `StaticFiles` answers, without a server."""

from std.os import remove, symlink
from std.time import sleep
from std.testing import assert_raises

from flare.http import (
    App,
    CacheRule,
    FileOptions,
    Request,
    Response,
    Router,
    State,
    StaticFiles,
)
from flare.message import HeaderMap
from flare.testing import TestClient

from tests.asserting import assert_equal, assert_true

from .folder import Folder


def test_a_file_is_sent_with_its_fields() raises:
    var folder = Folder()
    folder.write("css/site.css", "a { color: red }")
    var client = _client(folder)
    var response = client.get("/assets/css/site.css")
    assert_equal(response.status, 200)
    assert_equal(String(response.text()), "a { color: red }")
    assert_equal(_field(response, "Content-Type"), "text/css; charset=utf-8")
    assert_equal(_field(response, "Accept-Ranges"), "bytes")
    assert_equal(_field(response, "X-Content-Type-Options"), "nosniff")
    assert_true(_field(response, "ETag").startswith('"'))
    assert_true(_field(response, "Last-Modified").endswith(" GMT"))
    assert_equal(_field(response, "Vary"), "none")
    assert_equal(_field(response, "Cache-Control"), "none")
    folder.remove()


def test_a_long_file_is_sent_from_the_disk() raises:
    var folder = Folder()
    var content = String()
    for i in range(40_000):
        content += String(i)
    folder.write("long.bin", content)
    var client = _client(folder, FileOptions(largest_cached=1000))
    var whole = client.get("/assets/long.bin")
    assert_equal(whole.status, 200)
    assert_equal(String(whole.text()), content)
    assert_equal(_field(whole, "Content-Length"), String(len(whole.body)))
    var head = client.request("HEAD", "/assets/long.bin")
    assert_equal(_field(head, "Content-Length"), String(len(whole.body)))
    assert_equal(_field(head, "ETag"), _field(whole, "ETag"))
    folder.remove()


def test_a_long_file_is_looked_up_once() raises:
    var folder = Folder()
    folder.write("long.bin", "x" * 5_000_000)
    var files = StaticFiles(folder.path, options=FileOptions(recheck_ms=10_000))
    var client = TestClient(files.copy())
    for _ in range(3):
        assert_equal(client.get("/long.bin").status, 200)
    assert_equal(files.statistics().misses, 1)
    assert_equal(files.statistics().hits, 2)
    folder.remove()


def test_answers_that_are_held_leave_room() raises:
    # What the fiber reads itself, and what a helper thread reads.
    for octets in [20_000, 200_000]:
        _check_held_answers(octets)


def _check_held_answers(octets: Int) raises:
    var folder = Folder()
    var options = FileOptions(cache_octets=10 * octets)
    var files = StaticFiles(folder.path, options=options)
    var client = TestClient(files.copy())
    var held = List[Response]()
    for i in range(30):
        folder.write(String(i, ".bin"), "x" * octets)
        held.append(client.get(String("/", i, ".bin")))
        assert_equal(held[i].status, 200)
        assert_equal(len(held[i].body.octets()), octets)
    var sealed = 0
    for i in range(len(held)):
        sealed += Int(held[i].body.is_sealed())
    # Those of the cache and a quarter more; the others are read while sent.
    assert_true(sealed > 5 and sealed <= 13, String(sealed))
    held.clear()
    assert_true(client.get("/29.bin").body.is_sealed())
    folder.remove()


def test_a_handler_answers_with_the_file_that_it_has_chosen() raises:
    var folder = Folder()
    folder.write("2026/a %41 b.txt", "0123456789")
    folder.write(".hidden", "secret")
    var router = Router[_Reports]()
    router.get("/reports/:id", _report)
    router.head("/reports/:id", _report)
    router.post("/reports/:id", _report)
    var client = TestClient(
        App(state=_Reports(StaticFiles(folder.path)), handler=router^)
    )
    var whole = client.get("/reports/7")
    assert_equal(whole.status, 200)
    assert_equal(String(whole.text()), "0123456789")
    assert_equal(
        _field(whole, "Content-Disposition"),
        'attachment; filename="report 7.txt"',
    )
    var fields = HeaderMap()
    fields.set("Range", "bytes=2-3")
    var part = client.get("/reports/7", headers=fields)
    assert_equal(part.status, 206)
    assert_equal(String(part.text()), "23")
    assert_true(_field(part, "Content-Disposition") != "none")
    fields = HeaderMap()
    fields.set("If-None-Match", _field(whole, "ETag"))
    var same = client.get("/reports/7", headers=fields)
    assert_equal(same.status, 304)
    assert_equal(_field(same, "Content-Disposition"), "none")
    var missing: List[StaticString] = ["1", "2", "3", "4"]
    for id in missing:
        assert_equal(client.get(String("/reports/", id)).status, 404)
    assert_equal(client.request("HEAD", "/reports/7").status, 200)
    assert_equal(client.post("/reports/7", "").status, 405)
    folder.remove()


def test_a_long_file_that_was_replaced_is_the_new_one_at_once() raises:
    var folder = Folder()
    folder.write("long.bin", "a" * 2000)
    # The knowledge of it stays, however old it is.
    var client = _client(
        folder, FileOptions(largest_cached=1000, recheck_ms=60_000)
    )
    assert_equal(String(client.get("/assets/long.bin").text()), "a" * 2000)
    for content in ["b" * 3000, "c" * 3000, "d" * 10]:
        folder.write("new", content)
        folder.rename("new", "long.bin")
        var answer = client.get("/assets/long.bin")
        assert_equal(answer.status, 200)
        assert_equal(String(answer.text()), content)
    folder.write("new", "e" * 2000)
    folder.rename("new", "gone.bin")
    assert_equal(client.get("/assets/gone.bin").status, 200)
    remove(folder.of("gone.bin"))
    assert_equal(client.get("/assets/gone.bin").status, 404)
    folder.remove()


def test_other_methods_are_not_allowed() raises:
    var folder = Folder()
    folder.write("a.txt", "hello")
    var client = TestClient(StaticFiles(folder.path))
    for method in ["POST", "PUT", "DELETE", "PATCH"]:
        var response = client.request(method, "/a.txt")
        assert_equal(response.status, 405)
        assert_equal(_field(response, "Allow"), "GET, HEAD")
    folder.remove()


def test_what_is_no_file_of_the_folder_is_not_found() raises:
    var outside = Folder()
    outside.write("secret.txt", "secret")
    var folder = Folder()
    folder.write("a.txt", "a")
    folder.write(".env", "secret")
    folder.write("d/b.txt", "b")
    symlink(outside.of("secret.txt"), folder.of("absolute"))
    symlink(outside.path, folder.of("out"))
    symlink("loop", folder.of("loop"))
    symlink("nowhere", folder.of("dangling"))
    symlink("../a.txt", folder.of("d/inside"))
    symlink("/proc/self/environ", folder.of("environ"))
    var client = _client(folder)
    var missing: List[StaticString] = [
        "nothing",
        "a.txt/",
        "a.txt/b",
        "d",
        "d/",
        "absolute",
        "out/secret.txt",
        "loop",
        "dangling",
        "environ",
        ".env",
        "%2eenv",
        "d%2Fb.txt",
        "a%00.txt",
        "..%2f..%2fetc%2fpasswd",
        "d//b.txt",
        "",
    ]
    for name in missing:
        var response = client.get(String("/assets/", name))
        var status = response.status
        # The router refuses what no two programs resolve alike.
        assert_true(status == 404 or status == 400, String(name, " ", status))
        assert_true(
            "secret" not in String(response.text()), String(name, " leaks")
        )
    assert_equal(client.get("/assets/d/inside").status, 200)
    assert_equal(String(client.get("/assets/d/inside").text()), "a")
    assert_equal(client.get("/assets/d/b.txt").status, 200)
    folder.remove()
    outside.remove()


def test_a_folder_stands_for_its_index() raises:
    var folder = Folder()
    folder.write("index.html", "<p>top")
    folder.write("docs/index.html", "<p>docs")
    folder.write("a:b/index.html", "<p>colon")
    folder.write("empty/a.txt", "a")
    var client = _client(folder)
    assert_equal(String(client.get("/assets/").text()), "<p>top")
    assert_equal(String(client.get("/assets/docs/").text()), "<p>docs")
    var response = client.get("/assets/docs?page=1&x=/")
    assert_equal(response.status, 308)
    assert_equal(_field(response, "Location"), "./docs/?page=1&x=/")
    assert_equal(_field(client.get("/assets/a:b"), "Location"), "./a:b/")
    # Its existence is not told.
    assert_equal(client.get("/assets/empty").status, 404)
    assert_equal(client.get("/assets/empty/").status, 404)
    folder.remove()


def test_names_of_index_files_have_an_order() raises:
    var folder = Folder()
    folder.write("d/second.html", "second")
    var names: List[String] = ["first.html", "second.html"]
    var client = _client(folder, FileOptions(index_names=names^, recheck_ms=0))
    assert_equal(String(client.get("/assets/d/").text()), "second")
    folder.write("d/first.html", "first")
    _wait_for_the_next_look()
    assert_equal(String(client.get("/assets/d/").text()), "first")
    remove(folder.of("d/first.html"))
    _wait_for_the_next_look()
    assert_equal(String(client.get("/assets/d/").text()), "second")
    folder.remove()


def test_the_whole_path_is_that_of_the_file_without_a_parameter() raises:
    var folder = Folder()
    folder.write("css/a.css", "a")
    folder.write("index.html", "top")
    var client = TestClient(StaticFiles(folder.path))
    assert_equal(String(client.get("/css/a.css").text()), "a")
    assert_equal(String(client.get("/").text()), "top")
    assert_equal(client.get("/b.css").status, 404)
    assert_equal(client.get("//css/a.css").status, 404)
    folder.remove()


def test_a_replaced_file_is_seen() raises:
    var folder = Folder()
    folder.write("a.txt", "old one")
    var client = _client(folder, FileOptions(recheck_ms=0))
    var first = client.get("/assets/a.txt")
    assert_equal(String(first.text()), "old one")
    folder.write("b.txt", "new one")
    folder.rename("b.txt", "a.txt")
    _wait_for_the_next_look()
    var second = client.get("/assets/a.txt")
    assert_equal(String(second.text()), "new one")
    assert_true(_field(first, "ETag") != _field(second, "ETag"))
    # In place, with the same length, within the tick of the clock.
    folder.write("a.txt", "NEW one")
    _wait_for_the_next_look()
    assert_equal(String(client.get("/assets/a.txt").text()), "NEW one")
    remove(folder.of("a.txt"))
    _wait_for_the_next_look()
    assert_equal(client.get("/assets/a.txt").status, 404)
    folder.write("a.txt", "again")
    _wait_for_the_next_look()
    assert_equal(String(client.get("/assets/a.txt").text()), "again")
    folder.remove()


def test_a_folder_that_is_replaced_by_a_link_is_seen() raises:
    var folder = Folder()
    folder.write("v1/a.txt", "one")
    folder.write("v2/a.txt", "two")
    symlink("v1", folder.of("current"))
    var client = TestClient(
        StaticFiles(folder.of("current"), options=FileOptions(recheck_ms=0))
    )
    assert_equal(String(client.get("/a.txt").text()), "one")
    symlink("v2", folder.of("next"))
    folder.rename("next", "current")
    _wait_for_the_next_look()
    assert_equal(String(client.get("/a.txt").text()), "two")
    folder.remove()


def test_what_the_copies_of_a_handler_do_is_counted() raises:
    var folder = Folder()
    folder.write("a.txt", "one")
    folder.write("b.txt", "two")
    # Until then, a change in place could not be seen.
    sleep(2.1)
    var options = FileOptions(recheck_ms=60_000, cache_octets=1_000_000)
    var files = StaticFiles(folder.of("."), options=options)
    var client = TestClient(files.copy())
    for path in ["/a.txt", "/a.txt", "/b.txt", "/none", "/none"]:
        _ = client.get(path)
    var s = files.statistics()
    assert_equal([s.hits, s.rechecks, s.misses], [2, 0, 3])
    assert_equal([s.cached_files, s.open_files, s.evictions], [2, 0, 0])
    assert_true(Int64(6) < s.cached_octets < 100_000)
    # Another worker knows nothing yet, but the store does.
    var other = TestClient(files.copy())
    for path in ["/a.txt", "/a.txt", "/none"]:
        _ = other.get(path)
    s = files.statistics()
    assert_equal([s.hits, s.rechecks, s.misses], [3, 1, 4])
    _ = other^
    # What it has counted stays.
    s = files.statistics()
    assert_equal([s.hits, s.rechecks, s.misses], [3, 1, 4])
    folder.remove()


def test_conditions_are_evaluated() raises:
    var folder = Folder()
    folder.write("a.txt", "hello")
    folder.write("long.bin", String("x") * 5000)
    var client = _client(
        folder, FileOptions(largest_cached=1000), cached="*=max-age=60"
    )
    for name in ["a.txt", "long.bin"]:
        var path = String("/assets/", name)
        var whole = client.get(path)
        var tag = _field(whole, "ETag")
        var date = _field(whole, "Last-Modified")
        var known = client.get(path, headers=_one("If-None-Match", tag))
        assert_equal(known.status, 304)
        assert_equal(_field(known, "ETag"), tag)
        assert_equal(_field(known, "Cache-Control"), "max-age=60")
        assert_equal(_field(known, "Content-Type"), "none")
        assert_equal(_field(known, "Content-Length"), "none")
        assert_equal(len(known.body), 0)
        assert_equal(
            client.get(path, headers=_one("If-Modified-Since", date)).status,
            304,
        )
        assert_equal(
            client.get(path, headers=_one("If-None-Match", '"x"')).status, 200
        )
        assert_equal(
            client.get(path, headers=_one("If-Match", '"x"')).status, 412
        )
    folder.remove()


def test_ranges_are_sent() raises:
    var folder = Folder()
    var content = String()
    for i in range(1000):
        content += String(i % 10)
    folder.write("a.txt", content)
    for largest_cached in [1000, 999]:
        var client = _client(folder, FileOptions(largest_cached=largest_cached))
        var part = client.get(
            "/assets/a.txt", headers=_one("Range", "bytes=3-7")
        )
        assert_equal(part.status, 206)
        assert_equal(String(part.text()), "34567")
        assert_equal(_field(part, "Content-Range"), "bytes 3-7/1000")
        var none = client.get(
            "/assets/a.txt", headers=_one("Range", "bytes=1000-")
        )
        assert_equal(none.status, 416)
        assert_equal(_field(none, "Content-Range"), "bytes */1000")
        var several = client.get(
            "/assets/a.txt", headers=_one("Range", "bytes=0-1,500-502,-1")
        )
        assert_equal(several.status, 206)
        assert_true(
            _field(several, "Content-Type").startswith("multipart/byteranges")
        )
        var text = String(several.text())
        assert_equal(text.count("Content-Range: bytes "), 3)
        assert_true("\r\n\r\n01\r\n--" in text)
        assert_true("\r\n\r\n012\r\n--" in text)
        assert_true("\r\n\r\n9\r\n--" in text)
    folder.remove()


def test_compressed_siblings_are_sent_to_who_accepts_them() raises:
    var folder = Folder()
    folder.write("a.js", "plain")
    folder.write("a.js.br", "BR")
    folder.write("a.js.gz", "GZ")
    folder.write("b.js", "only plain")
    var client = TestClient(StaticFiles(folder.path, precompressed=True))
    var rows: List[Tuple[String, String, String]] = [
        ("br, gzip", "BR", "br"),
        ("gzip", "GZ", "gzip"),
        ("gzip;q=1, br;q=0.5", "GZ", "gzip"),
        ("zstd", "plain", "none"),
        ("identity;q=0, unknown", "plain", "none"),
        ("br;q=0", "plain", "none"),
    ]
    var tags = List[String]()
    for row in rows:
        var response = client.get(
            "/a.js", headers=_one("Accept-Encoding", row[0])
        )
        assert_equal(response.status, 200)
        assert_equal(String(response.text()), row[1])
        assert_equal(_field(response, "Content-Encoding"), row[2])
        assert_equal(_field(response, "Vary"), "Accept-Encoding")
        assert_equal(
            _field(response, "Content-Type"), "text/javascript; charset=utf-8"
        )
        tags.append(_field(response, "ETag"))
    assert_true(tags[0] != tags[1])
    assert_true(tags[0] != tags[3])
    var other = client.get("/b.js", headers=_one("Accept-Encoding", "br"))
    assert_equal(String(other.text()), "only plain")
    assert_equal(_field(other, "Vary"), "Accept-Encoding")
    var fields = _one("Accept-Encoding", "br")
    fields.append("Range", "bytes=1-1")
    var part = client.get("/a.js", headers=fields)
    assert_equal(part.status, 206)
    assert_equal(String(part.text()), "R")
    assert_equal(_field(part, "Content-Range"), "bytes 1-1/2")
    folder.remove()


def test_pages_of_scripts_get_the_fallback() raises:
    var folder = Folder()
    folder.write("index.html", "<p>app")
    folder.write("assets/app.js", "js")
    var client = TestClient(StaticFiles(folder.path, spa_fallback="index.html"))
    var browser = _one("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
    var page = client.get("/users/17", headers=browser)
    assert_equal(page.status, 200)
    assert_equal(String(page.text()), "<p>app")
    assert_equal(_field(page, "Vary"), "Accept")
    assert_equal(_field(client.get("/users/17"), "Vary"), "Accept")
    assert_equal(client.get("/assets/old.js", headers=browser).status, 404)
    assert_equal(
        client.get(
            "/users/17", headers=_one("Accept", "application/json")
        ).status,
        404,
    )
    assert_equal(client.get("/users/17").status, 404)
    assert_equal(client.get("/.env", headers=browser).status, 404)
    folder.remove()


def test_a_folder_must_exist_and_options_be_valid() raises:
    var folder = Folder()
    folder.write("a.txt", "a")
    with assert_raises(contains="http.bad_folder"):
        _ = StaticFiles(folder.of("missing"))
    with assert_raises(contains="http.bad_folder"):
        _ = StaticFiles(folder.of("a.txt"))
    with assert_raises(contains="recheck_ms"):
        _ = StaticFiles(folder.path, options=FileOptions(recheck_ms=-1))
    with assert_raises(contains="index_names"):
        var names: List[String] = ["../x"]
        _ = StaticFiles(folder.path, options=FileOptions(index_names=names^))
    folder.remove()


def _client(
    folder: Folder,
    options: FileOptions = FileOptions(),
    *,
    cached: String = "",
) raises -> TestClient[Router[]]:
    var rules = List[CacheRule]()
    if cached:
        var equals_sign = cached.find("=")
        rules.append(
            CacheRule(
                String(cached[byte=:equals_sign]),
                String(cached[byte = equals_sign + 1 :]),
            )
        )
    var router = Router()
    router.get(
        "/assets/*path",
        StaticFiles(folder.path, cache_control=rules^, options=options),
    )
    return TestClient(router^)


def _one(name: StringSlice, value: StringSlice) raises -> HeaderMap:
    var headers = HeaderMap()
    headers.append(name, value)
    return headers^


def _field(response: Response, name: StringSlice) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else "none"


def _wait_for_the_next_look() raises:
    # With `recheck_ms=0`, once a millisecond.
    sleep(0.003)


@fieldwise_init
struct _Reports(Copyable):
    var files: StaticFiles


def _report(req: Request, reports: State[_Reports]) raises -> Response:
    var id = req.param("id")
    var path = String("2026/a %41 b.txt")
    if id == "1":
        path = "../etc/passwd"
    elif id == "2":
        path = ".hidden"
    elif id == "3":
        path = "2026"
    elif id == "4":
        path = "2026/none"
    return reports[].files.respond(
        req, path, download_name=String("report ", id, ".txt")
    )


comptime TESTS = __functions_in_module()
