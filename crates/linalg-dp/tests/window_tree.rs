//! Trees of Gaussian and JL nodes: composition, debiasing, adjacencies, journal.

use dp_core::noise::NoiseLaw;
use dp_core::profile::{RowChange, covariance_sensitivity};
use dp_core::{Adjacency, Budget, NoiseRng, NormBound, PrivacyProfile, Profile};
use linalg_dp::covariance::CovarianceNoise;
use linalg_dp::window::{BlockNoise, Keep, Pace, Schedule, StreamConfig, WindowMechanism};

const ROWS: u64 = 30;
const KINDS: [BlockNoise; 2] =
    [BlockNoise::SymmetricGaussian, BlockNoise::JohnsonLindenstrauss { rows: ROWS }];

fn config(noise: BlockNoise, adjacency: Adjacency, window_blocks: u64) -> StreamConfig {
    StreamConfig {
        dim: 3,
        window: 5 * window_blocks,
        block: 5,
        pace: Pace::Rows,
        adjacency,
        budget: Budget::new(1.0, 1e-6).expect("valid"),
        schedule: Schedule::Tree { noise },
    }
}

fn adjacencies() -> [Adjacency; 2] {
    let bound = NormBound::new(1.0).expect("positive");
    [Adjacency::ZeroRow { bound }, Adjacency::ReplaceRow { bound }]
}

fn row(t: u64) -> [f64; 3] {
    let a = t as f64;
    [0.6 * (0.3 * a).sin(), 0.5 * (0.7 * a).cos(), 0.4]
}

#[test]
fn the_certificate_composes_all_levels_and_verifies() {
    for adjacency in adjacencies() {
        for noise in KINDS {
            for (window_blocks, levels) in [(1, 1u64), (2, 2), (11, 4), (16, 5)] {
                let config = config(noise, adjacency, window_blocks);
                let mut rng = NoiseRng::deterministic_not_private(1);
                let mut stream =
                    WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
                let profile = stream.guarantee().profile().expect("proven").clone();
                let change = match adjacency {
                    Adjacency::ZeroRow { .. } => RowChange::AddRemove,
                    _ => RowChange::Replace,
                };
                // A row is in `levels` nodes: that many runs of the node's mechanism.
                match &profile {
                    Profile::JlMechanism { rows, change: stated, .. } => {
                        assert_eq!((*rows, *stated), (ROWS * levels, change));
                    }
                    Profile::Gaussian { sensitivity, .. } => {
                        let bound = NormBound::new(1.0).expect("positive");
                        let one = covariance_sensitivity(bound, change);
                        let ratio = sensitivity.get() / one / (levels as f64).sqrt();
                        assert!((1.0..1.0 + 1e-5).contains(&ratio), "{ratio}");
                    }
                    other => panic!("{other:?}"),
                }
                let (ln, target) =
                    (profile.log_delta(config.budget.epsilon), config.budget.delta.ln());
                assert!(ln <= target && ln.get() > target.get() - 1e-3, "{noise:?}: {ln:?}");
                for t in 0..5 {
                    stream.push(&row(t)).expect("accepted");
                }
                let certificate = stream.release().expect("closed").into_parts().1;
                certificate.verify_consistency().expect("recomputes");
                match &certificate.statement().noise {
                    NoiseLaw::Several { laws } => assert_eq!(laws.len() as u64, levels),
                    law => assert_eq!(noise, BlockNoise::SymmetricGaussian, "{law:?}"),
                }
            }
        }
    }
}

#[test]
fn forgetting_a_level_is_caught() {
    // The broken twin: nodes calibrated as if a row were in one node only.
    for adjacency in adjacencies() {
        for noise in KINDS {
            let tree = config(noise, adjacency, 8);
            let block =
                StreamConfig { schedule: Schedule::Block { noise, keep: Keep::Blocks }, ..tree };
            let honest = WindowMechanism::calibrate(tree).expect("calibrates");
            let twin = WindowMechanism::calibrate(block).expect("calibrates");
            let four = match twin.guarantee().profile().expect("proven").clone() {
                Profile::JlMechanism { rows, bound, lift, change } => {
                    Profile::JlMechanism { rows: 4 * rows, bound, lift, change }
                }
                once => Profile::Repeated { profile: Box::new(once), times: 4 },
            };
            let target = tree.budget.delta.ln();
            let found = four.log_delta(tree.budget.epsilon);
            assert!(found.get() > target.get() + 3.0, "{noise:?}: {found:?}");
            let ours = honest.guarantee().profile().expect("proven");
            assert!(ours.log_delta(tree.budget.epsilon) <= target, "{noise:?}");
        }
    }
}

