"""Tests how a field block becomes the head of a request (RFC 9113 section 8.3).
"""

from std.testing import assert_raises

from flare.core import Buffer, heap_create, heap_destroy
from flare.message import FieldName, Method
from flare.proto.h2.hpack import HpackDecoder, append_named_literal
from flare.proto.h2.head_limits import H2HeadFault, H2HeadLimits
from flare.proto.h2.request_head import RequestHeadReader
from flare.proto.head import BodyKind

from tests.asserting import assert_equal, assert_false, assert_true

from .blocks import octets_of

comptime _GET: StaticString = (
    ":method: GET|:scheme: https|:authority: a.test|:path: /x?y"
)


struct _Scene(Movable):
    var decoder: HpackDecoder
    var reader: RequestHeadReader

    def __init__(out self, limits: H2HeadLimits = H2HeadLimits()):
        self.decoder = HpackDecoder.create()
        self.reader = RequestHeadReader(limits)

    def __deinit__(deinit self):
        self.decoder.destroy()

    def read(mut self, lines: StringSlice) raises -> H2HeadFault:
        var block = heap_create(Buffer())
        for line in lines.split("|"):
            if line.byte_length() == 0:
                continue
            var text = String(line)
            var colon = text.find(": ", 1)
            append_named_literal(
                text[byte=:colon].as_bytes(),
                text[byte = colon + 2 :].as_bytes(),
                block,
            )
        try:
            return self.reader.read(self.decoder, block[].span())
        except e:
            raise Error(e.reason)
        finally:
            heap_destroy(block)

    def read_octets(mut self, hexadecimal: StringSlice) raises -> H2HeadFault:
        return self.reader.read(self.decoder, Span(octets_of(hexadecimal)))

    def target(self) -> String:
        return String(self.reader.head.target_text(self.reader.octets.span()))

    def fields(self) -> String:
        var section = self.reader.head.fields(self.reader.octets.span())
        var text = String()
        for i in range(len(section)):
            text += String(section.name(i), ": ", section.value(i), "|")
        return text


def test_a_request_reads_like_one_of_http_1() raises:
    var scene = _Scene()
    assert_false(
        Bool(scene.read(String(_GET, "|accept: */*|x-a: 1|content-length: 7")))
    )
    ref head = scene.reader.head
    var octets = scene.reader.octets.span()
    assert_true(head.method == Method.GET)
    assert_equal(String(head.method_text(octets)), "GET")
    assert_equal(String(head.target_text(octets)), "/x?y")
    assert_equal(String(StringSlice(unsafe_from_utf8=head.path(octets))), "/x")
    assert_equal(String(head.authority(octets)), "a.test")
    assert_equal(
        scene.fields(),
        "Host: a.test|accept: */*|x-a: 1|content-length: 7|",
    )
    assert_equal(head.host, 0)
    assert_equal(head.content_length, 7)
    assert_equal(head.body, BodyKind.LENGTH)
    assert_equal(
        head.known,
        FieldName.bit(FieldName.HOST)
        | FieldName.bit(FieldName.ACCEPT)
        | FieldName.bit(FieldName.CONTENT_LENGTH),
    )
    # The next one begins anew.
    assert_false(
        Bool(scene.read(":method: OPTIONS|:scheme: http|:path: *|host: b"))
    )
    assert_equal(scene.fields(), "host: b|")
    assert_equal(
        String(scene.reader.head.authority(scene.reader.octets.span())), "b"
    )
    assert_equal(scene.reader.head.content_length, -1)
    assert_equal(scene.reader.head.body, BodyKind.NONE)


def test_crumbs_become_one_line() raises:
    var scene = _Scene()
    assert_false(
        Bool(
            scene.read(
                String(_GET, "|cookie: a=1|x-a: 1|cookie: b=2|cookie: c=3")
            )
        )
    )
    assert_equal(scene.fields(), "Host: a.test|x-a: 1|cookie: a=1; b=2; c=3|")
    assert_true(scene.reader.head.known & FieldName.bit(FieldName.COOKIE) != 0)
    assert_equal(
        String(scene.read(String(_GET, "|cookie: " * 257)).reason),
        "too many lines of Cookie",
    )
    assert_false(Bool(scene.read(String(_GET, "|cookie: d" * 256))))


