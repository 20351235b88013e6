"""Tests that coded contents are undone where the client asked for them."""

from flare.http import (
    ClientConfig,
    ClientError,
    ContentCoding,
    DecodingLimits,
    HeaderMap,
    HttpClient,
    MultipartForm,
    Response,
)
from flare.http.encoding import compress, decodable_codings
from flare.io import MemoryReader

from tests.asserting import assert_equal, assert_false, assert_true
from tests.client.stand import Ending, Reply, Stand
from tests.tcp.loops import octets_of, on_each_backend

comptime _TEXT: StaticString = "hello hello hello hello hello hello hello"


def test_coded_contents_come_decoded() raises:
    on_each_backend(_decoded)


def test_the_answer_to_an_upload_tells_as_much_as_any() raises:
    on_each_backend(_uploaded)


def test_what_is_no_whole_coded_content_stays_as_it_is() raises:
    on_each_backend(_left)


def test_who_names_the_codings_undoes_them() raises:
    on_each_backend(_named)


def test_a_content_that_is_not_coded_so_is_an_error() raises:
    on_each_backend(_broken)


def test_a_bomb_is_an_error() raises:
    on_each_backend(_bomb)


def _answer(
    coding: StringSlice,
    octets: Span[UInt8, _],
    framing: Int,
    *,
    status: StringSlice = "200 OK",
    fields: StringSlice = "",
) -> Reply:
    var text = String(
        "HTTP/1.1 ", status, "\r\nContent-Encoding: ", coding, "\r\n", fields
    )
    var content = String(StringSlice(unsafe_from_utf8=octets))
    if framing == 0:
        text.write("Content-Length: ", len(octets), "\r\n\r\n", content)
        return Reply(text^, Ending.KEEP)
    if framing == 1:
        text += "Transfer-Encoding: chunked\r\n\r\n"
        for i in range(len(octets)):
            text += "1\r\n"
            text += String(StringSlice(unsafe_from_utf8=octets[i : i + 1]))
            text += "\r\n"
        text += "0\r\n\r\n"
        return Reply(text^, Ending.KEEP)
    text.write("\r\n", content)
    return Reply(text^, Ending.CLOSE)


def _coded(
    coding: ContentCoding, text: StringSlice = _TEXT
) raises -> List[UInt8]:
    return compress(text.as_bytes(), coding)


def _kind_of(client: HttpClient, stand: Stand, streams: Bool) raises -> Int:
    try:
        if streams:
            var stream = client.stream(stand.url("/"))
            _ = stream.read_all(1 << 24)
        else:
            _ = client.get(stand.url("/"))
    except e:
        return ClientError.of(e).value().kind
    return -1


def _decoded() raises:
    for coding in decodable_codings():
        var octets = _coded(coding)
        var replies = List[Reply]()
        for framing in [0, 0, 1, 1, 2, 2]:
            replies.append(
                _answer(coding.name(), Span(octets), framing, fields="X: y\r\n")
            )
        var stand = Stand(replies^)
        var client = HttpClient()
        for _ in range(3):
            var response = client.get(stand.url("/"))
            assert_equal(response.text(), _TEXT, coding.name())
            assert_equal(response.decoded_from(), coding.name())
            assert_false("Content-Encoding" in response.headers)
            assert_false("Content-Length" in response.headers)
            assert_equal(response.headers.get("x").value(), "y")
            var stream = client.stream(stand.url("/"))
            assert_equal(stream.decoded_from(), coding.name())
            assert_false("Content-Encoding" in stream.headers())
            # In pieces, over the end of each buffer.
            var all = String()
            var piece = List[UInt8](length=7, fill=0)
            while True:
                var count = stream.read(Span(piece))
                if count == 0:
                    break
                all += StringSlice(from_utf8=Span(piece)[0:count])
            assert_equal(all, _TEXT)
        var named = stand.request(0)
        assert_true("Accept-Encoding: gzip, deflate" in named, named)
        client.close_idle()
        assert_equal(stand.connections(), 2)
        stand^.join()


def _uploaded() raises:
    var octets = _coded(ContentCoding.GZIP)
    var reply = Reply(
        String(
            (
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTrailer: T\r\n"
                "Transfer-Encoding: chunked\r\n\r\n"
            ),
            hex(len(octets))[byte=2:],
            "\r\n",
            StringSlice(unsafe_from_utf8=Span(octets)),
            "\r\n0\r\nT: last\r\n\r\n",
        ),
        Ending.KEEP,
    )
    var stand = Stand([reply.copy(), reply^])
    var client = HttpClient(stand.url())
    var reader = MemoryReader(octets_of("abc"))
    _check_told(client.upload("PUT", "/a", reader), stand)
    var form = MultipartForm(boundary="limit")
    form.add_field("a", "b")
    _check_told(client.post("/a", form), stand)
    client.close_idle()
    stand^.join()


def _check_told(response: Response, stand: Stand) raises:
    assert_equal(response.text(), _TEXT)
    assert_equal(response.decoded_from(), "gzip")
    assert_equal(response.url(), stand.url("/a"))
    assert_equal(response.trailers().get("t").value(), "last")


