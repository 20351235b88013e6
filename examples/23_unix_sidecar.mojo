# Run: mojo run -I . examples/23_unix_sidecar.mojo
# Prints: sidecar: secret for me
"""Asks a sidecar over a Unix socket, which answers its own user only."""

from std.os import getuid, rmdir
from std.tempfile import mkdtemp

from flare.io import BufReader
from flare.net import NetError
from flare.runtime import spawn
from flare.unix import UnixListener, UnixStream


def answer(var stream: UnixStream, owner: Int) raises:
    # The kernel says who is at the other end.
    var peer = stream.peer_credentials()
    if peer.uid != owner:
        stream.write_all("nothing for you\n".as_bytes())
        return
    var reader = BufReader(stream^)
    var wanted = reader.read_line(limit=100)
    if wanted:
        reader.inner().write_all(
            String("secret for ", wanted.value(), "\n").as_bytes()
        )


def main() raises:
    var folder = mkdtemp()
    var path = String(folder, "/sidecar.sock")
    # The file is for this user alone, unless `mode` says otherwise.
    var listener = UnixListener.bind(path)
    print("listening at", listener.local_address())

    def serve() raises {var listener^}:
        answer(listener.accept(timeout_ms=5000), getuid())

    var serving = spawn(serve^)
    var stream = UnixStream.connect(path)
    stream.write_all("me\n".as_bytes())
    var reader = BufReader(stream^)
    print("sidecar:", reader.read_line(limit=100).value())
    serving^.join()

    # The listener has gone, and its path with it.
    try:
        _ = UnixStream.connect(path)
    except e:
        print(NetError.of(e).value().kind == NetError.NOT_FOUND)
    rmdir(folder)
