"""Tests for the files of Unix sockets: permissions, replacement, removal."""

from std.os import rmdir, stat, symlink
from std.tempfile import mkdtemp
from std.testing import assert_raises

from flare.net import NetError
from flare.sys.file import close_descriptor
from flare.sys.socket_constants import SOCK_DGRAM, SOCK_STREAM
from flare.sys.socket_file import (
    FileIdentity,
    identify_open_file,
    open_file_itself,
    remove_file,
    set_mode_of_file_itself,
)
from flare.unix import UnixDatagram, UnixListener, UnixStream
from tests.asserting import assert_equal, assert_false, assert_true
from tests.tcp.loops import on_each_backend
from tests.unix.names import (
    abstract_name,
    is_socket,
    is_there,
    leave_socket_at,
)


def test_a_path_belongs_to_its_user_unless_told_otherwise() raises:
    on_each_backend(_in_folder[_modes])


def test_permissions_do_not_go_through_a_symbolic_link() raises:
    on_each_backend(_in_folder[_link])


def test_closing_removes_the_path() raises:
    on_each_backend(_in_folder[_removed])


def test_a_path_that_leads_to_another_file_stays() raises:
    on_each_backend(_in_folder[_replaced])


def test_a_file_that_was_left_over_is_replaced() raises:
    on_each_backend(_in_folder[_stale])


def test_a_path_at_which_somebody_listens_is_in_use() raises:
    on_each_backend(_in_folder[_live])


def test_what_is_no_socket_is_never_removed() raises:
    on_each_backend(_in_folder[_no_socket])


def test_a_folder_that_is_not_there_is_not_found() raises:
    on_each_backend(_in_folder[_no_folder])


def test_an_abstract_name_leaves_no_file_and_is_in_use_while_it_lives() raises:
    on_each_backend(_abstract)


def _in_folder[test: def(String) raises thin -> None]() raises:
    # The library's own context manager swallows what its block raises.
    var folder = mkdtemp()
    test(folder)
    rmdir(folder)


def _modes(folder: String) raises:
    var path = String(folder, "/socket")
    for mode in [0o600, 0o666, 0o777, 0o660]:
        var listener = UnixListener.bind(path, mode=mode)
        assert_equal(Int(stat(path).st_mode) & 0o777, mode)
        listener.close()
        var socket = UnixDatagram.bind(path, mode=mode)
        assert_equal(Int(stat(path).st_mode) & 0o777, mode)
        socket.close()
    var listener = UnixListener.bind(path)
    assert_equal(Int(stat(path).st_mode) & 0o777, 0o600)
    _ = listener^


def _link(folder: String) raises:
    var path = String(folder, "/link")
    var other = String(folder, "/other")
    var listener = UnixListener.bind(other, mode=0o600)
    symlink(other, path)
    # What the path leads to is looked at, and not what that points at.
    var opened = Int32(open_file_itself(path))
    assert_true(opened >= 0)
    var identity = FileIdentity()
    var mode = 0
    assert_equal(identify_open_file(opened, identity, mode), 0)
    assert_false(identity.is_socket)
    assert_true(set_mode_of_file_itself(opened, 0o666) < 0)
    _ = close_descriptor(opened)
    assert_equal(Int(stat(other).st_mode) & 0o777, 0o600)
    # A path that leads elsewhere by then changes nothing there.
    opened = Int32(open_file_itself(other))
    listener.close()
    with open(other, "w") as file:
        file.write("mine")
    var before = Int(stat(other).st_mode)
    assert_equal(set_mode_of_file_itself(opened, 0o666), 0)
    assert_equal(Int(stat(other).st_mode), before)
    _ = close_descriptor(opened)
    assert_equal(remove_file(other), 0)
    assert_equal(remove_file(path), 0)


def _removed(folder: String) raises:
    var path = String(folder, "/socket")
    var listener = UnixListener.bind(path)
    assert_true(is_socket(path))
    assert_equal(String(listener.local_address()), path)
    listener.close()
    assert_false(is_there(path))
    with assert_raises(contains="net.closed local_address"):
        _ = listener.local_address()
    # The file of the next one is not that of the first.
    var next = UnixListener.bind(path)
    listener.close()
    assert_true(is_socket(path))
    _ = listener^
    assert_true(is_socket(path))
    # The end of its life closes one, too.
    _ = next^
    assert_false(is_there(path))
    var socket = UnixDatagram.bind(path)
    assert_true(is_socket(path))
    socket.close()
    assert_false(is_there(path))
    var other = UnixDatagram.bind(path)
    socket.close()
    _ = socket^
    assert_true(is_socket(path))
    _ = other^
    assert_false(is_there(path))


