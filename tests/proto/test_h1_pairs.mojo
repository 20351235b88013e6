"""Tests for `flare.proto.h1`: a client machine against a server machine."""

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.proto.h1 import (
    BodyLength,
    H1Limits,
    H1Machine,
    H1State,
    Head,
    HttpEvent,
    Role,
)

from tests.asserting import assert_equal, assert_true

comptime _NONE = -2
comptime _UNKNOWN = -1
comptime _WHOLE = 1 << 30


def test_what_one_sends_the_other_receives_whole_and_in_pieces() raises:
    for pace in [_WHOLE, 1, 7]:
        for request in [_NONE, 0, 1, 5, 300, _UNKNOWN]:
            for response in [_NONE, 0, 1, 5, 300, _UNKNOWN]:
                var pair = Pair(pace)
                for status in [200, 404, 204, 304]:
                    pair.exchange("POST", request, status, response)
                    pair.exchange("HEAD", _NONE, status, response)
                assert_true(pair.client.can_reuse())
                assert_true(pair.server.can_reuse())
                assert_equal(pair.client.stream_id(), 8)
                assert_equal(pair.server.stream_id(), 8)
                # A copied handle does not keep what it points at.
                _ = pair^


def test_a_large_body_passes_in_pieces_of_any_size() raises:
    for pace in [_WHOLE, 1000, 4096]:
        var pair = Pair(pace)
        pair.exchange("PUT", 100_000, 200, _UNKNOWN - 100_000)
        pair.exchange("PUT", _UNKNOWN - 100_000, 200, 100_000)


def test_an_informational_response_passes_before_the_body() raises:
    for pace in [_WHOLE, 1]:
        var pair = Pair(pace)
        var fields = HeaderMap()
        fields.append("Host", "a")
        fields.append("Expect", "100-continue")
        pair.client.send_request_head(
            "POST", "/", fields, BodyLength.known(2), pair.to_server
        )
        pair.to_machine(pair.server, pair.to_server)
        assert_true(pair.head[].expects_continue)
        pair.server.send_informational(100, pair.to_client)
        pair.to_machine(pair.client, pair.to_client)
        assert_equal(pair.seen, "INFORMATIONAL_HEAD 100\n")
        pair.client.send_data(StaticString("hi").as_bytes(), pair.to_server)
        pair.client.send_end(pair.to_server)
        pair.to_machine(pair.server, pair.to_server)
        assert_equal(pair.seen, "DATA hi\nEND_OF_MESSAGE\n")


def test_both_ends_agree_that_a_connection_closes() raises:
    for by_client in [True, False]:
        var pair = Pair(_WHOLE)
        if by_client:
            pair.client.close_after_exchange()
        else:
            pair.server.close_after_exchange()
        pair.exchange("GET", _NONE, 200, 5)
        assert_true(pair.client.wants_close())
        assert_true(pair.server.wants_close())
        _ = pair^


def test_both_ends_agree_on_an_upgrade() raises:
    for pace in [_WHOLE, 1]:
        var pair = Pair(pace)
        var fields = HeaderMap()
        fields.append("Host", "a")
        fields.append("Connection", "upgrade")
        fields.append("Upgrade", "echo")
        pair.client.send_request_head(
            "GET", "/", fields, BodyLength.NONE, pair.to_server
        )
        pair.client.send_end(pair.to_server)
        pair.to_machine(pair.server, pair.to_server)
        assert_true(pair.head[].wants_upgrade)
        var answer = HeaderMap()
        answer.append("Upgrade", "echo")
        pair.server.send_response_head(
            101,
            answer,
            BodyLength.NONE,
            StaticString("").as_bytes(),
            pair.to_client,
        )
        pair.to_machine(pair.client, pair.to_client)
        assert_equal(pair.seen, "RESPONSE_HEAD 101\nUPGRADED\n")


