"""Tests servers of HTTP/2 that fail, or break the rules."""

from flare.http import ClientHttp2Config, ClientTimeouts
from flare.proto.h2.frame import append_frame_header
from flare.runtime.wait import sleep
from flare.sys.clock import monotonic_ms

from tests.asserting import assert_equal, assert_true
from tests.client.h2_stand import H2Stand, require
from tests.proto_h2.machine_scene import number
from tests.tcp.loops import on_each_backend


def test_a_reset_ends_one_exchange_only() raises:
    on_each_backend(_reset)


def test_a_malformed_response_ends_one_exchange_only() raises:
    on_each_backend(_malformed)


def test_a_violation_ends_the_connection_and_all_exchanges() raises:
    on_each_backend(_violation)


def test_the_end_of_the_connection_ends_all_exchanges() raises:
    on_each_backend(_ended)


def test_the_reason_of_a_goaway_is_reported() raises:
    on_each_backend(_reason)


def test_a_goaway_at_each_point_of_an_exchange() raises:
    on_each_backend(_goaway_at_each_point)


def test_a_silent_server_is_asked_and_given_up() raises:
    on_each_backend(_silent)


def test_a_slow_server_that_answers_pings_is_waited_for() raises:
    on_each_backend(_slow)


def test_content_over_the_limit_is_cancelled() raises:
    on_each_backend(_too_large)


def test_a_server_of_another_protocol_is_a_failure() raises:
    on_each_backend(_other_protocol)


def test_interim_responses_without_end_are_bounded() raises:
    on_each_backend(_interim)


def test_a_server_that_does_not_read_delays_no_deadline() raises:
    on_each_backend(_unread)


def test_a_deadline_ends_an_upload_that_is_stuck() raises:
    on_each_backend(_late_upload)


def test_a_server_that_never_reads_is_given_up() raises:
    on_each_backend(_never_read)


def test_both_ends_may_be_full() raises:
    on_each_backend(_both_full)


def test_answers_to_a_server_that_does_not_read_are_bounded() raises:
    on_each_backend(_unread_answers)


def _unread() raises:
    var stand = H2Stand()
    var warm = stand.ask("/warm")
    var peer = stand.accept(window_octets=64 << 20)
    peer.answer(peer.request())
    require(warm^, "200 ok")
    # More than the buffers of the kernel take.
    var text = String("0123456789abcdef") * (1 << 20)
    var upload = stand.ask("/upload", "POST", text)
    sleep(50)
    # Whoever sends or reads, and whatever waits in front of it.
    for _ in range(3):
        var late = stand.ask("/late", deadline_ms=80)
        assert_true(late^.join().startswith("client.timeout"))
    var asked = peer.request()
    assert_equal(peer.content_of(asked).byte_length(), text.byte_length())
    peer.answer(asked)
    require(upload^, "200 ok")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _late_upload() raises:
    var stand = H2Stand()
    var warm = stand.ask("/warm")
    var peer = stand.accept(window_octets=64 << 20)
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var text = String("0123456789abcdef") * (1 << 20)
    var began_ms = monotonic_ms()
    var upload = stand.ask("/upload", "POST", text, deadline_ms=150)
    require(upload^, "client.timeout send")
    assert_true(monotonic_ms() - began_ms < 2_000)
    # The connection is as good as before.
    var next = stand.ask("/next")
    var asked = peer.request()
    while asked.text != "GET /next":
        peer.forget(asked)
        asked = peer.request()
    peer.answer(asked)
    require(next^, "200 ok")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _never_read() raises:
    var stand = H2Stand(timeouts=ClientTimeouts(total_ms=10_000, write_ms=120))
    var warm = stand.ask("/warm")
    var peer = stand.accept(window_octets=64 << 20)
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var text = String("0123456789abcdef") * (1 << 20)
    require(stand.ask("/upload", "POST", text), "client.timeout send")
    assert_equal(stand.statistics().open, 0)
    peer.leave()


