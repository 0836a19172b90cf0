//! Peak memory of dense releases: at most input, output and 64 MiB, each in a process of its own.

use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::vectors::PrivateProjection;
use std::process::Command;

const N: usize = 40_000;
const D: usize = 784;
const K: usize = 256;
/// Asks the child for a release, by its number.
const CHILD: &str = "SKETCH_MEMORY_CHILD";

const FAMILIES: [Family; 6] = [
    Family::Gaussian,
    Family::Rademacher,
    Family::SparseJl { nonzeros: 4 },
    Family::Srht { sampling: Sampling::WithoutReplacement },
    Family::Oporp,
    Family::CountSketch,
];

/// Largest resident size of this process so far, in KiB.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn values() -> Vec<f32> {
    (0..N * D).map(|i| (i % 1009) as f32 / 1009.0).collect()
}

/// Bytes of the output of release number `which`, the last of which publishes signs.
fn release(which: usize) -> usize {
    let x = values();
    let rows = RowsView::f32(N, D, &x).expect("finite");
    let one = EntryBound::new(1.0).expect("positive");
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
    let mut rng = NoiseRng::deterministic_not_private(1);
    match FAMILIES.get(which) {
        Some(&family) => {
            let p = ProjectionSpec::new(family, D, K, PublicSeed::new(1)).expect("valid").build();
            let budget = Budget::new(1.0, 1e-6).expect("valid");
            let m = PrivateProjection::gaussian(p, adjacency, one, budget).expect("calibrates");
            let release = m.release(rows, &mut rng).expect("in range");
            size_of_val(release.payload().values())
        }
        None => {
            let sketch =
                SignSketch::single(Family::Oporp, D, K, PublicSeed::new(1)).expect("valid");
            let budget = Budget::new(5.0, 0.0).expect("valid");
            let rule = FlipRule::OptimalSmooth;
            let m = PrivateSigns::new(sketch, rule, adjacency, one, budget).expect("calibrates");
            m.release(rows, &mut rng).expect("in range").payload().bits().n() * K / 8
        }
    }
}

/// What the child runs; by itself it only makes one small check.
#[test]
fn child() {
    let Ok(which) = std::env::var(CHILD) else {
        assert!(FAMILIES.len() < 10, "one digit names a release");
        return;
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("a pool");
    let output = pool.install(|| release(which.parse().expect("a number")));
    println!("\nOUTPUT {output}");
    println!("PEAK {}", peak().expect("Linux") * 1024);
}

#[test]
fn releases_need_input_output_and_64_mib() {
    if peak().is_none() {
        eprintln!("SKIPPED: this system does not tell the peak memory of a process (VmHWM)");
        return;
    }
    let mut worst = 0;
    for which in 0..=FAMILIES.len() {
        let run = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "child", "--nocapture", "--test-threads", "1"])
            .env(CHILD, which.to_string())
            .output()
            .expect("runs");
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let number = |name: &str| -> usize {
            let line = text.lines().find_map(|l| l.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} missing: {text}")).trim().parse().expect("bytes")
        };
        let (output, peak) = (number("OUTPUT"), number("PEAK"));
        let excess = peak.saturating_sub(N * D * size_of::<f32>() + output);
        // A measurement that sees neither input nor output could not fail.
        assert!(peak > N * D * size_of::<f32>() && output >= N * K / 8, "{which}: peak {peak}");
        println!("release {which}: {} KiB beyond input and output", excess / 1024);
        worst = worst.max(excess);
    }
    assert!(worst <= 64 << 20, "{worst} bytes beyond input and output");
}
