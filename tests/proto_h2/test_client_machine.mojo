"""Tests a client's machine: requests, responses, and servers at fault."""

from std.testing import assert_raises

from flare.proto.h1 import BodyLength
from flare.proto.h2.h2_event import H2Event
from flare.proto.h2.h2_limits import H2Limits
from flare.proto.head import BodyKind

from tests.asserting import assert_equal, assert_false, assert_true

from .client_scene import ClientScene
from .machine_scene import MachineScene, block_of, number


def test_the_preface_comes_first_and_forbids_pushes() raises:
    var scene = ClientScene()
    scene.machine().begin(scene.output)
    var octets = scene.output[].span()
    assert_equal(
        StringSlice(unsafe_from_utf8=octets[:24]),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    )
    # The setting 2 is 0.
    assert_equal(Int(octets[34]), 2)
    assert_equal(Int(octets[38]), 0)
    scene.output[].consume(24)
    assert_equal(scene.sent(), "SETTINGS:0:0:18 WINDOW:0:0:983041")


def test_streams_have_odd_numbers_in_order() raises:
    var scene = ClientScene()
    _ = scene.ask()
    _ = scene.ask("POST", length=BodyLength.known(3))
    var sent = scene.sent()
    assert_true(sent.startswith("HEADERS:5:1:"), sent)
    assert_true(sent.find("HEADERS:4:3:") > 0, sent)


def test_a_server_reads_what_a_client_writes() raises:
    var client = ClientScene()
    var server = MachineScene()
    for round in range(4):
        _ = client.ask(
            "PUT",
            "/a%20path?with=a+query",
            BodyLength.known(5),
            (
                "Accept: */*|User-Agent: flare|Connection: close|TE: gzip,"
                " trailers|Cookie: a=1; b=2|X-Odd: ONE"
            ),
        )
        server.window[].append(client.output[].span())
        client.output[].clear()
        var event = server.next()
        assert_equal(event.kind, H2Event.REQUEST_HEAD)
        assert_equal(event.stream_id, 2 * round + 1)
        assert_false(event.ends)
        ref reader = server.state[].input.heads
        assert_equal(
            String(StringSlice(unsafe_from_utf8=reader.octets.span())),
            "PUTHost: a.test\r\n/a%20path?with=a+querycontent-length: 5\r\n"
            + "accept: */*\r\nuser-agent: flare\r\nx-odd: ONE\r\n"
            + "te: trailers\r\ncookie: a=1; b=2\r\n",
        )
    # From the third use on, a line is one octet.
    _ = client.ask(fields="Accept: */*|User-Agent: flare")
    assert_equal(client.sent(), "HEADERS:5:9:6")


def test_a_request_that_is_not_valid_writes_nothing() raises:
    var scene = ClientScene()
    for path in ["", "a", "*a", "/a b", "/\x7f", "http://a.test/"]:
        with assert_raises(contains="the path"):
            _ = scene.ask(path=path)
    for method in ["", "A B", "CONNECT"]:
        with assert_raises(contains="the method"):
            _ = scene.ask(method)
    with assert_raises(contains="Host"):
        _ = scene.ask(fields="Host: b.test")
    with assert_raises(contains="Transfer-Encoding"):
        _ = scene.ask(fields="Transfer-Encoding: chunked")
    with assert_raises(contains="Content-Length"):
        _ = scene.ask("POST", "/", BodyLength.known(3), "Content-Length: 4")
    assert_equal(scene.sent(), "")
    assert_equal(scene.machine().count(), 0)


def test_a_response_with_content_and_trailers() raises:
    var scene = ClientScene()
    var slot = scene.ask()
    scene.output[].clear()
    scene.head(1, ":status: 103|link: </a>")
    scene.head(1, ":status: 200|content-type: a/b")
    scene.frame(0, 0, 1, [1, 2, 3])
    scene.head(1, "x-sum: 1", ends=True)
    var event = scene.next()
    assert_equal(event.kind, H2Event.INFORMATIONAL_HEAD)
    assert_equal(scene.state[].input.heads.head.status, 103)
    event = scene.next()
    assert_equal(event.kind, H2Event.RESPONSE_HEAD)
    ref head = scene.state[].input.heads.head
    assert_equal(head.status, 200)
    assert_equal(head.body, BodyKind.FRAMES)
    assert_equal(head.version.major, 2)
    assert_equal(
        head.fields(scene.state[].input.heads.octets.span())
        .get("content-type")
        .value(),
        "a/b",
    )
    event = scene.next()
    assert_equal(event.kind, H2Event.DATA)
    assert_equal(event.length, 3)
    event = scene.next()
    assert_equal(event.kind, H2Event.TRAILERS)
    assert_true(event.ends)
    assert_true(scene.machine().has_ended(slot))
    scene.machine().release(slot, 3, scene.output)
    scene.sent_nothing()
    scene.machine().forget(slot, scene.output)
    assert_equal(scene.machine().count(), 0)
    scene.sent_nothing()


