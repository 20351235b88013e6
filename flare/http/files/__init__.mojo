"""Serves files: `StaticFiles` and its limits."""

from .attachment import attachment
from .file_counters import FileStatistics
from .media_types import MediaTypes
from .options import FileOptions
from .rules import CacheRule
from .siblings import Siblings
from .static_files import StaticFiles
