"""Holds the everyday names: `from flare.prelude import *`."""

from flare.http import (
    App,
    FnHandler,
    Handler,
    HeaderMap,
    HttpServer,
    Json,
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
    internal_error,
    no_content,
    not_found,
    ok,
    ok_json,
    redirect,
)
from flare.net import IpAddr, NetError, SocketAddr
from flare.runtime import sleep, spawn
from flare.tcp import TcpListener, TcpStream
