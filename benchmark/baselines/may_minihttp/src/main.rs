//! may_minihttp: one coroutine per connection.

use std::io::{BufRead, Result};
use std::sync::Arc;
use std::time::Duration;

use bytes::BufMut;
use catalogue::{filler, Catalogue, Options, Turn};
use may_minihttp::{HttpServer, HttpService, Request, Response};

#[derive(Clone)]
struct Shop {
    turn: Arc<Turn>,
}

const TEXT: &str = "Content-Type: text/plain";
const JSON: &str = "Content-Type: application/json";

fn upload(request: Request, response: &mut Response) -> Result<()> {
    let mut length = 0;
    let mut content = request.body();
    loop {
        let octets = content.fill_buf()?.len();
        if octets == 0 {
            break;
        }
        content.consume(octets);
        length += octets;
    }
    response.header(TEXT).body_vec(length.to_string().into());
    Ok(())
}

fn download(path: &str, response: &mut Response) {
    let octets = path.strip_prefix("/download/");
    match octets.and_then(|octets| octets.parse().ok()) {
        Some(octets) => {
            response.header("Content-Type: application/octet-stream");
            for piece in filler(octets) {
                response.body_mut().put(piece);
            }
        }
        None => {
            response.status_code(404, "Not Found");
        }
    }
}

impl HttpService for Shop {
    fn call(
        &mut self,
        request: Request,
        response: &mut Response,
    ) -> Result<()> {
        match request.path() {
            "/plaintext" => response.header(TEXT).body("Hello, World!"),
            "/simple" => response.header(JSON).body(r#"{"message":"hi"}"#),
            "/read" => {
                response.header(JSON).body_mut().put(self.turn.product())
            }
            "/list" => response.header(JSON).body_mut().put(self.turn.list()),
            "/compute" => {
                response.header(JSON).body_vec(self.turn.statistics())
            }
            "/delay" => {
                may::coroutine::sleep(Duration::from_millis(10));
                response.header(TEXT).body("Hello, World!")
            }
            "/upload" => upload(request, response)?,
            path => download(path, response),
        }
        Ok(())
    }
}

fn main() {
    let options = Options::from_arguments();
    let turn = Arc::new(Turn::new(Catalogue::load(&options.products)));
    may::config().set_workers(options.workers);
    HttpServer(Shop { turn })
        .start(("127.0.0.1", options.port))
        .expect("the port is free")
        .wait();
}
