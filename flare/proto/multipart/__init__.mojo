"""Reads and writes multipart/form-data: octets in, events out."""

from .boundary import (
    BOUNDARY_OCTETS_MAX,
    boundary_in,
    boundary_of,
    is_boundary,
)
from .error import MultipartError
from .event import MultipartEvent
from .machine import MultipartLimits, MultipartMachine
from .part import MultipartPart
from .writer import MultipartWriter, PartDescription, is_writable_type
