"""WebSocket (RFC 6455, RFC 7692) for both roles: octets in, events out, no I/O.
"""

from .client_handshake import WsClientAgreement, WsClientOffer
from .codes import WsCloseCode, WsOpcode
from .deflate_parameters import (
    DeflateParameters,
    DeflatePolicy,
    accept_offer,
    choose_deflate,
    read_deflate_response,
)
from .extension_list import OFFERS_MAX
from .frame_event import WsEvent
from .frame_header import WsFrameHead, write_frame_head
from .frame_machine import CLOSE_REASON_OCTETS_MAX, WsMachine, write_payload
from .frame_place import WsFramePlace
from .frame_reader import EMPTY_FRAMES_MAX
from .frame_state import FrameKind, WsRole, WsStage, WsState, next_stage
from .handshake_error import WsHandshakeError
from .handshake_key import accept_value, client_key, is_key
from .message_check import WsMessageCheck
from .origins import WsOrigins
from .server_handshake import (
    WsServerAnswer,
    WsServerPolicy,
    answer_handshake,
)
from .text import WsText, is_utf8
from .violation import WsProtocolError, WsRule
