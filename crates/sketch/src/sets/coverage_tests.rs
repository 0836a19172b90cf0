//! Coverage of every stated interval, and of every stated standard error, at 95 %: 2,000 independent draws
//! a setting, at least 93 % covered. The laws are discrete and the tests inverted with continuity
//! corrections, so true coverages lie at or above 95.5 %: below 93 % with probability under 1e-7 a setting.

use super::*;
use crate::estimate::{Estimate, Interval};
use dp_core::calibrate::Acceptance;
use dp_core::{Budget, FreshSeed, NoiseRng, Probability, PublicSeed};
use rand_core::Rng;

const DRAWS: u64 = 2_000;

fn p(value: f64) -> Probability {
    Probability::new(value).expect("probability")
}

/// Counts what is covered; keeps the sum over all settings of intervals at half their width.
#[derive(Default)]
struct Tally {
    settings: u64,
    at_half_width: u64,
}

impl Tally {
    /// Draws of an estimate with its interval, where one is stated.
    fn check(
        &mut self,
        name: &str,
        truth: f64,
        draw: impl FnMut(u64) -> (Estimate, Option<Interval>),
    ) {
        let (mut inside, mut near, mut half) = (0, 0, 0);
        for (Estimate { value, standard_error }, interval) in (0..DRAWS).map(draw) {
            assert!(value.is_finite() && standard_error > 0.0, "{name}: {value} {standard_error}");
            // Rounding: an interval may end at the truth itself.
            let holds = |low: f64, high: f64| low <= truth + 1e-12 && truth <= high + 1e-12;
            let reach = 1.96 * standard_error;
            near += u64::from(holds(value - reach, value + reach));
            let Interval { low, high } =
                interval.unwrap_or(Interval { low: value - reach, high: value + reach });
            if interval.is_some() {
                assert!(0.0 <= low && low < high && high <= 1.0, "{name}: [{low}, {high}]");
            }
            inside += u64::from(holds(low, high));
            let (middle, quarter) = (0.5 * (low + high), 0.25 * (high - low));
            half += u64::from(holds(middle - quarter, middle + quarter));
        }
        assert!(100 * inside >= 93 * DRAWS, "{name}: {inside} of {DRAWS}");
        assert!(100 * near >= 93 * DRAWS, "{name}, by standard error: {near} of {DRAWS}");
        self.settings += 1;
        self.at_half_width += half;
    }

    /// The same test rejects intervals of half the width.
    fn has_power(&self) {
        assert!(100 * self.at_half_width < 88 * DRAWS * self.settings, "{}", self.at_half_width);
    }
}

/// Two sets with `common` items shared, as identifiers of no structure.
fn pair(common: u64, only_a: u64, only_b: u64) -> [ItemSet; 2] {
    let item = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i << 17;
    let set = |items: Vec<u64>| ItemSet::new(items.into_iter().map(item).collect()).expect("set");
    let shared = 0..common;
    [
        set(shared.clone().chain(10_000..10_000 + only_a).collect()),
        set(shared.chain(20_000..20_000 + only_b).collect()),
    ]
}

/// Small and large sets; equal, disjoint, nearly equal, of very different sizes.
const PAIRS: [(u64, u64, u64); 7] =
    [(3, 0, 0), (2, 1, 1), (0, 40, 40), (30, 10, 10), (60, 1, 1), (600, 300, 300), (100, 900, 10)];

/// Bins few and many, values few and many, epsilon from none to all of the signal.
#[test]
fn intervals_of_bins_cover() {
    bins_cover(&[(8, 4), (100, 2), (100, 16), (400, 4)], &[0.01, 1.0, 4.0, 30.0], &PAIRS);
}

/// One value: occupancy bits. Bins from one to many, so that sets fill all of them or hardly any.
#[test]
fn intervals_of_occupancy_bits_cover() {
    bins_cover(&[(1, 1), (8, 1), (100, 1), (400, 1)], &[0.01, 2.0, 4.0, 30.0], &PAIRS);
    bins_cover(&[(2048, 1)], &[1.0, 4.0], &[(1, 0, 0), (5, 3, 50), (0, 1, 1), (600, 300, 300)]);
}

