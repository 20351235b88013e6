"""Tests for sealed pages and their way to a socket, against the real kernel."""

from std.os.path import exists

from flare.core import heap_create, heap_destroy
from flare.sys.file import close_descriptor, open_event_descriptor
from flare.sys.process import (
    block_signals,
    exit_process,
    fork_process,
    process_id,
    send_signal,
    set_signal_mask,
    wait_for_end,
)
from flare.sys.sealed_pages import SealedPages
from flare.sys.signal import SIGPIPE, SavedAction, set_action
from flare.sys.socket import (
    accept_socket,
    bind_socket,
    connect_socket,
    listen_socket,
    local_socket_address,
    open_socket,
    receive_octets,
    shut_down_socket,
)
from flare.sys.socket_address import AF_INET, SocketAddressStorage
from flare.sys.socket_constants import MSG_DONTWAIT, SHUT_WR, SOCK_STREAM
from flare.sys.splice_pipe import SplicePipe

from tests.asserting import assert_equal, assert_true

# Less than a pipe holds.
comptime _OCTETS = 200_000
comptime _BIT_OF_SIGPIPE = UInt64(1) << UInt64(SIGPIPE - 1)


struct _Connection(Movable):
    """Is a connection to ourselves, whose other end waits, and a pipe."""

    var ours: Int32
    var theirs: Int32
    var pipe: SplicePipe

    def __init__(out self) raises:
        var listener = Int32(open_socket(AF_INET, SOCK_STREAM))
        var address = SocketAddressStorage.v4([127, 0, 0, 1], 0)
        assert_equal(bind_socket(listener, address), 0)
        assert_equal(listen_socket(listener, 1), 0)
        assert_equal(local_socket_address(listener, address), 0)
        self.theirs = Int32(
            open_socket(AF_INET, SOCK_STREAM, non_blocking=False)
        )
        assert_equal(connect_socket(self.theirs, address), 0)
        var peer = SocketAddressStorage()
        self.ours = Int32(accept_socket(listener, peer))
        assert_true(self.ours >= 0)
        _ = close_descriptor(listener)
        self.pipe = SplicePipe.create()

    def send(self, head: StringSlice, pages: SealedPages) -> Int:
        var sent = self.pipe.send(self.ours, head.as_bytes(), pages.octets())
        self.pipe.let_signal_through()
        return sent

    def read(self, count: Int) raises -> List[UInt8]:
        """Reads what has been sent already."""
        var all = List[UInt8](capacity=count)
        var some = List[UInt8](length=65536, fill=0)
        while len(all) < count:
            var received = receive_octets(
                self.theirs, Span(some)[: min(65536, count - len(all))]
            )
            assert_true(received > 0, String(received))
            all.extend(Span(some)[:received])
        assert_true(
            receive_octets(self.theirs, Span(some), MSG_DONTWAIT) < 0,
            "more came than was sent",
        )
        return all^

    def close(self):
        self.pipe.destroy()
        _ = close_descriptor(self.ours)
        _ = close_descriptor(self.theirs)


