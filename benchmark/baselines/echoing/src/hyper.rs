//! Echoes on tungstenite, behind hyper.

use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{
    HeaderValue, CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, UPGRADE,
};
use hyper::upgrade::{on, OnUpgrade};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::Error as WsError;
use tokio_tungstenite::WebSocketStream;

const READ_OCTETS: usize = 4096;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

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

/// Turns a request into a WebSocket that echoes; it may be none for one.
pub fn upgrade(request: Request<Incoming>) -> Response<Full<Bytes>> {
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
