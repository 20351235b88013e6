"""Unix sockets: streams and datagrams within one machine."""

from flare.net import DatagramTooLarge
from flare.sys.socket_file import PeerCredentials

from .address import UnixAddr
from .datagram import UnixDatagram
from .listener import UnixListener
from .stream import UnixStream
