//! Private streams: accuracy, privacy structure, journal.

use dp_core::accounting::{FilterRule, Ledger};
use dp_core::{
    Adjacency, Budget, Certificate, NoiseRng, NormBound, PrivacyProfile, Profile, PublicValue,
};
use faer::Mat;
use linalg_dp::Error;
use linalg_dp::window::{
    BlockNoise, Keep, Pace, PrivateStream, PruneRule, Schedule, StreamConfig, WindowMechanism,
};

const GAUSSIAN: Schedule =
    Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: Keep::Blocks };

fn config(schedule: Schedule) -> StreamConfig {
    StreamConfig {
        dim: 4,
        window: 96,
        block: 12,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: NormBound::new(1.0).expect("positive") },
        budget: Budget::new(1.0, 1e-6).expect("valid"),
        schedule,
    }
}

fn schedules() -> Vec<Schedule> {
    let histogram = Keep::Histogram { rho: 0.3, rule: PruneRule::UpdateApprox };
    vec![
        GAUSSIAN,
        Schedule::Block {
            noise: BlockNoise::JohnsonLindenstrauss { rows: 40 },
            keep: Keep::Blocks,
        },
        Schedule::Block { noise: BlockNoise::JohnsonLindenstrauss { rows: 40 }, keep: histogram },
        Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep: histogram },
        Schedule::Tree { noise: BlockNoise::SymmetricGaussian },
        Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { rows: 40 } },
        Schedule::Factorised { horizon: 200 },
        Schedule::Decayed { decay: 0.8, horizon: 200 },
    ]
}

fn row(t: u64) -> Vec<f64> {
    let a = t as f64;
    vec![0.5 * (0.3 * a).sin(), 0.5 * (0.7 * a).cos(), 0.4 * (1.1 * a).sin(), 0.3]
}

/// The exact workload answer of a schedule at a block end.
fn exact(config: &StreamConfig, rows: u64) -> Mat<f64> {
    let mut sum = Mat::<f64>::zeros(config.dim, config.dim);
    for t in 0..rows {
        let age = (rows - 1 - t) / config.block;
        let weight = match config.schedule {
            Schedule::Decayed { decay, .. } => decay.powf(age as f64),
            _ if age < config.window / config.block => 1.0,
            _ => 0.0,
        };
        let r = row(t);
        sum += Mat::from_fn(config.dim, config.dim, |i, j| weight * r[i] * r[j]);
    }
    sum
}

#[test]
fn every_schedule_is_unbiased_and_its_stated_noise_is_true() {
    for schedule in schedules() {
        if matches!(schedule, Schedule::Block { keep: Keep::Histogram { .. }, .. }) {
            continue; // covers more than the window: tested below
        }
        let config = config(schedule);
        let rows = 180;
        let truth = exact(&config, rows);
        let repetitions = 160;
        let (mut mean, mut square, mut claimed) = (0.0, 0.0, 0.0);
        for seed in 0..repetitions {
            let mut rng = NoiseRng::deterministic_not_private(seed);
            let mut stream =
                WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
            for t in 0..rows {
                stream.push(&row(t)).expect("accepted");
            }
            let release = stream.release().expect("blocks closed");
            release.certificate().verify_consistency().expect("holds together");
            let error = release.payload().covariance().unbiased()[(0, 0)] - truth[(0, 0)];
            claimed = release.payload().directional_sd().expect("finite");
            mean += error;
            square += error * error;
        }
        let n = repetitions as f64;
        let (mean, sd) = (mean / n, (square / n).sqrt());
        // Five standard errors: false alarm 6e-7 for the mean; the sd of 160 draws is within 28 %.
        assert!(mean.abs() <= 5.0 * sd / n.sqrt() + 1e-6, "{schedule:?}: bias {mean} of sd {sd}");
        let jl = matches!(
            schedule,
            Schedule::Block { noise: BlockNoise::JohnsonLindenstrauss { .. }, .. }
                | Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { .. } }
        );
        let band = if jl { 0.05..2.0 } else { 0.72..1.28 };
        assert!(band.contains(&(sd / claimed)), "{schedule:?}: sd {sd}, claimed {claimed}");
    }
}

