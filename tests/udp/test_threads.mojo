"""Tests for sockets of datagrams that threads share."""

from std.atomic import Atomic
from std.memory import ArcPointer

from flare.core import Erased, PointerTo, heap_create, heap_destroy
from flare.net import SocketAddr
from flare.runtime.backend import BackendKind
from flare.runtime.current import current_reactor
from flare.runtime.private_loop import begin_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.runtime.wait import sleep
from flare.sys.thread import join_thread, start_thread
from flare.udp import UdpSocket
from tests.asserting import assert_equal, assert_true
from tests.tcp.loops import on_each_backend

comptime _Shared = ArcPointer[UdpSocket]


def test_closing_on_another_thread_ends_a_receive() raises:
    on_each_backend(_close_elsewhere)


def test_one_thread_receives_what_another_sends_on_the_same_socket() raises:
    on_each_backend(_both_directions)


struct _Errand(Movable):
    var kind: BackendKind
    var socket: Optional[_Shared]
    var count: Int
    var came: Int
    var failure: String
    var begun: UInt32

    def __init__(out self, socket: _Shared, count: Int) raises:
        self.kind = current_reactor().value().backend_kind()
        self.socket = socket
        self.count = count
        self.came = 0
        self.failure = String()
        self.begun = 0


def _begin(
    socket: _Shared, count: Int
) raises -> Tuple[PointerTo[_Errand], UInt64]:
    var target = heap_create(_Errand(socket, count))
    var started = start_thread(_thread, target.unsafe_bitcast[NoneType]())
    assert_equal(started[0], 0)
    while Atomic.load(Pointer(to=target[].begun)) == 0:
        sleep(1)
    return (target, started[1])


def _thread(argument: Erased) abi("C") -> Optional[Erased]:
    var errand = argument.unsafe_bitcast[_Errand]()
    try:
        var begun = begin_private_loop(ReactorConfig(backend=errand[].kind))
        if begun[0] < 0:
            raise Error("no loop: ", begun[0])
        var socket = errand[].socket.value()
        var into = List[UInt8](length=64, fill=0)
        Atomic.store(Pointer(to=errand[].begun), UInt32(1))
        while errand[].came < errand[].count:
            errand[].came += socket[].recv_from(Span(into))[0]
    except e:
        errand[].failure = String(e)
        Atomic.store(Pointer(to=errand[].begun), UInt32(1))
    # The socket's last word is said on this thread.
    errand[].socket = None
    return None


def _end(
    begun: Tuple[PointerTo[_Errand], UInt64], failure: StringSlice
) raises -> Int:
    join_thread(begun[1])
    var came = begun[0][].came
    var found = begun[0][].failure
    heap_destroy(begun[0])
    assert_true(found.startswith(failure), found)
    if failure == "":
        assert_equal(found, "")
    return came


def _close_elsewhere() raises:
    for waits in range(2):
        var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
        var begun = _begin(socket, 1)
        if waits == 1:
            sleep(5)
        socket[].close()
        assert_equal(_end(begun, "net.closed receive_from"), 0)


def _both_directions() raises:
    # The receive buffer holds them all, should that thread get no time.
    comptime COUNT = 100
    var socket = _Shared(UdpSocket.bind(SocketAddr.localhost(0)))
    var address = socket[].local_address()
    var begun = _begin(socket, COUNT)
    for _ in range(COUNT):
        socket[].send_to("x".as_bytes(), address)
        sleep(0)
    assert_equal(_end(begun, ""), COUNT)


comptime TESTS = __functions_in_module()
