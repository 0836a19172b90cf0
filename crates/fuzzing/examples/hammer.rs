//! Mutates the corpus and the fresh samples for a given time and runs every body on what comes out: what
//! a fuzzer does, without one. Stops at the first input that breaks a promise or takes longer
//! than a second of processor time, and writes it to a file. (The bodies run in one thread;
//! a clock on the wall would measure what else the machine does.)
//!
//! `cargo run --release -p fuzzing --example hammer -- --minutes 30 [--seed 1] [--target ledger]`
//!
//! `.. --target ledger --input FILE` runs one input again.

use fuzzing::Mutator;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest time of an input.
const SLOW: Duration = Duration::from_secs(1);

fn main() -> Result<(), fuzzing::Failure> {
    let mut options = std::collections::BTreeMap::new();
    let mut arguments = std::env::args().skip(1);
    while let (Some(name), Some(value)) = (arguments.next(), arguments.next()) {
        options.insert(name, value);
    }
    let number = |name: &str, other: f64| match options.get(name) {
        Some(text) => text.parse::<f64>(),
        None => Ok(other),
    };
    let end = Instant::now() + Duration::from_secs_f64(60.0 * number("--minutes", 1.0)?);
    let mut mutator = Mutator::new(number("--seed", 1.0)? as u64);
    let only = options.get("--target");
    if let (Some(target), Some(path)) = (only, options.get("--input")) {
        let data = std::fs::read(path)?;
        let start = processor_time()?;
        fuzzing::run(target, &data);
        println!("{target}: {:?}", processor_time()? - start);
        return Ok(());
    }
    let targets = fuzzing::TARGETS.into_iter().filter(|t| only.is_none_or(|name| t.0 == name));
    let mut targets = targets
        .map(|(name, body)| Ok((name, body, seeds(name)?, 0u64, Duration::ZERO)))
        .collect::<Result<Vec<_>, fuzzing::Failure>>()?;
    while Instant::now() < end {
        for (name, body, seeds, runs, slowest) in &mut targets {
            for _ in 0..50 {
                let data = mutator.mutated(seeds);
                // Written first: an abort leaves no time for it.
                let path = std::env::temp_dir().join(format!("hammer-{}", std::process::id()));
                std::fs::write(&path, &data)?;
                let start = processor_time()?;
                let held = std::panic::catch_unwind(|| body(&data)).is_ok();
                let took = processor_time()? - start;
                if !held || took > SLOW {
                    let kept = path.with_extension(*name);
                    std::fs::write(&kept, &data)?;
                    let what = if held { format!("{took:?}") } else { "a panic".to_owned() };
                    return Err(format!("{name}: {what} on {}", kept.display()).into());
                }
                *runs += 1;
                *slowest = took.max(*slowest);
            }
        }
    }
    for (name, _, _, runs, slowest) in &targets {
        println!("{name}: {runs} inputs, the slowest {slowest:?}");
    }
    Ok(())
}

/// Time that this thread has spent on a processor.
fn processor_time() -> Result<Duration, fuzzing::Failure> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanoseconds = text.split_whitespace().next().ok_or("an empty schedstat")?.parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}

/// Corpus and fresh samples of a target.
fn seeds(target: &str) -> Result<Vec<Vec<u8>>, fuzzing::Failure> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut seeds = Vec::new();
    if folder.exists() {
        for entry in std::fs::read_dir(folder)? {
            seeds.push(std::fs::read(entry?.path())?);
        }
    }
    let fresh = fuzzing::samples()?.into_iter().filter(|s| s.target == target);
    seeds.extend(fresh.map(|s| s.bytes));
    if seeds.is_empty() { Err(format!("{target} has no inputs").into()) } else { Ok(seeds) }
}
