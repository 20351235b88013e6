"""Serves HTTP requests."""

from flare.message import (
    Cookie,
    CookieContext,
    CookieLimits,
    CookiePair,
    FieldSection,
    FieldView,
    FormField,
    FormFields,
    FormLimits,
    FromForm,
    HeaderMap,
    HttpDate,
    Method,
    PublicSuffixes,
    QueryParameters,
    RequestCookies,
    SameSite,
    Status,
    Url,
    parse_cookie_header,
    parse_set_cookie_header,
)
from flare.proto.multipart import MultipartLimits, MultipartPart

from .app import App
from .body import Body
from .builders import (
    accepted,
    bad_request,
    conflict,
    created,
    error_response,
    forbidden,
    internal_error,
    method_not_allowed,
    no_content,
    not_found,
    not_implemented,
    ok,
    ok_json,
    redirect,
    service_unavailable,
    unauthorized,
    unprocessable,
)
from .cookie_jar import CookieJar
from .extract import Extractor, Path, Query
from .form import Form, form_value
from .handler import FnHandler, Handler, HandlerFunction
from .into_response import IntoResponse
from .middleware import (
    AddHeader,
    CatchErrors,
    Logger,
    RequestId,
    SecurityHeaders,
)
from .multipart_form import MultipartForm, MultipartFormReader
from .multipart_reader import MultipartReader
from .rejection import Rejection
from .request import HttpVersion, Request
from .request_body import RequestBody
from .response import Response
from .response_stream import ResponseStream
from .router import Router
from .server import (
    AccessLog,
    AccessRecord,
    HttpServer,
    LogSink,
    ServerConfig,
    ServerHandle,
)
from .shared import Shared
from .state import NoState, State
from .text_value import FromText
from .upgraded_stream import UpgradedStream
