"""Lets clients make a worker buffer more than it may."""

from flare.http.handler import Handler
from flare.http.middleware import AddHeader, Compress
from flare.http.server.transport.buffered import buffered_octets
from flare.http.server.config import ServerConfig
from flare.http.server.records.log import LogSink
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true

from .budget_server import (
    BUDGET,
    BudgetHandler,
    CONTENT_OCTETS,
    budget_server,
    end_all,
    get_request,
    octets_held,
    text_of,
    upload_request,
)


def test_what_is_held_is_charged_and_comes_back() raises:
    var server = budget_server()
    var upload = server.connect()
    upload.send(upload_request(CONTENT_OCTETS, 400_000))
    var head = server.connect()
    head.send("GET / HTTP/1.1\r\nHost: a\r\nX-Long: ")
    server.settle()
    head.send(String("x") * 6_000)
    var escaped = server.connect()
    escaped.send(
        String("POST /whole?", "é" * 3_500, " HTTP/1.1\r\nHost: a\r\n")
        + "Content-Length: 5\r\n\r\n"
    )
    server.settle()
    assert_true(octets_held(server) >= 427_000, String(octets_held(server)))
    var trailers = server.connect()
    trailers.send(
        "POST /whole HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    server.settle()
    trailers.send(String("1\r\nx\r\n0\r\nX-Long: ", String("x") * 6_000))
    server.settle()
    var held = octets_held(server)
    assert_true(held >= 433_000, String(held))
    assert_true(held < 1_000_000, String(held))
    var reader = server.connect()
    reader.send(get_request("/large"))
    server.settle()
    _ = reader.received(1)
    server.settle()
    assert_true(
        octets_held(server) >= held + 900_000, String(octets_held(server))
    )
    var stream = server.connect()
    held = octets_held(server)
    stream.send(get_request("/stream"))
    server.settle()
    assert_true(
        octets_held(server) >= held + 64_000, String(octets_held(server))
    )
    server.turn_now()
    assert_equal(Int(server.statistics().buffered_octets), octets_held(server))
    for peer in [upload, head, escaped, trailers, reader, stream]:
        peer.reset()
    server.settle()
    assert_equal(octets_held(server), 0)
    end_all(server^, [])


def test_long_answers_to_any_method_are_503_over_twice_the_budget() raises:
    var server = budget_server()
    var peers = List[Peer]()
    for _ in range(20):
        var peer = server.connect()
        peer.send(get_request("/late/large").replace("GET", "PUT"))
        server.settle()
        peers.append(peer)
    server.advance(500)
    var held = octets_held(server)
    assert_true(held > 2 * BUDGET, String(held))
    assert_true(held <= 2 * BUDGET + 1_100_000, String(held))
    for peer in peers:
        peer.reset()
    server.settle()
    end_all(server^, [])


def test_long_answers_that_nobody_reads_leave_room_for_short_ones() raises:
    var server = budget_server()
    var readers = List[Peer]()
    for _ in range(20):
        var reader = server.connect()
        reader.send(get_request("/large"))
        server.settle()
        _ = reader.received(1)
        server.settle()
        readers.append(reader)
    var held = octets_held(server)
    assert_true(held > BUDGET, String(held))
    assert_true(held < BUDGET + 1_100_000, String(held))
    var other = server.connect()
    other.send(get_request("/"))
    other.send(get_request("/large"))
    server.settle()
    var answers = text_of(other.received())
    assert_true(answers.startswith("HTTP/1.1 200"), answers)
    var refused = answers.find("HTTP/1.1 503")
    assert_true(refused > 0, answers)
    assert_true(answers.find("\r\nRetry-After: 1\r\n") > refused, answers)
    # What may have changed something is told.
    other.send(get_request("/large").replace("GET", "PUT"))
    var told = text_of(server.receive(other))
    assert_true(told.startswith("HTTP/1.1 200"), String(told[byte=:100]))
    for reader in readers:
        reader.reset()
    server.settle()
    other.send(get_request("/large"))
    assert_true(text_of(server.receive(other)).startswith("HTTP/1.1 200"))
    end_all(server^, [other])


def test_requests_are_503_over_a_quarter_more_than_the_budget() raises:
    var server = budget_server()
    var peers = List[Peer]()
    # Each adds what it changed, whatever there is room for.
    while octets_held(server) <= BUDGET + BUDGET // 4:
        var peer = server.connect()
        peer.send(get_request("/large").replace("GET", "PUT"))
        server.settle()
        _ = peer.received(1)
        server.settle()
        peers.append(peer)
        assert_true(len(peers) < 20, String(octets_held(server)))
    var other = server.connect()
    other.send(get_request("/"))
    server.settle()
    var answer = text_of(other.received())
    assert_true(answer.startswith("HTTP/1.1 503"), answer)
    assert_true(answer.find("\r\nRetry-After: 1\r\n") > 0, answer)
    for peer in peers:
        peer.reset()
    server.settle()
    other.send(get_request("/"))
    server.settle()
    assert_true(text_of(other.received()).startswith("HTTP/1.1 200"))
    end_all(server^, [other])


def test_a_stream_is_judged_by_what_its_peer_takes() raises:
    var server = TestServer(
        Compress(BudgetHandler()),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1024 * 1024,
            max_buffered_octets=BUDGET,
        ),
    )
    # It holds an encoder, and its handler is in no hurry.
    var prompt = server.connect()
    prompt.send(_get_coded("/text/slowly", "zstd"))
    server.settle()
    # Each holds a content that its handler has read, and takes little.
    var peers = List[Peer]()
    for _ in range(12):
        var peer = server.connect()
        peer.send(
            upload_request(CONTENT_OCTETS, CONTENT_OCTETS).replace(
                "/whole", "/whole/stream"
            )
        )
        server.settle()
        peers.append(peer)
    assert_true(_held_by(server) > BUDGET, String(_held_by(server)))
    for _ in range(30):
        for peer in peers:
            _ = peer.received(100)
        assert_true(len(prompt.received()) > 0)
        server.advance(100)
    assert_true(_held_by(server) <= BUDGET)
    assert_true(not prompt.is_closed() and not prompt.is_reset())
    var shed = Int(server.statistics().connections_shed)
    assert_true(shed > 0 and shed < 12, String(shed))
    for peer in peers:
        peer.reset()
    prompt.reset()
    server.settle()
    server.stop()
    assert_equal(server.remains(), "")


