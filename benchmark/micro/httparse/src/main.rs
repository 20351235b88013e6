//! Measures httparse on the messages of `../requests`.
//!
//! The layout, the batches and the line for each case are those of
//! `../requests.mojo` and `../measure.mojo`.

use std::error::Error;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

const COPIES: usize = 16;
const LINE: usize = 64;
const STEP: usize = 11;
const BATCHES: usize = 21;
const BATCH_NS: u128 = 1_000_000;
const WARM_UP_NS: u128 = 20_000_000;
const FIELDS: usize = 100;

struct Messages {
    memory: Vec<u8>,
    places: Vec<(usize, usize)>,
}

impl Messages {
    fn load(directory: &str, names: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut files = Vec::new();
        for name in names {
            files.push(std::fs::read(format!("{directory}/{name}.http"))?);
        }
        let mut origins = Vec::new();
        let mut total = LINE;
        for copy in 0..COPIES {
            for file in &files {
                origins.push((total + copy * STEP % LINE, file));
                total += (file.len() + 2 * LINE - 1) / LINE * LINE + LINE;
            }
        }
        let mut memory = vec![0; total + LINE];
        let shift = memory.as_ptr().align_offset(LINE);
        let mut places = Vec::new();
        for (origin, file) in origins {
            let start = origin + shift;
            memory[start..start + file.len()].copy_from_slice(file);
            places.push((start, file.len()));
        }
        Ok(Messages { memory, places })
    }

    #[inline(always)]
    fn at(&self, i: usize) -> &[u8] {
        let (start, length) = self.places[i & (self.places.len() - 1)];
        &self.memory[start..start + length]
    }

    fn octets(&self) -> usize {
        let sum: usize = self.places.iter().map(|place| place.1).sum();
        sum / self.places.len()
    }
}

#[inline(always)]
fn read_request(octets: &[u8]) -> usize {
    let mut fields = [const { MaybeUninit::<httparse::Header>::uninit() }; FIELDS];
    let mut request = httparse::Request::new(&mut []);
    let end = request.parse_with_uninit_headers(octets, &mut fields);
    assert_eq!(end, Ok(httparse::Status::Complete(octets.len())));
    black_box(&request).headers.len()
}

#[inline(always)]
fn read_response(octets: &[u8]) -> usize {
    let mut fields = [const { MaybeUninit::<httparse::Header>::uninit() }; FIELDS];
    let mut response = httparse::Response::new(&mut []);
    let end = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        octets,
        &mut fields,
    );
    assert_eq!(end, Ok(httparse::Status::Complete(octets.len())));
    black_box(&response).headers.len()
}

fn batch(messages: &Messages, calls: usize, read: impl Fn(&[u8]) -> usize) -> u128 {
    let began = Instant::now();
    for i in 0..calls {
        black_box(read(messages.at(black_box(i))));
    }
    began.elapsed().as_nanos()
}

fn measure(
    name: &str,
    directory: &str,
    names: &[&str],
    read: impl Fn(&[u8]) -> usize + Copy,
) -> Result<(), Box<dyn Error>> {
    let messages = Messages::load(directory, names)?;
    let mut calls = 1;
    let mut spent = 0;
    loop {
        let took = batch(&messages, calls, read);
        spent += took;
        if took < BATCH_NS {
            calls *= 2;
        } else if spent >= WARM_UP_NS {
            break;
        }
    }
    let mut ns: Vec<f64> = (0..BATCHES)
        .map(|_| batch(&messages, calls, read) as f64 / calls as f64)
        .collect();
    ns.sort_by(f64::total_cmp);
    let median = ns[BATCHES / 2];
    let rate = messages.octets() as f64 / median * 1e9;
    println!("httparse/{name}\t{:.2}\t{median:.2}\t{rate:.0}", ns[0]);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1);
    let directory = directory.as_deref().unwrap_or("benchmark/micro/requests");
    for name in ["browser", "wrk", "curl", "api", "cookie"] {
        measure(name, directory, &[name], read_request)?;
    }
    measure("mixed", directory, &["browser", "wrk", "api", "curl"], read_request)?;
    measure("response", directory, &["response"], read_response)
}
