//! The arena's profiles on actix-web, which starts its workers itself.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::ContentType;
use actix_web::middleware::Compress;
use actix_web::rt::time::sleep;
use actix_web::web::{self, Bytes, Data};
use actix_web::{
    get, post, put, App, Error, HttpRequest, HttpResponse, HttpServer,
};
use arena_data::{
    number_in, Cache, Dataset, Failure, Options, Store, CONTENT_MAX, DELAY_MAX,
};
use echoing::actix::echo as echo_messages;
use futures_util::StreamExt;
use secured::tls_config;
use serde::Deserialize;

#[derive(Deserialize)]
struct Terms {
    #[serde(default)]
    a: i64,
    #[serde(default)]
    b: i64,
}

#[derive(Deserialize)]
struct Factor {
    m: Option<i64>,
}

fn text(content: String) -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body(content)
}

async fn add(terms: web::Query<Terms>, content: Bytes) -> HttpResponse {
    match number_in(&content) {
        Ok(number) => text((terms.a + terms.b + number).to_string()),
        Err(why) => HttpResponse::BadRequest().body(why),
    }
}

#[get("/pipeline")]
async fn pipeline() -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain").body("ok")
}

#[get("/delay/{ms}")]
async fn delay(ms: web::Path<u64>) -> HttpResponse {
    let ms = ms.into_inner();
    if ms > DELAY_MAX {
        return HttpResponse::BadRequest().body("the delay is out of bounds");
    }
    sleep(Duration::from_millis(ms)).await;
    text(ms.to_string())
}

#[post("/upload")]
async fn upload(mut content: web::Payload) -> Result<HttpResponse, Error> {
    let mut length = 0;
    while let Some(octets) = content.next().await {
        length += octets?.len();
        if length > CONTENT_MAX {
            return Ok(HttpResponse::PayloadTooLarge().finish());
        }
    }
    Ok(text(length.to_string()))
}

#[post("/echo")]
async fn echo(content: Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type(ContentType::octet_stream()).body(content)
}

async fn page(
    count: web::Path<i64>,
    factor: web::Query<Factor>,
    data: Data<Dataset>,
) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(data.page(count.into_inner(), factor.m.unwrap_or(1)))
}

fn failed(failure: Failure) -> HttpResponse {
    match failure {
        Failure::Database => HttpResponse::ServiceUnavailable().finish(),
        Failure::Content => HttpResponse::UnprocessableEntity().finish(),
    }
}

#[get("/async-db")]
async fn items_by_price(
    request: HttpRequest,
    store: Data<Store>,
) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(store.items_by_price(request.query_string()).await)
}

#[get("/fortunes")]
async fn fortunes(store: Data<Store>) -> HttpResponse {
    match store.fortunes().await {
        Ok(page) => {
            HttpResponse::Ok().content_type(ContentType::html()).body(page)
        }
        Err(failure) => failed(failure),
    }
}

#[get("/crud/items")]
async fn list_items(request: HttpRequest, store: Data<Store>) -> HttpResponse {
    match store.item_page(request.query_string()).await {
        Ok(page) => {
            HttpResponse::Ok().content_type(ContentType::json()).body(page)
        }
        Err(failure) => failed(failure),
    }
}

#[post("/crud/items")]
async fn create_item(content: Bytes, store: Data<Store>) -> HttpResponse {
    match store.create(&content).await {
        Ok(id) => HttpResponse::Created()
            .insert_header(("Location", format!("/crud/items/{id}")))
            .finish(),
        Err(failure) => failed(failure),
    }
}

#[get("/crud/items/{id}")]
async fn read_item(id: web::Path<i32>, store: Data<Store>) -> HttpResponse {
    match store.item(id.into_inner()).await {
        Ok(Some((text, cached))) => HttpResponse::Ok()
            .content_type(ContentType::json())
            .insert_header(("X-Cache", cached))
            .body(text),
        Ok(None) => HttpResponse::NotFound().finish(),
        Err(failure) => failed(failure),
    }
}

#[put("/crud/items/{id}")]
async fn change_item(
    id: web::Path<i32>,
    content: Bytes,
    store: Data<Store>,
) -> HttpResponse {
    match store.change(id.into_inner(), &content).await {
        Ok(true) => text("changed".to_owned()),
        Ok(false) => HttpResponse::NotFound().finish(),
        Err(failure) => failed(failure),
    }
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let options = Options::from_arguments();
    let data = Data::new(Dataset::load(&options.data));
    let cache = Arc::new(Cache::default());
    let Options { port, workers, ref certificates, .. } = options;
    let certificates = certificates.clone();
    let server = HttpServer::new(move || {
        App::new()
            .app_data(data.clone())
            .app_data(Data::new(Store::open(&options, cache.clone())))
            .app_data(web::PayloadConfig::new(CONTENT_MAX))
            .service(
                web::resource("/baseline11")
                    .route(web::get().to(add))
                    .route(web::post().to(add)),
            )
            .service(pipeline)
            .service(delay)
            .service(upload)
            .service(echo)
            .route("/ws", web::get().to(echo_messages))
            .service(items_by_price)
            .service(fortunes)
            .service(list_items)
            .service(create_item)
            .service(read_item)
            .service(change_item)
            .service(
                web::resource("/json/{count}")
                    .wrap(Compress::default())
                    .route(web::get().to(page)),
            )
    })
    .workers(workers)
    .backlog(4096);
    let address = ("127.0.0.1", port);
    match certificates {
        None => server.bind(address)?,
        Some(folder) => {
            let certificate = folder.join("server.crt");
            let key = folder.join("server.key");
            let config = tls_config(&certificate, &key, &[]);
            server.bind_rustls_0_23(address, config)?
        }
    }
    .run()
    .await
}
