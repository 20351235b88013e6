"""A database in a file, over SQLite: queries into structs, transactions."""

from flare.sql.result import Executed
from flare.sql.types import Date, Timestamp

from .column import Column, FromColumn
from .database import Database
from .error import SqliteError
from .options import DatabaseOptions, Synchronous
from .parameter import ToParameter, add_blob, add_text
from .statistics import DatabaseStatistics
from .transaction import SavepointBlock, Transaction, TransactionBlock
from .values import ValueBlock
