"""Tests the client's end of a WebSocket against servers of every kind."""

from flare.runtime.task import spawn
from flare.runtime.wait import deadline_in, sleep
from flare.ws import (
    WsClient,
    WsClientConfig,
    WsCompression,
    WsError,
    WsFrame,
)
from flare.ws.socket_state import fresh_now_ms

from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import on_each_backend
from tests.tls.certificates import client_config
from tests.ws.codec_peer import CodecPeer
from tests.ws.stand_in import (
    ACCEPTED,
    Behavior,
    StandIn,
    close_frame,
    server_frame,
)


def test_messages_are_masked_and_echoed() raises:
    on_each_backend(_echoes)


def test_octets_behind_the_101_are_the_first_frames() raises:
    on_each_backend(_first_frames)


def test_a_message_that_inflates_beyond_the_limit_is_refused() raises:
    on_each_backend(_bomb)


def test_violations_of_a_server_are_answered_with_their_close_code() raises:
    on_each_backend(_violations)


def test_pings_are_answered_while_a_message_is_awaited() raises:
    on_each_backend(_pings)


def test_a_server_that_closes_gets_its_code_back() raises:
    on_each_backend(_closing_server)


def test_a_loop_that_is_the_last_use_of_a_client_receives_all() raises:
    on_each_backend(_loop_as_the_last_use)


def test_a_server_that_hangs_up_leaves_1006() raises:
    on_each_backend(_hanging_up)


def test_a_lost_connection_is_closed_without_an_error() raises:
    on_each_backend(_lost_before_close)


def test_a_server_that_answers_no_close_holds_the_client_for_a_time() raises:
    on_each_backend(_no_close)


def test_a_server_that_feeds_on_holds_the_client_no_longer() raises:
    on_each_backend(_feeding_server)


def test_a_silent_server_is_asked_and_then_given_up() raises:
    on_each_backend(_silence)


def test_one_fiber_receives_while_another_sends() raises:
    on_each_backend(_two_fibers)


def test_a_deadline_of_the_program_leaves_the_connection_open() raises:
    on_each_backend(_deadline)


def test_a_deadline_of_the_program_ends_a_send_that_waits() raises:
    on_each_backend(_deadline_of_send)


def test_a_block_that_raises_closes_with_1011() raises:
    on_each_backend(_raising_block)


def test_a_client_that_is_dropped_frees_fibers_that_wait() raises:
    on_each_backend(_dropped)


def test_a_client_that_closes_waits_for_a_fiber_that_receives() raises:
    on_each_backend(_close_beside_reader)


def test_round_trips_are_measured_with_and_without_a_receiving_fiber() raises:
    on_each_backend(_round_trips)


def test_messages_are_carried_over_tls() raises:
    on_each_backend(_tls)


def test_messages_are_compressed() raises:
    on_each_backend(_compressed)


def _accepting(behavior: Int = Behavior.ECHO) raises -> StandIn:
    return StandIn(String(ACCEPTED, "\r\n"), behavior=behavior)


def _echoes() raises:
    var stand = _accepting()
    with WsClient.connect(stand.url()) as ws:
        ws.send_text("hello")
        assert_equal(String(ws.recv_message().as_text()), "hello")
        ws.send_binary("abc".as_bytes())
        assert_true(ws.recv_message().is_binary)
        ws.send_text("")
        assert_equal(len(ws.recv_message()), 0)
        # Longer than the room for output: its mask goes on with the next part.
        ws.send_text(String("xyz") * 100_000)
        assert_equal(
            String(ws.recv_message().as_text()), String("xyz") * 100_000
        )
        ws.send_frame(WsFrame.text("frame"))
        assert_equal(ws.recv().text_payload(), "frame")
    assert_equal(
        stand^.seen(), "1:5 hello 2:3 abc 1:0 1:300000 1:5 frame 8:2 (1000)"
    )


def _first_frames() raises:
    var first = server_frame(0x81, "early")
    first.extend(Span(server_frame(0x81, "bird")))
    var stand = StandIn(
        String(ACCEPTED, "Sec-WebSocket-Protocol: b\r\n\r\n"), first^
    )
    var ws = WsClient.connect(stand.url(), WsClientConfig(protocols=["a", "b"]))
    assert_equal(ws.protocol(), "b")
    assert_equal(String(ws.recv_message().as_text()), "early")
    assert_equal(String(ws.recv_message().as_text()), "bird")
    ws.close(4000, "done")
    assert_equal(ws.close_code().value(), 4000)
    ws.close()
    assert_equal(stand^.seen(), "8:6 (4000)")


