"""The vocabulary of HTTP messages: header fields, methods, status codes, URLs,
cookies.
"""

from .cookie import COOKIE_OCTETS_MAX, Cookie, CookiePrefix, SameSite
from .cookie_date import parse_cookie_date
from .cookie_rules import CookieContext, CookieLimits
from .cookie_store import CookieStore
from .cookie_text import (
    COOKIES_MAX,
    CookiePair,
    CookiePairs,
    RequestCookies,
    parse_cookie_header,
    parse_set_cookie_header,
    read_set_cookie,
)
from .date import HTTP_DATE_OCTETS, HttpDate, write_http_date
from .etag import ETag
from .field_line import (
    FieldIterator,
    FieldLine,
    FieldSection,
    FieldValues,
    FieldView,
)
from .field_name import FieldName
from .form import (
    FORM_CONTENT_TYPE,
    FormField,
    FormFields,
    FormLimits,
    FromForm,
)
from .header_map import HeaderMap
from .known_field import known_field
from .method import Method
from .origin_list import OriginList
from .percent import (
    escaped_percents,
    equals_decoded,
    percent_decode,
    percent_decoded,
    percent_encode,
    percent_encoded,
)
from .public_suffix import PublicSuffixes
from .query import QueryParameter, QueryParameters
from .request_target import RequestTarget, valid_host
from .status import Status, allows_content, reason_phrase, status_line
from .syntax_error import SyntaxError
from .trace_context import TraceContext
from .url import Url
from .url_location import resolve_location
from .url_reference import resolve_reference
from .web_origin import WebOrigin, is_page_of_host