def test_a_response_may_have_no_content() raises:
    var heads: List[StaticString] = [
        ":status: 204",
        ":status: 304|content-length: 9",
        ":status: 200|content-length: 0",
        ":status: 200",
    ]
    for head in heads:
        var scene = ClientScene()
        _ = scene.ask()
        scene.head(1, head, ends=True)
        var event = scene.next()
        assert_equal(event.kind, H2Event.RESPONSE_HEAD)
        assert_true(event.ends)
        assert_equal(scene.state[].input.heads.head.body, BodyKind.NONE)
    var scene = ClientScene()
    _ = scene.ask("HEAD")
    scene.head(1, ":status: 200|content-length: 9", ends=True)
    assert_equal(scene.next().kind, H2Event.RESPONSE_HEAD)


def test_a_malformed_response_ends_its_stream_only() raises:
    var heads: List[StaticString] = [
        "content-type: a/b",
        ":status: 200|:status: 200",
        ":status: 20",
        ":status: 2000",
        ":status: 99",
        ":status: 600",
        ":status: abc",
        ":status: 101",
        ":status: 200|:path: /",
        "a: b|:status: 200",
        ":status: 200|connection: close",
        ":status: 200|transfer-encoding: chunked",
        ":status: 200|Upper: case",
        ":status: 200|a: b\x01",
        ":status: 200|content-length: x",
        ":status: 200|content-length: 1|content-length: 2",
    ]
    for head in heads:
        var scene = ClientScene()
        _ = scene.ask()
        _ = scene.ask()
        scene.output[].clear()
        scene.head(1, head)
        var event = scene.next()
        assert_equal(event.kind, H2Event.RESET, head)
        assert_equal(event.status, 0, head)
        assert_equal(scene.sent(), "RST:0:1:1", head)
        scene.machine().forget(event.slot, scene.output)
        scene.head(3, ":status: 200", ends=True)
        assert_equal(scene.next().kind, H2Event.RESPONSE_HEAD, head)


def test_framing_that_contradicts_the_head_ends_the_stream() raises:
    # The end with the head.
    var scene = ClientScene()
    _ = scene.ask()
    scene.head(1, ":status: 200|content-length: 3", ends=True)
    assert_equal(scene.next().kind, H2Event.RESET)
    # An interim response that ends the stream.
    _ = scene.ask()
    scene.head(3, ":status: 100", ends=True)
    assert_equal(scene.next().kind, H2Event.RESET)
    # Too little content, too much, and some where none may be.
    var heads: List[StaticString] = [
        ":status: 200|content-length: 3",
        ":status: 200|content-length: 1",
        ":status: 204",
    ]
    for i in range(3):
        var id = 5 + 2 * i
        _ = scene.ask()
        scene.head(id, heads[i])
        assert_equal(scene.next().kind, H2Event.RESPONSE_HEAD)
        scene.frame(0, 1, id, [1, 2])
        assert_equal(scene.next().kind, H2Event.RESET, heads[i])
    # Content before the head.
    _ = scene.ask()
    scene.frame(0, 0, 11, [1])
    assert_equal(scene.next().kind, H2Event.RESET)
    # Trailers that do not end the stream.
    _ = scene.ask()
    scene.head(13, ":status: 200")
    scene.head(13, "a: b")
    _ = scene.next()
    assert_equal(scene.next().kind, H2Event.RESET)


def test_a_head_over_the_limits_is_told_from_a_malformed_one() raises:
    var limits = H2Limits()
    limits.head.section_octets_max = 30
    var scene = ClientScene(limits)
    _ = scene.ask()
    scene.head(1, ":status: 200|a-name: a value that is long")
    var event = scene.next()
    assert_equal(event.kind, H2Event.RESET)
    assert_equal(event.status, 431)


