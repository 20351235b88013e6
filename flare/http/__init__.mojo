"""HTTP servers and clients."""

from flare.message import (
    Cookie,
    CookieContext,
    CookieLimits,
    CookiePair,
    ETag,
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

from .after_response import after_response
from .app import App
from .body import Body
from .builders import (
    accepted,
    bad_request,
    conflict,
    created,
    created_json,
    error_response,
    forbidden,
    internal_error,
    method_not_allowed,
    no_content,
    not_found,
    not_implemented,
    ok,
    ok_html,
    ok_json,
    precondition_failed,
    redirect,
    service_unavailable,
    unauthorized,
    unprocessable,
)
from .client import (
    Authentication,
    BasicAuth,
    BearerAuth,
    CallLog,
    CallRecord,
    ClientConfig,
    ClientHttp2Config,
    ClientError,
    ClientStatistics,
    ClientStream,
    ClientTimeouts,
    ConnectTo,
    DigestAuth,
    Download,
    FileError,
    HttpClient,
    PoolLimits,
    Proxy,
    ProxyRules,
    RetryPolicy,
    delete,
    get,
    head,
    load_cookies,
    netrc_login,
    options,
    patch,
    post,
    put,
    read_netrc,
    save_cookies,
)
from .conditions import (
    ConditionResult,
    Validators,
    evaluate_conditions,
    not_modified,
    precondition_fails,
    range_applies,
    unchanged,
)
from .content import Content
from .cookie_jar import CookieJar
from .encoding import (
    AcceptEncoding,
    CompressionConfig,
    ContentCoding,
    ContentDecoder,
    ContentEncoder,
    DecodingLimits,
    DecodingReader,
    EncodingError,
    EncodingWriter,
    compress,
    decode_content,
    decompress,
)
from .event_stream import EventStream, event_stream, last_event_id
from .extract import Path, Query, QueryOf
from .form import Form, form_value
from .files import (
    CacheRule,
    FileOptions,
    FileStatistics,
    StaticFiles,
    attachment,
)
from .forwarding import forwarded_fields
from .from_fields import FromFields
from .handler import FnHandler, Handler, HandlerFunction
from .into_response import CanAnswer, IntoResponse
from .json import Json
from .metrics_page import MetricsPage
from .middleware import (
    AddHeader,
    AllowOnly,
    AutoETag,
    CatchErrors,
    Compress,
    Cors,
    CorsConfig,
    CrossOriginProtection,
    Health,
    HealthCheck,
    Limit,
    Logger,
    RateLimit,
    RequestId,
    SecureOnly,
    SecurityHeaders,
    StrictTransportSecurity,
    Timeout,
)
from .multipart_form import MultipartForm, MultipartFormReader
from .multipart_reader import MultipartReader
from .problem_details import ProblemDetails
from .range_parts import RangeParts
from .ranges import (
    ByteRange,
    ByteRanges,
    RangeKind,
    content_range,
    range_not_satisfiable,
    requested_ranges,
)
from .rate import RateKeys, RateLimitConfig, RateLimiter, by_peer
from .rejection import Rejection
from .request import Extractor, Request
from .request_body import RequestBody
from .request_value import RequestValue
from .response import Response
from .response_stream import ResponseStream
from .reverse_proxy import ReverseProxy
from .router import Router
from .server import (
    AccessEnd,
    AccessLog,
    AccessRecord,
    HttpServer,
    Http2Config,
    HttpProtocols,
    Listener,
    LogSink,
    NotifySocket,
    ServerConfig,
    ServerHandle,
)
from .sealed_content import SealedContent
from .shared import Shared
from .spans.current_trace import current_trace, trace_fields
from .state import NoState, State
from .status import StatusPage
from .stream_address import StreamAddr
from .text_value import FromText
from .timings import ExchangeTimings
from .tls_details import TlsDetails
from .tracing import ExporterStatistics, OtlpExporter, Tracing
from .upgraded_stream import UpgradedStream
from .validation import Problems, Validated
from .version import HttpVersion
