//! Exact profiles against brute force over tiny universes: all pairs of sets, the exact
//! output distribution under the random function model.

use super::response_family::ResponseFamily;
use super::*;
use dp_core::calibrate::Acceptance;
use dp_core::mechanism::Mechanism;
use dp_core::{Budget, Epsilon, PrivacyProfile};

const UNIVERSE: u32 = 5;

/// Subsets (as bit masks) of at least `min` items that differ in at most `alpha`.
fn neighbours(min: u32, alpha: u32) -> Vec<(u32, u32)> {
    let sets: Vec<u32> = (1..1 << UNIVERSE).filter(|s: &u32| s.count_ones() >= min).collect();
    sets.iter()
        .flat_map(|&a| sets.iter().map(move |&b| (a, b)))
        .filter(|&(a, b)| a != b && (a ^ b).count_ones() <= alpha)
        .collect()
}

/// All orders of the universe.
fn permutations(n: u32) -> Vec<Vec<u32>> {
    if n == 0 {
        return vec![vec![]];
    }
    permutations(n - 1)
        .into_iter()
        .flat_map(|p| {
            (0..=p.len()).map(move |at| {
                let mut q = p.clone();
                q.insert(at, n - 1);
                q
            })
        })
        .collect()
}

/// Joint law of one position's symbols for the pair: all orders, all symbol assignments to
/// the (one or two) minima, `K` minima concatenated.
fn joint(a: u32, b: u32, k: u32, alphabet: usize, orders: &[Vec<u32>]) -> Vec<Vec<f64>> {
    let first =
        |set: u32, order: &[u32]| *order.iter().find(|&&x| set >> x & 1 == 1).expect("not empty");
    let same = orders.iter().filter(|o| first(a, o) == first(b, o)).count() as f64;
    let all_same = (same / orders.len() as f64).powi(k as i32);
    let n = alphabet as f64;
    (0..alphabet)
        .map(|x| {
            (0..alphabet)
                .map(|y| f64::from(u8::from(x == y)) * all_same / n + (1.0 - all_same) / (n * n))
                .collect()
        })
        .collect()
}

/// Output law of a k-ary response.
fn response(symbol: usize, output: usize, alphabet: usize, keep: f64) -> f64 {
    if symbol == output { keep } else { (1.0 - keep) / (alphabet - 1) as f64 }
}

/// Hockey-stick divergence of the pair: expectation over the hash functions (that is, over the
/// symbols they give), sum over all outputs of the L positions.
fn divergence(joint: &[Vec<f64>], positions: u32, keep: f64, epsilon: f64) -> f64 {
    let b = joint.len();
    let (codes, outputs) = ((b * b).pow(positions), b.pow(positions));
    let mut total = 0.0;
    for code in 0..codes {
        let mut weight = 1.0;
        let (mut xs, mut ys, mut rest) = (vec![], vec![], code);
        for _ in 0..positions {
            let (x, y) = (rest % (b * b) / b, rest % b);
            weight *= joint[x][y];
            xs.push(x);
            ys.push(y);
            rest /= b * b;
        }
        for output in 0..outputs {
            let (mut p, mut q, mut rest) = (1.0, 1.0, output);
            for (&x, &y) in xs.iter().zip(&ys) {
                p *= response(x, rest % b, b, keep);
                q *= response(y, rest % b, b, keep);
                rest /= b;
            }
            total += weight * (p - epsilon.exp() * q).max(0.0);
        }
    }
    total
}

/// The worst pair's divergence equals the stated profile, at several epsilons.
#[test]
fn mixture_profile_is_the_brute_force_supremum() {
    let orders = permutations(UNIVERSE);
    for (min, alpha, k, alphabet, positions) in
        [(3, 1, 1, 2usize, 3), (3, 2, 1, 3, 2), (2, 3, 2, 2, 2), (2, 2, 1, 4, 2)]
    {
        let n = SetNeighbours::new(u64::from(alpha), u64::from(min)).expect("neighbours");
        let differ = n.differ_probability(k as usize, alphabet as u64).expect("p");
        let family =
            ResponseFamily { coordinates: u64::from(positions), differ, alphabet: alphabet as u64 };
        let keep = 0.75;
        let profile = family.profile(dp_core::Probability::new(keep).expect("keep"));
        for epsilon in [0.05, 0.5, 1.0, 2.0] {
            let mut worst = 0.0f64;
            for (a, b) in neighbours(min, alpha) {
                let law = joint(a, b, k, alphabet, &orders);
                worst = worst.max(divergence(&law, positions, keep, epsilon));
            }
            let stated = profile.log_delta(Epsilon::new(epsilon).expect("epsilon")).delta();
            assert!(stated >= worst - 1e-15, "unsafe: {stated} below {worst}");
            assert!(
                (stated - worst).abs() <= 1e-9 * worst + 1e-15,
                "{stated} {worst} at {epsilon}"
            );
        }
    }
}