#[test]
fn one_row_changes_one_block_only_whatever_the_pruning_does() {
    // With the same noise streams, two adjacent streams release equal private blocks but for one; every
    // difference between their releases is that block's, at all times and under all pruning.
    for keep in [Keep::Blocks, Keep::Histogram { rho: 0.3, rule: PruneRule::UpdateApprox }] {
        let config = config(Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep });
        let changed = 50u64;
        let run = |blank: bool| {
            let mut rng = NoiseRng::deterministic_not_private(8);
            let mut stream =
                WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
            let mut releases = Vec::new();
            for t in 0..300u64 {
                let r = if blank && t == changed { vec![0.0; 4] } else { row(t) };
                if stream.push(&r).expect("accepted") > 0 {
                    let release = stream.release().expect("closed");
                    let payload = release.payload();
                    releases.push((payload.span(), payload.covariance().unbiased()));
                }
            }
            releases
        };
        let (with, without) = (run(false), run(true));
        let r = row(changed);
        for ((span, a), (other_span, b)) in with.iter().zip(&without) {
            if span != other_span {
                continue; // the pruning may differ: it is computed from private blocks only
            }
            let covers = (span.first_row..span.end_row).contains(&changed);
            for i in 0..4 {
                for j in 0..4 {
                    let expected = if covers { r[i] * r[j] } else { 0.0 };
                    let found = a[(i, j)] - b[(i, j)];
                    assert!(
                        (found - expected).abs() < 1e-4,
                        "{keep:?} {span:?}: {found} for {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn certificates_state_the_exact_joint_sensitivity() {
    // Block: one row in one block. Tree: in log2(8) + 1 = 4 nodes. Factorised: |c|.
    let one = linalg_dp::covariance::GaussianCovariance::calibrate(
        4,
        config(GAUSSIAN).adjacency,
        config(GAUSSIAN).budget,
    )
    .expect("calibrates")
    .sigma()
    .get();
    for (schedule, factor) in [
        (GAUSSIAN, 1.0),
        (Schedule::Tree { noise: BlockNoise::SymmetricGaussian }, 2.0),
        (
            Schedule::Factorised { horizon: 200 },
            linalg_dp::window::Factorisation::new(
                linalg_dp::window::Workload::Sliding { blocks: 8 },
                200,
            )
            .expect("valid")
            .column_norm(),
        ),
    ] {
        let stream = WindowMechanism::calibrate(config(schedule)).expect("calibrates");
        let profile = stream.guarantee().profile().expect("proven").clone();
        let sigma = match &profile {
            Profile::Gaussian { sigma, .. } | Profile::SymmetricGaussian { sigma, .. } => {
                sigma.get()
            }
            other => panic!("{other:?}"),
        };
        assert!((sigma / one / factor - 1.0).abs() < 1e-4, "{schedule:?}: {sigma} against {one}");
        let budget = stream.guarantee().budget();
        assert!(profile.log_delta(budget.epsilon) <= budget.delta.ln());
    }
}

#[test]
fn histograms_cover_the_window_and_keep_few_matrices() {
    let keep = Keep::Histogram { rho: 0.3, rule: PruneRule::UpdateApprox };
    let mut config = config(Schedule::Block { noise: BlockNoise::SymmetricGaussian, keep });
    config.window = 1200;
    let mut rng = NoiseRng::deterministic_not_private(1);
    let mut stream = WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
    for t in 0..2400 {
        stream.push(&row(t)).expect("accepted");
    }
    let span = stream.release().expect("closed").payload().span();
    assert!(span.first_row <= 1200 && span.end_row == 2400);
    assert!(stream.matrices() < 80, "{} of 100 blocks", stream.matrices());
}

#[test]
fn a_killed_stream_resumes_without_spending_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    for (n, schedule) in schedules().into_iter().enumerate() {
        let config = config(schedule);
        let path = folder.path().join(format!("{n}.journal"));
        let mut rng = NoiseRng::deterministic_not_private(3);
        let mechanism = WindowMechanism::calibrate(config).expect("calibrates");
        let mut stream = mechanism.stream_with_journal(&path, "", &mut rng).expect("new file");
        for t in 0..100 {
            stream.push(&row(t)).expect("accepted");
        }
        let before = stream.release().expect("closed");
        drop(stream); // killed four rows into the ninth block
        let mut other = NoiseRng::deterministic_not_private(77);
        let mut resumed = WindowMechanism::resume(&path, &mut other).expect("sound journal");
        assert_eq!(resumed.next_row(), 96);
        // What was released is released again, with the same noise and the same certificate.
        assert_eq!(resumed.release().expect("closed"), before, "{schedule:?}");
        for t in 96..200 {
            resumed.push(&row(t)).expect("accepted");
        }
        let after = resumed.release().expect("closed");
        assert_eq!(after.certificate().guarantee(), before.certificate().guarantee());
        assert!(
            mechanism.stream_with_journal(&path, "", rng).is_err(),
            "an old journal is never overwritten"
        );
    }
}

#[test]
fn a_journal_is_one_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let rng = || NoiseRng::deterministic_not_private(3);
    let resume = || WindowMechanism::resume(&path, rng());
    let mechanism = WindowMechanism::calibrate(config(GAUSSIAN)).expect("calibrates");
    let held = |opened: Result<PrivateStream, Error>| match opened {
        Err(Error::Unusable { what, reason }) => (what, reason.contains("another stream")),
        other => panic!("{other:?}"),
    };
    let mut first = mechanism.stream_with_journal(&path, "", rng()).expect("new file");
    assert_eq!(held(resume()), ("journal", true));
    assert_eq!(held(mechanism.stream_with_journal(&path, "", rng())), ("journal", true));
    (0..12).for_each(|t| assert!(first.push(&row(t)).is_ok(), "row {t}"));
    let before = first.release().expect("closed");
    drop(first);
    let second = resume().expect("free again");
    assert_eq!(second.release().expect("closed"), before);
    assert_eq!(held(resume()), ("journal", true));
    #[cfg(unix)]
    {
        // By another name it is the same journal.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("links");
        assert_eq!(held(WindowMechanism::resume(&link, rng())), ("journal", true));
    }
    drop(second);
    assert_eq!(resume().expect("free again").next_row(), 12);
    // A refused resume gives the lock back.
    std::fs::write(&path, b"not a journal").expect("writable");
    for _ in 0..2 {
        assert!(matches!(resume(), Err(Error::Corrupt { .. })));
    }
}

#[test]
fn a_damaged_journal_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let tree = Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { rows: 6 } };
    let mut rng = NoiseRng::deterministic_not_private(3);
    let mechanism = WindowMechanism::calibrate(config(tree)).expect("calibrates");
    let mut stream = mechanism.stream_with_journal(&path, "", &mut rng).expect("new file");
    for t in 0..60 {
        stream.push(&row(t)).expect("accepted");
    }
    drop(stream);
    let good = std::fs::read(&path).expect("written");
    for cut in [0, 7, 8, 40, good.len() / 2, good.len() - 1] {
        std::fs::write(&path, &good[..cut]).expect("writable");
        assert!(
            matches!(WindowMechanism::resume(&path, &mut rng), Err(Error::Corrupt { .. })),
            "cut at {cut}"
        );
    }
    for at in (0..good.len()).step_by(good.len() / 60) {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        std::fs::write(&path, &bad).expect("writable");
        assert!(
            matches!(WindowMechanism::resume(&path, &mut rng), Err(Error::Corrupt { .. })),
            "flip at {at}"
        );
    }
}

