//! Echoes on actix-ws.

use actix_web::web::Payload;
use actix_web::{Error, HttpRequest, HttpResponse};
use actix_ws::Message;

/// Turns a request into a WebSocket that echoes.
pub async fn echo(
    request: HttpRequest,
    content: Payload,
) -> Result<HttpResponse, Error> {
    let (response, mut session, mut messages) =
        actix_ws::handle(&request, content)?;
    actix_web::rt::spawn(async move {
        while let Some(Ok(message)) = messages.recv().await {
            let sent = match message {
                Message::Text(text) => session.text(text).await,
                Message::Binary(octets) => session.binary(octets).await,
                Message::Ping(octets) => session.pong(&octets).await,
                Message::Close(reason) => {
                    let _ = session.close(reason).await;
                    return;
                }
                _ => Ok(()),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Ok(response)
}
