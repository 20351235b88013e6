"""Holds what reads and writes octets in order, and a reader with a buffer."""

from .buf_reader import BufReader
from .error import IoError
from .memory import MemoryReader, MemoryWriter
from .stream import Reader, Writer, copy