/// One-permutation hashing: every assignment of items to bins and order of the items. No
/// hash function and no pair passes the stated profile; the worst attains it. With one value: occupancy bits.
#[test]
fn bin_profile_is_the_brute_force_supremum_over_all_hash_functions() {
    let (bins, keep) = (3usize, 0.7);
    for (alpha, values) in [(1u32, 2usize), (2, 2), (3, 2), (1, 1), (2, 1), (3, 1)] {
        let alphabet = values + 1;
        let family = ResponseFamily {
            coordinates: u64::from(alpha).min(bins as u64),
            differ: dp_core::Probability::new(1.0).expect("one"),
            alphabet: alphabet as u64,
        };
        let profile = family.profile(dp_core::Probability::new(keep).expect("keep"));
        for epsilon in [0.3, 1.0, 2.0] {
            let mut worst = 0.0f64;
            // Item x: bin, value symbol; lower items win their bin (all orders are relabelings).
            let assignments = (bins * values).pow(4);
            for assignment in 0..assignments {
                let mut place = vec![];
                let mut rest = assignment;
                for _ in 0..4 {
                    place.push((rest % bins, 1 + rest / bins % values));
                    rest /= bins * values;
                }
                let row = |set: u32| {
                    let mut row = vec![0; bins];
                    for x in (0..4).rev().filter(|x| set >> x & 1 == 1) {
                        row[place[x].0] = place[x].1;
                    }
                    row
                };
                for a in 1u32..16 {
                    for b in 1u32..16 {
                        if (a ^ b).count_ones() > alpha {
                            continue;
                        }
                        let (x, y) = (row(a), row(b));
                        let mut total = 0.0;
                        for output in 0..alphabet.pow(bins as u32) {
                            let (mut p, mut q, mut rest) = (1.0, 1.0, output);
                            for i in 0..bins {
                                p *= response(x[i], rest % alphabet, alphabet, keep);
                                q *= response(y[i], rest % alphabet, alphabet, keep);
                                rest /= alphabet;
                            }
                            total += (p - f64::exp(epsilon) * q).max(0.0);
                        }
                        worst = worst.max(total);
                    }
                }
            }
            let stated = profile.log_delta(Epsilon::new(epsilon).expect("epsilon")).delta();
            assert!(stated >= worst - 1e-14, "unsafe: {stated} below {worst}, alpha {alpha}");
            assert!(
                (stated - worst).abs() <= 1e-9 * worst + 1e-14,
                "{stated} {worst} alpha {alpha}"
            );
        }
    }
}

/// Densification breaks the count: one added item changes many slots for some hash functions, so
/// the bound of one bin would be a lie. This is why private bins stay bare.
#[test]
fn densified_slots_change_together() {
    let small = ItemSet::new(vec![1, 2]).expect("set");
    let large = ItemSet::new(vec![1, 2, 3]).expect("set");
    let most = (0..50)
        .map(|seed| {
            let sketch =
                DenseOnePermutation::new(16, dp_core::PublicSeed::new(seed)).expect("bins");
            let m = sketch.sketch(&[small.clone(), large.clone()]);
            16 - matches(m.row(0), m.row(1))
        })
        .max();
    assert!(most > Some(4), "{most:?}");
}

/// Calibration is tight: it meets the budget, and one part in 1e9 less noise does not.
#[test]
fn calibration_meets_the_budget_and_wastes_nothing() {
    let n = SetNeighbours::new(1, 20).expect("neighbours");
    for (l, k, b, epsilon, delta) in [
        (100, 1, 2, 16.0, 1e-4),
        (100, 1, 2, 0.5, 1e-6),
        (100, 2, 16, 8.0, 1e-4),
        (40, 1, 64, 4.0, 0.0),
    ] {
        let shape = SymbolShape::new(l, k, b).expect("shape");
        let budget = Budget::new(epsilon, delta).expect("budget");
        let mechanism = MixtureResponse::calibrate(shape, n, budget).expect("calibrated");
        let profile = mechanism.guarantee().profile().expect("known");
        assert!(profile.log_delta(budget.epsilon) <= budget.delta.ln());
        let keep = mechanism.response().keep().get();
        let loss = (keep * f64::from(b - 1) / (1.0 - keep)).ln();
        let differ = n.differ_probability(k, u64::from(b)).expect("p");
        let family = ResponseFamily { coordinates: l as u64, differ, alphabet: u64::from(b) };
        let bold = 1.0 / (1.0 + f64::from(b - 1) * (-loss * (1.0 + 1e-9)).exp());
        let bold = family.profile(dp_core::Probability::new(bold).expect("keep"));
        assert!(bold.log_delta(budget.epsilon) > budget.delta.ln(), "({l}, {k}, {b}) wastes noise");
    }
}

/// Published numbers of the noisy rule at L = 100, K = 1, tau = 100, delta = 1e-4:
/// beta = 7.4 and a true tail of 1.6e-4, above delta; and what the release really gives.
#[test]
fn noisy_rule_misses_its_tail_and_the_certificate_says_what_is_true() {
    let n = SetNeighbours::new(1, 100).expect("neighbours");
    let make = |epsilon: f64, accept| {
        NoisySecureMinHash::published(
            100,
            1,
            n,
            Budget::new(epsilon, 1e-4).expect("budget"),
            accept,
        )
    };
    let mechanism = make(1.0, Acceptance::AcceptTrueDelta).expect("accepted");
    let expected = 100.0 * 0.5 * 0.01;
    let beta = mechanism.sensitivity() / expected - 1.0;
    assert!((beta - 7.43).abs() < 0.01, "beta {beta}");
    let published_p = 0.5 * 0.01f64;
    let tail = 1.0 - super::estimate::binomial_cdf(4, 100, published_p);
    assert!((tail / 1.6e-4 - 1.0).abs() < 0.05, "tail {tail}");
    assert!(mechanism.tail().expect("tail") > 1e-4);
    // At a small epsilon the real delta is far below the claim; at a large one it is above.
    let small = mechanism.guarantee().true_delta().expect("delta").delta();
    assert!(small < 3e-5, "{small}");
    let error = make(200.0, Acceptance::RequireTarget).expect_err("misses its claim").to_string();
    assert!(error.contains("true delta"), "{error}");
}
