//! `dps verify` reads the payload of kinds that no other command answers from: windows, range sketches, noisy
//! MinHash bits. Edited numbers are refused although every hash, digest and checksum is right.

use crate::support;
use crate::support::{Room, forged};
use dp_core::calibrate::Acceptance;
use dp_core::release_file::{encode, open};
use dp_core::{Adjacency, Budget, FreshSeed, NoiseRng, Shift};
use linalg_dp::low_rank::{RangeFinder, Setting};
use linalg_dp::window::{BlockNoise, Pace, Schedule, StreamConfig, WindowMechanism};
use sketch::rows::RowsView;
use sketch::sets::{ItemSet, NoisySecureMinHash, SetNeighbours};

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).expect("a bound")
}

fn budget() -> Budget {
    Budget::new(2.0, 1e-5).expect("a budget")
}

fn window() -> Vec<u8> {
    let config = StreamConfig {
        dim: 2,
        window: 4,
        block: 2,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: one() },
        budget: budget(),
        schedule: Schedule::Tree { noise: BlockNoise::SymmetricGaussian },
    };
    let mechanism = WindowMechanism::calibrate(config).expect("a mechanism");
    let mut stream = mechanism.stream(NoiseRng::from_os().expect("entropy"));
    stream.push(&[0.1; 20]).expect("rows");
    encode(&stream.release().expect("a block has closed")).expect("a file")
}

fn range() -> Vec<u8> {
    let values = [0.1; 30];
    let rows = RowsView::f64(5, 6, &values).expect("rows");
    let setting = Setting::new((5, 6), 1, 2, Shift::new(0.1).expect("a bound"), one());
    let finder = RangeFinder::calibrate(setting.expect("a setting"), budget()).expect("noise");
    let (seed, mut rng) = (FreshSeed::draw().expect("entropy"), NoiseRng::from_os());
    let release = finder.release(&rows, seed, rng.as_mut().expect("entropy"));
    encode(&release.expect("a release")).expect("a file")
}

fn noisy() -> Vec<u8> {
    let sets: Vec<ItemSet> =
        (0..3).map(|i| ItemSet::new((i..i + 12).collect()).expect("a set")).collect();
    let neighbours = SetNeighbours::new(1, 12).expect("neighbours");
    let accept = Acceptance::AcceptTrueDelta;
    let bits = NoisySecureMinHash::published(8, 1, neighbours, budget(), accept).expect("noise");
    let (seed, mut rng) = (FreshSeed::draw().expect("entropy"), NoiseRng::from_os());
    let release = bits.release(&sets, seed, rng.as_mut().expect("entropy"));
    encode(&release.expect("a release")).expect("a file")
}

#[test]
fn payloads_of_every_kind_are_read_and_edits_refused() {
    let room = Room::new();
    for (name, file) in [("window", window()), ("range", range()), ("noisy", noisy())] {
        let verify = format!("verify {name}.dps --accept published");
        room.write("same.dps", forged(&file, |_| {}));
        assert_eq!(room.read("same.dps"), file, "{name}: the forger's tool changes nothing itself");
        room.write(&format!("{name}.dps"), &file);
        let verdict = room.json(&verify)["verdict"].to_string();
        assert!(verdict.contains("holds together"), "{name}: {verdict}");
        let first = open(&file).expect("a release").payload[..8].to_vec();
        let refuses = |what: &str, words: &[&str], edit: &dyn Fn(&mut Vec<u8>)| {
            room.write(&format!("{name}.dps"), forged(&file, edit));
            let output = room.run(&verify);
            let said = support::text(&output);
            assert_eq!(output.status.code(), Some(1), "{name}, {what}: {said}");
            assert!(words.iter().all(|word| said.contains(word)), "{name}, {what}: {said}");
        };
        refuses("not a number", &["payload", "not finite"], &|payload| {
            payload[..8].copy_from_slice(&f64::NAN.to_le_bytes());
        });
        refuses("a number less", &["shape"], &|payload| payload.truncate(payload.len() - 8));
        refuses("a number more", &["shape"], &|payload| payload.extend(&first));
        if name == "window" {
            refuses("not symmetric", &["not a symmetric matrix"], &|payload| {
                payload[8..16].copy_from_slice(&1e9f64.to_le_bytes());
            });
        }
    }
}
