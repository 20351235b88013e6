"""Sends HTTP requests: `get(url)` in a script, `HttpClient` everywhere."""

from .config.call_log import CallLog, CallRecord
from .client import HttpClient
from .cookie_file import COOKIE_FILE_OCTETS_MAX, load_cookies, save_cookies
from .config.client_config import ClientConfig, ClientTimeouts, PoolLimits
from .config.connect_to import ConnectTo
from .credentials.credentials import (
    Authentication,
    BasicAuth,
    BearerAuth,
    Credentials,
    DigestAuth,
)
from .download.file_download import Download
from .download.file_error import FileError
from .download_method import DOWNLOAD_OCTETS_MAX, DownloadMethod
from ..client_error import ClientError, Phase
from .functions import delete, get, head, options, patch, post, put
from .credentials.netrc import netrc_login, read_netrc
from .config.proxy import Proxy, ProxyRules
from .config.http2 import ClientHttp2Config
from .config.retry import RetryPolicy
from .client_statistics import ClientStatistics
from .stream.client_stream import ClientStream
