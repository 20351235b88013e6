"""A client of PostgreSQL, over libpq: queries into structs, transactions."""

from flare.sql.result import Executed
from flare.sql.types import Date, Timestamp

from .column import Column, FromColumn
from .copy import CopyIn, CopyScope
from .database import Database
from .database_copy import DatabaseCopyScope
from .error import PostgresError
from .listen import ListenScope, Notifications
from .notification import Notification
from .numeric import Numeric
from .options import DatabaseOptions, PostgresTls
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
from .uuid import Uuid
