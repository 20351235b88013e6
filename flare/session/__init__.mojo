"""Sessions, and values that clients keep and cannot change."""

from .cookie_sessions import CookieSessions
from .encryptor import Encryptor
from .keeping import SessionChange, SessionKeeping, SessionStore
from .memory_sessions import MemorySessions
from .password import hash_password, matches_password, needs_new_hash
from .postgres_sessions import PostgresSessions
from .protection import Protection
from .record import SessionConfig, SessionRecord
from .session import Session, SessionData
from .sessions import Sessions
from .signer import Signer
from .sqlite_sessions import SqliteSessions
