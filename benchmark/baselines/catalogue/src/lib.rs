//! The product pool, and what every Rust server does with it alike.

use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const LIST: usize = 25;
const PICKS: usize = 100;
const BINS: usize = 10;
const TOP: usize = 5;
const GENERATOR_SEED: u64 = 0x9E37_79B9_7F4A_7C15;
static FILLER: [u8; 64 * 1024] = [b'x'; 64 * 1024];

/// The flags that every server takes.
pub struct Options {
    pub port: u16,
    pub workers: usize,
    pub products: PathBuf,
    /// Serve inside of TLS, with the certificate in this folder.
    pub certificates: Option<PathBuf>,
    /// Without TLS, expect HTTP/2 from the first octet.
    pub is_http2: bool,
}

impl Options {
    /// Reads `--port`, `--workers` and `--products`, or ends the program; of
    /// the others, a server takes those that it knows.
    pub fn from_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let found = |name: &str| {
            let mut pairs = arguments.chunks_exact(2);
            pairs.find(|pair| pair[0] == name).map(|pair| pair[1].as_str())
        };
        let flag = |name| {
            found(name).unwrap_or_else(|| stop(&format!("{name} is needed")))
        };
        let number = |name| -> u16 {
            let text = flag(name);
            text.parse()
                .unwrap_or_else(|_| stop(&format!("{name} {text}: no number")))
        };
        Options {
            port: number("--port"),
            workers: usize::from(number("--workers")),
            products: flag("--products").into(),
            certificates: found("--certificates").map(PathBuf::from),
            is_http2: found("--protocol") == Some("h2c"),
        }
    }
}

fn stop(why: &str) -> ! {
    eprintln!("{why}");
    exit(2)
}

#[derive(Deserialize)]
struct Fields<'a> {
    brand: &'a str,
    price: f64,
}

#[derive(Clone, Copy, Default)]
struct Priced {
    price: f64,
    brand: usize,
}

/// The JSON text of the products and lists, and the fields that are computed
/// with. It lives as long as the program.
pub struct Catalogue {
    pub products: Vec<&'static [u8]>,
    pub lists: Vec<&'static [u8]>,
    priced: Vec<Priced>,
    brands: Vec<String>,
}

#[derive(Serialize)]
struct BrandCount<'a> {
    brand: &'a str,
    count: u32,
}

#[derive(Serialize)]
struct Statistics<'a> {
    count: usize,
    mean_cents: u64,
    standard_deviation_cents: u64,
    histogram: [u32; BINS],
    top_brands: Vec<BrandCount<'a>>,
}

impl Catalogue {
    /// Loads the pool, or ends the program.
    pub fn load(path: &Path) -> &'static Self {
        let text = std::fs::read_to_string(path)
            .unwrap_or_else(|error| stop(&format!("{path:?}: {error}")));
        let parsed = Self::parse(text.leak());
        Box::leak(Box::new(
            parsed.unwrap_or_else(|error| stop(&format!("{path:?}: {error}"))),
        ))
    }

    fn parse(text: &'static str) -> serde_json::Result<Self> {
        let texts: Vec<&RawValue> = serde_json::from_str(text)?;
        let mut brands: Vec<String> = Vec::new();
        let mut priced = Vec::new();
        for text in &texts {
            let Fields { brand, price } = serde_json::from_str(text.get())?;
            let known = brands.iter().position(|name| name == brand);
            let brand = known.unwrap_or_else(|| {
                brands.push(brand.to_owned());
                brands.len() - 1
            });
            priced.push(Priced { price, brand });
        }
        let lists = texts.chunks(LIST).map(|products| {
            let texts: Vec<&str> = products.iter().map(|p| p.get()).collect();
            format!("[{}]", texts.join(",")).leak().as_bytes()
        });
        Ok(Catalogue {
            lists: lists.collect(),
            products: texts.iter().map(|text| text.get().as_bytes()).collect(),
            priced,
            brands,
        })
    }

    fn statistics(&self, picks: [Priced; PICKS]) -> Statistics<'_> {
        let picks = sorted_by_price(picks);
        let mean = picks.iter().map(|p| p.price).sum::<f64>() / PICKS as f64;
        let squares: f64 =
            picks.iter().map(|p| (p.price - mean) * (p.price - mean)).sum();
        let low = picks[0].price;
        let span = picks[PICKS - 1].price - low;
        let mut histogram = [0; BINS];
        let mut counts = vec![0; self.brands.len()];
        for pick in &picks {
            let bin = ((pick.price - low) * BINS as f64 / span) as usize;
            histogram[bin.min(BINS - 1)] += 1;
            counts[pick.brand] += 1;
        }
        let mut top_brands: Vec<BrandCount> = self
            .brands
            .iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|(brand, count)| BrandCount { brand, count })
            .collect();
        top_brands.sort_unstable_by(|a, b| {
            b.count.cmp(&a.count).then_with(|| a.brand.cmp(b.brand))
        });
        top_brands.truncate(TOP);
        Statistics {
            count: PICKS,
            mean_cents: (mean * 100.0).round() as u64,
            standard_deviation_cents: ((squares / PICKS as f64).sqrt() * 100.0)
                .round() as u64,
            histogram,
            top_brands,
        }
    }
}

