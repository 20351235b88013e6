//! axum on one tokio runtime per worker.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::Router;
use bytes::Bytes;
use catalogue::{filler, Catalogue, Options, Turn};
use futures_util::{stream, StreamExt};
use tokio::net::{TcpListener, TcpSocket};

fn text(content: impl Into<Bytes>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain")], content.into())
}

fn json(content: impl Into<Bytes>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], content.into())
}

async fn plaintext() -> impl IntoResponse {
    text("Hello, World!")
}

async fn simple() -> impl IntoResponse {
    json(r#"{"message":"hi"}"#)
}

async fn read(State(turn): State<Arc<Turn>>) -> impl IntoResponse {
    json(turn.product())
}

async fn list(State(turn): State<Arc<Turn>>) -> impl IntoResponse {
    json(turn.list())
}

async fn compute(State(turn): State<Arc<Turn>>) -> impl IntoResponse {
    json(turn.statistics())
}

async fn delay() -> impl IntoResponse {
    tokio::time::sleep(Duration::from_millis(10)).await;
    text("Hello, World!")
}

async fn upload(content: Body) -> Response {
    let mut length = 0;
    let mut pieces = content.into_data_stream();
    while let Some(piece) = pieces.next().await {
        match piece {
            Ok(octets) => length += octets.len(),
            Err(_) => {
                return axum::http::StatusCode::BAD_REQUEST.into_response()
            }
        }
    }
    text(length.to_string()).into_response()
}

async fn download(Path(octets): Path<usize>) -> impl IntoResponse {
    let pieces = filler(octets).map(Ok::<_, Infallible>);
    (
        [
            (CONTENT_TYPE, "application/octet-stream".to_owned()),
            (CONTENT_LENGTH, octets.to_string()),
        ],
        Body::from_stream(stream::iter(pieces)),
    )
}

fn listen(port: u16) -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(4096)
}

async fn serve(port: u16, turn: Turn) -> std::io::Result<()> {
    let router = Router::new()
        .route("/plaintext", get(plaintext))
        .route("/simple", get(simple))
        .route("/read", get(read))
        .route("/list", get(list))
        .route("/compute", get(compute))
        .route("/delay", get(delay))
        .route("/upload", post(upload))
        .route("/download/{octets}", get(download))
        .with_state(Arc::new(turn));
    let listener = listen(port)?.tap_io(|stream| {
        // Without it answers are late, not wrong.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await
}

fn main() {
    let options = Options::from_arguments();
    let catalogue = Catalogue::load(&options.products);
    let worker = move || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| {
                runtime.block_on(serve(options.port, Turn::new(catalogue)))
            })
            .expect("the server ended")
    };
    for _ in 1..options.workers {
        std::thread::spawn(worker);
    }
    worker()
}