fn bins_cover(shapes: &[(usize, u32)], epsilons: &[f64], pairs: &[(u64, u64, u64)]) {
    let mut rng = NoiseRng::deterministic_not_private(21);
    let mut tally = Tally::default();
    for &(bins, values) in shapes {
        for &epsilon in epsilons {
            let budget = Budget::new(epsilon, 0.0).expect("budget");
            let mechanism = BinResponse::calibrate(bins, values, 1, budget).expect("calibrated");
            for shape in pairs {
                let sets = pair(shape.0, shape.1, shape.2);
                let truth = sets[0].jaccard(&sets[1]);
                let name = format!("{bins} bins, {values} values, epsilon {epsilon}, {shape:?}");
                tally.check(&name, truth, |r| {
                    let release =
                        mechanism.release(&sets, PublicSeed::new(r), &mut rng).expect("release");
                    let symbols = SetPairs::within(&release);
                    let estimate = symbols.jaccard(0, 1).expect("rows");
                    assert!(
                        (0.0..=1.0).contains(&estimate.value) && estimate.standard_error < 0.52
                    );
                    (estimate, Some(symbols.jaccard_interval(0, 1, p(0.95)).expect("rows")))
                });
            }
        }
    }
    tally.has_power();
}

/// The number of agreeing positions, drawn from its law; K, B, the noise and J at their ends.
#[test]
fn intervals_of_hashed_minima_cover() {
    let mut tally = Tally::default();
    let mut rng = PublicSeed::new(5).generator(0);
    let mut unit = || (rng.next_u64() >> 11) as f64 * 2f64.powi(-53);
    for (l, k, b) in [(8, 1, 2u64), (100, 1, 2), (100, 2, 16), (64, 3, 8), (500, 1, 64)] {
        for strength in [0.05, 0.6, 1.0] {
            let keep = 1.0 / b as f64 + strength * (1.0 - 1.0 / b as f64);
            let law = CollisionLaw::new(l, k, b, p(keep.min(1.0))).expect("law");
            for j in [0.0, 0.02, 0.5, 0.9, 0.985, 1.0f64] {
                let rate = law.agree(j);
                let agreeing: Vec<u32> =
                    (0..DRAWS).map(|_| (0..l).map(|_| u32::from(unit() < rate)).sum()).collect();
                let name = format!("L {l}, K {k}, B {b}, keep {keep}, J {j}");
                let intervals: Vec<Interval> =
                    (0..=l as u32).map(|count| law.interval(count, p(0.95))).collect();
                tally.check(&name, j, |r| {
                    let count = agreeing[r as usize];
                    (law.jaccard(count), Some(intervals[count as usize]))
                });
                tally.check(&name, j, |r| (law.root(agreeing[r as usize]), None));
                let power = j.powi(k as i32);
                tally.check(&name, power, |r| (law.power(agreeing[r as usize]), None));
            }
        }
    }
    tally.has_power();
}

/// Noisy bits: positions few and many, noise low and high, small and larger sets.
#[test]
fn intervals_of_noisy_bits_cover() {
    let mut rng = NoiseRng::deterministic_not_private(23);
    let mut tally = Tally::default();
    for (positions, k, epsilon) in
        [(8, 1, 1.0), (8, 1, 1e4), (100, 1, 4.0), (100, 2, 60.0), (100, 1, 1e4), (400, 2, 1e5)]
    {
        let neighbours = SetNeighbours::new(1, 3).expect("neighbours");
        let claimed = Budget::new(epsilon, 1e-4).expect("budget");
        let accept = Acceptance::AcceptTrueDelta;
        let mechanism = NoisySecureMinHash::published(positions, k, neighbours, claimed, accept)
            .expect("built");
        for shape in &PAIRS[..5] {
            let sets = pair(shape.0, shape.1, shape.2);
            let truth = sets[0].jaccard(&sets[1]);
            let name = format!("{positions} bits, K {k}, epsilon {epsilon}, {shape:?}");
            let releases: Vec<NoisyBits> = (0..DRAWS)
                .map(|r| {
                    let fresh = FreshSeed::reproducible_not_private(r);
                    mechanism.release(&sets, fresh, &mut rng).expect("release").into_parts().0
                })
                .collect();
            let of = |r: u64| &releases[r as usize];
            tally.check(&name, truth, |r| {
                let interval = of(r).jaccard_interval(0, 1, p(0.95)).expect("rows");
                (of(r).jaccard(0, 1).expect("rows"), Some(interval))
            });
            tally.check(&name, truth, |r| (of(r).published(0, 1).expect("rows"), None));
            let power = truth.powi(k as i32);
            tally.check(&name, power, |r| (of(r).power(0, 1).expect("rows"), None));
        }
    }
    tally.has_power();
}