#[test]
fn a_window_of_several_nodes_is_debiased_by_all_of_them() {
    // Seven blocks of a window of eight: three nodes (4 + 2 + 1) when the stream is young.
    for noise in KINDS {
        let config = config(noise, adjacencies()[0], 8);
        let mut truth = [0.0; 3];
        (0..35).for_each(|t| row(t).iter().zip(&mut truth).for_each(|(x, s)| *s += x * x));
        let repetitions = 24;
        let mut errors = Vec::new();
        let mut offset = 0.0;
        for seed in 0..repetitions {
            let mut rng = NoiseRng::deterministic_not_private(seed);
            let mut stream =
                WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
            for t in 0..35 {
                stream.push(&row(t)).expect("accepted");
            }
            let release = stream.release().expect("closed");
            let covariance = release.payload().covariance();
            if let CovarianceNoise::JlSketch { rows, .. } = covariance.noise() {
                assert_eq!(rows, ROWS);
            }
            offset = covariance.offset();
            let estimate = covariance.unbiased();
            errors.push((0..3).map(|i| estimate[(i, i)] - truth[i]).sum::<f64>());
        }
        let n = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / n;
        let sd = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        // Student's t with 23 degrees of freedom exceeds 6.7 with probability 1e-6.
        assert!(mean.abs() <= 6.7 * sd / n.sqrt(), "{noise:?}: bias {mean}, sd {sd}");
        // Power: one node's mean left in would show.
        if offset > 0.0 {
            let left = offset; // three coordinates of a third of the offset
            assert!((mean + left).abs() > 6.7 * sd / n.sqrt(), "{noise:?}: {left} unseen, sd {sd}");
        }
    }
}

#[test]
fn one_row_changes_its_nodes_and_nothing_else() {
    // Same noise, one row blanked: a release changes by that row's square exactly while the
    // window covers it.
    let config = config(BlockNoise::SymmetricGaussian, adjacencies()[0], 4);
    let changed = 12u64;
    let run = |blank: bool| {
        let mut rng = NoiseRng::deterministic_not_private(9);
        let mut stream = WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
        let mut releases = Vec::new();
        for t in 0..60 {
            let r = if blank && t == changed { [0.0; 3] } else { row(t) };
            if stream.push(&r).expect("accepted") > 0 {
                releases.push(stream.release().expect("closed").into_parts().0);
            }
        }
        releases
    };
    for (a, b) in run(false).iter().zip(&run(true)) {
        let covers = (a.span().first_row..a.span().end_row).contains(&changed);
        let expected = if covers { row(changed)[0] * row(changed)[1] } else { 0.0 };
        let found = a.covariance().unbiased()[(0, 1)] - b.covariance().unbiased()[(0, 1)];
        assert!((found - expected).abs() < 1e-4, "{:?}: {found} for {expected}", a.span());
    }
}

#[test]
fn a_resumed_sketch_still_holds_the_rows_before_the_kill() {
    // A window of eight blocks, killed after four: the level of eight blocks is half full. Large
    // rows against a small lift would lose half their square if the sketch were lost.
    let folder = tempfile::tempdir().expect("a folder");
    let noise = BlockNoise::JohnsonLindenstrauss { rows: 4000 };
    let mut config = config(noise, adjacencies()[0], 8);
    config.budget = Budget::new(1000.0, 0.01).expect("valid");
    config.block = 400;
    config.window = 3200;
    let path = folder.path().join("journal");
    let mut rng = NoiseRng::deterministic_not_private(5);
    let mechanism = WindowMechanism::calibrate(config).expect("calibrates");
    let mut stream = mechanism.stream_with_journal(&path, "", &mut rng).expect("new file");
    let data: Vec<f64> = (0..3200).flat_map(row).collect();
    stream.push(&data[..3 * 1600]).expect("accepted");
    drop(stream);
    let mut resumed = WindowMechanism::resume(&path, &mut rng).expect("sound");
    resumed.push(&data[3 * 1600..]).expect("accepted");
    let truth: f64 = (0..3200).map(|t| row(t)[2].powi(2)).sum();
    let release = resumed.release().expect("closed");
    let found = release.payload().covariance().unbiased()[(2, 2)];
    let sd = release.payload().directional_sd().expect("finite");
    // One node: a chi-square of 4000 degrees of freedom, 5 standard deviations.
    assert!((found - truth).abs() < 5.0 * sd, "{found} for {truth}, sd {sd}");
    assert!(0.5 * truth > 5.0 * sd, "half the rows lost would show: {truth}, sd {sd}");
}

#[test]
fn a_configuration_without_a_noise_is_gaussian() {
    let read: Schedule = serde_json::from_str(r#"{"kind":"tree"}"#).expect("the older form");
    assert_eq!(read, Schedule::Tree { noise: BlockNoise::SymmetricGaussian });
}