def test_long_compressed_answers_become_503_too() raises:
    var server = TestServer(
        Compress(BudgetHandler()),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1024 * 1024,
            max_buffered_octets=BUDGET,
        ),
    )
    var peers = List[Peer]()
    for i in range(20):
        var peer = server.connect()
        peer.send(_get_coded("/text", "zstd"))
        server.settle()
        var answer = text_of(peer.received(100))
        var wanted = "HTTP/1.1 200" if i < 2 else "HTTP/1.1 503"
        assert_true(i == 1 or answer.startswith(wanted), answer)
        peers.append(peer)
    assert_true(_held_by(server) < 2 * BUDGET)
    for peer in peers:
        peer.reset()
    server.settle()
    server.stop()
    assert_equal(server.remains(), "")


def test_what_compression_holds_is_charged() raises:
    var server = TestServer(
        Compress(BudgetHandler()),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1024 * 1024,
            max_buffered_octets=BUDGET,
        ),
    )
    # The content and the encoder, and the encoder alone.
    for target, coding, least in [
        ("/text", "gzip", 1_300_000),
        ("/text", "zstd", 3_000_000),
        ("/text/bit/by/bit", "gzip", 300_000),
        ("/text/bit/by/bit", "zstd", 2_000_000),
    ]:
        var peer = server.connect()
        peer.send(_get_coded(target, coding))
        server.settle()
        _ = peer.received(1)
        var held = _held_by(server)
        assert_true(held >= least, String(held))
        assert_true(held < least + 800_000, String(held))
        peer.reset()
        server.settle()
        assert_equal(_held_by(server), 0)
    server.stop()
    assert_equal(server.remains(), "")


def test_streams_keep_to_a_small_buffer_where_the_budget_is_used_up() raises:
    var server = budget_server()
    var readers = List[Peer]()
    for _ in range(200):
        var reader = server.connect()
        reader.send(get_request("/stream"))
        server.settle()
        readers.append(reader)
    # Each would hold 128 KiB, and the whole 25 MiB.
    assert_true(octets_held(server) < 2 * BUDGET, String(octets_held(server)))
    for reader in readers:
        reader.reset()
    server.settle()
    assert_equal(octets_held(server), 0)
    end_all(server^, [])


