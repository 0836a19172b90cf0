//! Counts of public groups: what an item moves, the law of the noise, files, search.

use dp_core::mechanism::Mechanism;
use dp_core::noise::NoiseLaw;
use dp_core::output::{Existing, Output};
use dp_core::release_file::{decode, encode};
use dp_core::{
    Budget, Certificate, Epsilon, NoiseRng, PrivacyProfile, Probability, Profile, Release,
};
use sketch::search::{CountIndex, Queries};
use sketch::sets::{GroupCounts, ItemGroups, ItemSet, NoisyCounts, SetWriter};
use sketch::verify::Finding;

fn set(items: impl IntoIterator<Item = u64>) -> ItemSet {
    ItemSet::new(items.into_iter().collect()).expect("a set")
}

/// A set of the items whose bits are set.
fn of_bits(bits: u64, items: u64) -> ItemSet {
    set((0..items).filter(|i| bits >> i & 1 == 1))
}

fn mechanism(groups: &[ItemSet], alpha: u64, epsilon: f64) -> GroupCounts {
    let groups = ItemGroups::new(groups).expect("groups");
    GroupCounts::calibrate(groups, alpha, Budget::new(epsilon, 0.0).expect("budget"))
        .expect("calibrated")
}

fn rng(seed: u64) -> NoiseRng {
    NoiseRng::deterministic_not_private(seed)
}

fn scale(release: &Release<NoisyCounts>) -> f64 {
    match release.certificate().statement().noise {
        NoiseLaw::DiscreteLaplace { scale } => scale.get(),
        ref other => panic!("{other:?}"),
    }
}

/// Every pair of sets of seven items under every grouping of five of them into at most three lists, the other two where
/// their hash says: counts move by at most as many as items differ, and by that many somewhere.
#[test]
fn counts_move_by_the_items_that_differ() {
    let all: Vec<ItemSet> = (1..128).map(|bits| of_bits(bits, 7)).collect();
    let mut reached = [false; 8];
    for assignment in 0..3u32.pow(5) {
        let of = |item: u64| assignment / 3u32.pow(item as u32) % 3;
        let lists: Vec<Vec<u64>> =
            (0..3).map(|g| (0..5).filter(|item| of(*item) == g).collect()).collect();
        let lists: Vec<ItemSet> = lists.into_iter().filter(|l| !l.is_empty()).map(set).collect();
        let made = mechanism(&lists, 1, 1.0);
        let release = made.release(&all[..1], &mut rng(1)).expect("release");
        let counts = NoisyCounts::exact(release.payload(), &all);
        let k = counts.k();
        let row = |i: usize| &counts.values()[i * k..][..k];
        for i in 0..all.len() {
            for j in 0..i {
                let apart: f64 = row(i).iter().zip(row(j)).map(|(a, b)| (a - b).abs()).sum();
                let items = ((i + 1) ^ (j + 1)).count_ones();
                assert!(apart <= f64::from(items), "{lists:?}");
                reached[items as usize] |= apart == f64::from(items);
            }
        }
    }
    assert!(reached[1..].iter().all(|r| *r), "{reached:?}");
}

/// The law written out integer by integer: the certified profile is never below, and reached by one item.
#[test]
fn the_certified_profile_is_above_every_change() {
    let a_of = |b: f64| (-1.0 / b).exp();
    let law = |a: f64, x: i64| (1.0 - a) / (1.0 + a) * a.powi(x.unsigned_abs() as i32);
    for (alpha, epsilon) in [(1u64, 0.5), (1, 1.0), (1, 3.0), (2, 1.0), (3, 2.0)] {
        let made = mechanism(&[set([1]), set([2])], alpha, epsilon);
        let release = made.release(&[set([1])], &mut rng(2)).expect("release");
        let b = scale(&release);
        assert!(alpha as f64 / b <= epsilon && alpha as f64 / b >= epsilon * (1.0 - 1e-15));
        let profile = made.guarantee().profile().expect("a profile");
        assert!(matches!(profile, Profile::PureDp { epsilon: e } if e.get() == epsilon));
        let a = a_of(b);
        for at in [1e-6, 0.1 * epsilon, 0.5 * epsilon, 0.99 * epsilon, epsilon] {
            let stated = profile.log_delta(Epsilon::new(at).expect("epsilon")).delta();
            let mut largest = 0.0f64;
            // All ways in which alpha items move two counts.
            for first in -(alpha as i64)..=alpha as i64 {
                let rest = alpha as i64 - first.abs();
                for second in [-rest, rest] {
                    let mut delta = 0.0;
                    let far = (45.0 * b) as i64 + 4;
                    for x in -far..=far {
                        for y in -far..=far {
                            let p = law(a, x) * law(a, y);
                            let q = law(a, x - first) * law(a, y - second);
                            delta += (p - at.exp() * q).max(0.0);
                        }
                    }
                    assert!(delta <= stated + 1e-12, "{alpha} {epsilon} {first} {second} {at}");
                    largest = largest.max(delta);
                }
            }
            assert!(alpha > 1 || (largest - stated).abs() < 1e-12, "{largest} {stated}");
        }
    }
}

