"""Serves HTTP: sockets, connections, workers and their limits."""

from .config import ConfigProblem, ServerConfig
from .handle import ServerHandle
from .listener import Listener
from .log import AccessLog, AccessRecord, LogSink
from .server import HttpServer
from .statistics import WorkerStatistics
