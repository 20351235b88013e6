"""Serves HTTP: sockets, connections, workers and their limits."""

from .config import ConfigProblem, ServerConfig
from .process.handle import ServerHandle
from .http2_config import Http2Config
from .listening.listener import Listener
from .listening.protocols import HttpProtocols
from .records.access_facts import AccessEnd
from .records.access_log import AccessLog
from .records.access_record import AccessRecord
from .records.log import LogSink
from .process.notify_socket import NotifySocket
from .server import HttpServer
from .records.statistics import WorkerStatistics
