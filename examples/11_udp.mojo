# Run: mojo run -I . examples/11_udp.mojo
# Prints: octets are over the limit 65507
"""Sends datagrams to an echo server, and shows the errors of large ones."""

from flare.net import SocketAddr
from flare.runtime import spawn
from flare.udp import DatagramBatch, DatagramTooLarge, UdpSocket


def main() raises:
    # Port 0: the kernel chooses a free one.
    var server = UdpSocket.bind(SocketAddr.localhost(0))
    var address = server.local_address()
    print("listening on", address)

    def echo() raises {var server^}:
        var octets = List[UInt8](length=2048, fill=0)
        while True:
            # A wait parks this fiber only; others continue.
            var count, sender = server.recv_from(Span(octets))
            if count == 0:
                return
            server.send_to(Span(octets)[0:count], sender)

    var echoing = spawn(echo^)

    var client = UdpSocket.bind(SocketAddr.localhost(0))
    # A datagram may be lost: a client limits its wait, and asks again.
    client.set_receive_timeout_ms(1000)
    client.send_to("hello".as_bytes(), address)
    var into = List[UInt8](length=16, fill=0)
    var count, sender = client.recv_from(Span(into))
    print("client:", count, "octets from", sender.ip)

    # More than IPv4 carries is refused, not cut.
    try:
        client.send_to(Span(List[UInt8](length=70_000, fill=0)), address)
    except e:
        var error = DatagramTooLarge.of(e).value()
        print(error.octets, "octets are over the limit", error.octets_max)

    # So is a received datagram that does not fit.
    client.send_to("more than sixteen octets".as_bytes(), address)
    try:
        _ = client.recv_from(Span(into))
    except e:
        print("client:", e)

    # Many at once: one system call sends them, and one receives them.
    var batch = DatagramBatch(8)
    for text in ["one", "two", "three"]:
        batch.append(text.as_bytes(), address)
    print("sent", client.send_batch(batch))
    var came = 0
    while came < 3:
        came += client.recv_batch(batch)
    print("came back", came)

    client.send_to("".as_bytes(), address)
    echoing^.join()