def _bomb() raises:
    var zeros = List[UInt8](length=4 << 20, fill=0)
    var peer = CodecPeer()
    var coded = peer.deflate(Span(zeros))
    assert_true(len(coded) < 8_192, String(len(coded)))
    var first: List[UInt8] = [
        0xC2,
        126,
        UInt8(len(coded) >> 8),
        UInt8(len(coded) & 255),
    ]
    first.extend(Span(coded))
    var stand = StandIn(
        String(
            ACCEPTED,
            (
                "Sec-WebSocket-Extensions: permessage-deflate;"
                " server_no_context_takeover;"
                " client_no_context_takeover\r\n\r\n"
            ),
        ),
        first^,
    )
    var ws = WsClient.connect(
        stand.url(),
        WsClientConfig(
            compression=WsCompression.SHARED, max_message_size=1 << 20
        ),
    )
    try:
        _ = ws.recv_message()
        assert_true(False)
    except e:
        assert_true(String(e).startswith("ws.too_large code=1009"), String(e))
    ws.close()
    assert_equal(stand^.seen(), "8:2 (1009)")


def _octets(*values: Int) -> List[UInt8]:
    var octets = List[UInt8]()
    for value in values:
        octets.append(UInt8(value))
    return octets^


def _violations() raises:
    var masked = WsFrame.text("a").encode(mask=UInt32(0x01020304))
    var rows: List[Tuple[List[UInt8], String]] = [
        (masked^, "8:2 (1002)"),
        (server_frame(0xC1, "a"), "8:2 (1002)"),
        (server_frame(0x83, "a"), "8:2 (1002)"),
        (server_frame(0x80, "a"), "8:2 (1002)"),
        (server_frame(0x09, "a"), "8:2 (1002)"),
        (close_frame(1005), "8:2 (1002)"),
        (_octets(0x81, 1, 0xFF), "8:2 (1007)"),
        (
            _octets(0x82, 127, 0, 0, 0, 0, 1, 0, 0, 1),
            "8:2 (1009)",
        ),
        (
            _octets(0x82, 127, 0x7F, 255, 255, 255, 255, 255, 255, 255),
            "8:2 (1009)",
        ),
    ]
    for row in rows:
        var stand = StandIn(String(ACCEPTED, "\r\n"), row[0].copy())
        var ws = WsClient.connect(stand.url())
        try:
            _ = ws.recv_message()
            assert_true(False, row[1])
        except e:
            assert_true(Bool(WsError.of(e)), String(e))
        assert_false(ws.is_open())
        ws.close()
        assert_equal(stand^.seen(), row[1])


def _pings() raises:
    var first = server_frame(0x89, "are you there")
    first.extend(Span(server_frame(0x8A, "unasked")))
    first.extend(Span(server_frame(0x81, "hi")))
    var stand = StandIn(String(ACCEPTED, "\r\n"), first^)
    with WsClient.connect(stand.url()) as ws:
        assert_equal(String(ws.recv_message().as_text()), "hi")
    assert_equal(stand^.seen(), "10:13 are you there 8:2 (1000)")


def _closing_server() raises:
    var first = server_frame(0x81, "bye")
    first.extend(Span(close_frame(1001)))
    var stand = StandIn(String(ACCEPTED, "\r\n"), first^)
    var ws = WsClient.connect(stand.url())
    var count = 0
    for message in ws:
        assert_equal(String(message.as_text()), "bye")
        count += 1
    assert_equal(count, 1)
    assert_equal(ws.close_code().value(), 1001)
    try:
        ws.send_text("late")
        assert_true(False)
    except e:
        var error = WsError.of(e).value().copy()
        assert_true(error.is_closed() and error.is_clean, String(e))
    ws.close()
    assert_equal(stand^.seen(), "8:2 (1001)")


def _loop_as_the_last_use() raises:
    var first = server_frame(0x81, "one")
    first.extend(Span(server_frame(0x81, "two")))
    first.extend(Span(close_frame(1000)))
    var stand = StandIn(String(ACCEPTED, "\r\n"), first^)
    var ws = WsClient.connect(stand.url())
    var texts = String()
    # The client lives until the loop ends, although no later line names it.
    for message in ws:
        texts += String(message.as_text())
    assert_equal(texts, "onetwo")
    assert_equal(stand^.seen(), "8:2 (1000)")


