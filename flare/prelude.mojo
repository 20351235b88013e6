"""Holds the everyday names: `from flare.prelude import *`."""

from flare.http import (
    App,
    BasicAuth,
    BearerAuth,
    ClientError,
    FnHandler,
    Handler,
    HeaderMap,
    HttpClient,
    HttpServer,
    Method,
    Path,
    Query,
    Rejection,
    Request,
    Response,
    Router,
    ServerConfig,
    ServerHandle,
    Shared,
    State,
    Status,
    Url,
    bad_request,
    created,
    get,
    internal_error,
    no_content,
    not_found,
    ok,
    ok_json,
    post,
    redirect,
)
from flare.net import IpAddr, NetError, SocketAddr
from flare.runtime import sleep, spawn
from flare.tcp import TcpListener, TcpStream
