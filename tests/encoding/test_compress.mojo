"""Tests the middleware that compresses responses."""

from std.testing import assert_raises

from flare.http import (
    Compress,
    CompressionConfig,
    Handler,
    Request,
    Response,
    ResponseStream,
    ok,
)
from flare.http.encoding import ContentCoding, compress, decode_content
from flare.http.encoding.content_encoder import EncodingLevel
from flare.message import HeaderMap
from flare.testing import TestClient
from tests.asserting import assert_equal, assert_true
from tests.encoding.support import mixed_octets, same


def test_what_is_accepted_is_sent_compressed() raises:
    for http2 in [False, True]:
        var client = _client(http2)
        var plain = client.get("/text")
        assert_equal(_described(plain), "200 - Accept-Encoding")
        for name in ["gzip", "br", "zstd"]:
            for path in ["/text", "/long", "/stream", "/string"]:
                var response = _get(client, path, name)
                assert_equal(
                    _described(response),
                    String("200 ", name, " Accept-Encoding"),
                )
                var content = decode_content(response.body.octets(), name)
                var original = client.get(path)
                assert_true(
                    same(Span(content), original.body.octets()),
                    String(path, name),
                )
                assert_true(len(response.body) < len(original.body), path)


def test_a_client_that_accepts_no_coding_gets_the_content_as_it_is() raises:
    for http2 in [False, True]:
        var client = _client(http2)
        for accepted in ["deflate", "identity", "gzip;q=0", "identity;q=0", ""]:
            for path in ["/text", "/long", "/stream"]:
                var response = _get(client, path, accepted)
                assert_equal(_described(response), "200 - Accept-Encoding")
                assert_true(
                    same(response.body.octets(), client.get(path).body.octets())
                )


def test_what_must_stay_as_it_is_does() raises:
    for http2 in [False, True]:
        var client = _client(http2)
        for path in [
            "/png",
            "/untyped",
            "/short",
            "/short-stream",
            "/coded",
            "/no-transform",
            "/digest",
            "/digest-behind",
            "/ranged",
            "/204",
            "/206",
        ]:
            var response = _get(client, path, "gzip, br, zstd")
            var original = client.get(path)
            assert_equal(_described(response), _described(original), path)
            assert_true(
                same(response.body.octets(), original.body.octets()), path
            )
            var etag = response.headers.get("ETag")
            assert_equal(
                String(etag.value()) if etag else String(), '"strong"', path
            )


def test_content_that_gets_no_smaller_stays_as_it_is() raises:
    for http2 in [False, True]:
        var response = _get(_client(http2), "/noise", "gzip")
        assert_equal(_described(response), "200 - Accept-Encoding")
        assert_equal(len(response.body), 2000)


def test_fields_that_speak_of_the_octets_are_mended() raises:
    for http2 in [False, True]:
        var response = _get(_client(http2), "/text", "gzip")
        assert_equal(response.headers.get("ETag").value(), 'W/"strong"')
        assert_true(not response.headers.contains("Accept-Ranges"))
        # A client gets the length of the octets; a handler's is dropped.
        var length = response.headers.get("Content-Length")
        assert_equal(
            String(length.value()) if length else "",
            String(len(response.body)) if http2 else "",
        )
        response = _get(_client(http2), "/weak", "gzip")
        assert_equal(response.headers.get("ETag").value(), 'W/"weak"')


def test_vary_is_said_once() raises:
    for http2 in [False, True]:
        var rows: List[Tuple[String, String]] = [
            ("/vary", "Origin, Accept-Encoding"),
            ("/vary-all", "*"),
            ("/vary-other", "Origin; Accept-Encoding"),
        ]
        for row in rows:
            var response = _get(_client(http2), row[0], "gzip")
            assert_equal(
                _described(response), String("200 gzip ", row[1]), row[0]
            )


def test_304_has_the_fields_of_the_200() raises:
    for http2 in [False, True]:
        var response = _get(_client(http2), "/304", "gzip")
        assert_equal(_described(response), "304 - Accept-Encoding")
        assert_equal(response.headers.get("ETag").value(), 'W/"strong"')
        response = _client(http2).get("/304")
        assert_equal(_described(response), "304 - Accept-Encoding")
        assert_equal(response.headers.get("ETag").value(), '"strong"')


