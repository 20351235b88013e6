"""TCP connections and listeners, for code that reads as if it blocked."""

from .listener import TcpListener
from .stream import TcpStream
