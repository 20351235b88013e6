"""Tests for sockets that change threads, and that threads share."""

from std.atomic import Atomic

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.runtime.backend import BackendKind
from flare.runtime.current import current_reactor
from flare.runtime.private_loop import begin_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.thread import join_thread, start_thread
from tests.asserting import assert_equal, assert_true
from tests.tcp.loops import (
    Shared,
    connected,
    connected_shared,
    octets_of,
    on_each_backend,
    pattern,
    read_to_end,
)


def test_an_idle_stream_moves_to_another_thread_and_back() raises:
    on_each_backend(_move)


def test_a_stream_outlives_the_thread_that_connected_it() raises:
    on_each_backend(_outlive)


def test_one_thread_reads_what_another_writes_on_the_same_stream() raises:
    on_each_backend(_both_directions)


def test_closing_on_another_thread_ends_a_read() raises:
    on_each_backend(_close_elsewhere)


def test_many_threads_wait_on_loops_of_their_own() raises:
    on_each_backend(_many_threads)


struct _Errand(Movable):
    """Says what a thread does with a stream, and what became of it."""

    var kind: BackendKind
    var run: def(PointerTo[_Errand]) raises thin -> None
    var stream: Optional[Shared]
    var octets: List[UInt8]
    var failure: String
    var begun: UInt32

    def __init__(
        out self,
        run: def(PointerTo[_Errand]) raises thin -> None,
        stream: Optional[Shared],
    ):
        self.kind = BackendKind.EPOLL
        if current_reactor():
            self.kind = current_reactor().value().backend_kind()
        self.run = run
        self.stream = stream
        self.octets = List[UInt8]()
        self.failure = String()
        self.begun = 0


def _begin(var errand: _Errand) raises -> Tuple[PointerTo[_Errand], UInt64]:
    var target = heap_create(errand^)
    var started = start_thread(_thread, target.unsafe_bitcast[NoneType]())
    assert_equal(started[0], 0)
    return (target, started[1])


def _end(
    begun: Tuple[PointerTo[_Errand], UInt64], failure: StringSlice
) raises -> List[UInt8]:
    join_thread(begun[1])
    var errand = begun[0]
    var octets = errand[].octets.copy()
    var found = errand[].failure
    heap_destroy(errand)
    assert_true(found.startswith(failure), found)
    if failure == "":
        assert_equal(found, "")
    return octets^


def _thread(argument: Erased) abi("C") -> Optional[Erased]:
    var errand = argument.unsafe_bitcast[_Errand]()
    try:
        var begun = begin_private_loop(ReactorConfig(backend=errand[].kind))
        if begun[0] < 0:
            raise Error("no loop: ", begun[0])
        errand[].run(errand)
    except e:
        errand[].failure = String(e)
    # The stream's last word is said on this thread.
    errand[].stream = None
    return None


def _read_some(errand: PointerTo[_Errand]) raises:
    var stream = errand[].stream.value()
    var into = List[UInt8](length=64, fill=0)
    Atomic.store(Pointer(to=errand[].begun), UInt32(1))
    var count = stream[].read(Span(into))
    stream[].write_all(Span(into)[0:count])
    errand[].octets.extend(Span(into)[0:count])


def _read_all(errand: PointerTo[_Errand]) raises:
    var stream = errand[].stream.value()
    Atomic.store(Pointer(to=errand[].begun), UInt32(1))
    errand[].octets = read_to_end(stream[], 30_000)


def _talk(errand: PointerTo[_Errand]) raises:
    var ends = connected()
    for _ in range(20):
        ends.client.write_all("ping".as_bytes())
        var into = List[UInt8](length=64, fill=0)
        assert_equal(ends.server.read(Span(into)), 4)
        sleep(0)
    ends.client.close()
    assert_equal(len(read_to_end(ends.server, 64)), 0)
    errand[].octets = octets_of("done")


def _make(errand: PointerTo[_Errand]) raises:
    var ends = connected_shared()
    var client = ends.client

    def read() raises {var client} -> Int:
        var octets = List[UInt8](length=64, fill=0)
        return client[].read(Span(octets))

    # A wait that lasts leaves nothing behind on this thread's loop.
    var reading = spawn(read)
    sleep(1)
    ends.server[].write_all("x".as_bytes())
    assert_equal(reading^.join(), 1)
    client[].write_all("left over".as_bytes())
    errand[].octets = octets_of(String(Int(_give_away(ends.server))))


def _give_away(stream: Shared) -> Int:
    return Int(heap_create(stream))


def _move() raises:
    var ends = connected_shared()
    var into = List[UInt8](length=64, fill=0)
    for round in range(3):
        # This thread's loop waits on the stream first …
        var server = ends.server

        def read() raises {var server} -> Int:
            var octets = List[UInt8](length=64, fill=0)
            return server[].read(Span(octets))

        var reading = spawn(read)
        sleep(1)
        ends.client[].write_all("here".as_bytes())
        assert_equal(reading^.join(), 4)
        # … then another thread's does.
        var begun = _begin(_Errand(_read_some, ends.server))
        sleep(5)
        ends.client[].write_all("there".as_bytes())
        assert_equal(ends.client[].read(Span(into)), 5)
        assert_equal(_end(begun, ""), octets_of("there"), String(round))
    ends.server[].close()
    assert_equal(ends.client[].read(Span(into)), 0)


def _outlive() raises:
    var begun = _begin(_Errand(_make, None))
    var address = _end(begun, "")
    var held = PointerTo[Shared](
        unsafe_from_address=Int(StringSlice(unsafe_from_utf8=Span(address)))
    )
    var stream = held[]
    heap_destroy(held)
    assert_equal(read_to_end(stream[], 64), octets_of("left over"))


def _both_directions() raises:
    comptime COUNT = 2_000_000
    var ends = connected_shared()
    var begun = _begin(_Errand(_read_all, ends.server))
    # The other thread reads the server's end while this one writes on it.
    var client = ends.client

    def answer() raises {var client} -> List[UInt8]:
        client[].write_all(Span(pattern(COUNT)))
        client[].end_sending()
        return read_to_end(client[], 30_000)

    var answering = spawn(answer)
    ends.server[].write_all(Span(pattern(COUNT)))
    ends.server[].end_sending()
    assert_true(answering^.join() == pattern(COUNT))
    assert_true(_end(begun, "") == pattern(COUNT))


def _close_elsewhere() raises:
    for waits in range(2):
        var ends = connected_shared()
        var begun = _begin(_Errand(_read_some, ends.server))
        if waits == 1:
            while Atomic.load(Pointer(to=begun[0][].begun)) == 0:
                sleep(1)
            sleep(5)
        ends.server[].close()
        _ = _end(begun, "net.closed read")
        var into = List[UInt8](length=64, fill=0)
        assert_equal(ends.client[].read(Span(into)), 0)


def _many_threads() raises:
    var begun = List[Tuple[PointerTo[_Errand], UInt64]]()
    for _ in range(8):
        begun.append(_begin(_Errand(_talk, None)))
    while len(begun) > 0:
        assert_equal(_end(begun.pop(), ""), octets_of("done"))


comptime TESTS = __functions_in_module()
