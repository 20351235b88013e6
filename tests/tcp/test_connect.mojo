"""Tests for connecting and listening: addresses, names, failures, numbers."""

from std.testing import assert_raises

from flare.dns import DnsError
from flare.net import IpAddr, NetError, SocketAddr
from flare.runtime import deadline_in, sleep
from flare.runtime.task import JoinHandle, spawn
from flare.sys.clock import monotonic_ms
from flare.tcp import TcpListener, TcpStream
from flare.tcp.connect import ATTEMPT_DELAY_MS, connect_to_first
from flare.tcp.host import host_addresses, in_turns
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import octets_of, on_each_backend, read_to_end


def test_a_refused_connect_names_the_address_and_the_errno() raises:
    on_each_backend(_refused)


def test_a_connect_that_gets_no_answer_ends_after_its_timeout() raises:
    on_each_backend(_no_answer)


def test_both_families_connect() raises:
    on_each_backend(_families)


def test_a_listener_at_any_v6_address_takes_v4_unless_told_not_to() raises:
    on_each_backend(_dual_stack)


def test_localhost_is_tried_by_v4_and_then_by_v6() raises:
    on_each_backend(_localhost)


def test_the_program_of_the_guide_runs() raises:
    on_each_backend(_program)


def test_an_address_in_use_is_refused_unless_both_share_the_port() raises:
    on_each_backend(_in_use)


def test_options_of_a_listener_hold_for_what_it_accepts() raises:
    on_each_backend(_inherited)


def test_two_hundred_connections_are_served_at_once() raises:
    on_each_backend(_two_hundred)


def test_an_address_of_no_machine_is_unreachable_or_refused() raises:
    on_each_backend(_broadcast)


def test_an_address_that_is_silent_delays_the_next_one_only() raises:
    on_each_backend(_silent_first)


def test_an_address_that_refuses_delays_nobody() raises:
    on_each_backend(_refusing_first)


def test_an_address_that_refuses_delays_nobody_behind_a_silent_one() raises:
    on_each_backend(_refusing_behind_silent)


def test_of_many_failures_that_of_the_first_address_is_raised() raises:
    on_each_backend(_all_fail)


def test_attempts_at_silent_addresses_end_with_their_time() raises:
    on_each_backend(_all_silent)


def test_a_cancelled_race_of_attempts_ends() raises:
    on_each_backend(_cancelled_race)


def test_hosts_are_addresses_or_names() raises:
    assert_equal(len(host_addresses("localhost", 80, None)), 2)
    assert_true(
        host_addresses("192.0.2.1", 80, None)[0]
        == SocketAddr.parse("192.0.2.1:80")
    )
    assert_true(
        host_addresses("::1", 80, None)[0] == SocketAddr.localhost_v6(80)
    )
    for host in ["", "[::1]", "127.0.0.1:80", "1.2.3", "a\r\nb", "a@b"]:
        try:
            _ = TcpStream.connect(host, 80)
            assert_true(False, host)
        except e:
            assert_equal(DnsError.of(e).value().kind, DnsError.BAD_NAME)
            assert_false("\r" in String(e))


def test_families_take_turns() raises:
    var v4 = IpAddr.v4(10, 0, 0, 1)
    var v6 = IpAddr.localhost_v6()
    assert_equal(_listed([v6, v6, v6, v4, v4]), "6 4 6 4 6 ")
    assert_equal(_listed([v4, v4, v6]), "4 6 4 ")
    assert_equal(_listed([v4, v4]), "4 4 ")
    assert_equal(_listed([v6]), "6 ")


def _listed(addresses: List[IpAddr]) -> String:
    var text = String()
    for address in in_turns(addresses):
        text += "4 " if address.is_v4() else "6 "
    return text^


@fieldwise_init
struct _Silent(Movable):
    # A listener whose queue is full: the kernel answers nobody.
    var listener: TcpListener
    var waiting: List[TcpStream]
    var address: SocketAddr


def _silent() raises -> _Silent:
    var listener = TcpListener.bind(SocketAddr.localhost(0), backlog=0)
    var address = listener.local_address()
    var waiting = List[TcpStream]()
    try:
        for _ in range(5):
            waiting.append(TcpStream.connect(address, timeout_ms=30))
    except e:
        assert_true(String(e).startswith("net.timeout"), String(e))
    return _Silent(listener^, waiting^, address)