/// A set and itself: one, known exactly; what assumes independent noise refuses.
#[test]
fn a_set_has_similarity_one_with_itself() {
    let mut rng = NoiseRng::deterministic_not_private(24);
    let sets = pair(30, 10, 10);
    let budget = Budget::new(2.0, 1e-4).expect("budget");
    let neighbours = SetNeighbours::new(1, 20).expect("neighbours");
    let known = Estimate { value: 1.0, standard_error: 0.0 };
    let point = Interval { low: 1.0, high: 1.0 };

    let bins = BinResponse::calibrate(64, 4, 1, budget).expect("calibrated");
    let shape = SymbolShape::new(64, 1, 4).expect("shape");
    let mixture = MixtureResponse::calibrate(shape, neighbours, budget).expect("calibrated");
    let fresh = || FreshSeed::reproducible_not_private(1);
    let releases = [
        bins.release(&sets, PublicSeed::new(1), &mut rng).expect("release"),
        mixture.release(&sets, fresh(), &mut rng).expect("release"),
    ];
    for release in &releases {
        let symbols = SetPairs::within(release);
        assert_eq!(symbols.jaccard(1, 1).expect("row"), known);
        assert_eq!(symbols.jaccard_interval(1, 1, p(0.95)).expect("row"), point);
        let error = symbols.agreeing(1, 1).expect_err("one noise").to_string();
        assert!(error.contains("shares its noise with itself"), "{error}");
        assert!(symbols.jaccard(2, 2).is_err_and(|e| e.to_string().contains("row = 2")));
    }
    assert!(SetPairs::within(&releases[0]).outcomes(0, 0).is_err());

    let accept = Acceptance::AcceptTrueDelta;
    let noisy = NoisySecureMinHash::published(64, 1, neighbours, budget, accept).expect("built");
    let bits = noisy.release(&sets, fresh(), &mut rng).expect("release").into_parts().0;
    assert_eq!(bits.jaccard(0, 0).expect("row"), known);
    assert_eq!(bits.published(1, 1).expect("row"), known);
    assert_eq!(bits.jaccard_interval(1, 1, p(0.95)).expect("row"), point);
    assert!(bits.power(0, 0).is_err_and(|e| e.to_string().contains("similarity is one")));
    assert!(bits.jaccard(2, 2).is_err());
}

/// One bin, one position, no signal and no noise at all: finite estimates, intervals in range, or a refusal before
/// anything is released.
#[test]
fn estimates_hold_at_the_ends_of_the_budget() {
    let mut rng = NoiseRng::deterministic_not_private(25);
    let mut made = 0;
    for epsilon in [1e-300, 1e-17, 1e-12, 1e-6, 1.0, 1e3, 1e9] {
        let budget = Budget::new(epsilon, 0.0).expect("budget");
        for size in [1usize, 2, 300] {
            let shape = SymbolShape::new(size, 1, 2).expect("shape");
            let releases = [
                BinResponse::calibrate(size, 2, 1 << 32, budget)
                    .and_then(|m| m.release(&pair(2, 1, 1), PublicSeed::new(1), &mut rng)),
                BucketPrivMin::new(shape, budget.epsilon)
                    .and_then(|m| m.release(&pair(0, 1, 1), PublicSeed::new(1), &mut rng)),
            ];
            for release in releases.into_iter().flatten() {
                let symbols = SetPairs::within(&release);
                let Estimate { value, standard_error } = symbols.jaccard(0, 1).expect("rows");
                let Interval { low, high } = symbols.jaccard_interval(0, 1, p(0.95)).expect("rows");
                assert!(value.is_finite() && standard_error.is_finite(), "{epsilon} {size}");
                assert!(standard_error > 0.0 && 0.0 <= low && low < high && high <= 1.0);
                made += 1;
            }
        }
    }
    assert!(made > 20, "{made}");
    let one = BinResponse::calibrate(4, 2, 1, Budget::new(1.0, 0.0).expect("budget"));
    let none = one.expect("bins").release(&[], PublicSeed::new(1), &mut rng).expect("release");
    assert!(SetPairs::within(&none).jaccard(0, 0).is_err());
}
