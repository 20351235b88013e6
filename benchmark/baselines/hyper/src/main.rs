//! hyper on one tokio runtime per worker.

mod site;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalogue::{filler, Catalogue, Options, Turn};
use echoing::hyper::upgrade;
use futures_util::stream;
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{HeaderValue, CONTENT_LENGTH, CONTENT_TYPE};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use secured::tls_config;
use site::{describe, Site};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

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

fn file(
    name: &str,
    request: &Request<Incoming>,
    site: &Site,
) -> Response<Full<Bytes>> {
    let Some((octets, coding)) = site.find(name, request.headers()) else {
        return not_found();
    };
    let mut response = whole(&OCTETS, octets);
    describe(&mut response, coding);
    response
}

async fn answer(
    request: Request<Incoming>,
    turn: Arc<Turn>,
    site: &'static Site,
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
            if let Some(name) = path.strip_prefix("/files/site/") {
                return Ok(file(name, &request, site).map(Either::Left));
            }
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

async fn converse<S>(
    stream: S,
    is_http2: bool,
    turn: Arc<Turn>,
    site: &'static Site,
) where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let stream = TokioIo::new(stream);
    let service =
        service_fn(move |request| answer(request, turn.clone(), site));
    // A peer that breaks off concerns nobody else.
    if is_http2 {
        let _ = http2::Builder::new(TokioExecutor::new())
            .serve_connection(stream, service)
            .await;
    } else {
        let _ = http1::Builder::new()
            .pipeline_flush(true)
            .serve_connection(stream, service)
            .with_upgrades()
            .await;
    }
}

async fn serve(
    port: u16,
    protocol: Protocol,
    turn: Arc<Turn>,
    site: &'static Site,
) -> std::io::Result<()> {
    let listener = listen(port)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (protocol, turn) = (protocol.clone(), turn.clone());
        tokio::spawn(async move {
            match protocol {
                Protocol::Http1 => converse(stream, false, turn, site).await,
                Protocol::Http2 => converse(stream, true, turn, site).await,
                Protocol::Chosen(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        let chosen = stream.get_ref().1.alpn_protocol();
                        let is_http2 = chosen == Some(b"h2");
                        converse(stream, is_http2, turn, site).await;
                    }
                }
            }
        });
    }
}

/// Says what clients speak.
#[derive(Clone)]
enum Protocol {
    Http1,
    Http2,
    /// What the handshake of TLS chooses.
    Chosen(TlsAcceptor),
}

impl Protocol {
    fn of(options: &Options) -> Self {
        match &options.certificates {
            Some(folder) => {
                Protocol::Chosen(TlsAcceptor::from(Arc::new(tls_config(
                    &folder.join("server.pem"),
                    &folder.join("server.key"),
                    &[b"h2", b"http/1.1"],
                ))))
            }
            None if options.is_http2 => Protocol::Http2,
            None => Protocol::Http1,
        }
    }
}

fn main() {
    let options = Options::from_arguments();
    let catalogue = Catalogue::load(&options.products);
    let site = Site::load(&options.products.with_file_name("files/site"));
    let protocol = Protocol::of(&options);
    let worker = move || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| {
                runtime.block_on(serve(
                    options.port,
                    protocol.clone(),
                    Arc::new(Turn::new(catalogue)),
                    site,
                ))
            })
            .expect("the server ended")
    };
    for _ in 1..options.workers {
        std::thread::spawn(worker.clone());
    }
    worker()
}
