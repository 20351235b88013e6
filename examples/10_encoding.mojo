# Run: mojo run -I . examples/10_encoding.mojo
# Prints: encoding.ratio decode gzip limit=200
"""Compresses and decompresses content, alone and in a server."""

from flare.http import (
    Compress,
    ContentCoding,
    DecodingLimits,
    compress,
    decode_content,
    decompress,
)
from flare.message import HeaderMap
from flare.prelude import *
from flare.testing import TestClient


def page(req: Request) raises -> Response:
    return ok("all work and no play makes a dull page\n" * 200)


def main() raises:
    # The libraries are loaded at first use; a missing one is an error that
    # names the packages of Debian, Fedora and macOS.
    var text = String("all work and no play makes a dull page\n") * 200
    for coding in [ContentCoding.GZIP, ContentCoding.DEFLATE]:
        var small = compress(text.as_bytes(), coding)
        var again = decompress(Span(small), coding)
        print(coding, text.byte_length(), "->", len(small), "->", len(again))

    # Content with two codings is decoded in the right order.
    var twice = compress(Span(compress(text.as_bytes())))
    print(len(decode_content(Span(twice), "gzip, gzip")))

    # Content may be truncated, or made to fill the memory.
    var cut = compress(text.as_bytes())
    _ = cut.pop()
    try:
        _ = decompress(Span(cut))
    except e:
        print(e)
    var bomb = compress(Span(List[UInt8](length=10_000_000, fill=0)))
    try:
        _ = decompress(Span(bomb))
    except e:
        print(len(bomb), "octets:", e)
    var limits = DecodingLimits(ratio_max=2_000)
    print(len(decompress(Span(bomb), ContentCoding.GZIP, limits)))

    # Middleware compresses responses if the client accepts it.
    var router = Router()
    router.get("/", page)
    var client = TestClient(Compress(router^))
    var headers = HeaderMap()
    headers.set("Accept-Encoding", "gzip;q=0.9, identity;q=0.1")
    var response = client.get("/", headers)
    print(response.headers, len(response.body), "octets")
