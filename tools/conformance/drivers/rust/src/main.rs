//! Replays a trace through caches for Rust, as ../../README.md says: one question a line, one answer a line.

mod caches;

use std::io::{self, BufRead, Write};

use caches::{Cache, Room};

/// What an object takes in a cache, and what happens to it.
enum Record {
    Request { object: u64, size: u32 },
    Removal { object: u64 },
}

/// The length of a record, and what `next` is where it removes the object.
const RECORD: usize = 24;
const REMOVED: i64 = -2;

fn read(path: &str) -> io::Result<Vec<Record>> {
    let bytes = std::fs::read(path)?;
    if bytes.len() % RECORD != 0 {
        return Err(io::Error::other(format!("{path}: {} bytes are no whole number of records", bytes.len())));
    }
    Ok(bytes.chunks_exact(RECORD).map(record).collect())
}

fn record(bytes: &[u8]) -> Record {
    let object = u64::from_le_bytes(bytes[4..12].try_into().unwrap());
    let size = u32::from_le_bytes(bytes[12..16].try_into().unwrap());
    match i64::from_le_bytes(bytes[16..24].try_into().unwrap()) {
        REMOVED => Record::Removal { object },
        _ => Record::Request { object, size },
    }
}

#[derive(Default)]
struct Counts {
    requests: u64,
    hits: u64,
    hit_bytes: u64,
}

fn replay(trace: &[Record], cache: &mut dyn Cache, by_bytes: bool) -> Counts {
    let mut counts = Counts::default();
    for record in trace {
        match *record {
            Record::Removal { object } => cache.remove(object),
            Record::Request { object, size } => {
                counts.requests += 1;
                if cache.get(object) {
                    counts.hits += 1;
                    counts.hit_bytes += u64::from(size);
                } else {
                    cache.insert(object, if by_bytes { size } else { 1 });
                }
            }
        }
        cache.settle();
    }
    counts
}

/// The mean size of an object, by its first request.
fn mean_size(trace: &[Record]) -> f64 {
    let mut first = std::collections::HashMap::new();
    for record in trace {
        if let Record::Request { object, size } = *record {
            first.entry(object).or_insert(size);
        }
    }
    first.values().map(|&size| f64::from(size)).sum::<f64>() / first.len().max(1) as f64
}

fn answer(question: &str, trace: &[Record], mean_size: f64) -> Result<Counts, String> {
    let fields: Vec<&str> = question.split('\t').collect();
    let [policy, capacity, unit] = fields[..] else {
        return Err(format!("{} fields in {question:?}, not policy, capacity and unit", fields.len()));
    };
    let capacity: u64 = capacity.parse().map_err(|e| format!("capacity {capacity}: {e}"))?;
    let room = match unit {
        "objects" => Room { capacity, by_bytes: false, items: capacity },
        "bytes" => Room { capacity, by_bytes: true, items: ((capacity as f64 / mean_size) as u64).max(1) },
        _ => return Err(format!("unit {unit}: objects or bytes")),
    };
    let mut cache = caches::new(policy, &room)?;
    Ok(replay(trace, cache.as_mut(), room.by_bytes))
}

fn main() -> io::Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: driver TRACE");
        std::process::exit(2);
    };
    let trace = read(&path)?;
    let mean_size = mean_size(&trace);
    for question in io::stdin().lock().lines() {
        let mut out = io::stdout();
        match answer(&question?, &trace, mean_size) {
            Ok(c) => writeln!(out, "{}\t{}\t{}", c.requests, c.hits, c.hit_bytes)?,
            Err(text) => writeln!(out, "error\t{text}")?,
        }
        out.flush()?;
    }
    Ok(())
}