def _silent_first() raises:
    var silent = _silent()
    var good = TcpListener.bind(SocketAddr.localhost(0))
    var began_ms = monotonic_ms()
    var stream = TcpStream(
        unsafe_socket=connect_to_first(
            [silent.address, good.local_address()], 20_000
        )
    )
    var spent_ms = monotonic_ms() - began_ms
    assert_true(stream.peer_address() == good.local_address())
    assert_true(spent_ms >= ATTEMPT_DELAY_MS - 5, String(spent_ms))
    assert_true(spent_ms < 10_000, String(spent_ms))
    _ = silent^


def _refusing_first() raises:
    var closed = TcpListener.bind(SocketAddr.localhost(0))
    var refusing = closed.local_address()
    closed.close()
    var good = TcpListener.bind(SocketAddr.localhost(0))
    var stream = TcpStream(
        unsafe_socket=connect_to_first(
            [refusing, refusing, good.local_address()], 20_000
        )
    )
    assert_true(stream.peer_address() == good.local_address())


def _refusing_behind_silent() raises:
    comptime REFUSING = 8
    var silent = _silent()
    var closed = TcpListener.bind(SocketAddr.localhost(0))
    var refusing = closed.local_address()
    closed.close()
    var good = TcpListener.bind(SocketAddr.localhost(0))
    var addresses: List[SocketAddr] = [silent.address]
    for _ in range(REFUSING):
        addresses.append(refusing)
    addresses.append(good.local_address())
    var began_ms = monotonic_ms()
    var stream = TcpStream(unsafe_socket=connect_to_first(addresses, 20_000))
    var spent_ms = monotonic_ms() - began_ms
    assert_true(stream.peer_address() == good.local_address())
    # Nobody but the silent one is waited for.
    assert_true(spent_ms >= ATTEMPT_DELAY_MS - 5, String(spent_ms))
    assert_true(spent_ms < REFUSING * ATTEMPT_DELAY_MS, String(spent_ms))
    _ = silent^


def _all_fail() raises:
    var first = TcpListener.bind(SocketAddr.localhost(0))
    var second = TcpListener.bind(SocketAddr.localhost(0))
    var addresses: List[SocketAddr] = [
        first.local_address(),
        second.local_address(),
    ]
    first.close()
    second.close()
    with assert_raises(
        contains=String("net.refused connect ", addresses[0], " errno=111")
    ):
        _ = connect_to_first(addresses, 20_000)


def _all_silent() raises:
    var silent = _silent()
    var addresses: List[SocketAddr] = [silent.address, silent.address]
    with assert_raises(contains="net.timeout connect 127.0.0.1:"):
        _ = connect_to_first(addresses, 400)
    with deadline_in(100):
        with assert_raises(contains="net.timeout connect 127.0.0.1:"):
            _ = connect_to_first(addresses, 20_000)
    _ = silent^


def _cancelled_race() raises:
    var silent = _silent()
    var address = silent.address

    def race() raises {var address}:
        var addresses: List[SocketAddr] = [address, address]
        _ = connect_to_first(addresses, 20_000)

    var racing = spawn(race)
    sleep(20)
    racing.cancel()
    with assert_raises(contains="net.cancelled connect"):
        _ = racing^.join()
    _ = silent^


def _refused() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var address = listener.local_address()
    listener.close()
    try:
        _ = TcpStream.connect(address)
        assert_true(False, "nobody listens")
    except e:
        assert_equal(
            String(e), String("net.refused connect ", address, " errno=111")
        )


def _no_answer() raises:
    # The queue has room for one; the kernel answers nobody else.
    var listener = TcpListener.bind(SocketAddr.localhost(0), backlog=0)
    var address = listener.local_address()
    var streams = List[TcpStream]()
    try:
        for _ in range(5):
            streams.append(TcpStream.connect(address, timeout_ms=30))
        assert_true(False, "the queue has room for five")
    except e:
        assert_equal(
            String(e), String("net.timeout connect ", address, " errno=110")
        )
    assert_true(len(streams) > 0)
    _ = listener^


def _families() raises:
    for any in [SocketAddr.localhost(0), SocketAddr.localhost_v6(0)]:
        var listener = TcpListener.bind(any)
        var address = listener.local_address()
        assert_true(address.ip == any.ip)
        assert_true(address.port != 0)
        var client = TcpStream.connect(address)
        var server = listener.accept()
        assert_true(client.peer_address() == address)
        assert_true(server.peer_address() == client.local_address())
        client.write_all("hello".as_bytes())
        client.close()
        assert_equal(read_to_end(server, 64), octets_of("hello"))


