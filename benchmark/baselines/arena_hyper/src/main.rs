//! The arena's profiles on hyper, one tokio runtime per worker.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use arena_data::{
    compressed, number_in, parameter, Cache, Dataset, Failure, Options, Store,
    CONTENT_MAX, DELAY_MAX,
};
use bytes::Bytes;
use echoing::hyper::upgrade;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    HeaderValue, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use secured::tls_config;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Answer = Response<Full<Bytes>>;

static TEXT: HeaderValue = HeaderValue::from_static("text/plain");
static JSON: HeaderValue = HeaderValue::from_static("application/json");
static OCTETS: HeaderValue =
    HeaderValue::from_static("application/octet-stream");
static HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
static BROTLI: HeaderValue = HeaderValue::from_static("br");
static VARIES: HeaderValue = HeaderValue::from_static("accept-encoding");

fn whole(media_type: &HeaderValue, content: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(content.into()));
    response.headers_mut().insert(CONTENT_TYPE, media_type.clone());
    response
}

fn with_status(status: StatusCode, why: &'static str) -> Answer {
    let mut response = whole(&TEXT, why);
    *response.status_mut() = status;
    response
}

fn bad_request(why: &'static str) -> Answer {
    with_status(StatusCode::BAD_REQUEST, why)
}

async fn content_of(content: Incoming) -> Result<Bytes, BoxError> {
    Ok(Limited::new(content, CONTENT_MAX).collect().await?.to_bytes())
}

async fn add(request: Request<Incoming>) -> Result<Answer, BoxError> {
    let (head, content) = request.into_parts();
    let query = head.uri.query().unwrap_or("");
    let (a, b) = (parameter(query, "a"), parameter(query, "b"));
    let content = content_of(content).await?;
    Ok(match (a, b, number_in(&content)) {
        (Ok(a), Ok(b), Ok(c)) => {
            let sum = a.unwrap_or(0) + b.unwrap_or(0) + c;
            whole(&TEXT, sum.to_string())
        }
        (Err(why), _, _) | (_, Err(why), _) | (_, _, Err(why)) => {
            bad_request(why)
        }
    })
}

async fn delay(text: &str) -> Answer {
    match text.parse::<u64>() {
        Ok(ms) if ms <= DELAY_MAX => {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            whole(&TEXT, ms.to_string())
        }
        _ => bad_request("the delay is out of bounds"),
    }
}

async fn upload(content: Incoming) -> Result<Answer, BoxError> {
    let mut content = Limited::new(content, CONTENT_MAX);
    let mut length = 0;
    while let Some(frame) = content.frame().await {
        length += frame?.data_ref().map_or(0, Bytes::len);
    }
    Ok(whole(&TEXT, length.to_string()))
}

fn accepts_brotli(fields: &HeaderMap) -> bool {
    let value = fields.get(ACCEPT_ENCODING).and_then(|v| v.to_str().ok());
    value.is_some_and(|v| v.split(',').any(|coding| coding.trim() == "br"))
}

fn page(request: &Request<Incoming>, text: &str, data: Dataset) -> Answer {
    let factor = parameter(request.uri().query().unwrap_or(""), "m");
    let (Ok(count), Ok(factor)) = (text.parse(), factor) else {
        return bad_request("a parameter is not a number");
    };
    let content = data.page(count, factor.unwrap_or(1));
    let mut response = if accepts_brotli(request.headers()) {
        let mut response = whole(&JSON, compressed(&content));
        response.headers_mut().insert(CONTENT_ENCODING, BROTLI.clone());
        response
    } else {
        whole(&JSON, content)
    };
    response.headers_mut().insert(VARY, VARIES.clone());
    response
}

fn failed(failure: Failure) -> Answer {
    with_status(
        match failure {
            Failure::Database => StatusCode::SERVICE_UNAVAILABLE,
            Failure::Content => StatusCode::UNPROCESSABLE_ENTITY,
        },
        "",
    )
}