/// Sums of 2^20 columns are 16 TiB: refused when a mechanism is calibrated, and in a journal that says so, before memory is asked for.
#[test]
fn a_journal_of_too_many_columns_takes_no_memory_for_sums() {
    use sha2::{Digest, Sha256};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let mut rng = NoiseRng::deterministic_not_private(3);
    let wide = WindowMechanism::calibrate(StreamConfig { dim: 1 << 20, ..config(GAUSSIAN) });
    let error = wide.map(drop).expect_err("too wide").to_string();
    assert!(error.contains("fit in memory"), "{error}");
    let mechanism = WindowMechanism::calibrate(config(GAUSSIAN)).expect("calibrates");
    drop(mechanism.stream_with_journal(&path, "", &mut rng).expect("new file"));
    assert_eq!(WindowMechanism::resume(&path, &mut rng).expect("taken up").next_row(), 0);
    let bytes = std::fs::read(&path).expect("written");
    let mut journal: serde_json::Value = serde_json::from_slice(&bytes[40..]).expect("JSON");
    let tree = Schedule::Tree { noise: BlockNoise::SymmetricGaussian };
    journal["config"]["dim"] = (1 << 20).into();
    for schedule in [GAUSSIAN, tree, Schedule::Factorised { horizon: 200 }] {
        journal["config"]["schedule"] = serde_json::to_value(schedule).expect("JSON");
        let text = journal.to_string().into_bytes();
        let forged = [&bytes[..8], &Sha256::digest(&text)[..], &text].concat();
        let read = WindowMechanism::from_journal(&forged, &mut rng);
        assert!(read.is_err(), "{schedule:?}");
    }
}