def test_malformed_requests_end_their_stream() raises:
    comptime START = ":method: GET|:scheme: https|:path: /"
    var rows: List[Tuple[String, String]] = [
        (":scheme: https|:path: /|:authority: a", "missing"),
        (":method: GET|:path: /|:authority: a", "missing"),
        (":method: GET|:scheme: https|:authority: a", "missing"),
        ("", "missing"),
        (":method: |:scheme: https|:path: /|:authority: a", "token"),
        (":method: G T|:scheme: https|:path: /|:authority: a", "token"),
        (":method: GET|:scheme: https|:path: |:authority: a", "is empty"),
        (String(START, "|:path: /|:authority: a"), "repeated"),
        (String(START, "|:authority: a|:authority: a"), "repeated"),
        (String(START, "|:authority: a|x-a: 1|:method: GET"), "repeated"),
        (String(START, "|x-a: 1|:authority: a"), "after another field"),
        (String(START, "|:authority: a|:status: 200"), "unknown"),
        (String(START, "|:authority: a|:: 1"), "unknown"),
        (String(START, "|:authority: a|X-A: 1"), "name holds"),
        (String(START, "|:authority: a|Accept: 1"), "name holds"),
        (String(START, "|:authority: a|x a: 1"), "name holds"),
        (String(START, "|:authority: a|x-a: \r\nx-b: 2"), "value holds"),
        (String(START, "|:authority: a|x-a:  1"), "value holds"),
        (String(START, "|:authority: a|x-a: 1\t"), "value holds"),
        (String(START, "|:authority: a\0"), "value holds"),
        (String(START, "|:authority: a|connection: close"), "connection"),
        (String(START, "|:authority: a|keep-alive: 1"), "connection"),
        (String(START, "|:authority: a|proxy-connection: 1"), "connection"),
        (
            String(START, "|:authority: a|transfer-encoding: chunked"),
            "connection",
        ),
        (String(START, "|:authority: a|upgrade: h2c"), "connection"),
        (String(START, "|:authority: a|te: gzip"), "TE is not"),
        (String(START, "|:authority: a|host: b"), "differs"),
        (String(START, "|:authority: u@a"), "authority is not valid"),
        (String(START, "|:authority: "), "authority is not valid"),
        (
            String(START, "|:authority: a|content-length: 1|content-length: 1"),
            "more than one",
        ),
        (String(START, "|:authority: a|content-length: +1"), "not a number"),
        (String(START, "|:authority: a|content-length: "), "not a number"),
        (
            String(START, "|:authority: a|content-length: 1234567890123456789"),
            "not a number",
        ),
        (
            ":method: GET|:scheme: https|:path: https://a/|:authority: a",
            "origin",
        ),
    ]
    var scene = _Scene()
    for row in rows:
        var fault = scene.read(row[0])
        assert_true(
            row[1] in String(fault.reason), String(row[0], " ", fault.reason)
        )
        assert_equal(fault.status, 0, row[0])


