"""A networking library for Mojo.

`flare.prelude` exports the everyday names. The other names are in the package
of their layer: `flare.http`, `flare.tls`, `flare.tcp`, `flare.udp`,
`flare.unix`, `flare.dns`, `flare.net`, `flare.io`, `flare.runtime`.
"""

from .prelude import (
    App,
    FnHandler,
    Handler,
    HeaderMap,
    HttpServer,
    IpAddr,
    NetError,
    Request,
    Response,
    Router,
    ServerConfig,
    SocketAddr,
    State,
    TcpListener,
    TcpStream,
    bad_request,
    created,
    internal_error,
    no_content,
    not_found,
    ok,
    ok_json,
    redirect,
)
