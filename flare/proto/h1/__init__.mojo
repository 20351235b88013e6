"""HTTP/1.1 (RFC 9112) for both roles: octets in, events out, no I/O."""

from ..event import HttpEvent
from ..event import HttpEvent as H1Event
from ..head import BodyKind, Head, HeadProgress
from .body_length import BodyLength
from .connection import H1State, Role
from .error import H1Error
from .grammar import ConnectionOption
from .limits import H1Limits
from .machine import H1Machine
from .rule import H1Rule