/// 60,000 counts: mean and variance within 6 deviations, and 0.7 or 1.3 of the scale outside; and intervals cover, by the
/// exact law, as often as asked: false alarms below 1e-8.
#[test]
fn counts_err_as_stated_and_intervals_cover() {
    for (seed, epsilon) in [(3, 0.3), (4, 1.0), (5, 4.0)] {
        let made = mechanism(&[set(0..4), set(4..8), set(8..12)], 1, epsilon);
        let sets: Vec<ItemSet> = (0..20_000u64).map(|i| set([i % 4, 4, 5, 8, 9, 10])).collect();
        let release = made.release(&sets, &mut rng(seed)).expect("release");
        let counts = release.payload();
        let stated = counts.count(0, 0).expect("a count").standard_error;
        assert_eq!(made.predict(()).expect("prediction").root_mean_square, stated);
        let truth = [1.0, 2.0, 3.0];
        let n = counts.values().len() as f64;
        let errors = || counts.values().iter().zip(truth.iter().cycle()).map(|(v, t)| v - t);
        let (mean, square) = (errors().sum::<f64>() / n, errors().map(|e| e * e).sum::<f64>() / n);
        assert!(mean.abs() < 6.0 * stated / n.sqrt(), "{mean}");
        let noise = &release.certificate().statement().noise;
        let [variance, fourth] = noise.moments().expect("known");
        assert!((variance - stated * stated).abs() < 1e-12 * variance);
        let of_square = ((fourth + 2.0 * variance * variance) / n).sqrt();
        assert!((square - variance).abs() < 6.0 * of_square, "{square} {variance}");
        // The same counts would not pass for another scale.
        for wrong in [0.7, 1.3] {
            let a = (-1.0 / (wrong * scale(&release))).exp();
            let other = 2.0 * a / (1.0 - a).powi(2);
            assert!((square - other).abs() > 6.0 * of_square, "{wrong}");
        }
        for level in [0.5, 0.9, 0.99] {
            let level = Probability::new(level).expect("a level");
            let covered = (0..sets.len()).filter(|&row| {
                let interval = counts.count_interval(row, 2, level).expect("an interval");
                interval.low >= 0.0 && interval.contains(3.0)
            });
            let share = covered.count() as f64 / sets.len() as f64;
            let (p, rows) = (level.get(), sets.len() as f64);
            assert!(share >= p - 6.0 * (p * (1.0 - p) / rows).sqrt(), "{epsilon} {p}: {share}");
        }
        assert!(counts.count(20_000, 0).is_err() && counts.count(0, 3).is_err());
        assert!(counts.count_interval(0, 0, Probability::new(1.0).expect("p")).is_err());
    }
}

#[test]
fn streamed_releases_are_those_in_memory_and_files_hold_them() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("counts.dps");
    let made = mechanism(&[set(0..30), set(30..60), set(60..100)], 1, 1.0);
    let sets: Vec<ItemSet> = (0..5000u64).map(|i| set((i % 90)..(i % 90) + 10)).collect();
    let release = made.release(&sets, &mut rng(6)).expect("release");
    let mut random = rng(6);
    let to = Output::create(&path, Existing::Keep).expect("output");
    let mut writer = SetWriter::create(to, &made, (), &mut random).expect("writer");
    for part in sets.chunks(777) {
        writer.push(part).expect("pushed");
    }
    let written = writer.finish().expect("finished");
    let bytes = std::fs::read(&path).expect("a file");
    assert_eq!(bytes, encode(&release).expect("bytes"));
    assert_eq!(written.rows, 5000);
    let read: Release<NoisyCounts, Certificate> = decode(&bytes).expect("read");
    assert_eq!(read.payload(), release.payload());
    let report = sketch::verify_consistency(&read).expect("consistent");
    assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
    // Exact counts are no release, and those without noise do not pass for one.
    let exact = NoisyCounts::exact(release.payload(), &sets);
    let forged = Release::certified(exact, release.certificate().clone());
    assert!(encode(&forged).is_err());
}

