"""Tests for `flare.proto.h1.machine` beyond its fixtures."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap, Method, RequestTarget
from flare.proto.h1 import (
    BodyLength,
    H1Error,
    H1Limits,
    H1Machine,
    H1State,
    Head,
    HttpEvent,
    Role,
)

from tests.asserting import assert_equal, assert_false, assert_true

comptime _REQUEST: StaticString = (
    "GET /a%20b?c=d HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n"
)


def _server() -> H1Machine:
    return H1Machine(heap_create(H1State(Role.SERVER, H1Limits())))


def test_a_head_gives_offsets_into_its_window() raises:
    var machine = _server()
    var head = heap_create(Head())
    var window = _REQUEST.as_bytes()
    var event = machine.next_event(window, head)
    assert_equal(event.kind, HttpEvent.REQUEST_HEAD)
    assert_equal(event.stream_id, 1)
    assert_equal(event.consumed, len(window))
    ref h = head[]
    assert_true(h.method == Method.GET)
    assert_equal(h.method_text(window), "GET")
    assert_equal(h.target_text(window), "/a%20b?c=d")
    assert_equal(h.target.form, RequestTarget.ORIGIN_FORM)
    assert_equal(Int(h.target.path_octets), 6)
    assert_equal(Int(h.target.query_octets), 3)
    assert_equal(h.version.minor, 1)
    assert_equal(h.host, 0)
    assert_equal(h.content_length, -1)
    assert_true(h.keep_alive)
    var fields = h.fields(window)
    assert_equal(len(fields), 2)
    assert_equal(fields.name(1), "Accept")
    assert_equal(fields.value(1), "*/*")
    heap_destroy(head)
    heap_destroy(machine.state)


def test_a_request_without_a_body_may_end_without_an_event() raises:
    for length in ["", "Content-Length: 0\r\n"]:
        var window = String("GET / HTTP/1.1\r\nHost: a\r\n", length, "\r\n")
        var by_event = _server()
        var by_call = _server()
        var head = heap_create(Head())
        _ = by_event.next_event(window.as_bytes(), head)
        assert_equal(
            by_event.next_event(Span[UInt8, ImmStaticOrigin](), head).kind,
            HttpEvent.END_OF_MESSAGE,
        )
        assert_false(by_event.end_bodiless(), "it has ended")
        assert_false(by_call.end_bodiless(), "nothing has begun")
        _ = by_call.next_event(window.as_bytes(), head)
        assert_true(by_call.end_bodiless())
        assert_false(by_call.end_bodiless(), "it has ended")
        assert_true(by_call.state[].request == by_event.state[].request)
        assert_equal(
            by_call.next_event(window.as_bytes(), head).kind, HttpEvent.PAUSED
        )
        heap_destroy(head)
        heap_destroy(by_event.state)
        heap_destroy(by_call.state)


def test_a_request_with_a_body_ends_by_an_event_only() raises:
    for framing in ["Content-Length: 1", "Transfer-Encoding: chunked"]:
        var window = String(
            "POST / HTTP/1.1\r\nHost: a\r\n", framing, "\r\n\r\n"
        )
        var machine = _server()
        var head = heap_create(Head())
        assert_equal(
            machine.next_event(window.as_bytes(), head).kind,
            HttpEvent.REQUEST_HEAD,
        )
        assert_false(machine.end_bodiless())
        heap_destroy(head)
        heap_destroy(machine.state)


def test_content_may_be_received_by_the_owner() raises:
    var chunked = String("3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
    for is_chunked in [False, True]:
        var framing = "Content-Length: 7"
        var body = String("abcdefg")
        if is_chunked:
            framing = "Transfer-Encoding: chunked"
            body = chunked
        var head_octets = String(
            "POST / HTTP/1.1\r\nHost: a\r\n", framing, "\r\n\r\n"
        )
        # `step` octets are received by the owner whenever data is due, and as
        # many by an event.
        for step in range(1, 9):
            var machine = _server()
            var head = heap_create(Head())
            assert_equal(machine.due_data(), 0)
            _ = machine.next_event(head_octets.as_bytes(), head)
            var rest = body.as_bytes()
            var received = String()
            var ended = False
            var by_owner = True
            while not ended:
                var due = machine.due_data()
                by_owner = not by_owner
                if due > 0 and by_owner:
                    var count = min(step, due)
                    received += StringSlice(unsafe_from_utf8=rest[:count])
                    rest = rest[count:]
                    ended = machine.count_received(count)
                    assert_equal(
                        ended, not is_chunked and received.byte_length() == 7
                    )
                    if not ended:
                        assert_equal(machine.due_data(), due - count)
                    continue
                var window = rest[: min(step + 2, len(rest))]
                var event = machine.next_event(window, head)
                if event.kind == HttpEvent.DATA:
                    var data = window[event.start : event.start + event.length]
                    received += StringSlice(unsafe_from_utf8=data)
                ended = event.kind == HttpEvent.END_OF_MESSAGE
                rest = rest[event.consumed :]
            assert_equal(received, "abcdefg")
            assert_equal(len(rest), 0)
            assert_equal(machine.due_data(), 0)
            assert_equal(
                machine.next_event(head_octets.as_bytes(), head).kind,
                HttpEvent.PAUSED,
            )
            heap_destroy(head)
            heap_destroy(machine.state)


def test_another_head_in_the_middle_starts_over_and_reads_the_same() raises:
    var window = _REQUEST.as_bytes()
    for cut in range(1, len(window)):
        var machine = _server()
        var first = heap_create(Head())
        var second = heap_create(Head())
        var event = machine.next_event(window[:cut], first)
        assert_equal(event.kind, HttpEvent.NEED_OCTETS)
        event = machine.next_event(window, second)
        assert_equal(event.kind, HttpEvent.REQUEST_HEAD)
        assert_equal(second[].target_text(window), "/a%20b?c=d")
        assert_equal(len(second[].lines), 2)
        heap_destroy(first)
        heap_destroy(second)
        heap_destroy(machine.state)


def test_a_head_that_another_connection_used_starts_over() raises:
    var window = _REQUEST.as_bytes()
    var other = String("POST /other HTTP/1.1\r\nHost: b\r\nX: y\r\n\r\n")
    var head = heap_create(Head())
    for cut in range(1, other.byte_length()):
        var one = _server()
        var two = _server()
        _ = one.next_event(window[:cut], head)
        _ = two.next_event(other.as_bytes()[:cut], head)
        var event = one.next_event(window, head)
        assert_equal(event.kind, HttpEvent.REQUEST_HEAD)
        assert_equal(head[].target_text(window), "/a%20b?c=d")
        assert_equal(head[].fields(window).value(0), "a")
        heap_destroy(one.state)
        heap_destroy(two.state)
    heap_destroy(head)


def test_a_head_keeps_nothing_of_the_one_before() raises:
    var machine = _server()
    var head = heap_create(Head())
    var output = heap_create(Buffer())
    var first = String(
        "POST http://a/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n"
        "Upgrade: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nz"
    )
    var event = machine.next_event(first.as_bytes(), head)
    assert_true(head[].wants_upgrade and head[].expects_continue)
    assert_equal(head[].content_length, 1)
    var rest = first.as_bytes()[event.consumed :]
    event = machine.next_event(rest, head)
    assert_equal(event.length, 1)
    _ = machine.next_event(rest[event.consumed :], head)
    _answer(machine, output)
    event = machine.next_event(_REQUEST.as_bytes(), head)
    assert_equal(event.kind, HttpEvent.REQUEST_HEAD)
    assert_equal(event.stream_id, 2)
    ref h = head[]
    assert_false(h.wants_upgrade or h.expects_continue)
    assert_equal(h.content_length, -1)
    assert_equal(Int(h.options), 0)
    assert_equal(h.target.form, RequestTarget.ORIGIN_FORM)
    assert_equal(len(h.lines), 2)
    heap_destroy(head)
    heap_destroy(output)
    heap_destroy(machine.state)


def test_trailers_leave_the_head_of_their_message_alone() raises:
    var text = String(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "0\r\nX-Sum: 1\r\nHost: evil\r\n\r\n"
    )
    var window = text.as_bytes()
    var machine = _server()
    var head = heap_create(Head())
    var event = machine.next_event(window, head)
    var rest = window[event.consumed :]
    event = machine.next_event(rest, head)
    assert_equal(event.kind, HttpEvent.TRAILERS)
    ref h = head[]
    assert_equal(len(h.lines), 2)
    assert_equal(h.fields(window).value(0), "a")
    assert_equal(h.method_text(window), "POST")
    assert_equal(h.host, 0)
    var trailers = h.trailer_fields(rest)
    assert_equal(len(trailers), 2)
    assert_equal(trailers.value(0), "1")
    assert_equal(trailers.value(1), "evil")
    heap_destroy(head)
    heap_destroy(machine.state)


def test_octet_by_octet_arrival_looks_at_each_octet_a_bounded_number_of_times() raises:
    # A machine that read from the start each time would look at half a
    # thousand million octets here; this one is done at once.
    var limits = H1Limits(
        request_target_octets_max=65535, field_section_octets_max=1 << 20
    )
    var octets = List[UInt8](StaticString("GET /").as_bytes())
    octets.extend(List[UInt8](length=30000, fill=97))
    octets.extend(StaticString(" HTTP/1.1\r\nHost: a\r\nX: ").as_bytes())
    octets.extend(List[UInt8](length=900_000, fill=98))
    octets.extend(StaticString("\r\n\r\n").as_bytes())
    var machine = H1Machine(heap_create(H1State(Role.SERVER, limits)))
    var head = heap_create(Head())
    for n in range(1, len(octets)):
        var event = machine.next_event(Span(octets)[:n], head)
        assert_equal(event.kind, HttpEvent.NEED_OCTETS)
        assert_true(Int(head[].progress.scanned) >= n - 12)
    var event = machine.next_event(Span(octets), head)
    assert_equal(event.kind, HttpEvent.REQUEST_HEAD)
    heap_destroy(head)
    heap_destroy(machine.state)


def test_an_error_names_fault_status_and_reason() raises:
    assert_equal(
        String(H1Error.peer(431, "too many field lines")),
        "http/1.1 peer error, status 431: too many field lines",
    )
    assert_equal(
        String(H1Error.local("no response is awaited")),
        "http/1.1 local error: no response is awaited",
    )


def test_the_error_of_a_client_has_no_status() raises:
    var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
    var head = heap_create(Head())
    var status = -1
    try:
        _ = machine.next_event(_REQUEST.as_bytes(), head)
    except e:
        status = e.status
        assert_equal(e.fault, H1Error.PEER)
    assert_equal(status, 0)
    heap_destroy(head)
    heap_destroy(machine.state)


def test_a_client_is_told_how_a_body_comes() raises:
    var rows: List[_Row] = [
        _Row("Content-Length: 5", "", True, True, 5),
        _Row("Content-Length: 5", "abc", True, True, 2),
        _Row("Content-Length: 5", "abcde", True, True, 0),
        _Row("Content-Length: 0", "", False, False, 0),
        _Row("Transfer-Encoding: chunked", "", True, False, 0),
        _Row("Transfer-Encoding: chunked", "5\r\nab", True, False, 0),
        _Row("X: until the close", "", True, False, Int.MAX),
        _Row("X: until the close", "abc", True, False, Int.MAX),
    ]
    for row in rows:
        var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
        var head = heap_create(Head())
        var output = heap_create(Buffer())
        assert_equal(machine.plain_octets(), 0, "nothing was asked")
        _ask(machine, output)
        assert_equal(machine.plain_octets(), 0, "the head comes first")
        var window = String("HTTP/1.1 200 OK\r\n", row.framing, "\r\n\r\n")
        _ = machine.next_event(window.as_bytes(), head)
        var body = row.came.as_bytes()
        while len(body) > 0:
            var event = machine.next_event(body, head)
            body = body[event.consumed :]
        assert_equal(machine.has_body(), row.has_body, row.framing)
        assert_equal(machine.has_counted_body(), row.is_counted, row.framing)
        assert_equal(machine.plain_octets(), row.plain, row.framing)
        machine.receive_end()
        assert_equal(machine.plain_octets(), 0, "the end has come")
        heap_destroy(output)
        heap_destroy(head)
        heap_destroy(machine.state)


def test_a_limit_holds_for_the_next_body() raises:
    for octets_max in [2, 3]:
        var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
        var head = heap_create(Head())
        var output = heap_create(Buffer())
        machine.limit_body(octets_max)
        _ask(machine, output)
        var window = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
        var is_refused = False
        try:
            _ = machine.next_event(window.as_bytes(), head)
        except:
            is_refused = True
        assert_equal(is_refused, octets_max < 3)
        heap_destroy(output)
        heap_destroy(head)
        heap_destroy(machine.state)


def test_only_a_body_of_unknown_length_is_sent_in_chunks() raises:
    for length in [BodyLength.NONE, BodyLength.known(3), BodyLength.UNKNOWN]:
        var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
        var output = heap_create(Buffer())
        var fields = HeaderMap()
        fields.append("Host", "a")
        machine.send_request_head("POST", "/", fields, length, output)
        assert_equal(
            machine.sends_chunks(), length.octets == BodyLength.UNKNOWN.octets
        )
        heap_destroy(output)
        heap_destroy(machine.state)


def test_octets_of_a_message_without_a_body_are_not_counted() raises:
    var rows: List[Tuple[String, Int, Bool]] = [
        ("GET", 200, True),
        ("GET", 204, False),
        ("GET", 205, True),
        ("GET", 304, False),
        ("HEAD", 200, False),
    ]
    for row in rows:
        var machine = _server()
        var head = heap_create(Head())
        var output = heap_create(Buffer())
        var request = row[0] + " / HTTP/1.1\r\nHost: a\r\n\r\n"
        _ = machine.next_event(request.as_bytes(), head)
        machine.send_response_head(
            row[1],
            HeaderMap(),
            BodyLength.known(3),
            StaticString("").as_bytes(),
            output,
        )
        assert_equal(machine.count_data(3), row[2], row[0])
        heap_destroy(output)
        heap_destroy(head)
        heap_destroy(machine.state)


def test_a_length_of_0_that_says_nothing_of_get_is_not_stated() raises:
    # The fields of the caller, and whether a length is in the head.
    var rows: List[Tuple[String, Int, String, String]] = [
        ("GET", 200, "", "Content-Length: 0"),
        ("HEAD", 200, "", ""),
        ("HEAD", 200, "1234", "Content-Length: 1234"),
        ("GET", 304, "", ""),
        ("GET", 204, "", ""),
    ]
    for row in rows:
        var machine = _server()
        var head = heap_create(Head())
        var output = heap_create(Buffer())
        var request = row[0] + " / HTTP/1.1\r\nHost: a\r\n\r\n"
        _ = machine.next_event(request.as_bytes(), head)
        var fields = HeaderMap()
        if row[2] != "":
            fields.append("Content-Length", row[2])
        machine.send_response_head(
            row[1],
            fields,
            BodyLength.known(0),
            StaticString("").as_bytes(),
            output,
        )
        var sent = String(StringSlice(unsafe_from_utf8=output[].span()))
        assert_equal("Content-Length" in sent, row[3] != "", sent)
        assert_true(row[3] in sent, sent)
        heap_destroy(output)
        heap_destroy(head)
        heap_destroy(machine.state)


@fieldwise_init
struct _Row(Copyable, Movable):
    var framing: StaticString
    var came: StaticString
    var has_body: Bool
    var is_counted: Bool
    var plain: Int


def _ask(machine: H1Machine, output: PointerTo[Buffer]) raises:
    var fields = HeaderMap()
    fields.append("Host", "a")
    machine.send_request_head("GET", "/", fields, BodyLength.NONE, output)
    machine.send_end(output)


def _answer(machine: H1Machine, output: PointerTo[Buffer]) raises:
    var none = HeaderMap()
    machine.send_response_head(
        204, none, BodyLength.NONE, StaticString("").as_bytes(), output
    )
    machine.send_end(output)


comptime TESTS = __functions_in_module()
