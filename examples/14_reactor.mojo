# Run: mojo run -I . examples/14_reactor.mojo
# Prints: 3 lines
"""Speaks a protocol of its own on a reactor: callbacks, no fibers."""

from flare.core import OctetPointer, heap_create, heap_destroy
from flare.runtime import *
from flare.sys.socket import open_socket_pair
from flare.sys.socket_address import AF_UNIX
from flare.sys.socket_constants import SOCK_STREAM


@fieldwise_init
struct Counter(Movable):
    var reactor: Reactor
    var lines: Int


def on_received(operation: Operation):
    var counter = operation.state[].owner.value().unsafe_bitcast[Counter]()
    var buffer = operation.state[].buffer
    if buffer:
        for i in range(operation.result()):
            if buffer.value()[unsafe_offset=i] == UInt8(ord("\n")):
                counter[].lines += 1
        counter[].reactor.buffers().give(buffer.value())


def on_sent(operation: Operation):
    # The end of this side ends the multishot receive of the other.
    var counter = operation.state[].owner.value().unsafe_bitcast[Counter]()
    counter[].reactor.close(operation.state[].descriptor)


def main() raises:
    var reactor = open_reactor(ReactorConfig())[1].value()
    # On the heap: the kernel and the callbacks keep its address.
    var counter = heap_create(Counter(reactor, 0))
    var receive = heap_create(OperationState(OperationKind.RECEIVE))
    var send = heap_create(OperationState(OperationKind.SEND))
    var text = StaticString("one\ntwo\nthree\n")
    if open_socket_pair(
        AF_UNIX, SOCK_STREAM, receive[].descriptor, send[].descriptor
    ):
        raise Error("no socket pair")
    receive[].owner = counter.unsafe_bitcast[NoneType]()
    receive[].complete = on_received
    receive[].multishot = True
    send[].owner, send[].complete = receive[].owner, on_sent
    send[].address = OctetPointer(unsafe_from_address=Int(text.unsafe_ptr()))
    send[].length = text.byte_length()
    reactor.submit(Operation(receive))
    reactor.submit(Operation(send))
    while not Operation(receive).is_idle():
        reactor.turn()
    print(counter[].lines, "lines")
    reactor.close(receive[].descriptor)
    reactor.destroy()
    heap_destroy(receive)
    heap_destroy(send)
    heap_destroy(counter)
