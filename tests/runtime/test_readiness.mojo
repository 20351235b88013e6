"""Tests for `flare.runtime.readiness`."""

from std.ffi import c_int, external_call
from std.testing import assert_raises

from flare.net import NetError
from flare.runtime import (
    BackendKind,
    ReactorConfig,
    deadline_in,
    sleep,
    spawn,
    wait_either,
    wait_readable,
    wait_writable,
)
from flare.runtime.private_loop import begin_private_loop, end_private_loop
from flare.runtime.socket import FiberSocket
from flare.runtime.task import JoinHandle
from flare.sys.clock import monotonic_ms
from flare.sys.file import (
    close_descriptor,
    open_event_descriptor,
    read_descriptor,
    write_descriptor,
)
from flare.sys.socket import open_socket_pair
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Log, Loop

comptime _O_CLOEXEC = 0o2000000
comptime _O_NONBLOCK = 0o4000
comptime _KINDS: List[BackendKind] = [BackendKind.EPOLL, BackendKind.IO_URING]


def test_octets_end_the_wait_of_a_reader() raises:
    for kind in materialize[_KINDS]():
        for pipe in [True, False]:
            var loop = Loop(ReactorConfig(backend=kind))
            var ends = _Ends(pipe)
            var log = Log()

            def body() raises {var ends, var log}:
                for _ in range(3):
                    wait_readable(ends.reader)
                    log.add(String(ends.read()))

            spawn(body).detach()
            for i in range(3):
                for _ in range(3):
                    loop.turn(1)
                assert_equal(len(log.read()), i, "it waits")
                ends.write(i + 1)
                while len(log.read()) == i:
                    loop.turn()
            assert_equal(loop.busy(), 0)
            assert_equal(log.take(), ["1", "2", "3"])
            ends.close()
            loop.close()


def test_what_is_ready_before_the_wait_ends_it() raises:
    for kind in materialize[_KINDS]():
        for pipe in [True, False]:
            _begin_script(kind)
            var ends = _Ends(pipe)
            ends.write(5)
            # Not emptied in between: readiness is a level, not an edge.
            for _ in range(3):
                wait_readable(ends.reader)
            wait_writable(ends.writer)
            assert_equal(ends.read(), 5)
            ends.close()
            end_private_loop()


def test_room_ends_the_wait_of_a_writer() raises:
    for kind in materialize[_KINDS]():
        for pipe in [True, False]:
            _begin_script(kind)
            var ends = _Ends(pipe)
            ends.fill()
            with assert_raises(contains="net.timeout wait errno=110"):
                wait_writable(ends.writer, 5)
            var log = Log()

            def drain() raises {var ends, var log}:
                sleep(5)
                log.add("drain")
                ends.drain()

            var handle = spawn(drain)
            wait_writable(ends.writer)
            assert_equal(log.take(), ["drain"])
            handle^.join()
            ends.close()
            end_private_loop()


def test_the_end_of_the_peer_makes_both_ready() raises:
    for kind in materialize[_KINDS]():
        _begin_script(kind)
        for pipe in [True, False]:
            var ends = _Ends(pipe)
            _ = close_descriptor(Int32(ends.writer))
            wait_readable(ends.reader)
            assert_equal(ends.read(), 0)
            _ = close_descriptor(Int32(ends.reader))
            ends = _Ends(pipe)
            ends.fill()
            _ = close_descriptor(Int32(ends.reader))
            wait_writable(ends.writer)
            _ = close_descriptor(Int32(ends.writer))
        end_private_loop()


def test_either_reports_what_is_ready() raises:
    for kind in materialize[_KINDS]():
        _begin_script(kind)
        var ends = _Ends(False)
        var ready = wait_either(ends.writer)
        assert_true(ready.writable and not ready.readable)
        _ = write_descriptor(Int32(ends.reader), [UInt8(1)])
        ready = wait_either(ends.writer)
        assert_true(ready.writable and ready.readable)
        ends.fill()
        ready = wait_either(ends.writer)
        assert_true(ready.readable and not ready.writable)
        var one = List[UInt8](length=1, fill=0)
        _ = read_descriptor(Int32(ends.writer), Span(one))
        with assert_raises(contains="net.timeout wait"):
            _ = wait_either(ends.writer, 5)
        _ = close_descriptor(Int32(ends.reader))
        ready = wait_either(ends.writer)
        assert_true(ready.readable and ready.writable)
        _ = close_descriptor(Int32(ends.writer))
        end_private_loop()


