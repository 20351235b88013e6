//! Asks by hyper's pooled client: PORT CONCURRENCY WARM_UP REQUESTS.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::{Request, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tokio::task::LocalSet;

type Asker = Client<HttpConnector, Empty<Bytes>>;

async fn ask(client: Asker, uri: Uri, left: Rc<Cell<usize>>) {
    while left.get() > 0 {
        left.set(left.get() - 1);
        let request = Request::get(uri.clone())
            .body(Empty::new())
            .expect("a request");
        let response = client.request(request).await.expect("a response");
        let content = response.into_body().collect().await.expect("a content");
        assert_eq!(content.to_bytes().len(), 13);
    }
}

async fn all(client: &Asker, uri: &Uri, concurrency: usize, requests: usize) {
    let left = Rc::new(Cell::new(requests));
    let tasks: Vec<_> = (0..concurrency)
        .map(|_| {
            tokio::task::spawn_local(ask(
                client.clone(),
                uri.clone(),
                left.clone(),
            ))
        })
        .collect();
    for task in tasks {
        task.await.expect("a task");
    }
}

fn tell(word: &str) {
    println!("{word}");
    std::io::stdin().read_line(&mut String::new()).expect("a line");
}

fn main() {
    let numbers: Vec<usize> = std::env::args()
        .skip(1)
        .map(|word| word.parse().expect("a number"))
        .collect();
    let uri: Uri = format!("http://127.0.0.1:{}/plaintext", numbers[0])
        .parse()
        .expect("a URI");
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        all(&client, &uri, numbers[1], numbers[2]).await;
        tell("ready");
        all(&client, &uri, numbers[1], numbers[3]).await;
        tell("done");
    });
}