struct Pair:
    """Owns a client, a server and what is on its way between them."""

    var client: H1Machine
    """The client."""
    var server: H1Machine
    """The server."""
    var to_server: PointerTo[Buffer]
    """What the client has sent."""
    var to_client: PointerTo[Buffer]
    """What the server has sent."""
    var head: PointerTo[Head]
    """The last head or trailers of either."""
    var pace: Int
    """How many octets arrive at once."""
    var seen: String
    """What the last receiver reported."""

    def __init__(out self, pace: Int):
        """Connects a fresh client with a fresh server.

        Args:
            pace: How many octets arrive at once.
        """
        var limits = H1Limits()
        self.client = H1Machine(heap_create(H1State(Role.CLIENT, limits)))
        self.server = H1Machine(heap_create(H1State(Role.SERVER, limits)))
        self.to_server = heap_create(Buffer())
        self.to_client = heap_create(Buffer())
        self.head = heap_create(Head())
        self.pace = pace
        self.seen = String()

    def __deinit__(deinit self):
        """Frees both."""
        heap_destroy(self.client.state)
        heap_destroy(self.server.state)
        heap_destroy(self.to_server)
        heap_destroy(self.to_client)
        heap_destroy(self.head)

    def exchange(
        mut self, method: String, request: Int, status: Int, response: Int
    ) raises:
        """Runs one exchange and checks what each end saw.

        Args:
            method: The method.
            request: The length of the request body; below `_UNKNOWN` an
                unknown length of that many octets less one.
            status: The status of the response.
            response: The length of the response body.

        Raises:
            Error: If an end saw something else than the other sent.
        """
        var fields = HeaderMap()
        fields.append("Host", "a")
        self.client.send_request_head(
            method, "/p?q", fields, _length(request), self.to_server
        )
        var expected = String("REQUEST_HEAD ", method, " /p?q\n")
        expected += self._send_body(self.client, request, self.to_server, True)
        self.to_machine(self.server, self.to_server)
        assert_equal(self.seen, expected)
        var none = HeaderMap()
        self.server.send_response_head(
            status,
            none,
            _length(response),
            StaticString("").as_bytes(),
            self.to_client,
        )
        var is_bodiless = method == "HEAD" or status == 204 or status == 304
        expected = String("RESPONSE_HEAD ", status, "\n")
        expected += self._send_body(
            self.server, response, self.to_client, not is_bodiless
        )
        self.to_machine(self.client, self.to_client)
        assert_equal(self.seen, expected)

    def to_machine(
        mut self, machine: H1Machine, octets: PointerTo[Buffer]
    ) raises:
        """Lets what was sent arrive and notes what it causes.

        Args:
            machine: The receiver.
            octets: What was sent to it.

        Raises:
            Error: If the receiver refuses it.
        """
        self.seen = String()
        var data = String()
        var arrived = 0
        while True:
            var left = len(octets[])
            arrived = min(left, arrived + self.pace)
            while True:
                var window = octets[].span()[:arrived]
                var event = machine.next_event(window, self.head)
                if event.kind == HttpEvent.DATA:
                    data += StringSlice(
                        unsafe_from_utf8=window[event.start :][: event.length]
                    )
                elif event.kind > HttpEvent.PAUSED:
                    if data != "":
                        self.seen += "DATA " + data + "\n"
                        data = String()
                    self._note(event, window)
                octets[].consume(event.consumed)
                arrived -= event.consumed
                if (
                    event.kind <= HttpEvent.PAUSED
                    or event.kind == HttpEvent.UPGRADED
                ):
                    break
            if arrived == len(octets[]):
                assert_equal(arrived, 0)
                return

    def _note(mut self, event: HttpEvent, window: Span[UInt8, _]):
        self.seen += HttpEvent.name(event.kind)
        if event.kind == HttpEvent.REQUEST_HEAD:
            self.seen += String(
                " ",
                self.head[].method_text(window),
                " ",
                self.head[].target_text(window),
            )
        elif event.kind <= HttpEvent.INFORMATIONAL_HEAD:
            self.seen += String(" ", self.head[].status)
        elif event.kind == HttpEvent.TRAILERS:
            self.seen += String(" ", len(self.head[].trailers))
        self.seen += "\n"

    def _send_body(
        self,
        machine: H1Machine,
        length: Int,
        output: PointerTo[Buffer],
        arrives: Bool,
    ) raises -> String:
        var is_unknown = length < 0 and length != _NONE
        var count = length
        if length == _NONE:
            count = 0
        elif is_unknown:
            count = 5 if length == _UNKNOWN else _UNKNOWN - length
        var body = List[UInt8](length=count, fill=120)
        var half = count // 2
        machine.send_data(Span(body)[:half], output)
        machine.send_data(Span(body)[half:], output)
        var trailers = HeaderMap()
        if is_unknown:
            trailers.append("X-One", "1")
            trailers.append("X-Two", "2")
            machine.send_trailers(trailers, output)
        machine.send_end(output)
        if not arrives or count == 0:
            return "END_OF_MESSAGE\n"
        var seen = String("DATA ")
        seen += StringSlice(unsafe_from_utf8=Span(body))
        seen += "\nTRAILERS 2\n" if is_unknown else "\n"
        return seen + "END_OF_MESSAGE\n"


def _length(octets: Int) -> BodyLength:
    if octets == _NONE:
        return BodyLength.NONE
    return BodyLength.known(octets) if octets >= 0 else BodyLength.UNKNOWN


comptime TESTS = __functions_in_module()
