"""Codes and decodes for tests/python/test_encoding_peers.py.

    encoding_peer encode CODING LEVEL   codes its input
    encoding_peer decode FIELD          decodes its input as Content-Encoding
    encoding_peer drain CODING LIMIT    decodes its input bit by bit, prints how
                                        many octets came
    encoding_peer nothing               uses no library
    encoding_peer serve                 prints its port, serves with Compress
"""

from std.sys import argv

from flare.http import (
    Compress,
    CompressionConfig,
    ContentCoding,
    ContentDecoder,
    DecodingLimits,
    DecodingReader,
    HttpServer,
    Request,
    Response,
    ResponseStream,
    Router,
    compress,
    decode_content,
    ok,
)
from flare.http.encoding import compressible_types
from flare.io import MemoryReader
from flare.net import SocketAddr
from flare.runtime import sleep


def main() raises:
    var arguments = argv()
    try:
        if arguments[1] == "encode":
            var coding = ContentCoding.of(arguments[2]).value()
            _print(compress(Span(_input()), coding, Int(arguments[3])))
        elif arguments[1] == "decode":
            _print(decode_content(Span(_input()), arguments[2]))
        elif arguments[1] == "drain":
            print(_drained(arguments[2], Int(arguments[3])))
        elif arguments[1] == "serve":
            _serve()
        else:
            print("nothing was needed")
    except e:
        print(e, flush=True)


def _input() raises -> List[UInt8]:
    with open("/dev/stdin", "r") as file:
        return file.read_bytes()


def _print(octets: List[UInt8]) raises:
    # Hexadecimal: what is printed stays text.
    comptime DIGITS: StaticString = "0123456789abcdef"
    var text = String(capacity_bytes=2 * len(octets))
    for octet in octets:
        text += DIGITS[byte=Int(octet >> 4)]
        text += DIGITS[byte=Int(octet & 15)]
    print(text, flush=True)


def _drained(name: StringSlice, limit: Int) raises -> Int:
    var limits = DecodingLimits(
        decoded_octets_max=limit, ratio_max=limit, ratio_free_octets=limit
    )
    var reader = DecodingReader(
        MemoryReader(_input()),
        ContentDecoder(content_encoding=name, limits=limits),
    )
    var into = List[UInt8](length=64 * 1024, fill=0)
    var total = 0
    while True:
        var count = reader.read(Span(into))
        if count == 0:
            return total
        total += count


def _serve() raises:
    var router = Router()
    router.get("/text", _text)
    router.get("/long", _long)
    router.get("/ticks", _ticks)
    var server = HttpServer.bind(SocketAddr.localhost(0))
    print(server.local_address().port, flush=True)
    var types = compressible_types()
    types.append("text/event-stream")
    server.serve(Compress(router^, CompressionConfig(content_types=types^)))


def _text(req: Request) raises -> Response:
    return ok("a line of text\n" * 200)


def _long(req: Request) raises -> Response:
    return ok(String("a line of text\n") * 200_000)


def _ticks(req: Request) raises -> Response:
    return Response.stream(_write_ticks, content_type="text/event-stream")


def _write_ticks(req: Request, stream: ResponseStream) raises:
    stream.write_text("data: 1\n\n")
    # The reader has the first one, and asks no more, long before this ends.
    sleep(20_000)
    stream.write_text("data: 2\n\n")
