"""Tests WebSockets whose messages are compressed."""

from flare.json import ToJson
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.message import HeaderMap
from flare.proto.ws import (
    DeflateParameters,
    WsClientOffer,
    WsRole,
    choose_deflate,
)
from flare.runtime.wait import deadline_in
from flare.testing.test_server import TestServer
from flare.ws import (
    WebSocket,
    WsCompression,
    WsConnection,
    WsError,
    WsOptions,
)

from flare.ws.message_deflate import AgreedDeflate

from fuzz.random import Random
from tests.asserting import assert_equal, assert_true
from tests.proto_ws.peer import frame

from .codec_peer import CodecPeer
from .deflate_peer import DeflatePeer
from .socket_peer import open_socket, received, send_close, send_frame

comptime _BOTH: List[WsCompression] = [
    WsCompression.SHARED,
    WsCompression.DEDICATED,
]
comptime _MEMORY_OF_ONE = (4 << 12) + (512 << 5) + 6 * 1024 + (
    1 << 15
) + 7 * 1024


def test_long_messages_yield_their_turn() raises:
    var text = _varied(600_000)
    for compression in materialize[_BOTH]():
        var server = _server(compression)
        var long = DeflatePeer(server)
        var short = open_socket(server)
        long.send(text, frames=2)
        send_frame(short, 0x81, "hi")
        var turns = 0
        while len(short.received()) == 0:
            server.turn_now()
            turns += 1
        assert_true(turns < 4, String(turns))
        while len(long.peer.received()) == 0:
            server.turn_now()
            turns += 1
        # Nine to inflate it, and nine to compress it.
        assert_true(turns >= 18, String(turns))
        long.peer.close()
        short.close()
        _end(server^)


def test_server_answers_an_offer() raises:
    var rows: List[Tuple[WsCompression, String, String]] = [
        (WsCompression.OFF, "permessage-deflate", ""),
        (
            WsCompression.SHARED,
            "permessage-deflate",
            (
                "permessage-deflate; server_no_context_takeover;"
                " client_no_context_takeover"
            ),
        ),
        (
            WsCompression.SHARED,
            "permessage-deflate; server_max_window_bits=9",
            (
                "permessage-deflate; server_no_context_takeover;"
                " client_no_context_takeover; server_max_window_bits=9"
            ),
        ),
        (
            WsCompression.DEDICATED,
            "permessage-deflate; client_max_window_bits",
            (
                "permessage-deflate; server_max_window_bits=12;"
                " client_max_window_bits=12"
            ),
        ),
        (
            WsCompression.DEDICATED,
            "permessage-deflate; server_max_window_bits=8, permessage-deflate",
            "permessage-deflate; server_max_window_bits=12",
        ),
        (
            WsCompression.dedicated(window_bits=99, memory_level=99),
            "permessage-deflate; client_no_context_takeover",
            "permessage-deflate; client_no_context_takeover",
        ),
        (WsCompression.DEDICATED, "other", ""),
    ]
    for row in rows:
        var server = _server(row[0])
        var peer = DeflatePeer(server, row[1])
        assert_equal(peer.extensions, row[2])
        peer.peer.close()
        _end(server^)


def test_messages_are_echoed() raises:
    for compression in materialize[_BOTH]():
        var server = _server(compression)
        var peer = DeflatePeer(server)
        # Short messages are not worth it.
        peer.send("hello")
        assert_equal(peer.received(server), "81:5 hello")
        peer.send("")
        assert_equal(peer.received(server), "81:0")
        peer.send(String("x") * 255)
        peer.send(String("x") * 256)
        peer.send(String("x") * 256, opcode=2)
        assert_equal(peer.received(server), "81:255 c1:256 c2:256")
        assert_true(peer.compressed_octets < 16)
        # A message of the client need not be compressed.
        send_frame(peer.peer, 0x81, "plain")
        assert_equal(peer.received(server), "81:5 plain")
        var text = String()
        for i in range(30_000):
            text += String(i, " ")
        peer.send(text, frames=7)
        var twice = text + text
        peer.send(twice)
        assert_equal(
            peer.received(server),
            String("c1:", text.byte_length(), " c1:", twice.byte_length()),
        )
        assert_equal(
            String(unsafe_from_utf8=peer.codecs.output[].span()), twice
        )
        send_close(peer.peer, 1000)
        assert_equal(peer.received(server), "88:2 (1000)")
        assert_true(peer.peer.has_ended())
        _end(server^)


