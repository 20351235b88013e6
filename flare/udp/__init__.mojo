"""UDP sockets, for code that reads as if it blocked."""

from flare.net import DatagramTooLarge

from .batch import DatagramBatch
from .socket import UdpSocket
