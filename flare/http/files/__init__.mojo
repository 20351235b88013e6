"""Describes files: their media types and their compressed siblings."""

from .media_types import MediaTypes
from .siblings import Siblings