def test_304_keeps_the_etag_that_its_client_shows() raises:
    for http2 in [False, True]:
        var rows: List[Tuple[String, String]] = [
            ('"strong"', '"strong"'),
            ('"other", "strong"', '"strong"'),
            ('W/"strong"', 'W/"strong"'),
            ('"other"', 'W/"strong"'),
        ]
        for row in rows:
            var headers = HeaderMap()
            headers.set("Accept-Encoding", "gzip")
            headers.set("If-None-Match", row[0])
            var response = _client(http2).get("/304", headers)
            assert_equal(response.headers.get("ETag").value(), row[1], row[0])


def test_head_has_the_fields_of_get_but_no_length() raises:
    for http2 in [False, True]:
        var client = _client(http2)
        for path in ["/text", "/long", "/stream"]:
            var headers = HeaderMap()
            headers.set("Accept-Encoding", "gzip")
            var response = client.request("HEAD", path, headers=headers)
            assert_equal(_described(response), "200 gzip Accept-Encoding")
            assert_equal(len(response.body), 0)
            assert_true(not response.headers.contains("Content-Length"))


def test_each_write_of_a_stream_can_be_read_at_once() raises:
    for http2 in [False, True]:
        for name in ["gzip", "br", "zstd"]:
            var response = _get(_client(http2), "/breaks-off", name)
            # What a TestClient gets of a stream that fails is an error; so this
            # one ends early, and what it has flushed is there.
            assert_equal(
                String(
                    StringSlice(
                        unsafe_from_utf8=Span(
                            decode_content(response.body.octets(), name)
                        )
                    )
                ),
                "first second ",
            )


def test_a_stream_that_fails_breaks_off() raises:
    for http2 in [False, True]:
        with assert_raises(contains="http.broken_off"):
            _ = _get(_client(http2), "/fails", "gzip")


def test_a_configuration_that_cannot_work_is_refused() raises:
    var identity: List[ContentCoding] = [ContentCoding.IDENTITY]
    var none = List[ContentCoding]()
    for config in [
        CompressionConfig(codings=identity.copy()),
        CompressionConfig(codings=none.copy()),
        CompressionConfig(content_octets_min=-1),
        CompressionConfig(whole_octets_max=-1),
        CompressionConfig(gzip_level=0),
        CompressionConfig(brotli_level=12),
        CompressionConfig(zstd_level=20),
    ]:
        with assert_raises(contains="encoding.bad_config configure: "):
            _ = Compress(_Inner(), config.copy())


def test_brotli_does_less_work_for_up_to_16_kib_unless_a_level_is_set() raises:
    for http2 in [False, True]:
        # One encoder is kept: the lengths take turns.
        var short, long = 16 * 1024, 16 * 1024 + 1
        var rows: List[Tuple[Optional[Int], Int, Int]] = [
            (Optional[Int](None), short, EncodingLevel.BROTLI_SHORT),
            (Optional[Int](None), long, EncodingLevel.BROTLI),
            (Optional[Int](None), short, EncodingLevel.BROTLI_SHORT),
            (Optional[Int](5), short, 5),
            (Optional[Int](5), long, 5),
        ]
        var client = _client(http2)
        var fixed = TestClient(
            Compress(_Inner(), CompressionConfig(brotli_level=5)), http2=http2
        )
        for row in rows:
            var path = String("/sized/", row[1])
            var found: Response
            if row[0]:
                found = _get(fixed, path, "br")
            else:
                found = _get(client, path, "br")
            var wanted = compress(
                _sized(row[1]), ContentCoding.BROTLI, level=row[2]
            )
            assert_true(same(found.body.octets(), Span(wanted)), path)


def test_types_are_compared_without_parameters_and_case() raises:
    var config = CompressionConfig()
    for name in [
        "text/plain",
        "Text/HTML; charset=utf-8",
        "application/json ;x=y",
        "application/problem+json",
        "image/svg+xml",
    ]:
        assert_true(config.allows_type(name), name)
    for name in ["", "image/png", "textual/plain", "application/jsonp", "+jso"]:
        assert_true(not config.allows_type(name), name)
    # Each open one would keep an encoder.
    assert_true(not config.allows_type("text/event-stream;charset=utf-8"))
    config.content_types.append("Text/Event-Stream")
    assert_true(config.allows_type("text/event-stream;charset=utf-8"))


