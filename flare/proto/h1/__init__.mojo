"""HTTP/1.1 (RFC 9112) for both roles: octets in, events out, no I/O."""

from .body_length import BodyLength
from .connection import H1State, Phase, Role
from .error import H1Error
from .event import H1Event
from .grammar import ConnectionOption
from .head import BodyKind, Head, HeadProgress
from .limits import H1Limits
from .machine import H1Machine
from .rule import H1Rule