#[test]
fn a_journal_that_cannot_be_written_stops_the_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).expect("a folder");
    let mut rng = NoiseRng::deterministic_not_private(3);
    let mechanism = WindowMechanism::calibrate(config(GAUSSIAN)).expect("calibrates");
    let mut stream =
        mechanism.stream_with_journal(&inner.join("journal"), "", &mut rng).expect("new file");
    std::fs::remove_dir_all(&inner).expect("removed");
    let refused = (0..12).find_map(|t| stream.push(&row(t)).err());
    assert!(matches!(refused, Some(Error::Io { .. })), "{refused:?}");
    assert!(matches!(stream.release(), Err(Error::Unusable { .. })));
    assert!(matches!(stream.push(&row(12)), Err(Error::Unusable { .. })));
}

#[test]
fn a_clock_ends_blocks_whatever_they_hold() {
    // 0, 5 and 12 rows a tick; one row fewer in the second tick changes that block only.
    let config = StreamConfig { pace: Pace::Clock, ..config(GAUSSIAN) };
    let run = |fewer: usize| {
        let mut rng = NoiseRng::deterministic_not_private(6);
        let mut stream = WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
        let mut releases = Vec::new();
        for rows in [0, 5 - fewer, 12, 3] {
            for t in 0..rows as u64 {
                assert_eq!(stream.push(&row(t)).expect("room"), 0);
            }
            stream.tick().expect("sound");
            releases.push(stream.release().expect("closed").into_parts().0);
        }
        assert!(stream.push(&[0.0; 13 * 4]).is_err(), "13 rows before a tick");
        releases
    };
    let (all, one_fewer) = (run(0), run(1));
    let lost = row(4);
    for (tick, (a, b)) in all.iter().zip(&one_fewer).enumerate() {
        assert_eq!(a.blocks(), tick as u64 + 1);
        let expected = if tick == 0 { 0.0 } else { lost[0] * lost[0] };
        let found = a.covariance().unbiased()[(0, 0)] - b.covariance().unbiased()[(0, 0)];
        assert!((found - expected).abs() < 1e-4, "tick {tick}: {found} for {expected}");
    }
    let rng = NoiseRng::deterministic_not_private(6);
    let by_rows = WindowMechanism::calibrate(self::config(GAUSSIAN)).expect("calibrates");
    let mut by_rows = by_rows.stream(rng);
    assert!(matches!(by_rows.tick(), Err(Error::Unusable { .. })));
}

/// Why a stream of counted rows cannot promise that a row may come or go: with d = 1, B = 1, blocks
/// of one row and the stream 1, 0, 1, 0, ... removing the first row changes **every** block by
/// `B^2`, so the releases differ by noise of one block against `sqrt n` times its sensitivity.
#[test]
fn a_counted_stream_does_not_protect_that_a_row_came() {
    let bound = NormBound::new(1.0).expect("positive");
    let (add, zero) = (Adjacency::AddRemoveRow { bound }, Adjacency::ZeroRow { bound });
    let rows: Vec<f64> = (0..20).map(|t| f64::from(t % 2 == 0)).collect();
    let config = StreamConfig { dim: 1, window: 1, block: 1, adjacency: zero, ..config(GAUSSIAN) };
    let blocks = |rows: &[f64]| {
        let mut rng = NoiseRng::deterministic_not_private(8);
        let mut stream = WindowMechanism::calibrate(config).expect("calibrates").stream(&mut rng);
        let each = |row: &f64| {
            stream.push(&[*row]).expect("accepted");
            stream.release().expect("closed").payload().covariance().unbiased()[(0, 0)]
        };
        rows.iter().map(each).collect::<Vec<_>>()
    };
    let differ = |other: &[f64]| {
        let pairs = blocks(&rows).into_iter().zip(blocks(other));
        pairs.filter(|(a, b)| (a - b).abs() > 0.5).count()
    };
    let zeroed: Vec<f64> = core::iter::once(0.0).chain(rows[1..].iter().copied()).collect();
    assert_eq!(differ(&zeroed), 1, "what is covered");
    assert_eq!(differ(&rows[1..]), 19, "what is not");
    // So it is refused, by every schedule; a clock protects it.
    for schedule in schedules() {
        let asked = StreamConfig { adjacency: add, ..self::config(schedule) };
        let refused = WindowMechanism::calibrate(asked);
        assert!(matches!(refused, Err(Error::NotProven { .. })), "{schedule:?}");
        let clock = WindowMechanism::calibrate(StreamConfig { pace: Pace::Clock, ..asked });
        let clock = clock.expect("fits");
        assert_eq!(clock.guarantee().adjacency(), add);
    }
}

