//! What a small file may ask for: one test a process, because the allocator and the clock are the process's.

#[path = "../../../cli/tests/support/counting.rs"]
mod counting;

/// Processor time of this process in seconds, where the system tells.
pub(crate) fn processor_time() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |i: usize| fields.get(i)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// Bytes beyond those held before.
const MEMORY: usize = 64 << 20;
/// Seconds of this build, which is slower than a released one by far: hours are what is looked for.
const SECONDS: f64 = 5.0;

/// Runs within the bounds.
pub(crate) fn bounded<R>(what: &str, run: impl FnOnce() -> R) -> R {
    let start = processor_time();
    let (result, used) = counting::counted(run);
    let seconds = start.zip(processor_time()).map_or(0.0, |(start, end)| end - start);
    if std::env::var_os("DPS_HOSTILE").is_some() {
        eprintln!("{what}: {:.1} MiB, {seconds:.2} s", used.most as f64 / f64::from(1 << 20));
    }
    assert!(used.most <= MEMORY, "{what}: {} MiB", used.most >> 20);
    assert!(seconds <= SECONDS, "{what}: {seconds} s");
    result
}