def test_two_fibers_may_wait_for_one_descriptor() raises:
    for kind in materialize[_KINDS]():
        var loop = Loop(ReactorConfig(backend=kind))
        var ends = _Ends(False)
        ends.fill()
        var log = Log()

        def reader() raises {var ends, var log}:
            wait_readable(ends.writer)
            log.add("readable")

        def writer() raises {var ends, var log}:
            wait_writable(ends.writer)
            log.add("writable")

        for _ in range(3):
            spawn(reader).detach()
            spawn(writer).detach()
        for _ in range(3):
            loop.turn(1)
        assert_equal(log.read(), List[String]())
        var before = _lowest_free_descriptor()
        _ = write_descriptor(Int32(ends.reader), [UInt8(1)])
        while loop.busy() > 3:
            loop.turn()
        assert_equal(log.read(), ["readable", "readable", "readable"])
        ends.drain()
        while loop.busy() > 0:
            loop.turn()
        assert_equal(len(log.take()), 6)
        ends.close()
        loop.close()
        assert_true(_lowest_free_descriptor() <= before)


def test_a_wait_beside_a_socket_of_flare_disturbs_neither() raises:
    for kind in materialize[_KINDS]():
        for waits_first in [True, False]:
            var loop = Loop(ReactorConfig(backend=kind))
            var ends = _Ends(False, non_blocking=False)
            var socket = FiberSocket.create(Int32(ends.writer))
            var log = Log()

            def wait() raises {var ends, var log}:
                wait_readable(ends.writer)
                log.add("ready")

            def receive() raises {var socket, var log}:
                var into = List[UInt8](length=9, fill=0)
                log.add(String("received ", socket.receive(Span(into))))

            if waits_first:
                spawn(wait).detach()
            spawn(receive).detach()
            if not waits_first:
                spawn(wait).detach()
            for _ in range(3):
                loop.turn(1)
            _ = write_descriptor(Int32(ends.reader), [UInt8(1)])
            while len(log.read()) < 2:
                loop.turn()
            var lines = log.take()
            assert_true("ready" in lines and "received 1" in lines)
            socket.close()
            _ = close_descriptor(Int32(ends.reader))
            loop.close()


def test_a_wait_for_room_beside_a_send_disturbs_neither() raises:
    for kind in materialize[_KINDS]():
        for waits_first in [True, False]:
            var loop = Loop(ReactorConfig(backend=kind))
            var ends = _Ends(False)
            ends.fill()
            var socket = FiberSocket.create(Int32(ends.writer))
            var log = Log()

            def wait() raises {var ends, var log}:
                wait_writable(ends.writer)
                log.add("ready")

            def send() raises {var socket, var log}:
                log.add(String("sent ", socket.send([UInt8(1)])))

            if waits_first:
                spawn(wait).detach()
                loop.turn(0)
            spawn(send).detach()
            loop.turn(0)
            if not waits_first:
                spawn(wait).detach()
            for _ in range(3):
                loop.turn(1)
            assert_equal(log.read(), List[String]())
            ends.drain()
            while len(log.read()) < 2:
                loop.turn()
            var lines = log.take()
            assert_true("ready" in lines and "sent 1" in lines)
            socket.close()
            _ = close_descriptor(Int32(ends.reader))
            loop.close()


def test_the_first_limit_ends_a_wait() raises:
    for kind in materialize[_KINDS]():
        _begin_script(kind)
        var ends = _Ends(True)
        var begun_ms = monotonic_ms()
        with assert_raises(contains="net.timeout wait errno=110"):
            wait_readable(ends.reader, 20)
        assert_true(20 <= monotonic_ms() - begun_ms < 5_000)
        with assert_raises(contains="net.timeout wait"):
            with deadline_in(5):
                wait_readable(ends.reader)
        with assert_raises(contains="net.timeout wait"):
            with deadline_in(5):
                wait_readable(ends.reader, None)
        # 0 still asks the kernel.
        with assert_raises(contains="net.timeout wait"):
            wait_readable(ends.reader, 0)
        ends.write(1)
        wait_readable(ends.reader, 0)
        # A wait that ended leaves nothing with the kernel that ends the next.
        assert_equal(ends.read(), 1)
        with assert_raises(contains="net.timeout wait"):
            wait_readable(ends.reader, 5)
        ends.close()
        end_private_loop()