def test_other_faults_are_answered() raises:
    comptime REST = ":authority: a.test"
    var rows: List[Tuple[String, Int]] = [
        (":method: CONNECT|:authority: a:443", 400),
        (":method: GET|:scheme: ftp|:path: /|:authority: a", 400),
        (":method: GET|:scheme: https|:path: /", 400),
        (":method: GET|:scheme: https|:path: /|host: a|host: b", 400),
        # As in HTTP/1.1, however equal they are.
        (":method: GET|:scheme: https|:path: /|host: a|host: a", 400),
        (String(_GET, "|host: a.test|host: a.test"), 400),
        (":method: GET|:scheme: https|:path: x|:authority: a", 400),
        (":method: GET|:scheme: https|:path: *|:authority: a", 400),
        (":method: GET|:scheme: https|:path: /a b|:authority: a", 400),
        (String(_GET, "|expect: 200-ok"), 417),
        (String(_GET, "|x-a: ", "1" * 8200), 431),
        (String(_GET, "|x: 1" * 100), 431),
    ]
    var scene = _Scene()
    for row in rows:
        var fault = scene.read(row[0])
        assert_equal(fault.status, row[1], row[0])
        assert_true(Bool(fault))
    assert_false(Bool(scene.read(String(_GET, "|x: 1" * 99))))
    # Hosts and schemes have no case (RFC 3986 section 6.2.2.1).
    assert_false(Bool(scene.read(String(_GET, "|host: A.Test"))))
    assert_false(
        Bool(scene.read(":method: GET|:scheme: HTTPS|:path: /|host: a"))
    )
    assert_false(
        Bool(
            scene.read(
                String(_GET, "|te: trailers|host: a.test|expect: 100-continue")
            )
        )
    )
    assert_true(scene.reader.head.expects_continue)


comptime _CONNECT: StaticString = (
    ":method: CONNECT|:protocol: websocket|:scheme: https|:authority: a.test"
    "|:path: /x?y"
)


def test_an_extended_connect_reads_like_an_upgrade() raises:
    var scene = _Scene()
    assert_false(Bool(scene.read(String(_CONNECT, "|x-a: 1"))))
    ref head = scene.reader.head
    var octets = scene.reader.octets.span()
    assert_true(head.method == Method.GET)
    assert_equal(String(head.method_text(octets)), "GET")
    assert_equal(String(head.target_text(octets)), "/x?y")
    assert_true(head.wants_upgrade)
    assert_equal(head.body, BodyKind.NONE)
    assert_equal(scene.fields(), "Upgrade: websocket|Host: a.test|x-a: 1|")
    assert_true(head.known & FieldName.bit(FieldName.UPGRADE) != 0)
    # The next one is a request again.
    assert_false(Bool(scene.read(_GET)))
    assert_false(scene.reader.head.wants_upgrade)
    # It has no content for which its client could wait.
    assert_false(Bool(scene.read(String(_CONNECT, "|expect: 100-continue"))))
    assert_false(scene.reader.head.expects_continue)


def test_faults_of_an_extended_connect() raises:
    comptime REST: StaticString = "|:scheme: https|:authority: a|:path: /"
    var rows: List[String] = [
        String(":method: GET|:protocol: websocket", REST),
        String(":method: CONNECT|:protocol: a b", REST),
        String(":method: CONNECT|:protocol: ", REST),
        String(":method: CONNECT|:protocol: a|:protocol: a", REST),
        String(_CONNECT, "|content-length: 0"),
        String(_CONNECT, "|upgrade: websocket"),
        ":method: CONNECT|:protocol: a|:authority: a|:path: /",
        ":method: CONNECT|:protocol: a|:scheme: https|:authority: a",
        String(":method: CONNECT", REST, "|x: 1|:protocol: a"),
    ]
    var scene = _Scene()
    for row in rows:
        var fault = scene.read(row)
        assert_true(Bool(fault), row)
        assert_equal(fault.status, 0, row)


def test_a_head_that_is_too_long_keeps_the_table_right() raises:
    var scene = _Scene()
    var block: List[UInt8] = [0x40, 1, 120, 0x7F, 0x81, 0x7D]
    # A value of 16,128 octets is no entry, and the line after it is one.
    block.extend(List[UInt8](length=16_128, fill=97))
    block.extend([UInt8(0x40), 1, 121, 1, 49])
    assert_equal(scene.reader.read(scene.decoder, Span(block)).status, 431)
    assert_equal(scene.decoder.state[].table.count, 1)
    assert_true(len(scene.reader.octets) < 100)