def test_a_server_at_fault_ends_the_connection() raises:
    # HEADERS of an idle stream, of an even one, of one that has ended.
    _require_failure(1, 4, 3, block_of(":status: 200"), "HEADERS")
    _require_failure(1, 4, 2, block_of(":status: 200"), "HEADERS")
    # DATA, RST_STREAM and WINDOW_UPDATE of an idle stream.
    _require_failure(0, 0, 3, [1], "idle")
    _require_failure(3, 0, 3, number(8), "idle")
    _require_failure(8, 0, 3, number(8), "idle")
    # A push, ENABLE_PUSH and a priority.
    _require_failure(5, 4, 1, number(2), "may not come")
    _require_failure(4, 0, 0, [0, 2, 0, 0, 0, 1], "ENABLE_PUSH")
    _require_failure(16, 0, 0, number(1), "at a client")


def test_the_first_frame_of_a_server_has_settings() raises:
    var scene = ClientScene()
    scene.state[].input.phase = 1
    scene.frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8])
    with assert_raises(contains="the first frame"):
        _ = scene.next()


def test_content_stays_within_both_windows() raises:
    var scene = ClientScene()
    var slot = scene.ask("POST", length=BodyLength.known(100_000))
    scene.output[].clear()
    var octets = List[UInt8](length=100_000, fill=1)
    var sent = scene.machine().send_within_windows(
        slot, Span(octets), True, scene.output
    )
    assert_equal(sent, 65_535)
    assert_equal(scene.machine().sendable_octets(slot), 0)
    scene.output[].clear()
    # The stream's window alone is of no use.
    scene.frame(8, 0, 1, number(50_000))
    _ = scene.next()
    assert_equal(scene.machine().sendable_octets(slot), 0)
    scene.frame(8, 0, 0, number(50_000))
    _ = scene.next()
    sent += scene.machine().send_within_windows(
        slot, Span(octets)[sent:], True, scene.output
    )
    assert_equal(sent, 100_000)
    assert_equal(scene.sent(), "DATA:0:1:16375 DATA:0:1:16375 DATA:1:1:1715")


def test_a_client_that_leaves_early_cancels() raises:
    # The response is due; it has begun; it has ended before the request.
    for lines in ["", ":status: 200", "ends"]:
        var scene = ClientScene()
        var slot = scene.ask("POST", length=BodyLength.UNKNOWN)
        if lines == "ends":
            scene.head(1, ":status: 200", ends=True)
        elif lines != "":
            scene.head(1, lines)
        _ = scene.next()
        scene.output[].clear()
        scene.machine().forget(slot, scene.output)
        assert_equal(scene.sent(), "RST:0:1:8")
        # What was under way is dropped, and its head is decoded.
        if lines == "":
            scene.head(1, ":status: 200")
            scene.frame(0, 1, 1, [1, 2])
            assert_equal(scene.next().kind, H2Event.NEED_OCTETS)


def test_the_limits_of_both_ends_bound_the_streams() raises:
    var limits = H2Limits()
    limits.streams_max = 2
    var scene = ClientScene(limits)
    _ = scene.ask()
    var slot = scene.ask()
    assert_false(scene.machine().may_begin())
    with assert_raises(contains="no further stream"):
        _ = scene.ask()
    scene.machine().forget(slot, scene.output)
    assert_true(scene.machine().may_begin())
    # MAX_CONCURRENT_STREAMS of the server is 1.
    scene.frame(4, 0, 0, [0, 3, 0, 0, 0, 1])
    _ = scene.next()
    assert_false(scene.machine().may_begin())


def test_resets_by_the_server_are_no_attack() raises:
    var limits = H2Limits()
    limits.resets = 1
    limits.resets_per_second = 1
    var scene = ClientScene(limits)
    for i in range(10):
        var slot = scene.ask()
        scene.frame(3, 0, 2 * i + 1, number(7))
        var event = scene.next()
        assert_equal(event.kind, H2Event.RESET)
        assert_equal(event.code, 7)
        scene.machine().forget(slot, scene.output)


def _require_failure(
    kind: Int, flags: Int, id: Int, payload: List[UInt8], reason: StaticString
) raises:
    var scene = ClientScene()
    _ = scene.ask()
    scene.frame(kind, flags, id, payload)
    with assert_raises(contains=reason):
        _ = scene.next()


comptime TESTS = __functions_in_module()