def _replaced(folder: String) raises:
    var path = String(folder, "/socket")
    var first = UnixListener.bind(path)
    _ = remove_file(path)
    var second = UnixListener.bind(path)
    first.close()
    assert_true(is_socket(path))
    var client = UnixStream.connect(path)
    _ = second.accept(timeout_ms=5000)
    _ = remove_file(path)
    with open(path, "w") as file:
        file.write("mine")
    second.close()
    assert_true(is_there(path))
    assert_equal(remove_file(path), 0)
    _ = client^


def _stale(folder: String) raises:
    var path = String(folder, "/socket")
    for type in [SOCK_STREAM, SOCK_DGRAM]:
        leave_socket_at(path, type)
        var listener = UnixListener.bind(path)
        var client = UnixStream.connect(path)
        _ = listener.accept(timeout_ms=5000)
        listener.close()
        leave_socket_at(path, type)
        var socket = UnixDatagram.bind(path)
        socket.send_to("x".as_bytes(), path)
        var into = List[UInt8](length=8, fill=0)
        assert_equal(socket.recv(Span(into)), 1)
        socket.close()
        _ = client^


def _live(folder: String) raises:
    var path = String(folder, "/socket")
    var listener = UnixListener.bind(path, backlog=0)
    # Its queue has room for one, and who asks does not stand in it.
    var clients = List[UnixStream]()
    for round in range(4):
        try:
            _ = UnixListener.bind(path)
            assert_true(False, "somebody listens")
        except e:
            assert_equal(
                String(e),
                String("net.address_in_use bind errno=98: ", path),
            )
        with assert_raises(contains="net.address_in_use bind"):
            _ = UnixDatagram.bind(path)
        if round < 1:
            clients.append(UnixStream.connect(path))
    assert_true(is_socket(path))
    clients[0].write_all("mine".as_bytes())
    var into = List[UInt8](length=8, fill=0)
    assert_equal(listener.accept(timeout_ms=5000).read(Span(into)), 4)
    with assert_raises(contains="net.timeout accept"):
        _ = listener.accept(timeout_ms=0)
    listener.close()
    var socket = UnixDatagram.bind(path)
    with assert_raises(contains="net.address_in_use bind"):
        _ = UnixListener.bind(path)
    with assert_raises(contains="net.address_in_use bind"):
        _ = UnixDatagram.bind(path)
    assert_true(is_socket(path))
    _ = socket^


def _no_socket(folder: String) raises:
    var path = String(folder, "/file")
    with open(path, "w") as file:
        file.write("mine")
    var link = String(folder, "/link")
    var target = String(folder, "/target")
    leave_socket_at(target, SOCK_STREAM)
    symlink(target, link)
    for name in [path, link, folder]:
        with assert_raises(contains="net.address_in_use bind errno=98: "):
            _ = UnixListener.bind(name)
        with assert_raises(contains="net.address_in_use bind errno=98: "):
            _ = UnixDatagram.bind(name)
        assert_true(is_there(name))
    assert_true(is_socket(target))
    for name in [path, link, target]:
        assert_equal(remove_file(name), 0)


def _no_folder(folder: String) raises:
    var path = String(folder, "/no/socket")
    try:
        _ = UnixListener.bind(path)
        assert_true(False, "there is no such folder")
    except e:
        assert_equal(String(e), String("net.not_found bind errno=2: ", path))
        assert_equal(NetError.of(e).value().kind, NetError.NOT_FOUND)


def _abstract() raises:
    var name = abstract_name(1)
    var listener = UnixListener.bind(name)
    assert_equal(String(listener.local_address()), name)
    assert_false(is_there(name))
    with assert_raises(contains="net.address_in_use bind errno=98: @"):
        _ = UnixListener.bind(name)
    var client = UnixStream.connect(name)
    var server = listener.accept(timeout_ms=5000)
    assert_equal(String(client.peer_address()), name)
    assert_equal(String(server.local_address()), name)
    assert_true(server.peer_address().is_unnamed())
    listener.close()
    with assert_raises(contains="net.refused connect errno=111: @"):
        _ = UnixStream.connect(name)
    _ = UnixListener.bind(name)
    _ = client^
    _ = server^


comptime TESTS = __functions_in_module()