def _hanging_up() raises:
    var stand = _accepting(Behavior.HANG_UP)
    var ws = WsClient.connect(stand.url())
    try:
        _ = ws.recv_message()
        assert_true(False)
    except e:
        assert_equal(String(e), "ws.closed code=1006 clean=false")
    ws.close()
    _ = stand^.seen()


def _lost_before_close() raises:
    var stand = _accepting(Behavior.HANG_UP)
    with WsClient.connect(stand.url()) as ws:
        sleep(20)
        # The first one is answered with a reset, which the second one meets.
        ws.send_text("x")
        sleep(20)
        ws.send_text("x")
    _ = stand^.seen()


def _no_close() raises:
    var stand = _accepting(Behavior.MUTE)
    var ws = WsClient.connect(stand.url(), WsClientConfig(close_timeout_ms=100))
    with deadline_in(3_000):
        ws.close()
    assert_equal(ws.close_code().value(), 1000)
    _ = ws^
    assert_equal(stand^.seen(), "8:2 (1000)")


def _feeding_server() raises:
    var stand = _accepting(Behavior.FEED)
    var ws = WsClient.connect(stand.url(), WsClientConfig(close_timeout_ms=100))
    var began_ms = fresh_now_ms()
    with deadline_in(5_000):
        ws.close()
    assert_true(fresh_now_ms() - began_ms < 2_000)
    assert_equal(ws.close_code().value(), 1000)
    _ = ws^
    assert_equal(stand^.seen(), " 8:2 (1000)")


def _silence() raises:
    var stand = _accepting(Behavior.MUTE)
    var ws = WsClient.connect(
        stand.url(),
        WsClientConfig(
            ping_interval_ms=50, pong_timeout_ms=50, close_timeout_ms=50
        ),
    )
    try:
        with deadline_in(3_000):
            _ = ws.recv_message()
        assert_true(False)
    except e:
        assert_true(String(e).startswith("ws.timeout code=1011"), String(e))
    _ = ws^
    var seen = stand^.seen()
    assert_true(seen.startswith("9:8 "), seen)
    assert_true(seen.endswith("8:2 (1011)"), seen)


def _two_fibers() raises:
    var stand = _accepting()
    var ws = WsClient.connect(stand.url())
    var connection = ws.connection()

    def read() raises {var connection} -> Int:
        var count = 0
        for message in connection:
            count += len(message)
        return count

    var reader = spawn(read)
    for _ in range(50):
        ws.send_text(String("x") * 10_000)
    ws.close()
    assert_equal(reader^.join() % 10_000, 0)
    assert_equal(ws.close_code().value(), 1000)
    _ = ws^
    assert_true(stand^.seen().endswith("8:2 (1000)"))


def _deadline() raises:
    var stand = _accepting()
    with WsClient.connect(stand.url()) as ws:
        try:
            with deadline_in(20):
                _ = ws.recv_message()
            assert_true(False)
        except e:
            assert_true(String(e).startswith("net.timeout"), String(e))
        ws.send_text("still here")
        assert_equal(String(ws.recv_message().as_text()), "still here")
    assert_equal(stand^.seen(), "1:10 still here 8:2 (1000)")


def _deadline_of_send() raises:
    var stand = _accepting(Behavior.DEAF)
    var ws = WsClient.connect(stand.url())
    try:
        with deadline_in(20):
            # More than the buffers of the sockets hold.
            ws.send_text(String("x") * (16 << 20))
        assert_true(False)
    except e:
        assert_true(String(e).startswith("ws.closed"), String(e))
    assert_false(ws.is_open())
    _ = ws^
    _ = stand^.seen()


def _raising_block() raises:
    var stand = _accepting()
    try:
        with WsClient.connect(stand.url()) as ws:
            ws.send_text("x")
            raise Error("mine")
    except e:
        assert_equal(String(e), "mine")
    assert_equal(stand^.seen(), "1:1 x 8:2 (1011)")


def _dropped() raises:
    var stand = _accepting(Behavior.MUTE)
    var ws = WsClient.connect(stand.url())
    var connection = ws.connection()

    def read() raises {var connection} -> String:
        try:
            _ = connection.recv_message()
            return "a message"
        except e:
            return String(e)

    var reader = spawn(read)
    sleep(20)
    _ = ws^
    var error = reader^.join()
    assert_true(error.startswith("ws.closed"), error)
    assert_false(connection.is_open())
    _ = stand^.seen()