/// Counters and generator of one worker.
pub struct Turn {
    catalogue: &'static Catalogue,
    read: AtomicUsize,
    list: AtomicUsize,
    generator: AtomicU64,
}

impl Turn {
    /// Starts counters and generator.
    pub fn new(catalogue: &'static Catalogue) -> Self {
        Turn {
            catalogue,
            read: AtomicUsize::new(0),
            list: AtomicUsize::new(0),
            generator: AtomicU64::new(GENERATOR_SEED),
        }
    }

    /// Gives the next product.
    pub fn product(&self) -> &'static [u8] {
        let products = &self.catalogue.products;
        products[self.read.fetch_add(1, Relaxed) % products.len()]
    }

    /// Gives the next list of products.
    pub fn list(&self) -> &'static [u8] {
        let lists = &self.catalogue.lists;
        lists[self.list.fetch_add(1, Relaxed) % lists.len()]
    }

    /// Gives statistics of products picked at random, as JSON.
    pub fn statistics(&self) -> Vec<u8> {
        let statistics = self.catalogue.statistics(self.picks());
        serde_json::to_vec(&statistics).expect("numbers and names")
    }

    fn picks(&self) -> [Priced; PICKS] {
        let priced = &self.catalogue.priced;
        loop {
            let before = self.generator.load(Relaxed);
            let mut state = before;
            let picks = std::array::from_fn(|_| {
                priced[(step(&mut state) >> 32) as usize % priced.len()]
            });
            let taken = self
                .generator
                .compare_exchange(before, state, Relaxed, Relaxed);
            if taken.is_ok() {
                return picks;
            }
        }
    }
}

/// The place of each is how many cost less, or as much and were drawn before.
/// Vectors count them in a fraction of the time of `sort_unstable_by`.
fn sorted_by_price(picks: [Priced; PICKS]) -> [Priced; PICKS] {
    let key = |i: usize| {
        (picks[i].price * 100.0 + 0.5) as i32 * PICKS as i32 + i as i32
    };
    let keys: [i32; PICKS] = std::array::from_fn(key);
    let mut sorted = picks;
    for (pick, key) in picks.into_iter().zip(keys) {
        let place: i32 = keys.iter().map(|other| i32::from(*other < key)).sum();
        sorted[place as usize] = pick;
    }
    sorted
}

/// Draws by xorshift64*.
fn step(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D)
}

/// Gives `octets` times `x`, in pieces.
pub fn filler(octets: usize) -> impl Iterator<Item = &'static [u8]> {
    let whole = octets / FILLER.len();
    let rest = &FILLER[..octets % FILLER.len()];
    std::iter::repeat_n(&FILLER[..], whole)
        .chain((!rest.is_empty()).then_some(rest))
}