def _dual_stack() raises:
    var both = TcpListener.bind(SocketAddr.any_v6(0))
    var port = both.local_address().port
    var by_v4 = TcpStream.connect(SocketAddr.localhost(port))
    assert_equal(
        String(both.accept().peer_address()),
        String("[::ffff:127.0.0.1]:", by_v4.local_address().port),
    )
    var by_v6 = TcpStream.connect(SocketAddr.localhost_v6(port))
    assert_true(both.accept().peer_address() == by_v6.local_address())
    var only = TcpListener.bind(SocketAddr.any_v6(0), v6_only=True)
    port = only.local_address().port
    with assert_raises(contains="net.refused connect"):
        _ = TcpStream.connect(SocketAddr.localhost(port))
    _ = TcpStream.connect(SocketAddr.localhost_v6(port))
    _ = only^


def _localhost() raises:
    var by_v6 = TcpListener.bind(SocketAddr.localhost_v6(0))
    var client = TcpStream.connect("localhost", by_v6.local_address().port)
    assert_true(client.peer_address() == by_v6.local_address())
    var by_v4 = TcpListener.bind(SocketAddr.localhost(0))
    client = TcpStream.connect("localhost", by_v4.local_address().port)
    assert_true(client.peer_address() == by_v4.local_address())
    var port = by_v4.local_address().port
    by_v4.close()
    # The first address stands for the host.
    with assert_raises(
        contains=String("net.refused connect 127.0.0.1:", port, " errno=111")
    ):
        _ = TcpStream.connect("localhost", port)
    with assert_raises(contains="net.timeout connect 127.0.0.1:"):
        _ = TcpStream.connect("localhost", port, timeout_ms=0)


def _program() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_address().port

    def echo() raises {var listener^} -> Int:
        var peer = listener.accept()
        var octets = List[UInt8](length=64, fill=0)
        var count = peer.read(Span(octets))
        peer.write_all(Span(octets)[0:count])
        return count

    var echoing = spawn(echo^)
    var conn = TcpStream.connect("localhost", port)
    _ = conn.write("Hello\n".as_bytes())

    var buf = List[UInt8](capacity=4096)
    buf.resize(4096, 0)
    var n = conn.read(buf.unsafe_ptr(), len(buf))
    conn.close()
    assert_equal(n, 6)
    assert_equal(echoing^.join(), 6)


def _in_use() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var address = listener.local_address()
    try:
        _ = TcpListener.bind(address)
        assert_true(False, "the address is taken")
    except e:
        assert_equal(NetError.of(e).value().kind, NetError.ADDRESS_IN_USE)
        assert_true(NetError.of(e).value().address.value() == address)
    var first = TcpListener.bind(SocketAddr.localhost(0), reuse_port=True)
    var second = TcpListener.bind(first.local_address(), reuse_port=True)
    assert_true(second.local_address() == first.local_address())
    _ = listener^
    _ = first^


def _inherited() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    listener.set_receive_buffer_octets(20_000)
    var client = TcpStream.connect(listener.local_address())
    var server = listener.accept()
    comptime SOL_SOCKET = 1
    comptime SO_RCVBUF = 8
    assert_equal(server.option(SOL_SOCKET, SO_RCVBUF), 40_000)
    _ = client^


def _two_hundred() raises:
    comptime COUNT = 200
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var address = listener.local_address()

    def serve_one(var stream: TcpStream) raises -> JoinHandle[Int]:
        def echo() raises {var stream^} -> Int:
            var octets = List[UInt8](length=64, fill=0)
            var total = 0
            while True:
                var count = stream.read(Span(octets))
                if count == 0:
                    return total
                stream.write_all(Span(octets)[0:count])
                total += count

        return spawn(echo^)

    def serve() raises {var listener^} -> Int:
        var served = List[JoinHandle[Int]]()
        for _ in range(COUNT):
            served.append(serve_one(listener.accept()))
        var total = 0
        while len(served) > 0:
            total += served.pop().join()
        return total

    def ask() raises {var address} -> Int:
        var stream = TcpStream.connect(address)
        var octets = List[UInt8](length=64, fill=7)
        var total = 0
        for _ in range(5):
            stream.write_all("0123456789".as_bytes())
            var came = 0
            while came < 10:
                came += stream.read(Span(octets))
            total += came
        return total

    var serving = spawn(serve^)
    var asking = List[JoinHandle[Int]]()
    for _ in range(COUNT):
        asking.append(spawn(ask))
    var total = 0
    while len(asking) > 0:
        total += asking.pop().join()
    assert_equal(total, COUNT * 50)
    assert_equal(serving^.join(), COUNT * 50)


def _broadcast() raises:
    try:
        _ = TcpStream.connect(SocketAddr.parse("255.255.255.255:9"))
        assert_true(False, "TCP has no broadcast")
    except e:
        var error = NetError.of(e).value()
        assert_equal(error.operation, "connect")
        assert_true(error.errno != 0, String(e))


comptime TESTS = __functions_in_module()