def test_heads_that_differ_in_their_path_only() raises:
    var scene = _Scene()
    # GET, https, `/1`, the authority `a` and x-a: 1, the last two inserted.
    var first = "82 87 04 02 2f31 41 01 61 40 03 782d61 01 31"
    assert_false(Bool(scene.read_octets(first)))
    var fields = scene.fields()
    # Each path is a string, `/abc` in the Huffman code; the rest are indices.
    var paths: List[String] = [
        "02 2f32",
        "84 61 c7 8c ff",
        "03 2f3f78",
        "01 2f",
    ]
    for path in paths:
        var block = String("82 87 04 ", path, " bf be")
        assert_false(Bool(scene.read_octets(block)), block)
        assert_equal(scene.fields(), fields)
        assert_equal(scene.reader.head.host, 0)
        assert_equal(scene.reader.head.method, Method.GET)
    assert_equal(scene.target(), "/")
    # The latest heads came from the pattern, in which the path is the last part.
    ref head = scene.reader.head
    assert_equal(
        head.target_start + head.target_octets, len(scene.reader.octets)
    )
    # Another method, scheme, order or end is another head.
    assert_false(Bool(scene.read_octets("83 87 04 02 2f32 bf be")))
    assert_equal(scene.reader.head.method, Method.POST)
    assert_equal(scene.read_octets("83 88 04 02 2f32 bf be").status, 0)
    assert_true(Bool(scene.read_octets("83 88 04 02 2f32 bf be")))
    assert_false(Bool(scene.read_octets("83 87 04 02 2f32 bf")))
    assert_equal(scene.fields(), "Host: a|")


def test_heads_that_take_turns_keep_the_pattern() raises:
    var scene = _Scene()
    var from_pattern = String()
    # The authority `a` is inserted. Then GET and POST take turns, and POST stays.
    comptime GET: StaticString = "82 87 04 02 2f31 "
    comptime POST: StaticString = "83 87 04 02 2f31 "
    assert_false(Bool(scene.read_octets(String(GET, "41 01 61"))))
    for block in [GET, GET, POST, GET, POST, GET, POST, POST, POST, POST]:
        assert_false(Bool(scene.read_octets(String(block, "be"))))
        ref head = scene.reader.head
        var end = head.target_start + head.target_octets
        from_pattern += String(Int(end == len(scene.reader.octets)))
    assert_equal(from_pattern, "0101010011")


def test_a_long_head_is_no_pattern() raises:
    # An idle connection keeps the pattern.
    for is_kept in [True, False]:
        var scene = _Scene()
        var value = "61" * (500 if is_kept else 1600)
        # GET, https, `/1`, the authority `a`, and x-a, inserted with its length
        # in three octets.
        var length = "7f f5 02" if is_kept else "7f c1 0b"
        var first = String("82 87 04 02 2f31 41 01 61 40 03 782d61 ")
        assert_false(Bool(scene.read_octets(first + length + value)))
        for _ in range(2):
            assert_false(Bool(scene.read_octets("82 87 04 02 2f32 bf be")))
        # In a head from the pattern, the path is the last part.
        ref head = scene.reader.head
        var end = head.target_start + head.target_octets
        assert_equal(end == len(scene.reader.octets), is_kept)


def test_a_path_at_fault_is_found_in_each_head() raises:
    var scene = _Scene()
    assert_false(Bool(scene.read_octets("82 87 04 02 2f31 41 01 61")))
    assert_false(Bool(scene.read_octets("82 87 04 02 2f31 be")))
    for _ in range(2):
        # `a` is no path; DEL is no octet of a value.
        assert_equal(scene.read_octets("82 87 04 01 61 be").status, 400)
        var fault = scene.read_octets("82 87 04 02 2f7f be")
        assert_true(Bool(fault))
        assert_equal(fault.status, 0)
        with assert_raises(contains="incomplete"):
            _ = scene.read_octets("82 87 04 7e 2f be")


comptime TESTS = __functions_in_module()
