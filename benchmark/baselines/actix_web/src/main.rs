//! actix-web, which starts its workers itself.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use actix_files::Files;
use actix_web::body::SizedStream;
use actix_web::http::header::ContentType;
use actix_web::rt::time::sleep;
use actix_web::web::{self, Bytes, Data};
use actix_web::{get, post, App, Error, HttpResponse, HttpServer};
use catalogue::{filler, Catalogue, Options, Turn};
use echoing::actix::echo;
use futures_util::{stream, StreamExt};
use secured::tls_config;

#[get("/plaintext")]
async fn plaintext() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[get("/simple")]
async fn simple() -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(r#"{"message":"hi"}"#)
}

#[get("/read")]
async fn read(turn: Data<Turn>) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(turn.product())
}

#[get("/list")]
async fn list(turn: Data<Turn>) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(turn.list())
}

#[get("/compute")]
async fn compute(turn: Data<Turn>) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::json()).body(turn.statistics())
}

#[get("/delay")]
async fn delay() -> HttpResponse {
    sleep(Duration::from_millis(10)).await;
    HttpResponse::Ok().content_type("text/plain").body("Hello, World!")
}

#[post("/upload")]
async fn upload(mut content: web::Payload) -> Result<HttpResponse, Error> {
    let mut length = 0;
    while let Some(octets) = content.next().await {
        length += octets?.len();
    }
    Ok(HttpResponse::Ok().content_type("text/plain").body(length.to_string()))
}

#[get("/download/{octets}")]
async fn download(octets: web::Path<usize>) -> HttpResponse {
    let octets = octets.into_inner();
    let pieces = filler(octets)
        .map(|piece| Ok::<_, Infallible>(Bytes::from_static(piece)));
    HttpResponse::Ok()
        .content_type(ContentType::octet_stream())
        .body(SizedStream::new(octets as u64, stream::iter(pieces)))
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let options = Options::from_arguments();
    let catalogue = Catalogue::load(&options.products);
    let files = Path::new(&options.products).with_file_name("files");
    let server = HttpServer::new(move || {
        App::new()
            .app_data(Data::new(Turn::new(catalogue)))
            .service(plaintext)
            .service(simple)
            .service(read)
            .service(list)
            .service(compute)
            .service(delay)
            .service(upload)
            .service(download)
            .route("/ws", web::get().to(echo))
            .service(
                Files::new("/files", files.clone())
                    .disable_content_disposition(),
            )
    })
    .workers(options.workers)
    .backlog(4096);
    let address = ("127.0.0.1", options.port);
    match options.certificates {
        Some(folder) => {
            let certificate = folder.join("server.pem");
            let key = folder.join("server.key");
            // It offers HTTP/2 and HTTP/1.1 itself.
            let config = tls_config(&certificate, &key, &[]);
            server.bind_rustls_0_23(address, config)?
        }
        None if options.is_http2 => server.bind_auto_h2c(address)?,
        None => server.bind(address)?,
    }
    .run()
    .await
}