def test_only_a_dedicated_compressor_refers_back() raises:
    var text = _varied(300)
    for compression in materialize[_BOTH]():
        var server = _server(compression)
        var peer = DeflatePeer(server)
        var lengths = List[Int]()
        for _ in range(3):
            peer.send(text)
            assert_equal(peer.received(server), "c1:300")
            lengths.append(peer.compressed_octets)
        assert_true(lengths[0] > 100)
        if compression == WsCompression.DEDICATED:
            assert_true(lengths[1] < 16 and lengths[2] < 16)
        else:
            assert_equal(lengths[1], lengths[0])
            assert_equal(lengths[2], lengths[0])
        peer.peer.close()
        _end(server^)


def test_shared_compressor_has_the_window_of_each_peer() raises:
    # The second half repeats what a window of 512 octets has forgotten.
    var half = _varied(2000)
    var text = half + half
    var server = _server(WsCompression.SHARED)
    var wide = DeflatePeer(server)
    var narrow = DeflatePeer(
        server, "permessage-deflate; server_max_window_bits=9"
    )
    for _ in range(3):
        wide.send(text)
        assert_equal(wide.received(server), "c1:4000")
        narrow.send(text)
        assert_equal(narrow.received(server), "c1:4000")
        assert_equal(
            String(unsafe_from_utf8=narrow.codecs.output[].span()), text
        )
        assert_true(
            3 * narrow.compressed_octets > 4 * wide.compressed_octets,
            String(narrow.compressed_octets, " to ", wide.compressed_octets),
        )
    wide.peer.close()
    narrow.peer.close()
    _end(server^)


def test_unfinished_messages_do_not_hinder_each_other() raises:
    for compression in materialize[_BOTH]():
        var server = _server(compression)
        var peers = List[DeflatePeer]()
        var text = _varied(200_000)
        for _ in range(7):
            peers.append(DeflatePeer(server))
        # The first part of each, then the rest.
        var coded = List[List[UInt8]]()
        for i in range(len(peers)):
            coded.append(peers[i].codecs.deflate(text.as_bytes()))
        for i in range(len(peers)):
            peers[i].peer.send(Span(_frame(0x41, Span(coded[i])[:1000])))
            send_frame(peers[i].peer, 0x89, "p")
        for i in range(len(peers)):
            assert_equal(peers[i].received(server), "8a:1 p")
        for i in range(len(peers)):
            peers[i].peer.send(Span(_frame(0x80, Span(coded[i])[1000:])))
        for i in range(len(peers)):
            assert_equal(peers[i].received(server), "c1:200000")
            assert_equal(
                String(unsafe_from_utf8=peers[i].codecs.output[].span()), text
            )
        # They refer to the right context.
        for i in range(len(peers)):
            peers[i].send("again " + text)
            assert_equal(peers[i].received(server), "c1:200006")
            peers[i].peer.close()
        _end(server^)