def _both_full() raises:
    # The server sends before it reads, and the client has one fiber.
    var stand = H2Stand()
    var warm = stand.ask("/warm")
    var peer = stand.accept(window_octets=64 << 20)
    peer.answer(peer.request())
    require(warm^, "200 ok")
    var text = String("0123456789abcdef") * (1 << 20)
    var upload = stand.ask("/upload", "POST", text)
    var asked = peer.request()
    peer.head(asked.id, ":status: 200")
    var piece = List[UInt8](length=16_384, fill=97)
    for _ in range(63):
        peer.frame(0, 0, asked.id, piece)
    assert_equal(peer.content_of(asked).byte_length(), text.byte_length())
    peer.data(asked.id, "", ends=True)
    assert_equal(upload^.join().byte_length(), 4 + 63 * 16_384)
    peer.leave()


def _unread_answers() raises:
    var stand = H2Stand()
    var warm = stand.ask("/warm")
    var peer = stand.accept(window_octets=64 << 20)
    peer.answer(peer.request())
    require(warm^, "200 ok")
    # The buffers of the kernel are full, so that all answers wait.
    var text = String("0123456789abcdef") * (1 << 20)
    var upload = stand.ask("/upload", "POST", text, deadline_ms=3_000)
    var asked = peer.request()
    var payload: List[UInt8] = [0, 1, 2, 3, 4, 5, 6, 7]
    for _ in range(100_000):
        append_frame_header(8, 6, 0, 0, peer.output())
        peer.state[].output.append(Span(payload))
    peer.flush()
    # If it read them all, there would be too many without a use.
    require(upload^, "client.timeout send")
    peer.forget(asked)
    peer.leave()


def _reset() raises:
    for has_begun in [False, True]:
        var stand = H2Stand()
        var first = stand.ask("/a", "POST", "1")
        var second = stand.ask("/b")
        var peer = stand.accept()
        var one = peer.request()
        var other = peer.request()
        if has_begun:
            peer.head(one.id, ":status: 200")
            peer.data(one.id, "half")
        peer.frame(3, 0, one.id, number(2))
        require(first^, "client.reset head")
        peer.answer(other)
        require(second^, "200 ok")
        assert_equal(stand.statistics().connects, 1)
        peer.leave()


def _malformed() raises:
    for lines in ["a: b", ":status: 200|connection: close", ":status: 101"]:
        var stand = H2Stand()
        var first = stand.ask("/a")
        var second = stand.ask("/b")
        var peer = stand.accept()
        var one = peer.request()
        var other = peer.request()
        peer.head(one.id, lines, ends=True)
        require(first^, "client.protocol head")
        # PROTOCOL_ERROR.
        assert_equal(peer.next().code, 1)
        peer.answer(other)
        require(second^, "200 ok")
        peer.leave()


def _violation() raises:
    for fault in range(6):
        var stand = H2Stand()
        var first = stand.ask("/a")
        var second = stand.ask("/b")
        var peer = stand.accept()
        var asked = peer.request()
        _ = peer.request()
        if fault == 0:
            # A push.
            peer.frame(5, 4, asked.id, number(2))
        elif fault == 1:
            peer.head(99, ":status: 200")
        elif fault == 2:
            # An index that no table has.
            peer.frame(1, 4, asked.id, [0xFF, 0x7F])
        elif fault == 3:
            peer.frame(0, 0, 0, [1])
        elif fault == 4:
            peer.frame(8, 0, 0, number(0))
        else:
            # A frame over the limit.
            var header: List[UInt8] = [0, 0x40, 1, 0, 0, 0, 0, 0, 1]
            peer.state[].output.append(Span(header))
            peer.flush()
        require(first^, "client.protocol head")
        require(second^, "client.protocol head")
        assert_equal(peer.next().kind, 5, String(fault))
        assert_equal(stand.statistics().open, 0)
        # The next request opens another connection.
        var third = stand.ask("/c")
        var other = stand.accept()
        other.answer(other.request())
        require(third^, "200 ok")
        peer.leave()
        other.leave()


