"""The common parts of the clients of databases: rows into structs, types of
columns.
"""

from .result import Executed, RowSource
from .types import Date, Timestamp
