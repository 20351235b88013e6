"""Matches methods and paths with route patterns."""

from .captures import Capture, Captures
from .pattern import RoutePattern
from .route_match import MatchKind, RouteMatch
from .table import METHODS_MAX, RouteTable
