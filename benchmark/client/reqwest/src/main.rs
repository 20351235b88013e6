//! Asks by reqwest: PORT CONCURRENCY WARM_UP REQUESTS.

use std::cell::Cell;
use std::rc::Rc;

use reqwest::{Client, Url};
use tokio::task::LocalSet;

async fn ask(client: Client, url: Url, left: Rc<Cell<usize>>) {
    while left.get() > 0 {
        left.set(left.get() - 1);
        let response =
            client.get(url.clone()).send().await.expect("a response");
        let content = response.bytes().await.expect("a content");
        assert_eq!(content.len(), 13);
    }
}

async fn all(client: &Client, url: &Url, concurrency: usize, requests: usize) {
    let left = Rc::new(Cell::new(requests));
    let tasks: Vec<_> = (0..concurrency)
        .map(|_| {
            tokio::task::spawn_local(ask(
                client.clone(),
                url.clone(),
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
    let url: Url = format!("http://127.0.0.1:{}/plaintext", numbers[0])
        .parse()
        .expect("a URL");
    let client = Client::builder().build().expect("a client");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        all(&client, &url, numbers[1], numbers[2]).await;
        tell("ready");
        all(&client, &url, numbers[1], numbers[3]).await;
        tell("done");
    });
}
