"""Tests for `flare.proto.h1.plain_response`."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength, H1Limits, H1Machine, H1State, Role
from flare.proto.h1.state import SideState

from tests.asserting import assert_equal, assert_false, assert_true

comptime _DATE: StaticString = "Sun, 06 Nov 1994 08:49:37 GMT"


def test_a_plain_response_is_what_the_general_code_writes() raises:
    for status in [200, 201, 203, 205, 206, 301, 404, 418, 500, 511]:
        for length in [0, 1, 9, 10, 13, 99, 100, 255, 4096, 32768]:
            for lines in range(4):
                var plain = _Server()
                var general = _Server()
                var fields = _fields(lines)
                var content = List[UInt8](length=length, fill=120)
                var taken = plain.write_plain(status, fields, content)
                assert_equal(taken, status != 418, String(status))
                if taken:
                    general.write(status, fields, content)
                _assert_same(plain, general)


def test_every_length_is_written_as_the_general_code_does() raises:
    for step in range(1100):
        # All of up to three digits, and some of four and of five.
        var length = step if step < 1000 else step + (step - 1000) * 311
        var plain = _Server()
        var general = _Server()
        var content = List[UInt8](length=length, fill=120)
        assert_true(plain.write_plain(200, HeaderMap(), content))
        general.write(200, HeaderMap(), content)
        _assert_same(plain, general)
        var written = StringSlice(unsafe_from_utf8=plain.output[].span())
        assert_true(String("\r\nContent-Length: ", length, "\r\n") in written)
        _ = plain^


def test_content_that_the_caller_sends_is_announced_alone() raises:
    for length in [0, 13, 32769, 99999, 100000, 1234567, 1 << 24]:
        for lines in range(4):
            var plain = _Server()
            var general = _Server()
            # The head alone has to find room.
            plain.output[] = Buffer(capacity=2048)
            var fields = _fields(lines)
            var content = List[UInt8](length=length, fill=120)
            assert_true(plain.write_plain(200, fields, content, copies=False))
            general.write(200, fields, content)
            plain.output[].append(Span(content))
            _assert_same(plain, general)


def test_what_needs_thought_is_left_alone() raises:
    for status in [0, 99, 100, 101, 103, 199, 204, 304, 299, 512, 600, 1 << 40]:
        var server = _Server()
        assert_false(server.write_plain(status, HeaderMap(), _content()))
        _assert_same(server, _Server())
    for name in ["connection", "Content-Length", "DATE", "Transfer-Encoding"]:
        var server = _Server()
        var fields = HeaderMap()
        fields.append(name, "13")
        assert_false(server.write_plain(200, fields, _content()), name)
        _assert_same(server, _Server())
    for change in range(8):
        var server = _Server()
        var other = _Server()
        _change(server.state[], change)
        _change(other.state[], change)
        assert_false(server.write_plain(200, HeaderMap(), _content()))
        _assert_same(server, other)


def test_what_finds_no_room_is_left_alone() raises:
    var least = 0
    for capacity in range(1, 1024):
        var server = _Server()
        server.output[] = Buffer(capacity=capacity)
        var taken = server.write_plain(200, HeaderMap(), _content())
        if least == 0 and taken:
            least = capacity
        assert_equal(taken, least != 0)
        assert_equal(server.output[].capacity(), capacity)
        if not taken:
            _assert_same(server, _Server())
    assert_true(least > 100)


def test_without_a_date_of_the_usual_length_the_general_code_decides() raises:
    for date in [
        "",
        "Sun, 06 Nov 1994 08:49:37 GM",
        "Sun, 06 Nov 1994 08:49:37",
    ]:
        var server = _Server()
        assert_false(
            H1Machine(server.state).send_plain_response(
                200, HeaderMap(), _content(), date.as_bytes(), server.output
            )
        )
        _assert_same(server, _Server())


struct _Server(Movable):
    # A server that has received a whole request.
    var state: PointerTo[H1State]
    var output: PointerTo[Buffer]

    def __init__(out self):
        self.state = heap_create(H1State(Role.SERVER, H1Limits()))
        self.state[].request = SideState.DONE
        self.state[].response = SideState.AWAITED
        # As after one of HTTP/1.1 with content, to see what is forgotten.
        self.state[].send_left = 7
        self.output = heap_create(Buffer(capacity=64 * 1024))

    def __deinit__(deinit self):
        heap_destroy(self.state)
        heap_destroy(self.output)

    def write_plain(
        self,
        status: Int,
        fields: HeaderMap,
        content: List[UInt8],
        *,
        copies: Bool = True,
    ) -> Bool:
        return H1Machine(self.state).send_plain_response(
            status,
            fields,
            Span(content),
            _DATE.as_bytes(),
            self.output,
            copies=copies,
        )

    def write(
        self, status: Int, fields: HeaderMap, content: List[UInt8]
    ) raises:
        var machine = H1Machine(self.state)
        machine.send_response_head(
            status,
            fields,
            BodyLength.known(len(content)),
            _DATE.as_bytes(),
            self.output,
        )
        machine.send_data(Span(content), self.output)
        machine.send_end(self.output)


def _content() -> List[UInt8]:
    return List[UInt8](length=13, fill=120)


def _fields(lines: Int) raises -> HeaderMap:
    var fields = HeaderMap()
    if lines == 1:
        fields.append_constant["Content-Type", "text/plain"]()
    elif lines > 1:
        for i in range(lines * 3):
            fields.append(String("X-", i), "a value")
    return fields^


def _change(mut s: H1State, change: Int):
    if change == 0:
        s.role = Role.CLIENT
    elif change == 1:
        s.response = SideState.IDLE
    elif change == 2:
        s.request = SideState.BODY
    elif change == 3:
        s.version_minor = 0
    elif change == 4:
        s.is_bodiless = True
    elif change == 5:
        s.is_last = True
    elif change == 6:
        s.keep_alive = False
    else:
        s.response = SideState.BODY


def _assert_same(a: _Server, b: _Server) raises:
    assert_equal(
        StringSlice(unsafe_from_utf8=a.output[].span()),
        StringSlice(unsafe_from_utf8=b.output[].span()),
    )
    ref s = a.state[]
    ref t = b.state[]
    assert_equal(s.role, t.role)
    assert_equal(s.request, t.request)
    assert_equal(s.response, t.response)
    assert_equal(s.version_minor, t.version_minor)
    assert_equal(s.receive_body, t.receive_body)
    assert_equal(s.send_body, t.send_body)
    assert_equal(s.keep_alive, t.keep_alive)
    assert_equal(s.is_last, t.is_last)
    assert_equal(s.has_ended, t.has_ended)
    assert_equal(s.is_bodiless, t.is_bodiless)
    assert_equal(s.wants_upgrade, t.wants_upgrade)
    assert_equal(s.stream_id, t.stream_id)
    assert_equal(s.received, t.received)
    assert_equal(s.receive_left, t.receive_left)
    assert_equal(s.send_left, t.send_left)


comptime TESTS = __functions_in_module()
