"""Downloads a file: tests/python/test_download.py is its server.

    downloader (io_uring | epoll) URL PATH [SETTING=VALUE…]

The settings are `octets_max`, `coding` (Accept-Encoding), `range`, `stop` (raise
when so many octets are there), `read_ms`, `deadline` (of the whole, in ms) and
`fiber` (download on one). It prints the progress, then the download or the error.
"""

from std.sys import argv

from flare.http import (
    ClientConfig,
    ClientError,
    ClientTimeouts,
    Download,
    FileError,
    HttpClient,
)
from flare.http.client import DOWNLOAD_OCTETS_MAX
from flare.message import HeaderMap
from flare.runtime.backend import BackendKind
from flare.runtime.private_loop import begin_private_loop, end_private_loop
from flare.runtime.reactor import ReactorConfig
from flare.runtime.task import spawn
from flare.runtime.wait import deadline_in, sleep


def main() raises:
    var kind = BackendKind.IO_URING
    if argv()[1] == "epoll":
        kind = BackendKind.EPOLL
    if begin_private_loop(ReactorConfig(backend=kind))[0] != 0:
        raise Error("no loop")
    if setting("fiber"):
        on_fiber()
    else:
        run()
    end_private_loop()


def on_fiber() raises:
    # While the disk is busy, another fiber runs.
    def download() raises {}:
        run()

    var downloading = spawn(download)
    var turns = 0
    while not downloading.is_done():
        sleep(1)
        turns += 1
    downloading^.join()
    print("turns", turns > 0)


def setting(name: StringSlice) raises -> String:
    for i in range(4, len(argv())):
        var parts = String(argv()[i]).split("=")
        if parts[0] == name:
            return String(parts[1])
    return String()


def number(name: StringSlice, otherwise: Int) raises -> Int:
    var text = setting(name)
    return Int(text) if text else otherwise


def run() raises:
    try:
        var done: Download
        with deadline_in(number("deadline", 60_000)):
            done = download()
        print("done", done.octets, done.kept_octets, done.url)
    except e:
        print("failed", e)
        var client = ClientError.of(e)
        if client:
            print("client", client.value().kind, client.value().can_retry())
        var file = FileError.of(e)
        if file:
            print(
                "file",
                file.value().operation,
                file.value().errno,
                file.value().path,
            )


def download() raises -> Download:
    var config = ClientConfig()
    config.timeouts = ClientTimeouts(read_ms=number("read_ms", 10_000))
    var client = HttpClient(config=config^)
    var headers = HeaderMap()
    if setting("coding"):
        headers.set("Accept-Encoding", setting("coding"))
    if setting("range"):
        headers.set("Range", setting("range"))
    var stop = number("stop", Int.MAX)

    def show(octets: Int, size: Optional[Int]) raises {var stop}:
        print("progress", octets, size.value() if size else -1)
        if octets >= stop:
            raise Error("stopped by the program")

    return client.download(
        String(argv()[2]),
        String(argv()[3]),
        show,
        headers=headers,
        octets_max=number("octets_max", DOWNLOAD_OCTETS_MAX),
    )
