"""TLS 1.2 and 1.3: configurations, streams, and a machine that does no I/O."""

from .config import TlsConfig, TlsIdentity, TlsServerConfig
from .context import TlsContext
from .error import TlsError
from .listener import TlsListener
from .machine import TlsMachine, TlsStep
from .pem import Pem
from .session import TlsSession
from .stream import TlsStream
