"""Holds a handler of the server under test that goes deep into its stack."""

from flare.http import Request, Response, ok
from flare.runtime import sleep


def deep(req: Request) raises -> Response:
    # A frame takes a little more than its octets.
    return ok(String(_descend(Int(req.param("kib")))))


@no_inline
def _descend(kib: Int) raises -> Int:
    var octets = Array[UInt8, 1024](fill=UInt8(kib & 127))
    if kib == 0:
        sleep(2000)
        return 0
    # The frame stays until the call below it has returned.
    return _descend(kib - 1) + Int(octets[kib]) // 128 + 1
