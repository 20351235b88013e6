"""Reads and writes JSON (RFC 8259).

`loads` and `dumps` work on values of any shape (`Value`). `decode` and `dumps`
work on structs that conform to `FromJson` and `ToJson`.
"""

from .error import JsonError
from .findings import JsonProblem
from .from_json import FromJson
from .input import JsonInput
from .limits import DEPTH_MAX, JsonLimits
from .names import JsonNames, JsonOmitsNone, JsonRefusesUnknownFields
from .problems import JsonProblems, problems_of
from .reader import JsonReader
from .schema import (
    JsonDescriptions,
    JsonSchema,
    SchemaSet,
    json_schema,
)
from .text import decode, dumps, loads
from .to_json import ToJson
from .value import Member, Value
from .writer import JsonOutput, JsonWriter