/// Counts that are far quieter than their noise are refused.
#[test]
fn counts_without_their_noise_are_refused() {
    let quiet = mechanism(&[set([1]), set([2])], 1, 8.0);
    let loud = mechanism(&[set([1]), set([2])], 1, 0.1);
    let sets = vec![set([1, 2]); 500];
    let (a, b) = (quiet.release(&sets, &mut rng(7)), loud.release(&sets, &mut rng(8)));
    let (a, b) = (a.expect("release"), b.expect("release"));
    sketch::verify_consistency(&b).expect("consistent");
    let law = b.certificate().statement().noise.clone();
    let found = sketch::verify::NoisyValues::rows(a.payload().values(), 2, &law).check();
    assert!(found.is_err());
    let halves: Vec<f64> = b.payload().values().iter().map(|v| v + 0.5).collect();
    assert!(sketch::verify::NoisyValues::rows(&halves, 2, &law).check().is_err());
}

#[test]
fn extreme_budgets_are_kept_or_refused() {
    let groups = || ItemGroups::new(&[set([1])]).expect("groups");
    let at = |alpha, epsilon: f64| {
        GroupCounts::calibrate(groups(), alpha, Budget::new(epsilon, 0.0).expect("budget"))
    };
    for (alpha, epsilon) in [(1, 1e-300), (1, f64::MIN_POSITIVE), (1, 1e-13), (1, 2000.0), (0, 1.0)]
    {
        assert!(at(alpha, epsilon).is_err(), "{alpha} {epsilon}");
    }
    assert!(at((1 << 32) + 1, 1e3).is_err() && at(1 << 32, 1.0).is_ok());
    let far = at(1, 1e-11).expect("calibrated");
    let release = far.release(&[set([1])], &mut rng(9)).expect("release");
    assert!(release.payload().values()[0].abs() > 1e6);
    let bytes = encode(&release).expect("bytes");
    assert!(decode::<NoisyCounts, Certificate>(&bytes).is_ok());
    // Delta is not spent.
    let spent = GroupCounts::calibrate(groups(), 1, Budget::new(1.0, 1e-5).expect("budget"));
    assert_eq!(spent.expect("calibrated").guarantee().budget().delta.get(), 0.0);
    // No sets at all, and one group of everything.
    let none = far.release(&[], &mut rng(10)).expect("release");
    assert_eq!((none.payload().rows(), none.payload().k()), (0, 1));
    assert_eq!(
        CountIndex::new(none.payload())
            .expect("index")
            .top_k(&Queries::all(none.payload()), 3)
            .expect("hits")
            .n(),
        0
    );
}

/// Twins among sets of six themes: found by the posterior mean of public sets and of the release alone, by exact
/// queries too; and not by counts of other groups.
#[test]
fn searches_find_what_is_alike() {
    let theme = |i: u64| {
        let first = i % 6 * 40;
        set((first..first + 40).filter(move |j| !(j * 7 + i).is_multiple_of(5)).chain([10_000 + i]))
    };
    let sets: Vec<ItemSet> = (0..120).map(theme).collect();
    let public: Vec<ItemSet> = (120..300).map(theme).collect();
    let groups = ItemGroups::of_sample(&public, 1, Budget::new(1.0, 0.0).expect("budget"));
    let budget = Budget::new(1.0, 0.0).expect("budget");
    let made = GroupCounts::calibrate(groups.expect("groups"), 1, budget).expect("calibrated");
    let release = made.release(&sets, &mut rng(11)).expect("release");
    let items = release.payload();
    let known = NoisyCounts::exact(items, &public);
    let asked = NoisyCounts::exact(items, &sets[..12]);
    let indices = [
        CountIndex::new(items).expect("index"),
        CountIndex::posterior(items, &known).expect("index"),
        CountIndex::posterior(items, items).expect("index"),
    ];
    for index in &indices {
        for queries in
            [Queries::rows(items, &[0, 1, 2, 3, 4, 5]).expect("rows"), Queries::all(&asked)]
        {
            let found = index.top_k(&queries, 10).expect("hits");
            for query in 0..6 {
                let same = found.indices(query).iter().filter(|row| **row as usize % 6 == query);
                assert!(same.count() >= 8, "{query}");
            }
        }
    }
    let other = mechanism(&[set([1]), set([2])], 1, 1.0);
    let other = other.release(&sets, &mut rng(12)).expect("release");
    assert!(indices[0].top_k(&Queries::all(other.payload()), 1).is_err());
    assert!(CountIndex::posterior(items, other.payload()).is_err());
    // One row says nothing of how rows vary, and noise alone neither.
    let one = made.release(&sets[..1], &mut rng(13)).expect("release");
    assert!(CountIndex::posterior(one.payload(), one.payload()).is_err());
}
