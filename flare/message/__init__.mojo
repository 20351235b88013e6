"""Holds the vocabulary of HTTP messages."""

from .field_line import FieldLine, FieldSection
from .field_name import FieldName, known_field
