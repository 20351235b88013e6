"""Addresses, raw sockets, and the error of socket operations."""

from .address_syntax import AddressSyntaxError
from .datagram_too_large import DatagramTooLarge
from .error import NetError
from .ip_address import IpAddr
from .interface import interface_index
from .ip_network import IpNetwork
from .raw_socket import RawSocket
from .socket_address import SocketAddr
from .socket_options import KeepAlive, SocketOptions
