"""Sends HTTP requests: `get(url)` in a script, `HttpClient` everywhere."""

from .call_log import CallLog, CallRecord
from .client import HttpClient
from .config import ClientConfig, ClientTimeouts, PoolLimits
from .credentials import (
    Authentication,
    BasicAuth,
    BearerAuth,
    Credentials,
    DigestAuth,
)
from .error import ClientError, Phase
from .functions import delete, get, head, options, patch, post, put
from .netrc import netrc_login, read_netrc
from .proxy import Proxy, ProxyRules
from .retry import RetryPolicy
from .statistics import ClientStatistics
from .stream import ClientStream