def _ended() raises:
    for is_reset in [False, True]:
        var stand = H2Stand()
        var first = stand.ask("/a", "POST", "1")
        var second = stand.ask("/b", "POST", "1")
        var peer = stand.accept()
        _ = peer.request()
        _ = peer.request()
        if is_reset:
            peer.reset_connection()
            require(first^, "client.reset head")
            require(second^, "client.reset head")
        else:
            peer.leave()
            require(first^, "client.closed head")
            require(second^, "client.closed head")
        assert_equal(stand.statistics().open, 0)


def _reason() raises:
    var stand = H2Stand()

    var handle = stand.ask("/a", "POST", "1")
    var peer = stand.accept()
    _ = peer.request()
    peer.frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 11])
    peer.leave()
    require(handle^, "client.closed head")
    assert_equal(stand.statistics().open, 0)


def _goaway_at_each_point() raises:
    # Before the head, behind it, within the content, behind all.
    for point in range(4):
        var stand = H2Stand()
        var handle = stand.ask("/a")
        var peer = stand.accept()
        var asked = peer.request()
        for step in range(4):
            if step == point:
                peer.frame(7, 0, 0, [0, 0, 0, 1, 0, 0, 0, 0])
            if step == 0:
                peer.head(asked.id, ":status: 200")
            elif step == 1:
                peer.data(asked.id, "o")
            elif step == 2:
                peer.data(asked.id, "k", ends=True)
        peer.forget(asked)
        require(handle^, "200 ok")
        var next = stand.ask("/b", "POST", "1")
        var other = stand.accept()
        other.answer(other.request())
        require(next^, "200 ok")
        peer.leave()
        other.leave()


def _silent() raises:
    var stand = H2Stand(
        http2=ClientHttp2Config(ping_after_ms=20, ping_timeout_ms=20)
    )
    var first = stand.ask("/a")
    var second = stand.ask("/b")
    var peer = stand.accept()
    _ = peer.request()
    _ = peer.request()
    require(first^, "client.timeout head")
    require(second^, "client.timeout head")
    assert_equal(stand.statistics().open, 0)
    peer.leave()


def _slow() raises:
    var stand = H2Stand(
        http2=ClientHttp2Config(ping_after_ms=5, ping_timeout_ms=2_000)
    )
    var handle = stand.ask("/a")
    var peer = stand.accept()
    var asked = peer.request()
    assert_true(peer.serve_quietly(150) >= 10)
    peer.answer(asked)
    require(handle^, "200 ok")
    assert_equal(stand.statistics().connects, 1)
    peer.leave()


def _too_large() raises:
    for is_announced in [False, True]:
        var stand = H2Stand()
        var handle = stand.ask("/a")
        var other = stand.ask("/b")
        var peer = stand.accept()
        var asked = peer.request()
        var kept = peer.request()
        if is_announced:
            peer.head(asked.id, ":status: 200|content-length: 1048577")
        else:
            peer.head(asked.id, ":status: 200")
            var piece = List[UInt8](length=16_384, fill=97)
            for _ in range(64):
                peer.frame(0, 0, asked.id, piece)
            peer.data(asked.id, "x")
        require(handle^, "client.too_large content")
        peer.answer(kept)
        require(other^, "200 ok")
        peer.leave()


def _other_protocol() raises:
    var stand = H2Stand()
    var handle = stand.ask("/a", "POST", "1")
    var stream = stand.listener.accept()
    stream.write_all("HTTP/1.1 400 Bad Request\r\n\r\n".as_bytes())
    require(handle^, "client.protocol head")
    _ = stream^


def _interim() raises:
    var stand = H2Stand()
    var handle = stand.ask("/a")
    var peer = stand.accept()
    var asked = peer.request()
    # As much as fits into the kernel says nothing about the client.
    var is_over = False
    var end_ms = monotonic_ms() + 10_000
    try:
        while monotonic_ms() < end_ms:
            peer.head(asked.id, ":status: 103")
    except:
        is_over = True
    assert_true(is_over)
    require(handle^, "client.protocol head")
    peer.leave()


comptime TESTS = __functions_in_module()
