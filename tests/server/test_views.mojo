"""Lets views of requests outlive them, which builds with assertions show."""

from std.testing import assert_equal, assert_false, assert_true

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.exchange import ExchangeState
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.poison import POISON
from flare.runtime.backends.simulated_network import Peer
from flare.runtime.task import captures_a_view, spawn
from flare.runtime.wait import sleep
from flare.testing.test_server import TestServer


def test_views_of_a_request_that_is_over_show_nothing_of_another() raises:
    # Alone in its buffer, with content behind it, and with octets of the next
    # request behind it; in two pieces, and with escapes in its path.
    for row in [
        "GET /keep/secret HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /keep/%73ecret HTTP/1.1\r\nHost: a\r\n\r\n",
        (
            "POST /keep/secret HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n"
            "\r\nsecret"
        ),
        "GET /keep/|secret HTTP/1.1\r\nHost: a\r\n\r\n",
    ]:
        var seen = heap_create(List[List[UInt8]]())
        var server = TestServer(_Keeper(seen))
        var peer = server.connect()
        for piece in row.split("|"):
            peer.send(String(piece))
            server.settle()
        _ = server.receive(peer)
        # Others use the memory of the first, if it is free.
        for _ in range(20):
            var other = server.connect()
            other.send("GET /other/private HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = server.receive(other)
            other.close()
        server.advance(1000)
        assert_equal(len(seen[]), 2, row)
        for octets in seen[]:
            assert_true(len(octets) > 0)
            for octet in octets:
                assert_equal(octet, POISON, row)
        peer.close()
        server.stop()
        # What was kept for the fiber is free again.
        assert_equal(server.remains(), "")
        _ = server^
        heap_destroy(seen)


def test_a_fiber_that_was_joined_keeps_nothing() raises:
    var seen = heap_create(List[List[UInt8]]())
    var server = TestServer(_Keeper(seen))
    var said = server.exchange(
        "GET /join/first HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /join/second HTTP/1.1\r\nHost: a\r\n\r\n"
    )
    assert_true(said.find("/join/first") > 0)
    assert_true(said.find("/join/second") > 0)
    server.stop()
    assert_equal(server.remains(), "")
    _ = server^
    heap_destroy(seen)


def test_a_closure_shows_whether_it_captures_a_view() raises:
    var text = String("text")
    var view = StringSlice(text)
    var constant = StaticString("constant")
    var views = [view]
    var number = 5

    def owns() raises {var text, var number, var constant}:
        _ = text.byte_length() + number + constant.byte_length()

    def views_one() raises {var view}:
        _ = view.byte_length()

    def views_many() raises {var views^}:
        _ = len(views)

    def refers() raises {imm number}:
        _ = number

    def captures_none() raises {}:
        pass

    assert_false(_shows(owns))
    assert_true(_shows(views_one))
    assert_true(_shows(views_many^))
    assert_true(_shows(refers))
    assert_false(_shows(captures_none))

    # A closure inside of a closure.
    def nested() raises {var views_one}:
        views_one()

    assert_true(_shows(nested))


def _shows[F: def() raises -> None](var body: F) -> Bool:
    return captures_a_view[F]()


@fieldwise_init
struct _Keeper(Handler):
    var seen: PointerTo[List[List[UInt8]]]

    def serve(self, req: Request) raises -> Response:
        if not req.path.startswith("/keep") and not req.path.startswith(
            "/join"
        ):
            return ok(req.path)
        var seen = self.seen
        var path = req.path
        var content = req.text() if req.method == "POST" else req.url

        def later() raises {var seen, var path, var content}:
            sleep(100)
            seen[].append(List[UInt8](path.as_bytes()))
            seen[].append(List[UInt8](content.as_bytes()))

        # A mistake, which the assertions show.
        var child = spawn[unsafe_borrows=True](later)
        if req.path.startswith("/join"):
            child^.join()
        else:
            child^.detach()
        return ok(String(path))


comptime TESTS = __functions_in_module()
