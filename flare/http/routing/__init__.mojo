"""Matches methods and paths with route patterns."""

from .captures import Capture, Captures
from .pattern import RoutePattern
from .table import METHODS_MAX, MatchKind, RouteMatch, RouteTable
