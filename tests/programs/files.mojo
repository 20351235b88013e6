"""Serves the files of a folder. Its clients are tests/python/test_files.py and
test_hostile_files.py.

    files --backend (io_uring | epoll) --files FOLDER [--tls FOLDER] [--port 0]

The folder behind `--tls` has certificates (tests/tls/make_certificates.sh).
"""

from std.sys import argv

from flare.http import StaticFiles
from flare.prelude import *
from flare.runtime.backend import BackendKind
from flare.tls import TlsIdentity, TlsServerConfig


def setting(name: StringSlice) -> Optional[String]:
    for i in range(1, len(argv()) - 1, 2):
        if argv()[i] == name:
            return String(argv()[i + 1])
    return None


def main() raises:
    var config = ServerConfig(backend=BackendKind.IO_URING)
    if setting("--backend").value() == "epoll":
        config.backend = BackendKind.EPOLL
    var router = Router()
    var files = StaticFiles(setting("--files").value(), precompressed=True)
    router.get("/files/*path", files^)
    var address = SocketAddr.localhost(0)
    var tls = setting("--tls")
    if not tls:
        HttpServer.bind(address, config^).serve(router^)
        return
    var identity = TlsIdentity.files(
        tls.value() + "/server.pem", tls.value() + "/server.key"
    )
    HttpServer.bind_tls(
        address, TlsServerConfig(identity^), config=config^
    ).serve(router^)