def _pattern(count: Int, seed: Int = 0) -> List[UInt8]:
    # No two pages are alike, so that lost or repeated ones show.
    var octets = List[UInt8](capacity=count)
    for i in range(count):
        octets.append(UInt8((i * 31 + i // 251 + seed) & 0xFF))
    return octets^


def _sealed(octets: List[UInt8]) raises -> SealedPages:
    var pages = SealedPages()
    assert_equal(pages.seal(octets), 0)
    return pages^


def test_sealed_pages_hold_what_they_were_given() raises:
    for count in [0, 1, 4096, 4097, _OCTETS, 1 << 20, (5 << 20) + 1]:
        var octets = _pattern(count)
        var pages = _sealed(octets)
        octets.clear()
        assert_equal(len(pages), count)
        assert_true(pages.octets() == Span(_pattern(count)))


def test_who_writes_into_sealed_pages_is_ended() raises:
    # Up to 32 KiB lie on the heap, which nothing protects.
    for count in [(32 << 10) + 1, 1 << 20, (2 << 20) + 1]:
        var octets = _pattern(count)
        var pages = _sealed(octets)
        for place in [0, count - 1]:
            var child = fork_process()
            if child == 0:
                var octet = pages.octets().unsafe_ptr().unsafe_offset(place)
                octet.unsafe_mut_cast[True]()[] = octets[place] + 1
                exit_process(0)
            assert_true(wait_for_end(child).exit_code() != 0)
            assert_equal(pages.octets()[place], octets[place])


def test_long_contents_ask_for_huge_pages() raises:
    for count in [768 << 10, 1 << 20, (2 << 20) + 1]:
        var pages = _sealed(_pattern(count))
        var address = Int(pages.octets().unsafe_ptr())
        assert_equal(address % (2 << 20), 0)
        if exists("/sys/kernel/mm/transparent_hugepage"):
            assert_true("hg" in _flags_at(address))
        _ = pages^


def _flags_at(address: Int) raises -> String:
    var start = String(hex(address, prefix=""), "-")
    var is_found = False
    with open("/proc/self/smaps", "r") as file:
        for line in file.read().split("\n"):
            is_found = is_found or line.startswith(start)
            if is_found and line.startswith("VmFlags:"):
                return String(line)
    raise Error("nothing is mapped at ", start)


def test_sealed_pages_leave_nothing_mapped() raises:
    for count in [4097, 1 << 20, (3 << 20) - 1, (4 << 20) + 1]:
        var octets = _pattern(count)
        var before = _mapped_pages()
        for _ in range(64):
            _ = _sealed(octets)
        # 64 times anything that was left is more than any allocator takes.
        assert_true(_mapped_pages() - before < 64)


def _mapped_pages() raises -> Int:
    with open("/proc/self/statm", "r") as file:
        return Int(file.read().split(" ")[0])


def test_pages_follow_a_head_and_arrive_as_they_were_sealed() raises:
    var connection = _Connection()
    var pages = _sealed(_pattern(_OCTETS))
    # The kernel's buffers grow while it learns how fast a peer reads.
    for head in ["head", ""]:
        var sent = connection.send(head, pages)
        assert_true(sent > 65536, String(sent))
        var received = connection.read(sent)
        var length = head.byte_length()
        assert_true(Span(received)[:length] == head.as_bytes())
        assert_true(Span(received)[length:] == pages.octets()[: sent - length])
    connection.close()


def test_a_call_sends_no_more_than_a_pipe_holds() raises:
    var connection = _Connection()
    var pages = _sealed(_pattern(3 << 20))
    var sent = 0
    while sent < 100 + len(pages):
        var head = 100 if sent == 0 else 0
        var once = connection.pipe.send(
            connection.ours,
            Span(_pattern(head)),
            pages.octets()[max(sent - 100, 0) :],
        )
        assert_true(once > 0 and once <= head + (1 << 20), String(once))
        var received = connection.read(once)
        assert_true(
            Span(received)[head:]
            == pages.octets()[max(sent - 100, 0) :][: once - head]
        )
        sent += once
    connection.close()


def test_what_a_full_socket_does_not_take_is_dropped_from_the_pipe() raises:
    var connection = _Connection()
    var pages = _sealed(_pattern(_OCTETS))
    var expected = List[UInt8]()
    while True:
        var sent = connection.send("", pages)
        if sent == 0:
            break
        expected.extend(pages.octets()[:sent])
        assert_true(len(expected) < 1 << 28, "nothing fills the socket")
    assert_true(len(expected) % _OCTETS > 0, "nothing was cut off")
    assert_true(connection.read(len(expected)) == expected)
    var others = _sealed(_pattern(50_000, seed=7))
    assert_equal(connection.send("", others), 50_000)
    assert_true(connection.read(50_000) == _pattern(50_000, seed=7))
    connection.close()


def test_what_is_under_way_outlives_the_pages() raises:
    var connection = _Connection()
    var pages = _sealed(_pattern(60_000))
    var address = Int(pages.octets().unsafe_ptr())
    assert_equal(connection.send("", pages), 60_000)
    _ = pages^
    # Whatever is mapped next lies where they were, and is written.
    var reused = False
    var others = List[SealedPages]()
    for _ in range(64):
        others.append(_sealed(List[UInt8](length=60_000, fill=9)))
        if Int(others[len(others) - 1].octets().unsafe_ptr()) == address:
            reused = True
    assert_true(reused, "the kernel put nothing at the same place")
    assert_true(connection.read(60_000) == _pattern(60_000))
    connection.close()


def test_one_call_keeps_the_signal_off_for_many_sends() raises:
    var pages = _sealed(_pattern(_OCTETS))
    var child = fork_process()
    if child == 0:
        _let_sigpipe_end_this()
        var one = _Connection()
        var other = _Connection()
        _ = shut_down_socket(one.ours, SHUT_WR)
        _ = shut_down_socket(other.ours, SHUT_WR)
        var none = Span[UInt8, ImmStaticOrigin]()
        var before = _blocked_signals()
        for _ in range(3):
            _ = one.pipe.send(one.ours, none, pages.octets())
            _ = one.pipe.send(other.ours, none, pages.octets())
        var meanwhile = _blocked_signals()
        one.pipe.let_signal_through()
        var is_right = meanwhile == before | _BIT_OF_SIGPIPE
        exit_process(0 if is_right and _blocked_signals() == before else 1)
    assert_equal(wait_for_end(child).exit_code(), 0)
    _ = pages^


def test_a_pipe_that_ends_lets_the_signal_through() raises:
    var connection = _Connection()
    var pages = _sealed(_pattern(_OCTETS))
    var before = _blocked_signals()
    var none = Span[UInt8, ImmStaticOrigin]()
    assert_true(connection.pipe.send(connection.ours, none, pages.octets()) > 0)
    connection.close()
    assert_equal(_blocked_signals(), before)


def _blocked_signals() -> UInt64:
    var before = block_signals()
    set_signal_mask(before)
    return before


def test_what_takes_no_pages_gets_none() raises:
    var connection = _Connection()
    var pages = _sealed(_pattern(_OCTETS))
    var event = Int32(open_event_descriptor())
    assert_equal(
        connection.pipe.send(
            event, Span[UInt8, ImmStaticOrigin](), pages.octets()
        ),
        0,
    )
    # It is not tried again: the system might forbid it.
    assert_equal(connection.send("head", pages), 0)
    _ = close_descriptor(event)
    connection.close()


def test_sending_behind_an_end_ends_no_process() raises:
    var pages = _sealed(_pattern(_OCTETS))
    var child = fork_process()
    if child == 0:
        _let_sigpipe_end_this()
        var connection = _Connection()
        _ = shut_down_socket(connection.ours, SHUT_WR)
        exit_process(connection.send("", pages))
    assert_equal(wait_for_end(child).exit_code(), 0)
    _ = pages^


def test_a_broken_pipe_is_told_of_again_afterwards() raises:
    var pages = _sealed(_pattern(_OCTETS))
    var child = fork_process()
    if child == 0:
        _let_sigpipe_end_this()
        var connection = _Connection()
        _ = shut_down_socket(connection.ours, SHUT_WR)
        _ = connection.send("", pages)
        _ = send_signal(process_id(), SIGPIPE)
        exit_process(0)
    assert_equal(wait_for_end(child).signal(), SIGPIPE)
    _ = pages^


def test_who_keeps_the_signal_off_finds_none_afterwards() raises:
    var pages = _sealed(_pattern(_OCTETS))
    var child = fork_process()
    if child == 0:
        _let_sigpipe_end_this()
        var connection = _Connection()
        _ = shut_down_socket(connection.ours, SHUT_WR)
        var mask = block_signals(SIGPIPE)
        _ = connection.send("", pages)
        set_signal_mask(mask)
        exit_process(0)
    assert_equal(wait_for_end(child).exit_code(), 0)
    _ = pages^


def test_a_peer_that_leaves_in_the_midst_ends_no_process() raises:
    var pages = _sealed(_pattern(_OCTETS))
    var child = fork_process()
    if child == 0:
        _let_sigpipe_end_this()
        var connection = _Connection()
        _ = close_descriptor(connection.theirs)
        # The first pages bring the reset.
        var sent = connection.send("", pages)
        exit_process(0 if sent > 0 and sent < _OCTETS else 1)
    assert_equal(wait_for_end(child).exit_code(), 0)
    _ = pages^


def _let_sigpipe_end_this():
    # Whoever runs the tests may ignore it.
    var default = heap_create(SavedAction())
    _ = set_action(SIGPIPE, default)
    heap_destroy(default)


comptime TESTS = __functions_in_module()