def _close_beside_reader() raises:
    # The server answers no Close: the reader learns of the end in time, although
    # its own wait would have been longer.
    var stand = _accepting(Behavior.MUTE)
    var ws = WsClient.connect(
        stand.url(),
        WsClientConfig(close_timeout_ms=100, ping_interval_ms=None),
    )
    var connection = ws.connection()

    def read() raises {var connection} -> String:
        try:
            _ = connection.recv_message()
            return "a message"
        except e:
            return String(e)

    var reader = spawn(read)
    sleep(20)
    with deadline_in(3_000):
        ws.close(4001)
        assert_equal(reader^.join(), "ws.closed code=4001 clean=false")
    ws.close()
    _ = ws^
    assert_equal(stand^.seen(), "8:2 (4001)")


def _round_trips() raises:
    var stand = _accepting(Behavior.PONG)
    var ws = WsClient.connect(
        stand.url(), WsClientConfig(pong_timeout_ms=2_000)
    )
    for _ in range(3):
        assert_true(ws.ping() > 0)
    var connection = ws.connection()

    def read() raises {var connection} -> String:
        return String(connection.recv_message().as_text())

    # It begins to receive while the other fiber does so for the pong.
    var reader = spawn(read)
    for _ in range(3):
        assert_true(ws.ping() > 0)
    ws.send_text("last")
    assert_equal(reader^.join(), "last")
    ws.close()
    _ = ws^
    assert_true(stand^.seen().endswith("1:4 last 8:2 (1000)"))
    # A fiber that begins to receive takes the message in front of the pong.
    var late = StandIn(
        String(ACCEPTED, "\r\n"),
        server_frame(0x81, "early"),
        behavior=Behavior.PONG,
    )
    var waiting = WsClient.connect(
        late.url(), WsClientConfig(pong_timeout_ms=1_000)
    )
    var second = waiting.connection()

    def read_later() raises {var second} -> String:
        sleep(20)
        return String(second.recv_message().as_text())

    var later = spawn(read_later)
    assert_true(waiting.ping() > 0)
    assert_equal(later^.join(), "early")
    waiting.close()
    _ = waiting^
    _ = late^.seen()
    # Without one, the message hides it.
    var hiding = StandIn(
        String(ACCEPTED, "\r\n"),
        server_frame(0x81, "early"),
        behavior=Behavior.PONG,
    )
    var other = WsClient.connect(
        hiding.url(), WsClientConfig(pong_timeout_ms=50)
    )
    try:
        _ = other.ping()
        assert_true(False)
    except e:
        assert_true(String(e).startswith("ws.timeout"), String(e))
    assert_equal(String(other.recv_message().as_text()), "early")
    try:
        with deadline_in(20):
            _ = other.ping()
    except e:
        assert_true(String(e).startswith("ws.timeout"), String(e))
    other.close()
    _ = hiding^.seen()


def _tls() raises:
    var stand = StandIn(String(ACCEPTED, "\r\n"), is_secure=True)
    var url = String("wss://localhost:", stand.port, "/")
    with WsClient.connect(url, client_config()) as ws:
        ws.send_text("secret")
        assert_equal(String(ws.recv_message().as_text()), "secret")
        ws.send_text(String("xyz") * 100_000)
        assert_equal(len(ws.recv_message()), 300_000)
    assert_equal(stand^.seen(), "1:6 secret 1:300000 8:2 (1000)")


def _compressed() raises:
    var text = String("hello hello hello ") * 100
    var rows: List[Tuple[WsCompression, String]] = [
        (
            WsCompression.SHARED,
            "; server_no_context_takeover; client_no_context_takeover",
        ),
        (WsCompression.DEDICATED, "; server_max_window_bits=12"),
        # A server that cannot limit its window.
        (
            WsCompression.DEDICATED,
            "; server_no_context_takeover; client_no_context_takeover",
        ),
        (WsCompression.dedicated(window_bits=15), ""),
    ]
    for row in rows:
        var stand = StandIn(
            String(
                ACCEPTED,
                "Sec-WebSocket-Extensions: permessage-deflate",
                row[1],
                "\r\n\r\n",
            )
        )
        with WsClient.connect(
            stand.url(), WsClientConfig(compression=row[0])
        ) as ws:
            for _ in range(3):
                ws.send_text(text)
                assert_equal(String(ws.recv_message().as_text()), text)
            ws.send_text("short")
            assert_equal(String(ws.recv_message().as_text()), "short")
        var seen = stand^.seen()
        assert_false("1:1800" in seen, seen)
        assert_true(seen.endswith(" 1:5 short 8:2 (1000)"), seen)


comptime TESTS = __functions_in_module()