#[test]
fn a_counted_stream_enters_no_ledger_of_added_rows() {
    let bound = NormBound::new(1.0).expect("positive");
    let (add, zero) = (Adjacency::AddRemoveRow { bound }, Adjacency::ZeroRow { bound });
    let limit = Budget::new(10.0, 1e-4).expect("valid");
    let ledger = |adjacency| Ledger::with_limit(adjacency, limit, FilterRule::Basic);
    let run = |pace| {
        let adjacency = if pace == Pace::Clock { add } else { zero };
        let mut rng = NoiseRng::deterministic_not_private(8);
        let mut stream =
            WindowMechanism::calibrate(StreamConfig { pace, adjacency, ..config(GAUSSIAN) })
                .expect("calibrates")
                .stream(&mut rng);
        for t in 0..12 {
            stream.push(&row(t)).expect("accepted");
        }
        if pace == Pace::Clock {
            stream.tick().expect("sound");
        }
        stream.release().expect("closed").into_parts().1
    };
    let (counted, timed) = (run(Pace::Rows), run(Pace::Clock));
    let text = counted.guarantee().adjacency().to_string();
    assert!(text.contains("replaced by zero; the number and order of rows are public"), "{text}");
    counted.verify_consistency().expect("recomputes");
    timed.verify_consistency().expect("recomputes");
    let most = |c: &Certificate| c.statement().public.get("most rows a tick").cloned();
    assert_eq!((most(&counted), most(&timed)), (None, Some(PublicValue::from(12u64))));
    ledger(zero).spend(counted.guarantee(), 1, "window").expect("the same neighbours");
    let refused = ledger(add).spend(counted.guarantee(), 1, "window");
    assert!(matches!(refused, Err(dp_core::Error::Mismatch { .. })), "{refused:?}");
    // A row is zeroed by removing it and adding a row of zeros in its tick.
    for own in [add, zero] {
        ledger(own).spend(timed.guarantee(), 1, "window").expect("its own and weaker neighbours");
    }
}

#[test]
fn bad_input_is_named() {
    let good = config(GAUSSIAN);
    for (bad, name) in [
        (StreamConfig { dim: 0, ..good }, "dim"),
        (StreamConfig { window: 0, ..good }, "window"),
        (StreamConfig { block: 0, ..good }, "block"),
        (StreamConfig { block: 7, ..good }, "block"),
        (StreamConfig { schedule: Schedule::Factorised { horizon: 0 }, ..good }, "horizon"),
        (StreamConfig { schedule: Schedule::Decayed { decay: 1.5, horizon: 9 }, ..good }, "decay"),
    ] {
        let text = WindowMechanism::calibrate(bad).expect_err("refused").to_string();
        assert!(text.contains(name), "{text}");
    }
    let stream = WindowMechanism::calibrate(good).expect("calibrates");
    let mut stream = stream.stream(NoiseRng::deterministic_not_private(1));
    assert!(matches!(stream.push(&[1.0; 5]), Err(Error::Shape { .. })));
    assert!(matches!(stream.push(&[0.0, f64::NAN, 0.0, 0.0]), Err(Error::NotFinite { .. })));
    assert!(matches!(stream.push_sparse(&[(4, 1.0)]), Err(Error::Core(_))));
    assert_eq!(stream.next_row(), 0, "a refused row is not half-added");
    assert!(matches!(stream.release(), Err(Error::Unusable { .. })));
}
