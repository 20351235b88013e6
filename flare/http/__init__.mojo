"""Serves HTTP requests, and sends them."""

from flare.message import (
    FieldSection,
    FieldView,
    HeaderMap,
    HttpDate,
    Method,
    QueryParameters,
    Status,
    Url,
)

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
from .client import (
    Authentication,
    BasicAuth,
    BearerAuth,
    ClientConfig,
    ClientError,
    ClientStatistics,
    ClientStream,
    ClientTimeouts,
    HttpClient,
    PoolLimits,
    Proxy,
    ProxyRules,
    RetryPolicy,
    delete,
    get,
    head,
    options,
    patch,
    post,
    put,
)
from .content import Content
from .extract import Extractor, Path, Query
from .handler import FnHandler, Handler, HandlerFunction
from .into_response import IntoResponse
from .middleware import (
    AddHeader,
    CatchErrors,
    Logger,
    RequestId,
    SecurityHeaders,
)
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
from .timings import ExchangeTimings
from .upgraded_stream import UpgradedStream
