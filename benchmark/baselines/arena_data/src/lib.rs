//! The arena's data set, and what its Rust servers do alike.

mod store;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::exit;

use serde::{Deserialize, Serialize};
pub use store::{Cache, Failure, Store};

pub const CONTENT_MAX: usize = 32 << 20;
const CONNECTIONS: usize = 32;
pub const DELAY_MAX: u64 = 30_000;
const BROTLI_QUALITY: i32 = 2;
const BROTLI_WINDOW_BITS: i32 = 19;

/// The flags that every server takes.
#[derive(Clone)]
pub struct Options {
    pub port: u16,
    pub workers: usize,
    pub data: PathBuf,
    /// Serve inside of TLS, with the certificate in this folder.
    pub certificates: Option<PathBuf>,
    /// The URL of the database.
    pub database: Option<String>,
    /// How many connections all workers open to it.
    pub connections: usize,
}

impl Options {
    /// Reads the flags, or ends the program.
    pub fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let flag = |name: &str| {
            let mut pairs = arguments.chunks_exact(2);
            pairs.find(|pair| pair[0] == name).map(|pair| pair[1].as_str())
        };
        let number = |name: &str| -> u16 {
            let found = flag(name).and_then(|text| text.parse().ok());
            found.unwrap_or_else(|| stop(&format!("{name} needs a number")))
        };
        Options {
            port: number("--port"),
            workers: usize::from(number("--workers")),
            data: flag("--data").unwrap_or("/data").into(),
            certificates: flag("--certificates").map(PathBuf::from),
            database: flag("--database").map(str::to_owned),
            connections: flag("--connections")
                .map_or(CONNECTIONS, |_| usize::from(number("--connections"))),
        }
    }
}

fn stop(why: &str) -> ! {
    eprintln!("{why}");
    exit(2)
}

#[derive(Deserialize, Serialize)]
struct Rating {
    score: i64,
    count: i64,
}

#[derive(Deserialize)]
struct Item {
    id: i64,
    name: String,
    category: String,
    price: i64,
    quantity: i64,
    active: bool,
    tags: Vec<String>,
    rating: Rating,
}

#[derive(Serialize)]
struct PricedItem<'a> {
    id: i64,
    name: &'a str,
    category: &'a str,
    price: i64,
    quantity: i64,
    active: bool,
    tags: &'a [String],
    rating: &'a Rating,
    total: i64,
}

#[derive(Serialize)]
struct Page<'a> {
    items: Vec<PricedItem<'a>>,
    count: usize,
}

/// The items, which live as long as the program.
#[derive(Clone, Copy)]
pub struct Dataset(&'static [Item]);

impl Dataset {
    /// Loads the items, or ends the program.
    pub fn load(folder: &Path) -> Self {
        let path = folder.join("dataset.json");
        let text = std::fs::read(&path)
            .unwrap_or_else(|error| stop(&format!("{path:?}: {error}")));
        let items: Vec<Item> = serde_json::from_slice(&text)
            .unwrap_or_else(|error| stop(&format!("{path:?}: {error}")));
        Dataset(items.leak())
    }

    /// Gives the first items as JSON; the factor multiplies their totals.
    pub fn page(self, count: i64, factor: i64) -> Vec<u8> {
        let count = (count.max(0) as usize).min(self.0.len());
        let priced = |item: &'static Item| PricedItem {
            id: item.id,
            name: &item.name,
            category: &item.category,
            price: item.price,
            quantity: item.quantity,
            active: item.active,
            tags: &item.tags,
            rating: &item.rating,
            total: item.price * item.quantity * factor,
        };
        let items = self.0[..count].iter().map(priced).collect();
        serde_json::to_vec(&Page { items, count }).expect("numbers and texts")
    }
}

/// Gives the number of a query parameter; none if it is absent.
pub fn parameter(query: &str, name: &str) -> Result<Option<i64>, &'static str> {
    match text_of(query, name) {
        Some(text) => {
            text.parse().map(Some).map_err(|_| "a parameter is not a number")
        }
        None => Ok(None),
    }
}

fn text_of<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, text)| text)
}

/// Gives the number in a content; 0 if it is empty.
pub fn number_in(content: &[u8]) -> Result<i64, &'static str> {
    let text = std::str::from_utf8(content).unwrap_or("no text").trim();
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| "the content is not a number")
}

/// Compresses a content with Brotli.
pub fn compressed(content: &[u8]) -> Vec<u8> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW_BITS,
        size_hint: content.len(),
        ..Default::default()
    };
    let mut writer = brotli::CompressorWriter::with_params(
        Vec::with_capacity(content.len() / 2),
        4096,
        &params,
    );
    writer.write_all(content).expect("memory takes all");
    writer.into_inner()
}
