"""Tests cookies, forms and multipart content in handlers."""

from std.tempfile import NamedTemporaryFile
from std.testing import assert_raises

from flare.core import heap_create, heap_destroy
from flare.http import (
    Body,
    Cookie,
    CookieJar,
    Form,
    FormFields,
    FromForm,
    Handler,
    MultipartForm,
    MultipartReader,
    Request,
    Response,
    Router,
    Url,
    form_value,
    ok,
)
from flare.http.exchange import ExchangeState
from flare.io import MemoryReader
from flare.message import HeaderMap
from flare.testing import TestClient
from tests.asserting import assert_equal, assert_false, assert_true
from tests.http.support import shown


def test_cookies_of_a_request_are_read() raises:
    for http2 in [False, True]:
        var client = TestClient(_cookies, http2=http2)
        assert_equal(client.get("/").text(), "none;")
        var headers = HeaderMap()
        headers.append("Cookie", "a=1; session=x y; a=2")
        headers.append("Cookie", "b")
        assert_equal(
            client.get("/", headers).text(), "x y;a=1 session=x y a=2 =b "
        )


def test_cookies_of_a_response_are_written() raises:
    var response = ok("x")
    response.set_cookie(Cookie("a", "1", path="/"))
    response.set_cookie(Cookie("b", "2", http_only=True))
    response.remove_cookie("c")
    response.remove_cookie("__Host-d")
    var text = String()
    for value in response.headers.values("Set-Cookie"):
        text.write(value, "|")
    assert_equal(
        text,
        (
            "a=1; Path=/|b=2; HttpOnly|c=; Path=/; Max-Age=0|"
            "__Host-d=; Path=/; Max-Age=0; Secure|"
        ),
    )
    with assert_raises(contains="message.bad_cookie cookie value at octet 1"):
        response.set_cookie(Cookie("e", "1\r\nX: y"))
    assert_equal(response.headers.count("Set-Cookie"), 4)


def test_a_jar_keeps_what_belongs_to_a_server() raises:
    var jar = CookieJar()
    var url = Url.parse("https://a.test/x")
    var answer = HeaderMap()
    for text in ["a=1", "b=2;Domain=b.test", "c=3;Max-Age=60", "d=4\x00"]:
        try:
            answer.append("Set-Cookie", text)
        except:
            assert_equal(text, "d=4\x00")
    assert_equal(jar.receive(url, answer.view()), 1)
    assert_equal(jar.header_for(url), "a=1; c=3")
    jar.set(url, Cookie("e", "5"))
    with assert_raises(contains="message.bad_cookie cookie domain"):
        jar.set(url, Cookie("f", "6", domain="b.test"))
    jar.set(Cookie("g", "7"))
    assert_equal(jar.header_for(url), "a=1; c=3; e=5")
    assert_equal(jar.to_request_header(), "a=1; c=3; e=5; g=7")
    assert_equal(len(jar), 4)
    jar.clear()
    assert_equal(len(jar.cookies()), 0)


def test_forms_are_read() raises:
    for http2 in [False, True]:
        var router = Router()
        router.post("/plain", _plain)
        router.post[_typed]("/typed")
        router.post[_fields]("/fields")
        var client = TestClient(router^, http2=http2)
        var typed = HeaderMap()
        typed.append(
            "Content-Type", "Application/X-WWW-Form-URLencoded; charset=x"
        )
        for path in ["/plain", "/fields"]:
            assert_equal(
                _post(client, path, "a=1+2&b=%263", typed), "200 1 2 &3"
            )
        assert_equal(_post(client, "/typed", "name=x&age=7", typed), "200 x 7")
        assert_equal(
            _post(client, "/typed", "name=x", typed),
            "400 /age: the field is missing",
        )
        assert_equal(
            _post(client, "/typed", "name=x&age=y", typed),
            "400 /age: expected a number, got 'y'",
        )
        assert_equal(
            _post(client, "/typed", "name=bad&age=1", typed),
            "400 a field of the form is malformed",
        )
        var other = HeaderMap()
        other.append("Content-Type", "application/json")
        for headers in [other.copy(), HeaderMap()]:
            assert_equal(_status(client, "/plain", "a=1&b=2", headers), 415)
            assert_equal(_status(client, "/typed", "a=1&b=2", headers), 415)
        assert_equal(
            _post(client, "/typed", "{}", other),
            (
                "415 expected content of type"
                " application/x-www-form-urlencoded, got 'application/json'"
            ),
        )
        assert_equal(
            _post(client, "/typed", "{}", HeaderMap()),
            (
                "415 expected content of type"
                " application/x-www-form-urlencoded, but the request has no"
                " Content-Type"
            ),
        )
        var many = String("a&") * 1001
        assert_equal(_status(client, "/plain", many, typed), 413)
        assert_equal(
            _post(client, "/typed", many, typed), "413 the form is too large"
        )
        var long = "a=" + String("x") * (1 << 20)
        assert_equal(_status(client, "/plain", long, typed), 413)


