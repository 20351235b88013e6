"""Prints an address."""

from flare.net import SocketAddr


def main():
    print(SocketAddr.localhost(8080))
