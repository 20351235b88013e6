"""Middleware: handlers that contain and extend another handler."""

from .add_header import AddHeader
from .auto_etag import AutoETag
from .catch_errors import CatchErrors, ErrorFunction
from .compress import Compress
from .logger import Logger
from .request_id import RequestId
from .secure_only import SecureOnly
from .security_headers import SecurityHeaders
from .strict_transport_security import StrictTransportSecurity
