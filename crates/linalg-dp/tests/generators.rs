//! A certificate names the weakest generator that drew any of the noise, whenever it drew.

use dp_core::noise::GeneratorKind;
use dp_core::{Adjacency, Bound, Budget, Certificate, NoiseRng};
use linalg_dp::covariance::{CovarianceMechanism, JlCovariance, WishartCovariance, WishartShape};
use linalg_dp::window::{BlockNoise, Keep, Pace, PrivateStream, Schedule, StreamConfig};

fn known() -> NoiseRng {
    NoiseRng::deterministic_not_private(1)
}

fn secret() -> NoiseRng {
    NoiseRng::from_os().unwrap()
}

fn bound() -> Bound {
    Bound::new(1.0).unwrap()
}

fn is_known(certificate: &Certificate) -> bool {
    let known = certificate.statement().generator == GeneratorKind::DeterministicNotPrivate;
    assert_eq!(certificate.require_secret_randomness().is_err(), known);
    known
}

#[test]
fn the_weaker_of_two_generators_is_the_known_one() {
    let (os, known) = (GeneratorKind::OsChacha12, GeneratorKind::DeterministicNotPrivate);
    assert_eq!(os.weaker(os), os);
    assert_eq!([os.weaker(known), known.weaker(os), known.weaker(known)], [known; 3]);
}

#[test]
fn a_covariance_names_who_drew_its_noise() {
    let adjacency = Adjacency::AddRemoveRow { bound: bound() };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let sketch = JlCovariance::calibrate(2, 3, adjacency, budget).unwrap();
    let shape = WishartShape::LeastSpectralNorm;
    let wishart = WishartCovariance::calibrate(2, adjacency, budget, shape).unwrap();
    let both: [&dyn CovarianceMechanism; 2] = [&sketch, &wishart];
    for m in both {
        let run = |opening: &mut NoiseRng, closing: &mut NoiseRng| {
            let mut open = m.open(opening);
            open.push(&[0.6, 0.8]).unwrap();
            is_known(open.close(closing).unwrap().certificate())
        };
        // All noise is drawn at the end.
        assert!(!run(&mut known(), &mut secret()) && run(&mut secret(), &mut known()));
    }
}

fn config(schedule: Schedule) -> StreamConfig {
    StreamConfig {
        dim: 1,
        window: 8,
        block: 2,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: bound() },
        budget: Budget::new(1.0, 1e-2).unwrap(),
        schedule,
    }
}

fn schedules() -> [Schedule; 3] {
    let noise = BlockNoise::JohnsonLindenstrauss { rows: 3 };
    [
        Schedule::Block { noise, keep: Keep::Blocks },
        Schedule::Tree { noise },
        Schedule::Factorised { horizon: 9 },
    ]
}

#[test]
fn streams_name_the_weakest_generator_of_all_their_calls() {
    for schedule in schedules() {
        let calibrated = PrivateStream::new(config(schedule)).unwrap();
        // One row of the first block meets a known R; the secret generator closes.
        let mut stream = calibrated.restarted().unwrap();
        stream.push(&[0.5], &mut known()).unwrap();
        for _ in 0..5 {
            stream.push(&[0.5], &mut secret()).unwrap();
        }
        assert!(is_known(stream.release().unwrap().certificate()), "{schedule:?}");
        let mut stream = calibrated.restarted().unwrap();
        stream.push(&[0.5; 6], &mut secret()).unwrap();
        assert!(!is_known(stream.release().unwrap().certificate()), "{schedule:?}");
        stream.push(&[0.5; 2], &mut known()).unwrap();
        assert!(is_known(stream.release().unwrap().certificate()), "{schedule:?}");
    }
}

#[test]
fn a_journal_remembers_a_known_generator() {
    let folder = tempfile::tempdir().unwrap();
    for (n, schedule) in schedules().into_iter().enumerate() {
        let path = folder.path().join(n.to_string());
        let mut stream = PrivateStream::with_journal(config(schedule), &path).unwrap();
        stream.push(&[0.5], &mut known()).unwrap();
        stream.push(&[0.5], &mut secret()).unwrap();
        drop(stream);
        let mut stream = PrivateStream::resume(&path).unwrap();
        assert!(is_known(stream.release().unwrap().certificate()), "{schedule:?}");
        stream.push(&[0.5; 6], &mut secret()).unwrap();
        assert!(is_known(stream.release().unwrap().certificate()), "{schedule:?}");
    }
}
