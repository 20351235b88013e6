"""Tests what becomes of a loop for which something lacks."""

from std.ffi import c_int, external_call

from flare.core import Erased, heap_create, heap_destroy
from flare.net import NetError
from flare.runtime.backend import BackendKind
from flare.runtime.backends.simulated import SimulatedBackend
from flare.runtime.backends.simulated_network import SimulatedNetwork
from flare.runtime.blocking import blocking
from flare.runtime.buffer_pool import BufferPool
from flare.runtime.reactor import RECEIVE_BUFFER_OCTETS, Reactor, ReactorConfig
from flare.runtime.start import open_reactor
from flare.runtime.task import spawn
from flare.runtime.wait import sleep
from flare.sys.clock import monotonic_ms
from flare.sys.errno import EBADF, EMFILE
from flare.sys.file import (
    close_descriptor,
    duplicate_descriptor,
    open_event_descriptor,
)
from flare.sys.thread import join_thread, start_thread
from tests.asserting import assert_equal, assert_false, assert_true
from tests.runtime.loop import Log

comptime _RLIMIT_NOFILE = 7
comptime _LIMIT = UInt64(512)
# Its kernel interface, and what wakes it.
comptime _DESCRIPTORS_OF_A_LOOP = 2


def test_a_loop_that_nothing_could_wake_is_not_opened() raises:
    for kind in [BackendKind.EPOLL, BackendKind.IO_URING]:
        for spare in range(4):
            var few = _FewDescriptors(spare)
            var opened = open_reactor(ReactorConfig(backend=kind))
            if spare < _DESCRIPTORS_OF_A_LOOP:
                assert_false(opened[1], String("with ", spare))
                assert_equal(opened[0], -EMFILE)
            else:
                assert_true(opened[1], String("with ", spare))
                assert_true(_can_be_woken(opened[1].value()))
                opened[1].value().destroy()
            assert_equal(few.count_spare(), spare)
            _ = few^


def test_a_loop_whose_kernel_refuses_to_watch_for_letters_says_so() raises:
    # The network knows nothing of a descriptor of the kernel.
    var buffers = BufferPool.create(RECEIVE_BUFFER_OCTETS, 64)
    var reactor = Reactor.over(
        SimulatedBackend(SimulatedNetwork.create(1), buffers),
        BackendKind.SIMULATED,
        ReactorConfig(),
        buffers,
    )
    assert_equal(reactor.state[].mailbox.listen(reactor), -EBADF)
    reactor.destroy()


def test_who_waits_where_no_loop_can_be_opened_is_told_why() raises:
    var log = heap_create(Log())
    var few = _FewDescriptors(0)
    var started = start_thread(_wait, log.unsafe_bitcast[NoneType]())
    join_thread(started[1])
    _ = few^
    var lacks = String(NetError.NO_DESCRIPTORS)
    assert_equal(log[].take(), [lacks, lacks, lacks])
    heap_destroy(log)


def _wait(argument: Erased) abi("C") -> Optional[Erased]:
    var log = argument.unsafe_bitcast[Log]()

    def body() raises {}:
        pass

    try:
        sleep(1)
    except e:
        log[].add(String(NetError.of(e).value().kind))
    try:
        blocking(body)
    except e:
        log[].add(String(NetError.of(e).value().kind))
    try:
        spawn(body).join()
    except e:
        log[].add(String(NetError.of(e).value().kind))
    return None


def _can_be_woken(reactor: Reactor) -> Bool:
    reactor.turn(0)
    reactor.state[].mailbox.wake()
    var begun_ms = monotonic_ms()
    reactor.turn(2000)
    return monotonic_ms() - begun_ms < 1000


struct _FewDescriptors(Movable):
    """Leaves the process no more descriptors than a few."""

    var limit: UInt64
    var held: List[Int32]

    def __init__(out self, spare: Int) raises:
        self.held = []
        self.limit = _set_descriptor_limit(_LIMIT)
        var first = Int32(open_event_descriptor())
        assert_true(first >= 0)
        self.held.append(first)
        while True:
            var more = duplicate_descriptor(first)
            if more < 0:
                break
            self.held.append(Int32(more))
        for _ in range(spare):
            _ = close_descriptor(self.held.pop())

    def count_spare(self) -> Int:
        var opened = List[Int32]()
        while True:
            var more = duplicate_descriptor(self.held[0])
            if more < 0:
                break
            opened.append(Int32(more))
        for descriptor in opened:
            _ = close_descriptor(descriptor)
        return len(opened)

    def __deinit__(deinit self):
        """Gives them back, also behind a test that has failed."""
        for descriptor in self.held:
            _ = close_descriptor(descriptor)
        _ = _set_descriptor_limit(self.limit)


def _set_descriptor_limit(count: UInt64) -> UInt64:
    var limit = Array[UInt64, 2](fill=0)
    _ = external_call["getrlimit", c_int](
        c_int(_RLIMIT_NOFILE), limit.unsafe_ptr()
    )
    var before = limit[0]
    limit[0] = count
    _ = external_call["setrlimit", c_int](
        c_int(_RLIMIT_NOFILE), limit.unsafe_ptr()
    )
    return before


comptime TESTS = __functions_in_module()
