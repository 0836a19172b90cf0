//! Occupancy bits: the law of their estimates, and what is refused.

use super::occupancy::OccupancyLaw;
use super::*;
use dp_core::{Budget, NoiseRng, Probability, PublicSeed};

fn p(value: f64) -> Probability {
    Probability::new(value).expect("probability")
}

/// Rows with so many bins of each kind: the left one's state, then the right one's.
fn rows(counts: [[usize; 2]; 2]) -> (Vec<u16>, Vec<u16>) {
    let states = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let all = states.into_iter().flat_map(|(a, b)| vec![(a as u16, b as u16); counts[a][b]]);
    all.unzip()
}

/// 40-digit arithmetic, with numerical derivatives and the enumeration of truths and responses: estimate and 95 % interval.
#[test]
fn estimates_and_intervals_are_those_of_exact_arithmetic() {
    for (counts, keep, value, low, high) in [
        ([[150, 30], [40, 36]], 0.95, 0.294210621705, 0.172486007249, 0.421359920765),
        ([[100, 60], [60, 36]], 0.8, 0.0, 0.0, 0.279936929021),
        ([[30, 0], [0, 70]], 1.0, 1.0, 0.880517017629, 1.0),
        ([[60, 10], [2, 28]], 0.99, 0.675050285665, 0.509109846689, 0.848944901111),
        ([[40, 30], [20, 10]], 0.75, 0.0, 0.0, 0.571525488719),
    ] {
        let (x, y) = rows(counts);
        let law = OccupancyLaw::new(x.len(), p(keep)).expect("law");
        let seen = OccupancyLaw::shares(&x, &y);
        let (found, interval) = (law.jaccard(&seen), law.interval(&seen, p(0.95)));
        let error = (found.value - low).max(high - found.value) / 1.959_963_984_540_054;
        for (a, b) in [
            (found.value, value),
            (interval.low, low),
            (interval.high, high),
            (found.standard_error, error),
        ] {
            assert!((a - b).abs() < 1e-9, "{counts:?}: {a} {b}");
        }
    }
}

/// Whatever rows show, every number is finite, in range, and never a point.
#[test]
fn extreme_rows_give_intervals() {
    for keep in [0.5 + 1e-15, 0.5 + 1e-6, 0.9, 1.0 - 1e-12, 1.0] {
        for bins in [1, 2, 3, 64] {
            let law = OccupancyLaw::new(bins, p(keep)).expect("law");
            for (a, b) in [(0, 0), (0, bins), (bins, 0), (bins, bins), (bins / 2, bins)] {
                let row = |full| (0..bins).map(|i| u16::from(i < full)).collect::<Vec<_>>();
                let seen = OccupancyLaw::shares(&row(a), &row(b));
                let (found, interval) = (law.jaccard(&seen), law.interval(&seen, p(0.95)));
                assert!((0.0..=1.0).contains(&found.value) && found.standard_error > 0.0);
                assert!(found.standard_error < 0.52, "{found:?}");
                assert!(
                    0.0 <= interval.low && interval.low < interval.high && interval.high <= 1.0,
                    "{keep} {bins} {a} {b}: {interval:?}"
                );
            }
            let predicted = law.standard_error_at(20.0, 0.3);
            assert!(predicted.is_finite() && predicted > 0.0, "{keep} {bins}: {predicted}");
        }
    }
    assert!(OccupancyLaw::new(4, p(0.5)).is_err() && OccupancyLaw::new(0, p(0.9)).is_err());
}

/// Ratio and bits of the response; exact queries are the true bits; other releases make no such queries.
#[test]
fn bits_are_those_of_the_response() {
    let sets: Vec<ItemSet> =
        (0..200).map(|i| ItemSet::new((i..i + 30).collect()).expect("set")).collect();
    let mut rng = NoiseRng::deterministic_not_private(8);
    let mechanism = BinResponse::calibrate(128, 1, 2, Budget::new(2.0, 0.0).expect("budget"));
    let release = mechanism.expect("calibrated").release(&sets, PublicSeed::new(4), &mut rng);
    let release = release.expect("release");
    // Two items: epsilon over two a bit.
    let keep = 1f64.exp() / (1.0 + 1f64.exp());
    assert!((release.payload().keep().get() - keep).abs() < 1e-12);
    let exact = PrivateSymbols::exact(release.payload(), &sets).expect("queries");
    assert_eq!(exact.keep().get(), 1.0);
    let bare = OnePermutation::new(128, PublicSeed::new(4)).expect("bins").sketch(&sets);
    let truth = bare.slots().iter().map(|&least| u16::from(least != EMPTY_BIN));
    assert!(exact.symbols().iter().copied().eq(truth));
    let kept = matches(exact.symbols(), release.payload().symbols());
    let n = release.payload().symbols().len() as f64;
    // Six standard deviations.
    assert!((f64::from(kept) / n - keep).abs() < 6.0 * (keep * (1.0 - keep) / n).sqrt());
    let bins = BinResponse::calibrate(128, 2, 2, Budget::new(2.0, 0.0).expect("budget"));
    let other = bins.expect("calibrated").release(&sets, PublicSeed::new(4), &mut rng);
    let error = PrivateSymbols::exact(other.expect("release").payload(), &sets).unwrap_err();
    assert!(error.to_string().contains("occupancy bits"), "{error}");
}
