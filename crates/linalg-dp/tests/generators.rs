//! A certificate names the weakest generator that drew any of the noise, whenever it drew.

use dp_core::noise::GeneratorKind;
use dp_core::{Adjacency, Budget, Certificate, NoiseRng};
use linalg_dp::covariance::{
    CovarianceMechanism, CovarianceStream, JlCovariance, WishartCovariance, WishartShape,
};
use linalg_dp::window::{BlockNoise, Keep, Pace, Schedule, StreamConfig, WindowMechanism};

fn known() -> NoiseRng {
    NoiseRng::deterministic_not_private(1)
}

fn secret() -> NoiseRng {
    NoiseRng::from_os().unwrap()
}

fn bound<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).unwrap()
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
        let run = |rng: NoiseRng| {
            let mut stream = CovarianceStream::new(m, rng);
            stream.push(&[0.6, 0.8]).unwrap();
            is_known(stream.finish().unwrap().certificate())
        };
        assert!(run(known()) && !run(secret()));
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
fn streams_name_the_generator_that_they_hold() {
    for schedule in schedules() {
        let mechanism = WindowMechanism::calibrate(config(schedule)).unwrap();
        for (rng, expected) in [(known(), true), (secret(), false)] {
            let mut stream = mechanism.stream(rng);
            stream.push(&[0.5; 6]).unwrap();
            let release = stream.release().unwrap();
            assert_eq!(is_known(release.certificate()), expected, "{schedule:?}");
        }
    }
}

#[test]
fn a_journal_remembers_a_known_generator() {
    let folder = tempfile::tempdir().unwrap();
    for (n, schedule) in schedules().into_iter().enumerate() {
        let path = folder.path().join(n.to_string());
        let mechanism = WindowMechanism::calibrate(config(schedule)).unwrap();
        let mut stream = mechanism.stream_with_journal(&path, "", known()).unwrap();
        stream.push(&[0.5; 2]).unwrap();
        drop(stream);
        let mut stream = WindowMechanism::resume(&path, secret()).unwrap();
        assert!(is_known(stream.release().unwrap().certificate()), "{schedule:?}");
        stream.push(&[0.5; 6]).unwrap();
        assert!(is_known(stream.release().unwrap().certificate()), "{schedule:?}");
    }
}

#[test]
fn a_stream_taken_up_by_a_known_generator_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let [schedule, ..] = schedules();
    let mechanism = WindowMechanism::calibrate(config(schedule)).unwrap();
    let mut stream = mechanism.stream_with_journal(&path, "", secret()).unwrap();
    stream.push(&[0.5; 2]).unwrap();
    drop(stream);
    let mut stream = WindowMechanism::resume(&path, known()).unwrap();
    // What was drawn so far was secret.
    assert!(!is_known(stream.release().unwrap().certificate()));
    stream.push(&[0.5; 2]).unwrap();
    assert!(is_known(stream.release().unwrap().certificate()));
}

/// Shows one generator and lends another.
struct TwoFaced(NoiseRng, NoiseRng);

impl core::borrow::Borrow<NoiseRng> for TwoFaced {
    fn borrow(&self) -> &NoiseRng {
        &self.0
    }
}

impl core::borrow::BorrowMut<NoiseRng> for TwoFaced {
    fn borrow_mut(&mut self) -> &mut NoiseRng {
        &mut self.1
    }
}

#[test]
fn the_generator_that_draws_is_named_not_the_one_shown() {
    for schedule in schedules() {
        let mechanism = WindowMechanism::calibrate(config(schedule)).unwrap();
        let mut stream = mechanism.stream(TwoFaced(secret(), known()));
        stream.push(&[0.5; 6]).unwrap();
        assert!(is_known(stream.release().unwrap().certificate()), "{schedule:?}");
    }
}