def test_violations_are_answered_with_their_close_code() raises:
    var maker = CodecPeer(window_bits=12, keeps_context=False)
    var random = Random(4)
    var contents: List[List[UInt8]] = [
        [0x06],
        [0xF2, 0x48, 0xCD],
        [0xF2, 0x00, 0x11, 0x00, 0x00],
        # One octet, FF, which is no text.
        [0x00, 0x01, 0x00, 0xFE, 0xFF, 0xFF, 0x00],
        # Too large before inflation, and after it.
        maker.deflate(Span(random.octets(1_200_000))),
        maker.deflate(Span(List[UInt8](length=1 << 24, fill=97))),
    ]
    for compression in materialize[_BOTH]():
        var server = _server(compression)
        for i in range(len(contents)):
            for frames in [1, 3]:
                var peer = DeflatePeer(server)
                peer.send_coded(
                    Span(contents[i]),
                    frames=frames,
                    opcode=UInt8(2 if i == 4 else 1),
                )
                assert_equal(
                    peer.received(server),
                    "88:2 (1009)" if i >= 4 else "88:2 (1007)",
                    String("content ", i),
                )
                # What follows is dropped.
                peer.peer.send("more")
                peer.peer.end_sending()
                assert_equal(peer.received(server), "")
                assert_true(peer.peer.has_ended())
        # The compressors of the thread still work.
        var peer = DeflatePeer(server)
        peer.send(String("x") * 300)
        assert_equal(peer.received(server), "c1:300")
        # Without agreement, the bit has no meaning.
        var plain = open_socket(server)
        send_frame(plain, 0xC1, "a")
        assert_equal(received(server, plain), "88:2 (1002)")
        peer.peer.close()
        plain.close()
        _end(server^)


def test_unfinished_message_is_not_inflated() raises:
    for compression in materialize[_BOTH]():
        var server = _server(compression)
        var peer = DeflatePeer(server)
        var bomb = peer.codecs.deflate(
            Span(List[UInt8](length=1 << 21, fill=97))
        )
        peer.peer.send(Span(_frame(0x41, Span(bomb))))
        send_frame(peer.peer, 0x89, "p")
        assert_equal(peer.received(server), "8a:1 p")
        send_frame(peer.peer, 0x80, "")
        assert_equal(peer.received(server), "88:2 (1009)")
        peer.peer.close()
        _end(server^)


def test_memory_of_dedicated_compressors_is_bounded() raises:
    # Two connections fit.
    var server = _server(WsCompression.dedicated(octets_max=2 * _MEMORY_OF_ONE))
    var dedicated = (
        "permessage-deflate; server_max_window_bits=12;"
        " client_max_window_bits=12"
    )
    var offer = "permessage-deflate; client_max_window_bits"
    var first = DeflatePeer(server, offer)
    assert_equal(first.extensions, dedicated)
    # It reserves less, because the client limits its window.
    var second = DeflatePeer(server, offer)
    assert_equal(second.extensions, dedicated)
    var third = DeflatePeer(server, offer)
    assert_equal(
        third.extensions,
        (
            "permessage-deflate; server_no_context_takeover;"
            " client_no_context_takeover"
        ),
    )
    third.send(String("x") * 300)
    assert_equal(third.received(server), "c1:300")
    send_close(first.peer, 1000)
    assert_equal(first.received(server), "88:2 (1000)")
    var fourth = DeflatePeer(server, offer)
    assert_equal(fourth.extensions, dedicated)
    second.peer.close()
    third.peer.close()
    fourth.peer.close()
    _end(server^)


def test_client_takes_no_larger_window_than_it_wants() raises:
    # A server limits the window of a client only if it wants to.
    var own = (4 << 12) + (512 << 5) + 6 * 1024
    var rows: List[Tuple[DeflateParameters, Int]] = [
        (
            DeflateParameters(
                server_window_bits=UInt8(12), client_window_bits=None
            ),
            own + (1 << 12) + 7 * 1024,
        ),
        (
            DeflateParameters(
                server_no_context_takeover=True, client_window_bits=None
            ),
            own,
        ),
        (
            DeflateParameters(
                server_no_context_takeover=True,
                client_no_context_takeover=True,
                client_window_bits=None,
            ),
            0,
        ),
    ]
    for row in rows:
        var agreed = AgreedDeflate(
            WsRole.CLIENT,
            row[0],
            WsCompression.DEDICATED,
            message_octets_max=1 << 20,
        )
        assert_equal(agreed.reserved_octets(), row[1], String(row[0]))


def test_each_kind_of_client_suits_each_kind_of_server() raises:
    for client in materialize[_BOTH]():
        for server in materialize[_BOTH]():
            var fields = HeaderMap()
            WsClientOffer("key", deflate=client.offers()).add_fields(fields)
            assert_true(Bool(choose_deflate(fields.view(), server.policy())))