def test_cancelling_ends_one_wait_and_not_the_one_beside_it() raises:
    for kind in materialize[_KINDS]():
        var loop = Loop(ReactorConfig(backend=kind))
        var ends = _Ends(True)

        def body() raises {var ends} -> Int:
            wait_readable(ends.reader)
            return 1

        var handles = List[JoinHandle[Int]]()
        for _ in range(3):
            handles.append(spawn(body))
        for _ in range(3):
            loop.turn(1)
        # The first one's place in the epoll backend, and that of a duplicate.
        for i in range(2):
            handles[i].cancel()
            while not handles[i].is_done():
                loop.turn()
        assert_false(handles[2].is_done())
        ends.write(1)
        while not handles[2].is_done():
            loop.turn()
        assert_equal(handles.pop().join(), 1)
        while len(handles) > 0:
            with assert_raises(contains="net.cancelled wait errno=125"):
                _ = handles.pop().join()
        ends.close()
        loop.close()


def test_a_descriptor_that_is_not_open_is_refused() raises:
    for kind in materialize[_KINDS]():
        _begin_script(kind)
        var ends = _Ends(True)
        ends.close()
        for descriptor in [ends.reader, -1]:
            with assert_raises(contains="net.closed wait errno=9"):
                wait_readable(descriptor)
            with assert_raises(contains="net.closed wait errno=9"):
                _ = wait_either(descriptor)
        try:
            wait_writable(ends.writer)
            assert_true(False, "a closed descriptor")
        except e:
            assert_equal(NetError.of(e).value().kind, NetError.CLOSED)
        end_private_loop()


def test_a_number_that_came_back_is_another_descriptor() raises:
    for kind in materialize[_KINDS]():
        _begin_script(kind)
        for _ in range(3):
            var ends = _Ends(True)
            with assert_raises(contains="net.timeout"):
                wait_readable(ends.reader, 1)
            ends.write(1)
            wait_readable(ends.reader)
            ends.close()
        end_private_loop()


def test_a_file_of_a_disk_is_ready() raises:
    for kind in materialize[_KINDS]():
        _begin_script(kind)
        with open("/proc/self/exe", "r") as file:
            wait_readable(Int(file.handle))
            var ready = wait_either(Int(file.handle))
            assert_true(ready.readable and ready.writable)
        end_private_loop()


def test_inside_a_loop_but_outside_a_fiber_it_is_an_error() raises:
    var loop = Loop(ReactorConfig())
    with assert_raises(contains="wait errno=35"):
        wait_readable(0)
    loop.close()


@fieldwise_init
struct _Ends(ImplicitlyCopyable):
    """A pipe, or two sockets that are connected to each other."""

    var reader: Int
    var writer: Int

    def __init__(out self, pipe: Bool, non_blocking: Bool = True) raises:
        self.reader = -1
        self.writer = -1
        if pipe:
            var ends = Array[c_int, 2](fill=-1)
            assert_equal(
                external_call["pipe2", c_int](
                    Pointer(to=ends), c_int(_O_CLOEXEC | _O_NONBLOCK)
                ),
                0,
            )
            self.reader = Int(ends[0])
            self.writer = Int(ends[1])
        else:
            var reader = Int32(-1)
            var writer = Int32(-1)
            assert_equal(
                open_socket_pair(
                    AF_UNIX,
                    SOCK_STREAM,
                    reader,
                    writer,
                    non_blocking=non_blocking,
                ),
                0,
            )
            self.reader = Int(reader)
            self.writer = Int(writer)

    def write(self, value: Int) raises:
        assert_equal(
            write_descriptor(Int32(self.writer), [UInt8(value)]), 1, "room"
        )

    def read(self) raises -> Int:
        var into = List[UInt8](length=1, fill=0)
        var count = read_descriptor(Int32(self.reader), Span(into))
        assert_true(count >= 0, "octets wait, or the end")
        return Int(into[0])

    def fill(self):
        var octets = List[UInt8](length=64 * 1024, fill=7)
        while write_descriptor(Int32(self.writer), Span(octets)) > 0:
            pass

    def drain(self):
        var octets = List[UInt8](length=64 * 1024, fill=7)
        while read_descriptor(Int32(self.reader), Span(octets)) > 0:
            pass

    def close(self):
        _ = close_descriptor(Int32(self.reader))
        _ = close_descriptor(Int32(self.writer))


def _begin_script(kind: BackendKind) raises:
    end_private_loop()
    assert_equal(begin_private_loop(ReactorConfig(backend=kind))[0], 0)


def _lowest_free_descriptor() -> Int:
    var descriptor = open_event_descriptor()
    _ = close_descriptor(Int32(descriptor))
    return descriptor


comptime TESTS = __functions_in_module()
