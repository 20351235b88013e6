"""A client of PostgreSQL, over libpq: queries into structs, transactions."""

from .column import Column, FromColumn
from .database import Database
from .error import PostgresError
from .listen import ListenScope, Notifications
from .notification import Notification
from .options import DatabaseOptions, PostgresTls
from .results import Executed
from .parameter import ToParameter, add_binary, add_null, add_text
from .statistics import DatabaseStatistics
from .stream import RowCursor, RowStream
from .transaction import (
    IsolationLevel,
    SavepointScope,
    Transaction,
    TransactionScope,
)
from .type_ids import TypeId
from .types import Date, Timestamp
