"""Connects to a peer and greets it."""

from flare.tcp import TcpStream


def main() raises:
    var stream = TcpStream.connect("127.0.0.1", 8080)
    stream.write_all("hello".as_bytes())
