"""WebSocket (RFC 6455): connections, messages, handlers."""

from flare.proto.ws import WsCloseCode, WsOpcode, WsOrigins

from .compression import WsCompression
from .connection import WsConnection
from .error import WsError
from .frame import WsDecodedFrame, WsFrame
from .handler import WebSocket, websocket
from .hub import WsHub, WsOverflow
from .message import WsMessage
from .options import WsOptions
from .server import WsServer
from .statistics import WsStatistics
