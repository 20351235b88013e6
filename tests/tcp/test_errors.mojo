"""Tests that one `try` takes our errors, a user's and those of the library."""

from flare.http import Response, Router, ok
from flare.net import NetError, SocketAddr
from flare.runtime.task import spawn
from flare.tcp import TcpListener, TcpStream
from tests.asserting import assert_equal, assert_true
from tests.tcp.loops import on_each_backend


def test_one_try_mixes_our_errors_with_those_of_others() raises:
    on_each_backend(_mixed)


def _mixed() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var free = listener.local_address()
    listener.close()
    var rows: List[Tuple[String, String, Int]] = [
        (String(free), String("8"), NetError.REFUSED),
        (String("nobody:1"), String("8"), NetError.BAD_ADDRESS),
        (String(free), String("eight"), -1),
        (String(free), String("80"), -1),
        (String(free), String("0"), -1),
    ]
    for row in rows:
        var seen = -2
        try:
            _ = _ask(row[0], row[1])
        except e:
            var error = NetError.of(e)
            seen = error.value().kind if error else -1
            if seen == NetError.REFUSED:
                ref refused = error.value()
                assert_equal(refused.operation, "connect")
                assert_equal(refused.errno, 111)
                assert_true(refused.address.value() == free)
        assert_equal(seen, row[2], row[0])


@no_inline
def _ask(address: StringSlice, count: StringSlice) raises -> Int:
    var number = _few(Int(count))
    var router = Router()
    router.get("/" if number > 0 else "a path begins with a slash", _hello)

    def double() raises {var number} -> Int:
        return number * 2

    var doubled = spawn(double).join()
    _ = router^
    var stream = TcpStream.connect(SocketAddr.parse(address))
    return doubled + stream.write("x".as_bytes())


def _hello() raises -> Response:
    return ok("hello")


def _few(count: Int) raises -> Int:
    if count > 9:
        raise Error("too many: ", count)
    return count


comptime TESTS = __functions_in_module()
