"""Middleware: handlers that contain and extend another handler."""

from .add_header import AddHeader
from .allow_only import AllowOnly
from .auto_etag import AutoETag
from .catch_errors import CatchErrors, ErrorFunction
from .compress import Compress
from .cors import Cors
from .cors_config import CorsConfig, common_methods
from .cross_origin_protection import CrossOriginProtection
from .health import Health, HealthCheck
from .limit import Limit
from .logger import Logger
from .rate_limit import RateLimit
from .request_id import RequestId
from .secure_only import SecureOnly
from .security_headers import SecurityHeaders
from .strict_transport_security import StrictTransportSecurity
from .timeout import Timeout
