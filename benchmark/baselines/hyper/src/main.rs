//! hyper on one tokio runtime per worker.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalogue::{filler, Catalogue, Options, Turn};
use futures_util::{stream, FutureExt, SinkExt, StreamExt};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{
    HeaderValue, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE,
    SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper::upgrade::{on, OnUpgrade};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::Error as WsError;
use tokio_tungstenite::WebSocketStream;

const READ_OCTETS: usize = 4096;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

static TEXT: HeaderValue = HeaderValue::from_static("text/plain");
static JSON: HeaderValue = HeaderValue::from_static("application/json");
static OCTETS: HeaderValue =
    HeaderValue::from_static("application/octet-stream");

fn whole(
    media_type: &HeaderValue,
    content: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(content.into()));
    response.headers_mut().insert(CONTENT_TYPE, media_type.clone());
    response
}

fn not_found() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

async fn upload(mut content: Incoming) -> hyper::Result<Response<Full<Bytes>>> {
    let mut length = 0;
    while let Some(frame) = content.frame().await {
        length += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(whole(&TEXT, length.to_string()))
}

fn download(
    octets: usize,
) -> Response<impl Body<Data = Bytes, Error = Infallible>> {
    let pieces =
        filler(octets).map(|piece| Ok(Frame::data(Bytes::from_static(piece))));
    let mut response = Response::new(StreamBody::new(stream::iter(pieces)));
    response.headers_mut().insert(CONTENT_TYPE, OCTETS.clone());
    response.headers_mut().insert(CONTENT_LENGTH, octets.into());
    response
}

/// Sends back each message. Answers leave once nothing more has arrived, so
/// that those to pipelined messages leave together.
async fn echo(upgrade: OnUpgrade) -> Result<(), BoxError> {
    let io = TokioIo::new(upgrade.await?);
    // The buffer is cleared for each read: that takes longer than all else with
    // the default of 128 KiB.
    let config = WebSocketConfig::default().read_buffer_size(READ_OCTETS);
    let mut socket =
        WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    loop {
        let next = match socket.next().now_or_never() {
            Some(next) => next,
            None => {
                socket.flush().await?;
                socket.next().await
            }
        };
        match next {
            Some(Ok(message)) if message.is_text() || message.is_binary() => {
                socket.feed(message).await?
            }
            // Pings and the Close are answered on the way.
            Some(Ok(_)) => {}
            Some(Err(WsError::ConnectionClosed)) | None => return Ok(()),
            Some(Err(error)) => return Err(error.into()),
        }
    }
}

fn upgrade(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY) else {
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return response;
    };
    let accept = derive_accept_key(key.as_bytes());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(
        SEC_WEBSOCKET_ACCEPT,
        HeaderValue::from_str(&accept).expect("base64"),
    );
    // A peer that breaks off concerns nobody else.
    tokio::spawn(async { drop(echo(on(request)).await) });
    response
}

async fn answer(
    request: Request<Incoming>,
    turn: Arc<Turn>,
) -> hyper::Result<Response<impl Body<Data = Bytes, Error = BoxError>>> {
    let response = match (request.method(), request.uri().path()) {
        (&Method::GET, "/plaintext") => whole(&TEXT, "Hello, World!"),
        (&Method::GET, "/simple") => whole(&JSON, r#"{"message":"hi"}"#),
        (&Method::GET, "/read") => whole(&JSON, turn.product()),
        (&Method::GET, "/list") => whole(&JSON, turn.list()),
        (&Method::GET, "/compute") => whole(&JSON, turn.statistics()),
        (&Method::GET, "/delay") => {
            tokio::time::sleep(Duration::from_millis(10)).await;
            whole(&TEXT, "Hello, World!")
        }
        (&Method::GET, "/ws") => upgrade(request),
        (&Method::POST, "/upload") => upload(request.into_body()).await?,
        (&Method::GET, path) => {
            let octets = path.strip_prefix("/download/");
            match octets.and_then(|octets| octets.parse().ok()) {
                Some(octets) => {
                    return Ok(download(octets).map(Either::Right));
                }
                None => not_found(),
            }
        }
        _ => not_found(),
    };
    Ok(response.map(Either::Left))
}

fn listen(port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(4096)
}

async fn serve(port: u16, turn: Arc<Turn>) -> std::io::Result<()> {
    let listener = listen(port)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let turn = turn.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, turn.clone()));
            // A peer that breaks off concerns nobody else.
            let _ = http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service)
                .with_upgrades()
                .await;
        });
    }
}

fn main() {
    let options = Options::from_arguments();
    let catalogue = Catalogue::load(&options.products);
    let worker = move || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| {
                runtime.block_on(serve(
                    options.port,
                    Arc::new(Turn::new(catalogue)),
                ))
            })
            .expect("the server ended")
    };
    for _ in 1..options.workers {
        std::thread::spawn(worker);
    }
    worker()
}