def test_multipart_content_is_read() raises:
    for http2 in [False, True]:
        var client = TestClient(_parts, http2=http2)
        var form = MultipartForm(boundary="b")
        form.add_field("a", "1")
        form.add_field("skip", String("z") * 100_000)
        form.add_octets(
            "f", List[UInt8]("2\r\n--b".as_bytes()[:4]), file_name="x"
        )
        assert_equal(_post_form(client, form), "200 a=1;skip;f:x=2\r\n-;")
        var empty = MultipartForm(boundary="b")
        assert_equal(_post_form(client, empty), "200 ")
        var headers = HeaderMap()
        headers.append("Content-Type", "multipart/form-data; boundary=b")
        assert_equal(_status(client, "/", "--b\r\nx", headers), 400)
        assert_equal(_status(client, "/", "--bx", headers), 400)
        assert_equal(_status(client, "/", String("x") * 2000, headers), 413)
        headers.set("Content-Type", "multipart/form-data")
        assert_equal(_status(client, "/", "--b--", headers), 400)
        headers.set("Content-Type", "text/plain")
        assert_equal(_status(client, "/", "--b--", headers), 415)
        assert_equal(_status(client, "/", "--b--", HeaderMap()), 415)
        var large = MultipartForm(boundary="b")
        large.add_field("a", String("z") * ((1 << 20) + 1))
        assert_equal(_post_form(client, large)[byte=0:4], "413 ")
        var coded = MultipartForm(boundary="b")
        coded.add_octets("a", [0xFF], file_name="y")
        assert_equal(_post_form(client, coded)[byte=0:4], "400 ")


def test_a_reader_that_outlives_its_request_changes_no_other() raises:
    for is_over in [False, True]:
        var exchange = heap_create(ExchangeState())
        exchange[].request_id = 5
        var reader = MultipartReader(
            MemoryReader(List("no form at all\r\n".as_bytes())),
            "boundary".as_bytes(),
            exchange=exchange,
        )
        if is_over:
            # The block serves another request.
            exchange[].request_id = 6
        with assert_raises(contains="http.bad_form 400"):
            _ = reader.next_part()
        assert_equal(exchange[].rejected_status, 0 if is_over else 400)
        heap_destroy(exchange)


def test_files_are_sent_as_they_lie() raises:
    var file = NamedTemporaryFile(prefix="flare_form_")
    var content = String("0123456789\r\n") * 20_000
    with open(file.name, "w") as handle:
        handle.write(content)
    var form = MultipartForm()
    form.add_field("a", "1")
    form.add_file("f", file.name, content_type="text/plain")
    form.add_file("g", file.name, file_name='"n"')
    form.add_field("z", "9")
    var octets = form.octets()
    assert_equal(len(octets), form.content_length())
    var type = form.content_type()
    var boundary = String(type[byte=30:])
    for piece in [1000, 1 << 20]:
        var reader = MultipartReader(
            MemoryReader(octets.copy(), piece_octets_max=piece),
            boundary.as_bytes(),
        )
        assert_equal(reader.next_part().value().name, "a")
        assert_equal(reader.text(), "1")
        assert_equal(reader.text(), "")
        var part = reader.next_part().value().copy()
        assert_true(part.is_file())
        assert_true(part.file_name.value().startswith("flare_form_"))
        assert_equal(part.content_type(), "text/plain")
        assert_equal(reader.text(), content)
        part = reader.next_part().value().copy()
        assert_equal(part.file_name.value(), '"n"')
        assert_equal(part.content_type(), "application/octet-stream")
        var into = List[UInt8](length=7, fill=0)
        assert_equal(reader.read(Span(into)[:0]), 0)
        assert_equal(reader.read(Span(into)), 7)
        assert_equal(reader.next_part().value().name, "z")
        assert_false(reader.next_part())
        assert_false(reader.next_part())
        assert_equal(reader.read(Span(into)), 0)
    with open(file.name, "w") as handle:
        handle.write("short")
    with assert_raises(contains="http.multipart a file became shorter"):
        _ = form.octets()
    with assert_raises():
        form.add_file("h", "/no such file")
    with assert_raises(contains="http.multipart no boundary"):
        _ = MultipartForm(boundary="")
    with assert_raises(contains="http.multipart a media type is malformed"):
        form.add_octets("i", [], file_name="j", content_type="a\nb")
    # The file goes when nothing names it any more.
    _ = file^


def _cookies(req: Request) raises -> Response:
    var session = req.cookie("session")
    var text = String(session.value()) if session else String("none")
    text += ";"
    for cookie in req.cookies():
        text.write(cookie.name, "=", cookie.value, " ")
    return ok(text^)


def _plain(req: Request) raises -> Response:
    var form = req.form()
    return ok(String(form.get("a").value(), " ", form.get("b").value()))


def _fields(form: Form[FormFields]) raises -> String:
    return String(form.value.get("a").value(), " ", form.value.get("b").value())


def _typed(form: Form[_Person]) -> String:
    return String(form.value.name, " ", form.value.age)


@fieldwise_init
struct _Person(FromForm):
    var name: String
    var age: Int

    @staticmethod
    def from_form(fields: FormFields) raises -> Self:
        var name = form_value[String](fields, "name")
        if name == "bad":
            raise Error("nobody is called ", name)
        return Self(name^, form_value[Int](fields, "age"))


def _parts(req: Request) raises -> Response:
    var parts = req.multipart()
    var text = String()
    while True:
        var part = parts.next_part()
        if not part:
            return ok(text^)
        ref p = part.value()
        text += p.name
        if p.file_name:
            text.write(":", p.file_name.value())
        if p.name != "skip":
            text.write("=", parts.text())
        text += ";"


def _post[
    H: Handler
](
    client: TestClient[H],
    path: StringSlice,
    body: StringSlice,
    headers: HeaderMap,
) raises -> String:
    var response = client.post(path, Body(body), headers)
    return String(response.status, " ", shown(response))


def _status[
    H: Handler
](
    client: TestClient[H],
    path: StringSlice,
    body: StringSlice,
    headers: HeaderMap,
) raises -> Int:
    return client.post(path, Body(body), headers).status


def _post_form[
    H: Handler
](client: TestClient[H], form: MultipartForm) raises -> String:
    var headers = HeaderMap()
    headers.append("Content-Type", form.content_type())
    var response = client.post("/", Body(form.octets()), headers)
    return String(response.status, " ", response.text())


comptime TESTS = __functions_in_module()