def _left() raises:
    var octets = _coded(ContentCoding.GZIP)
    var head = _answer("gzip", Span(octets), 0)
    var end = head.octets.find("\r\n\r\n")
    var alone = String(head.octets[byte = : end + 4])
    head.octets = alone^
    var nothing: StaticString = "Content-Encoding: gzip\r\n\r\n"
    var replies: List[Reply] = [
        head^,
        Reply(String("HTTP/1.1 204 X\r\n", nothing), Ending.KEEP),
        Reply(String("HTTP/1.1 304 X\r\n", nothing), Ending.KEEP),
        _answer("gzip", Span(octets), 0, status="206 X"),
        _answer("x-own", Span(octets), 0),
        _answer("gzip", "".as_bytes(), 0),
        _answer("identity", _TEXT.as_bytes(), 0),
    ]
    var stand = Stand(replies^)
    var client = HttpClient(stand.url())
    for i in range(7):
        var response: Response
        if i == 0:
            response = client.head("/")
            assert_true("Content-Length" in response.headers)
        elif i == 3:
            var headers = HeaderMap()
            headers.set("Range", "bytes=0-9")
            response = client.get("/", headers=headers)
        else:
            response = client.get("/")
        if i < 6:
            var length = len(octets) if i == 3 or i == 4 else 0
            assert_equal(len(response.body), length, String(i))
        assert_equal(response.decoded_from(), "", String(i))
        assert_true("Content-Encoding" in response.headers, String(i))
    assert_true("Accept-Encoding: identity\r\n" in stand.request(3))
    client.close_idle()
    assert_equal(stand.connections(), 1)
    stand^.join()


def _named() raises:
    var octets = _coded(ContentCoding.GZIP)
    var stand = Stand(
        List[Reply](length=5, fill=_answer("gzip", Span(octets), 0))
    )
    var headers = HeaderMap()
    headers.set("Accept-Encoding", "gzip")
    var client = HttpClient(stand.url())
    var response = client.get("/", headers=headers)
    assert_equal(len(response.body), len(octets))
    assert_equal(response.decoded_from(), "")
    var stream = client.stream("/", headers=headers)
    assert_equal(len(stream.read_all(1000)), len(octets))
    client.close_idle()
    var off = HttpClient(stand.url(), config=ClientConfig(decoding=None))
    assert_equal(len(off.get("/").body), len(octets))
    off.close_idle()
    assert_false("Accept-Encoding" in stand.request(2))
    var own = HttpClient(stand.url(), config=ClientConfig(headers=headers^))
    assert_equal(len(own.get("/").body), len(octets))
    own.close_idle()
    # A content that was sent bit by bit has a response too.
    var last = HttpClient(stand.url())
    var opened = last.open("POST", "/")
    opened.end()
    assert_equal(len(opened.read_all(1000)), _TEXT.byte_length())
    last.close_idle()
    stand^.join()


def _broken() raises:
    var octets = _coded(ContentCoding.GZIP)
    var wrong = octets.copy()
    wrong[len(wrong) - 6] ^= 1
    var longer = octets.copy()
    longer.append(1)
    for streams in [False, True]:
        var replies: List[Reply] = [
            _answer("gzip", Span(octets)[0 : len(octets) - 1], 0),
            _answer("gzip", Span(wrong), 0),
            _answer("gzip", Span(longer), 1),
            _answer("br", Span(octets), 0),
            _answer("gzip, gzip", Span(octets), 0),
            _answer("gzip, gzip, gzip, gzip, gzip", Span(octets), 0),
        ]
        var count = len(replies)
        var stand = Stand(replies^)
        var client = HttpClient()
        for i in range(count):
            assert_equal(
                _kind_of(client, stand, streams),
                ClientError.ENCODING,
                String(i),
            )
            # Nobody knows what such a server says next.
            assert_equal(client.statistics().open, 0, String(i))
        assert_equal(stand.connections(), count)
        stand^.join()


def _bomb() raises:
    var octets = compress(
        Span(List[UInt8](length=4 << 20, fill=0)), ContentCoding.GZIP
    )
    for streams in [False, True]:
        var stand = Stand(
            List[Reply](length=1, fill=_answer("gzip", Span(octets), 0))
        )
        var client = HttpClient()
        assert_equal(_kind_of(client, stand, streams), ClientError.TOO_LARGE)
        assert_equal(client.statistics().open, 0)
        stand^.join()
    # Whole in memory it has the bound of every content, too.
    for bound in [_TEXT.byte_length() - 1, _TEXT.byte_length()]:
        var stand = Stand(
            List[Reply](
                length=1,
                fill=_answer("gzip", Span(_coded(ContentCoding.GZIP)), 0),
            )
        )
        var limits = DecodingLimits(decoded_octets_max=bound)
        var client = HttpClient(config=ClientConfig(decoding=limits))
        var kind = -1
        if bound < _TEXT.byte_length():
            kind = ClientError.TOO_LARGE
        assert_equal(_kind_of(client, stand, False), kind)
        client.close_idle()
        stand^.join()


comptime TESTS = __functions_in_module()
