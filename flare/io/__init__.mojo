"""Readers and writers of octets, and a reader with a buffer."""

from .buf_reader import BufReader
from .error import IoError
from .memory import MemoryReader, MemoryWriter
from .stream import Reader, Writer, copy
