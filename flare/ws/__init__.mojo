"""WebSocket (RFC 6455): connections, messages, handlers."""

from flare.proto.ws import WsCloseCode, WsOpcode, WsOrigins

from .client import WsClient
from .client_config import WsClientConfig
from .compression import WsCompression
from .connection import WsConnection
from .error import WsError
from .frame import WsDecodedFrame, WsFrame
from .handler import WebSocket, websocket
from .hub import WsHub, WsOverflow
from .message import WsMessage
from .message_writer import WsMessageWriter
from .options import WsOptions
from .sender import WsSender
from .server import WsServer
from .statistics import WsStatistics
