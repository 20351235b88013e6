# Run: mojo run -I . examples/34_download.mojo
# Prints: interrupted: the cable was pulled
# Prints: [##########] 100 %
# Prints: kept half of the file: True
"""Downloads a file with a progress bar, and continues after an interruption."""

from std.os import remove, rmdir
from std.tempfile import mkdtemp

from flare.http import StaticFiles
from flare.prelude import *
from flare.runtime import blocking

comptime OCTETS = 64 << 20


def fetch(client: HttpClient, path: String) raises:
    var drawn = -1

    def show(octets: Int, size: Optional[Int]) raises {mut drawn}:
        var tenths = octets * 10 // size.value()
        if tenths == drawn:
            return
        drawn = tenths
        var bar = (String("#") * tenths).ascii_ljust(10)
        print("\r[", bar, "] ", tenths * 10, " %", sep="", end="")
        if tenths == 5:
            raise Error("the cable was pulled")

    try:
        _ = client.download("/image.iso", path, show)
    except e:
        print("\ninterrupted:", e)
    # The first half lies in `copy.iso.part`.
    var done = client.download("/image.iso", path, show)
    print("\nkept half of the file:", done.kept_octets >= OCTETS // 2)


def main() raises:
    var folder = mkdtemp()
    with open(String(folder, "/image.iso"), "w") as file:
        file.write_bytes(List[UInt8](length=OCTETS, fill=7))
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var handle = server.handle()

    # The server gets a thread of its own, so that this one can be its client.
    def serve() raises {var server^, var folder}:
        def run() raises {imm server, imm folder}:
            server.serve(StaticFiles(folder))

        blocking(run)

    var serving = spawn(serve^)
    var port = handle.local_address().port
    fetch(HttpClient(String("http://127.0.0.1:", port)), folder + "/copy.iso")
    handle.shutdown()
    serving^.join()
    for name in ["/image.iso", "/copy.iso"]:
        remove(folder + name)
    rmdir(folder)