async fn items(
    request: Request<Incoming>,
    store: &Store,
) -> Result<Answer, BoxError> {
    let (head, content) = request.into_parts();
    if head.method == Method::POST {
        let content = content_of(content).await?;
        return Ok(match store.create(&content).await {
            Ok(_) => with_status(StatusCode::CREATED, ""),
            Err(failure) => failed(failure),
        });
    }
    Ok(match store.item_page(head.uri.query().unwrap_or("")).await {
        Ok(page) => whole(&JSON, page),
        Err(failure) => failed(failure),
    })
}

async fn item(
    request: Request<Incoming>,
    id: i32,
    store: &Store,
) -> Result<Answer, BoxError> {
    let not_found = with_status(StatusCode::NOT_FOUND, "");
    if request.method() == Method::PUT {
        let content = content_of(request.into_body()).await?;
        return Ok(match store.change(id, &content).await {
            Ok(true) => whole(&TEXT, "changed"),
            Ok(false) => not_found,
            Err(failure) => failed(failure),
        });
    }
    Ok(match store.item(id).await {
        Ok(Some((text, cached))) => {
            let mut response = whole(&JSON, text);
            let cached = HeaderValue::from_static(cached);
            response.headers_mut().insert("x-cache", cached);
            response
        }
        Ok(None) => not_found,
        Err(failure) => failed(failure),
    })
}

async fn answer(
    request: Request<Incoming>,
    data: Dataset,
    store: Arc<Store>,
) -> Result<Answer, BoxError> {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or("");
    Ok(match (request.method(), path) {
        (&Method::GET | &Method::POST, "/baseline11") => add(request).await?,
        (&Method::GET, "/pipeline") => whole(&TEXT, "ok"),
        (&Method::POST, "/upload") => upload(request.into_body()).await?,
        (&Method::POST, "/echo") => {
            whole(&OCTETS, content_of(request.into_body()).await?)
        }
        (&Method::GET, "/ws") => upgrade(request),
        (&Method::GET, "/async-db") => {
            whole(&JSON, store.items_by_price(query).await)
        }
        (&Method::GET, "/fortunes") => match store.fortunes().await {
            Ok(page) => whole(&HTML, page),
            Err(failure) => failed(failure),
        },
        (&Method::GET | &Method::POST, "/crud/items") => {
            items(request, &store).await?
        }
        (&Method::GET | &Method::PUT, _) => {
            if let Some(text) = path.strip_prefix("/json/") {
                page(&request, text, data)
            } else if let Some(text) = path.strip_prefix("/delay/") {
                delay(text).await
            } else if let Some(Ok(id)) =
                path.strip_prefix("/crud/items/").map(str::parse)
            {
                item(request, id, &store).await?
            } else {
                with_status(StatusCode::NOT_FOUND, "")
            }
        }
        _ => with_status(StatusCode::NOT_FOUND, ""),
    })
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    data: Dataset,
    store: Arc<Store>,
) {
    // A peer that breaks off concerns nobody else.
    let _ = http1::Builder::new()
        .pipeline_flush(true)
        .serve_connection(
            TokioIo::new(stream),
            service_fn(|request| answer(request, data, store.clone())),
        )
        .with_upgrades()
        .await;
}

fn listen(port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(4096)
}

async fn serve(
    port: u16,
    tls: Option<TlsAcceptor>,
    data: Dataset,
    store: Arc<Store>,
) -> std::io::Result<()> {
    let listener = listen(port)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let (tls, store) = (tls.clone(), store.clone());
        tokio::spawn(async move {
            match tls {
                None => converse(stream, data, store).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        converse(stream, data, store).await;
                    }
                }
            }
        });
    }
}

fn main() {
    let options = Options::from_arguments();
    let data = Dataset::load(&options.data);
    let tls = options.certificates.as_deref().map(|folder| {
        TlsAcceptor::from(Arc::new(tls_config(
            &folder.join("server.crt"),
            &folder.join("server.key"),
            &[b"http/1.1"],
        )))
    });
    let cache = Arc::new(Cache::default());
    let workers = options.workers;
    let worker = move || {
        let store = Arc::new(Store::open(&options, cache.clone()));
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| {
                runtime.block_on(serve(options.port, tls.clone(), data, store))
            })
            .expect("the server ended")
    };
    for _ in 1..workers {
        std::thread::spawn(worker.clone());
    }
    worker()
}