def _client(http2: Bool) raises -> TestClient[Compress[_Inner]]:
    return TestClient(Compress(_Inner()), http2=http2)


def _get(
    client: TestClient[Compress[_Inner]],
    path: StringSlice,
    accepted: StringSlice,
) raises -> Response:
    var headers = HeaderMap()
    headers.set("Accept-Encoding", accepted)
    return client.get(path, headers)


def _described(response: Response) -> String:
    var coding = response.headers.get("Content-Encoding")
    var text = String(response.status, " ")
    text.write(String(coding.value()) if coding else String("-"))
    var separator: StaticString = " "
    for value in response.headers.values("Vary"):
        text.write(separator, value)
        separator = "; "
    return text^


def _write_parts(req: Request, stream: ResponseStream) raises:
    for _ in range(100):
        stream.write_text("a part of the text ")


def _write_two(req: Request, stream: ResponseStream) raises:
    stream.write_text("first ")
    stream.write_text("second ")


def _sized(octets: Int) -> List[UInt8]:
    var text = String()
    var number = 1
    while text.byte_length() < octets:
        number = number * 7919 % 1_000_003
        text.write("word ", number % 1000, ", ")
    return List[UInt8](text.as_bytes()[:octets])


def _fail(req: Request, stream: ResponseStream) raises:
    stream.write_text("first ")
    raise Error("on purpose")


@fieldwise_init
struct _Inner(Handler):
    def serve(self, req: Request) raises -> Response:
        var path = String(req.path)
        var response = ok("text " * 1000)
        if path == "/string":
            response = ok(String("text ") * 1000)
        elif path == "/long":
            response = ok("long " * 100_000)
        elif path == "/stream":
            response = Response.stream(
                _write_parts, content_type="text/plain", length=1900
            )
        elif path == "/short-stream":
            response = Response.stream(
                _write_two, content_type="text/plain", length=13
            )
        elif path == "/breaks-off":
            response = Response.stream(_write_two, content_type="text/plain")
        elif path == "/fails":
            response = Response.stream(_fail, content_type="text/plain")
        elif path == "/short":
            response = ok("text " * 100)
        elif path == "/noise":
            var octets = mixed_octets(130_000)
            var noise = List[UInt8](capacity=2000)
            for i in range(2000):
                noise.append(octets[i * 64])
            response.body = noise^
        elif path.startswith("/sized/"):
            response.body = _sized(Int(path[byte=7:]))
        elif path == "/png":
            response.headers.set("Content-Type", "image/png")
        elif path == "/untyped":
            _ = response.headers.remove("Content-Type")
        _set_fields(path, response)
        return response^


def _set_fields(path: String, mut response: Response) raises:
    response.headers.set("ETag", '"strong"')
    if path == "/text":
        response.headers.set("Accept-Ranges", "bytes")
        response.headers.set("Content-Length", "5000")
    elif path == "/weak":
        response.headers.set("ETag", 'W/"weak"')
    elif path == "/coded":
        response.headers.set("Content-Encoding", "br")
    elif path == "/no-transform":
        response.headers.set("Cache-Control", "private, No-Transform")
    elif path == "/digest":
        response.headers.set("Content-Digest", "sha-256=:AA==:")
    elif path == "/digest-behind":
        response.headers.set("Trailer", "Server-Timing, content-digest")
    elif path == "/ranged":
        response.headers.set("Content-Range", "bytes 0-4999/9000")
    elif path == "/vary":
        response.headers.set("Vary", "Origin, Accept-Encoding")
    elif path == "/vary-all":
        response.headers.set("Vary", "*")
    elif path == "/vary-other":
        response.headers.set("Vary", "Origin")
    elif path == "/204" or path == "/206" or path == "/304":
        response.status = Int(path[byte=1:])
        if path != "/206":
            response.body = ""


comptime TESTS = __functions_in_module()
