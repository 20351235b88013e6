"""Holds the vocabulary of HTTP messages."""

from .field_line import (
    FieldIterator,
    FieldLine,
    FieldSection,
    FieldValues,
    FieldView,
)
from .field_name import FieldName, known_field
from .header_map import HeaderMap
from .method import Method
from .request_target import RequestTarget, valid_host
from .status import Status, reason_phrase, status_line
from .syntax_error import SyntaxError