def test_program_can_send_uncompressed() raises:
    for compression in materialize[_BOTH]():
        var server = TestServer(
            WebSocket(_send_kinds, WsOptions(compression=compression)),
            config=ServerConfig(log=LogSink.nowhere()),
        )
        var peer = DeflatePeer(server)
        peer.send("go")
        assert_equal(
            peer.received(server),
            "81:300 82:300 81:311 c1:300 c2:300 c1:311 88:2 (1000)",
        )
        peer.peer.close()
        _end(server^)


def test_compressed_message_is_one_frame_for_recv() raises:
    for compression in materialize[_BOTH]():
        var server = TestServer(
            WebSocket(_echo_frames, WsOptions(compression=compression)),
            config=ServerConfig(log=LogSink.nowhere()),
        )
        var peer = DeflatePeer(server)
        peer.send("compressed", frames=3)
        send_frame(peer.peer, 0x01, "not ")
        send_frame(peer.peer, 0x80, "compressed")
        peer.send("short", opcode=2)
        assert_equal(
            peer.received(server),
            "81:10 compressed 1:4 not  80:10 compressed 82:5 short",
        )
        peer.peer.close()
        _end(server^)


def test_deadline_of_the_program_leaves_a_message_whole() raises:
    for compression in materialize[_BOTH]():
        var server = TestServer(
            WebSocket(_echo_with_deadlines, WsOptions(compression=compression)),
            config=ServerConfig(log=LogSink.nowhere()),
        )
        var peer = DeflatePeer(server)
        var coded = peer.codecs.deflate("first second".as_bytes())
        peer.peer.send(Span(_frame(0x41, Span(coded)[:8])))
        server.advance(150)
        assert_equal(peer.received(server), "81:4 late")
        peer.peer.send(Span(_frame(0x80, Span(coded)[8:])))
        assert_equal(peer.received(server), "81:12 first second")
        peer.peer.close()
        _end(server^)


def test_lost_peer_frees_an_unfinished_message() raises:
    for compression in materialize[_BOTH]():
        var server = _server(compression)
        for way in range(3):
            var peer = DeflatePeer(server)
            peer.send(String("x") * 300)
            var coded = peer.codecs.deflate("unfinished".as_bytes())
            peer.peer.send(Span(_frame(0x41, Span(coded)[:3])))
            server.settle()
            if way == 0:
                peer.peer.reset()
            elif way == 1:
                peer.peer.close()
            else:
                peer.peer.end_sending()
            server.settle()
            server.advance(6_000)
            assert_equal(server.worker.state[].connections.lent(), 0)
        _end(server^)


def _frame(first: UInt8, payload: Span[UInt8, _]) -> List[UInt8]:
    return frame(WsRole.SERVER, first, payload)


def _varied(count: Int) -> String:
    # Text that compresses to about half.
    var text = String()
    var number = 1
    while text.byte_length() < count:
        number = number * 48_271 % 2_147_483_647
        text += String(number, " ")
    return String(text[byte=:count])


def _echo(ws: WsConnection) raises:
    for message in ws:
        ws.send(message)


def _echo_frames(ws: WsConnection) raises:
    while True:
        ws.send_frame(ws.recv())


def _echo_with_deadlines(ws: WsConnection) raises:
    while True:
        try:
            with deadline_in(100):
                ws.send(ws.recv_message())
        except e:
            if WsError.of(e):
                return
            ws.send_text("late")
            ws.send(ws.recv_message())


@fieldwise_init
struct _Note(ToJson):
    var text: String


def _send_kinds(ws: WsConnection) raises:
    _ = ws.recv_message()
    var text = String("x") * 300
    for compress in [False, True]:
        ws.send_text(text, compress=compress)
        ws.send_binary(text.as_bytes(), compress=compress)
        ws.send_json(_Note(text), compress=compress)


def _server(compression: WsCompression) raises -> TestServer[WebSocket]:
    return TestServer(
        WebSocket(_echo, WsOptions(compression=compression)),
        config=ServerConfig(log=LogSink.nowhere()),
    )


def _end(var server: TestServer[WebSocket]) raises:
    server.stop()
    assert_equal(server.remains(), "")


comptime TESTS = __functions_in_module()