def test_streams_of_another_protocol_hold_nothing_once_all_is_read() raises:
    var server = budget_server()
    var peers = List[Peer]()
    for _ in range(5):
        var peer = server.connect()
        peer.send(
            "GET /late HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: late\r\n\r\n"
        )
        server.settle()
        for _ in range(4):
            peer.send(String("x") * 20_000)
            server.settle()
        peers.append(peer)
    assert_true(octets_held(server) >= 5 * 60_000, String(octets_held(server)))
    server.advance(200)
    for peer in peers:
        assert_true(text_of(peer.received()).endswith("80000"))
        assert_true(not peer.is_closed())
    # The heads of their requests.
    assert_true(octets_held(server) < 5 * 1_000, String(octets_held(server)))
    for peer in peers:
        peer.reset()
    server.settle()
    end_all(server^, [])


def test_who_sends_and_does_not_read_ends_before_others_are_refused() raises:
    for target in ["/large", "/echo", "/pipelined"]:
        var server = budget_server()
        var upload = server.connect()
        upload.send(upload_request(300_000, 20_000))
        var reader = server.connect()
        reader.send(get_request("/stream"))
        server.settle()
        var peers = List[Peer]()
        for _ in range(60):
            peers.append(server.connect())
            _send_unread(server, peers[len(peers) - 1], target)
        assert_true(octets_held(server) >= BUDGET, String(octets_held(server)))
        # Each that waited for the room of others is judged by itself.
        for _ in range(60):
            server.advance(100)
            assert_true(len(reader.received()) > 0)
            upload.send(String("x") * 4_500)
            if target == "/large":
                # Faster than 32 KiB/s, and too slow for what each holds.
                for peer in peers:
                    _ = peer.received(4_000)
        assert_true(
            octets_held(server) < BUDGET, String(target, octets_held(server))
        )
        var shed = Int(server.statistics().connections_shed)
        assert_true(shed > 0 and shed < 60, String(target, shed))
        var other = server.connect()
        other.send(get_request("/"))
        server.settle()
        assert_true(
            text_of(other.received()).startswith("HTTP/1.1 200"), target
        )
        # Neither a content that comes nor a peer that reads ends.
        upload.send(String("x") * 10_000)
        server.settle()
        assert_true(text_of(upload.received()).endswith("300000"), target)
        assert_true(not reader.is_closed() and not reader.is_reset())
        for peer in peers:
            peer.reset()
        reader.reset()
        server.settle()
        assert_equal(octets_held(server), 0)
        end_all(server^, [upload, other])


def test_503_in_place_of_a_long_answer_has_the_fields_of_middleware() raises:
    var server = TestServer(
        AddHeader(BudgetHandler(), name="X-A", value="b"),
        config=ServerConfig(
            log=LogSink.nowhere(),
            max_body_size=1024 * 1024,
            max_buffered_octets=BUDGET,
        ),
    )
    var readers = List[Peer]()
    for _ in range(5):
        var reader = server.connect()
        reader.send(get_request("/large"))
        server.settle()
        _ = reader.received(1)
        server.settle()
        readers.append(reader)
    var other = server.connect()
    other.send(get_request("/large"))
    server.settle()
    var answer = text_of(other.received())
    assert_true(answer.startswith("HTTP/1.1 503"), answer)
    assert_true(answer.find("\r\nX-A: b\r\n") > 0, answer)
    for reader in readers:
        reader.reset()
    other.close()
    server.stop()
    assert_equal(server.remains(), "")


def _send_unread(
    server: TestServer[BudgetHandler], peer: Peer, target: StringSlice
):
    """Lets a server hold 300,000 octets of a peer or for it, if it will."""
    if target == "/large":
        peer.send(get_request(target))
        server.settle()
        _ = peer.received(1)
    elif target == "/echo":
        peer.send(
            "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
            "Upgrade: echo\r\n\r\n"
        )
    else:
        peer.send(get_request("/large"))
        for _ in range(5_000):
            peer.send(get_request("/large/and/so/on"))
    server.settle()
    if target == "/echo":
        for _ in range(3):
            peer.send(String("x") * 100_000)
            server.settle()


def _get_coded(target: StringSlice, coding: StringSlice) -> String:
    return String(
        "GET ",
        target,
        " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: ",
        coding,
        "\r\n\r\n",
    )


def _held_by[H: Handler](server: TestServer[H]) -> Int:
    return buffered_octets(server.worker.state)


comptime TESTS = __functions_in_module()
