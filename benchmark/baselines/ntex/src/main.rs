//! ntex on io_uring, through its neon runtime.

use catalogue::{filler, Catalogue, Options, Turn};
use futures_util::stream;
use std::io;

use ntex::http::body::{Body, SizedStream};
use ntex::service::{fn_factory_with_config, fn_service};
use ntex::time::{sleep, Millis};
use ntex::util::{ByteString, Bytes};
use ntex::web::types::{Path, Payload, State};
use ntex::web::{self, ws, App, Error, HttpRequest, HttpResponse, HttpServer};

#[web::get("/plaintext")]
async fn plaintext() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[web::get("/simple")]
async fn simple() -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/json")
        .body(r#"{"message":"hi"}"#)
}

#[web::get("/read")]
async fn read(turn: State<Turn>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(turn.product())
}

#[web::get("/list")]
async fn list(turn: State<Turn>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(turn.list())
}

#[web::get("/compute")]
async fn compute(turn: State<Turn>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(turn.statistics())
}

#[web::get("/delay")]
async fn delay() -> HttpResponse {
    sleep(Millis(10)).await;
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[web::post("/upload")]
async fn upload(mut content: Payload) -> Result<HttpResponse, Error> {
    let mut length = 0;
    while let Some(octets) = content.recv().await {
        length += octets?.len();
    }
    Ok(HttpResponse::Ok().content_type("text/plain").body(length.to_string()))
}

#[web::get("/download/{octets}")]
async fn download(octets: Path<usize>) -> HttpResponse {
    let octets = octets.into_inner();
    let pieces = filler(octets).map(|piece| Ok(Bytes::from_static(piece)));
    let content = SizedStream::new(octets as u64, stream::iter(pieces));
    HttpResponse::Ok()
        .content_type("application/octet-stream")
        .body(Body::from_message(content))
}

async fn message(frame: ws::Frame) -> io::Result<Option<ws::Message>> {
    Ok(match frame {
        ws::Frame::Text(text) => {
            let text = ByteString::try_from(text)
                .map_err(|()| io::Error::from(io::ErrorKind::InvalidData))?;
            Some(ws::Message::Text(text))
        }
        ws::Frame::Binary(octets) => Some(ws::Message::Binary(octets)),
        ws::Frame::Ping(octets) => Some(ws::Message::Pong(octets)),
        ws::Frame::Close(reason) => Some(ws::Message::Close(reason)),
        _ => None,
    })
}

#[web::get("/ws")]
async fn echo(request: HttpRequest) -> Result<HttpResponse, Error> {
    let factory = fn_factory_with_config(|_| async {
        Ok::<_, Error>(fn_service(message))
    });
    ws::start::<_, _, &str, Error>(request, None, factory).await
}

#[ntex::main]
async fn main() -> std::io::Result<()> {
    let options = Options::from_arguments();
    let catalogue = Catalogue::load(&options.products);
    HttpServer::new(async move || {
        App::new().state(Turn::new(catalogue)).service((
            plaintext, simple, read, list, compute, delay, upload, download,
            echo,
        ))
    })
    .workers(options.workers)
    .backlog(4096)
    .bind(("127.0.0.1", options.port))?
    .run()
    .await
}
