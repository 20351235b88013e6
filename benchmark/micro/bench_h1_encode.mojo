"""Measures how long the HTTP/1.1 machine takes to write a head."""

from measure import measure

from flare.core import Buffer, heap_create
from flare.message import HeaderMap
from flare.proto.h1 import BodyLength, H1Limits, H1Machine, H1State, Role
from flare.proto.h1.state import SideState

comptime _DATE: StaticString = "Sun, 06 Nov 1994 08:49:37 GMT"
comptime _CONTENT: StaticString = "Hello, World!"


def fields_of(count: Int) raises -> HeaderMap:
    """Makes the fields of a response.

    Args:
        count: 2 to 10.

    Returns:
        That many field lines.

    Raises:
        Error: Never.
    """
    var fields = HeaderMap()
    fields.append("Content-Type", "application/json; charset=utf-8")
    fields.append("Server", "flare")
    for i in range(2, count):
        fields.append(String("X-Field-", i), "a value of usual length")
    return fields^


def measure_response(name: String, count: Int) raises:
    """Prints the line of a response with content.

    Args:
        name: What to call it.
        count: How many fields the caller sets.

    Raises:
        Error: If it is refused.
    """
    var machine = H1Machine(heap_create(H1State(Role.SERVER, H1Limits())))
    var output = heap_create(Buffer(capacity=4096))
    var fields = fields_of(count)

    def write(i: Int) raises {imm} -> Int:
        ref s = machine.state[]
        s.request = SideState.BODY
        s.response = SideState.AWAITED
        output[].clear()
        machine.send_response_head(
            200,
            fields,
            BodyLength.known(_CONTENT.byte_length()),
            _DATE.as_bytes(),
            output,
        )
        machine.send_data(_CONTENT.as_bytes(), output)
        machine.send_end(output)
        return len(output[])

    measure(String("h1_encode/", name), write, octets=write(0))


def measure_request(name: String, count: Int) raises:
    """Prints the line of a request without content.

    Args:
        name: What to call it.
        count: How many fields the caller sets.

    Raises:
        Error: If it is refused.
    """
    var machine = H1Machine(heap_create(H1State(Role.CLIENT, H1Limits())))
    var output = heap_create(Buffer(capacity=4096))
    var fields = HeaderMap()
    fields.append("Host", "api.example.com")
    for i in range(1, count):
        fields.append(String("X-Field-", i), "a value of usual length")

    def write(i: Int) raises {imm} -> Int:
        ref s = machine.state[]
        s.request = SideState.IDLE
        s.response = SideState.IDLE
        output[].clear()
        machine.send_request_head(
            "GET", "/api/v1/orders/77", fields, BodyLength.known(0), output
        )
        return len(output[])

    measure(String("h1_encode/", name), write, octets=write(0))


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a message is refused.
    """
    measure_response("response, 2 fields, 13 octets of content", 2)
    measure_response("response, 10 fields, 13 octets of content", 10)
    measure_request("request, 1 field", 1)
    measure_request("request, 10 fields", 10)
