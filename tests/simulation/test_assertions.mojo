"""Makes mistakes that only builds with assertions show, as this one is."""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.http.builders import ok
from flare.http.handler import Handler
from flare.http.request import Request
from flare.http.response import Response
from flare.http.server.exchange.poison import POISON
from flare.runtime.operation import ADDRESS_BITS, Operation
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.file import close_descriptor
from flare.sys.process import exit_process, fork_process, wait_for_end
from flare.testing.test_server import TestServer

from tests.asserting import assert_equal, assert_true


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


def test_an_address_that_no_token_holds_ends_the_process() raises:
    for address in [1 << ADDRESS_BITS, 32]:
        var child = fork_process()
        if child == 0:
            # The words of the assertion are no news of this test.
            _ = close_descriptor(1)
            _ = close_descriptor(2)
            _ = Operation.token_of(address, 1)
            exit_process(0)
        assert_true(wait_for_end(child).exit_code() != 0)


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
