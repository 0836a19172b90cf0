//! Private signs: laws of the flips, guarantees, estimators.

use dp_core::noise::NoiseLaw;
use dp_core::profile::PrivacyProfile;
use dp_core::{
    Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, Profile, Provenance, PublicSeed, Release,
    Shift,
};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, Sampling};
use sketch::signs::changes::Tail;
use sketch::signs::{
    FlipRule, FlipTable, FreshConfig, FreshSigns, IndividualNoise, IndividualSigns, NormFloor,
    PrivateSigns, SignPairs, SignSketch, cosine_to_public_row,
};

pub(crate) const ONE: f64 = 1.0;

pub(crate) fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

pub(crate) fn attribute(beta: f64) -> Adjacency {
    Adjacency::Attribute { beta: bound(beta) }
}

pub(crate) fn noise() -> NoiseRng {
    NoiseRng::deterministic_not_private(5)
}

pub(crate) fn uniform(len: usize, stream: u64) -> Vec<f64> {
    let mut rng = PublicSeed::new(2).generator(stream);
    (0..len).map(|_| (rng.next_u64() >> 11) as f64 * 2f64.powi(-52) - 1.0).collect()
}

pub(crate) fn rows(d: usize, values: &[f64]) -> RowsView<'_> {
    RowsView::f64(values.len() / d, d, values).unwrap()
}

pub(crate) fn oporp(bits: usize, repetitions: usize, d: usize) -> SignSketch {
    SignSketch::repeated(Family::Oporp, d, bits, repetitions, PublicSeed::new(4)).unwrap()
}

/// What a ledger counts for a change of one attribute that is several times as large covers the very probabilities that signs are flipped
/// with, at any two levels from -9 to 9 that such a change joins; with smooth flips it is more than as many responses that differ once.
#[test]
fn a_larger_change_of_one_attribute_moves_the_same_signs_again() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    for rule in [FlipRule::RandomizedResponse, FlipRule::PublishedSmooth, FlipRule::OptimalSmooth] {
        let signs = PrivateSigns::new(oporp(1, 1, 1), rule, attribute(0.1), bound(ONE), budget);
        let guarantee = signs.unwrap().guarantee().clone();
        let Some(&Profile::RandomizedResponse { bits: 1, keep }) = guarantee.profile() else {
            panic!("{:?}", guarantee.profile())
        };
        let table = FlipTable::new(rule, keep).unwrap();
        let plus = |level: i32| {
            let flip = table.flip(level.unsigned_abs()).get();
            if level > 0 { 1.0 - flip } else { flip }
        };
        let mut above = 0;
        for steps in 2..=5_u64 {
            let wide = guarantee.profile_under(attribute(0.1 * steps as f64)).unwrap().unwrap();
            let once = Profile::RandomizedResponse { bits: steps, keep };
            // Levels without zero, which lies between the neighbours 1 and -1.
            let levels: Vec<i32> = (-9..=9).filter(|&level| level != 0).collect();
            for pair in levels.windows(steps as usize + 1) {
                for (here, there) in [(0, steps as usize), (steps as usize, 0)] {
                    let (p, q) = (plus(pair[here]), plus(pair[there]));
                    for epsilon in [1e-9, 0.3, 1.0, 2.0, 3.0] {
                        let e = f64::exp(epsilon);
                        let lost = (p - e * q).max(0.0) + (1.0 - p - e * (1.0 - q)).max(0.0);
                        let at = dp_core::Epsilon::new(epsilon).unwrap();
                        assert!(lost <= wide.log_delta(at).delta() + 1e-12, "{rule:?} {pair:?}");
                        above += u32::from(lost > once.log_delta(at).delta() + 1e-3);
                    }
                }
            }
        }
        assert_eq!(above > 0, rule != FlipRule::RandomizedResponse, "{rule:?}: {above}");
    }
}

#[test]
fn flips_follow_the_table_at_every_level_and_zeros_are_coins() {
    // One attribute a bin, so every projected value is known up to its public sign.
    let (d, n, beta) = (16, 40_000, 0.05);
    let row: Vec<f64> = (0..d).map(|i| 0.02 * i as f64 * beta / 0.05).collect();
    let values: Vec<f64> = row.iter().copied().cycle().take(n * d).collect();
    let exact = oporp(d, 1, d).simhash(rows(d, &row)).unwrap();
    for rule in [FlipRule::RandomizedResponse, FlipRule::PublishedSmooth, FlipRule::OptimalSmooth] {
        let budget = Budget::new(0.8, 0.0).unwrap();
        let signs =
            PrivateSigns::new(oporp(d, 1, d), rule, attribute(beta), bound(ONE), budget).unwrap();
        let released = signs.release(rows(d, &values), &mut noise()).unwrap();
        released.certificate().verify_consistency().unwrap();
        // Which bin holds which attribute: project unit rows.
        for (i, &value) in row.iter().enumerate() {
            let mut unit = vec![0.0; d];
            signs.sketch().parts()[0].row(i, &mut unit);
            let bin = unit.iter().position(|w| *w != 0.0).unwrap();
            let level = (value / beta - 1e-9).ceil() as u32;
            let expected = signs.flips().flip(level).get();
            let sign = exact.payload().bits().get(0, bin);
            let bits = released.payload().bits();
            let flipped = (0..n).filter(|&r| bits.get(r, bin) != sign).count() as f64 / n as f64;
            // Six standard errors: false alarms below 2e-9 each.
            let error = 6.0 * (expected * (1.0 - expected) / n as f64).sqrt();
            assert!((flipped - expected).abs() < error, "{rule:?} {i}: {flipped} {expected}");
            // Rare flips would need more rows to tell 0.7 and 1.3 times them apart.
            if expected > 0.03 {
                assert!((flipped - 0.7 * expected).abs() > error, "no power at x0.7");
                assert!((flipped - 1.3 * expected).abs() > error, "no power at x1.3");
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_and_follow_the_seed() {
    let (d, n) = (50, 9000);
    let values = uniform(n * d, 1);
    for rule in [FlipRule::RandomizedResponse, FlipRule::OptimalSmooth] {
        let budget = Budget::new(2.0, 0.0).unwrap();
        let signs =
            PrivateSigns::new(oporp(48, 4, d), rule, attribute(0.5), bound(ONE), budget).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| signs.release(rows(d, &values), &mut noise()).unwrap())
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(8));
        let mut rng = noise();
        let first = signs.release(rows(d, &values), &mut rng).unwrap();
        let second = signs.release(rows(d, &values), &mut rng).unwrap();
        assert_ne!(first, second, "noise was used again");
    }
}

#[test]
fn budgets_are_shared_by_the_bits_one_attribute_touches() {
    let budget = Budget::new(2.0, 0.0).unwrap();
    let keep = |sketch: SignSketch, budget| {
        let rule = FlipRule::OptimalSmooth;
        let signs = PrivateSigns::new(sketch, rule, attribute(1.0), bound(ONE), budget).unwrap();
        assert!(matches!(signs.guarantee().provenance(), Provenance::Proven { .. }));
        let k = signs.flips().keep().get();
        (k / (1.0 - k)).ln()
    };
    assert!((keep(oporp(64, 1, 100), budget) - 2.0).abs() < 1e-6);
    assert!((keep(oporp(64, 4, 100), budget) - 0.5).abs() < 1e-6);
    let dense = |family| SignSketch::single(family, 100, 64, PublicSeed::new(1)).unwrap();
    assert!((keep(dense(Family::Gaussian), budget) - 2.0 / 64.0).abs() < 1e-6);
    let sparse = Family::SparseJl { nonzeros: 8 };
    assert!((keep(dense(sparse), budget) - 2.0 / 8.0).abs() < 1e-6);
    // Exact composition: with delta the 64 bits of a dense projection get far more.
    let approximate = Budget::new(2.0, 1e-6).unwrap();
    let composed = keep(dense(Family::Rademacher), approximate);
    assert!(composed > 0.05 && composed < 0.1, "{composed}");
}

#[test]
fn adjacencies_and_rows_outside_the_declaration_are_refused() {
    let budget = Budget::new(1.0, 0.0).unwrap();
    let shift = Adjacency::RowShift { l2: bound(1.0) };
    let rule = FlipRule::OptimalSmooth;
    assert!(PrivateSigns::new(oporp(8, 1, 8), rule, shift, bound(ONE), budget).is_err());
    let signs =
        PrivateSigns::new(oporp(8, 1, 8), rule, attribute(1.0), bound(ONE), budget).unwrap();
    let error = signs.release(rows(8, &[2.0; 8]), &mut noise()).unwrap_err().to_string();
    assert!(error.contains("row 0") && !error.contains('2'), "{error}");
    assert!(signs.release(rows(7, &[0.0; 7]), &mut noise()).is_err());
    assert!(SignSketch::repeated(Family::Oporp, 8, 8, 3, PublicSeed::new(1)).is_err());
    assert!(SignSketch::new(vec![]).is_err());
}

fn config(bits: usize, floor: NormFloor, beta: f64) -> FreshConfig {
    FreshConfig { d: 200, bits, floor, bound: bound(ONE), adjacency: attribute(beta) }
}

#[test]
fn the_exact_mixture_beats_the_published_bound_and_both_say_what_they_are() {
    let config = config(128, NormFloor::Lifted(bound(3.0)), 0.5);
    let budget = Budget::new(2.0, 1e-6).unwrap();
    let exact = FreshSigns::exact(config, budget).unwrap();
    let keep = |signs: &FreshSigns| signs.flips().keep().get();
    assert!(matches!(exact.guarantee().provenance(), Provenance::Proven { .. }));
    for tail in [Tail::Chernoff, Tail::Quantile] {
        for family in [Family::Gaussian, Family::Rademacher] {
            let published = FreshSigns::published(config, family, tail, budget).unwrap();
            assert!(keep(&exact) > keep(&published), "{family:?} {tail:?}");
            let Provenance::Published { caveat, .. } = published.guarantee().provenance() else {
                panic!("{family:?} is not marked as published");
            };
            let known = published.guarantee().profile().is_some();
            assert_eq!(known, family == Family::Gaussian, "{caveat}");
        }
    }
    assert!(FreshSigns::published(config, Family::Oporp, Tail::Chernoff, budget).is_err());
    let values = uniform(200 * 3, 3);
    let seed = FreshSeed::reproducible_not_private(8);
    let release = exact.release(rows(200, &values), seed, &mut noise()).unwrap();
    release.certificate().verify_consistency().unwrap();
    assert_eq!(release.payload().projections()[0].d(), 201);
    // A promise that does not hold is refused.
    let promised = FreshConfig { floor: NormFloor::Promised(bound(3.0)), ..config };
    let exact = FreshSigns::exact(promised, budget).unwrap();
    let seed = FreshSeed::reproducible_not_private(8);
    assert!(exact.release(rows(200, &[0.1; 200]), seed, &mut noise()).is_err());
}

#[test]
fn the_number_of_differing_signs_is_binomial_for_the_worst_pair() {
    // (-beta/2, b) and (beta/2, b), norm m: the pair that attains the stated probability.
    let (d, bits, beta, m) = (40, 40, 1.0, 2.0f64);
    let mut pair = vec![0.0; 2 * d];
    (pair[0], pair[d]) = (-beta / 2.0, beta / 2.0);
    let rest = ((m * m - beta * beta / 4.0) / (d - 1) as f64).sqrt();
    pair[1..d].fill(rest);
    pair[d + 1..].fill(rest);
    let signs = FreshSigns::exact(
        FreshConfig {
            d,
            bits,
            floor: NormFloor::Promised(bound(m - 1e-9)),
            bound: bound(ONE),
            adjacency: attribute(beta),
        },
        Budget::new(2.0, 1e-5).unwrap(),
    )
    .unwrap();
    let Some(Profile::BinomialMixture { trials, probability, .. }) = signs.guarantee().profile()
    else {
        panic!("not a mixture");
    };
    assert_eq!(*trials, bits as u64);
    let p = probability.get();
    let draws = 1500;
    let differing = (0..draws).map(|seed| {
        let sketch = SignSketch::single(Family::Gaussian, d, bits, PublicSeed::new(seed)).unwrap();
        let exact = sketch.simhash(rows(d, &pair)).unwrap();
        let exact = exact.payload();
        f64::from(exact.hamming(0, exact, 1).unwrap())
    });
    let counts: Vec<f64> = differing.collect();
    let mean = counts.iter().sum::<f64>() / draws as f64;
    let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / draws as f64;
    let n = bits as f64;
    // Six standard errors of the mean; eight of the variance (a binomial's kurtosis is near 3).
    let error = 6.0 * (n * p * (1.0 - p) / draws as f64).sqrt();
    assert!((mean - n * p).abs() < error, "{mean} against {}", n * p);
    assert!((mean - 0.7 * n * p).abs() > error && (mean - 1.3 * n * p).abs() > error);
    let expected = n * p * (1.0 - p);
    assert!((variance / expected - 1.0).abs() < 8.0 * (2.0 / draws as f64).sqrt(), "{variance}");
}

#[test]
fn individual_privacy_touches_only_signs_in_reach_and_keeps_their_number_secret() {
    let (d, n, beta) = (60, 600, 0.1);
    let mut values = uniform(n * d, 6);
    // Half the rows are ten times smaller: far more of their signs are in reach.
    values[n / 2 * d..].iter_mut().for_each(|x| *x *= 0.1);
    for kind in [IndividualNoise::Gaussian, IndividualNoise::RandomizedResponse] {
        let delta = if kind == IndividualNoise::Gaussian { 1e-6 } else { 0.0 };
        let budget = Budget::new(0.5, delta).unwrap();
        for family in [Family::Rademacher, Family::Gaussian, Family::Oporp] {
            let d_bits = if family == Family::Oporp { 32 } else { 48 };
            let sketch = SignSketch::single(family, d, d_bits, PublicSeed::new(3)).unwrap();
            let exact = sketch.simhash(rows(d, &values)).unwrap();
            let mut projected = vec![0.0; n * d_bits];
            sketch.parts()[0].apply(rows(d, &values), &mut projected).unwrap();
            let mut reach = vec![0.0f64; d_bits];
            let mut row = vec![0.0; d_bits];
            for i in 0..d {
                sketch.parts()[0].row(i, &mut row);
                reach.iter_mut().zip(&row).for_each(|(r, w)| *r = r.max(beta * w.abs()));
            }
            let signs =
                IndividualSigns::new(sketch, kind, attribute(beta), bound(ONE), budget).unwrap();
            let release = signs.release(rows(d, &values), &mut noise()).unwrap();
            let (mut near, mut flipped) = (0, 0);
            for r in 0..n {
                for j in 0..d_bits {
                    let same =
                        release.payload().bits().get(r, j) == exact.payload().bits().get(r, j);
                    if projected[r * d_bits + j].abs() > reach[j] * (1.0 + 1e-6) {
                        assert!(same, "{family:?} {kind:?}: a sign out of reach changed");
                    } else {
                        near += 1;
                        flipped += usize::from(!same);
                    }
                }
            }
            let share = flipped as f64 / near as f64;
            assert!(near > 1000 && share > 0.2 && share < 0.6, "{family:?} {kind:?} {share}");
            // The certificate of the small rows is that of the large ones.
            let half = |from: usize| {
                let part = &values[from * d..(from + n / 2) * d];
                signs.release(rows(d, part), &mut noise()).unwrap().certificate().clone()
            };
            assert_eq!(half(0), half(n / 2), "the certificate depends on the data");
            assert!(matches!(release.payload().noise(), NoiseLaw::DataDependent { .. }));
            let warning = &release.certificate().warning;
            assert!(warning.contains("not differential privacy"));
        }
    }
}

/// Two unit rows at a given angle, in `d` features.
fn at_angle(d: usize, theta: f64) -> Vec<f64> {
    let mut pair = vec![0.0; 2 * d];
    (pair[0], pair[d], pair[d + 1]) = (1.0, theta.cos(), theta.sin());
    pair
}

#[test]
fn angles_are_unbiased_with_the_stated_error_and_the_variance_of_theorem_4_6() {
    let (d, bits, theta) = (64, 64, 1.0);
    let pair = at_angle(d, theta);
    let budget = Budget::new(120.0, 0.0).unwrap();
    let repetitions = 1500;
    let mut rng = noise();
    let (mut angles, mut errors, mut cosines) = (Vec::new(), 0.0, 0.0);
    let mut keep = 0.0;
    for seed in 0..repetitions {
        let sketch = SignSketch::single(Family::Gaussian, d, bits, PublicSeed::new(seed)).unwrap();
        let rule = FlipRule::RandomizedResponse;
        let signs = PrivateSigns::new(sketch, rule, attribute(1.0), bound(ONE), budget).unwrap();
        keep = signs.flips().keep().get();
        let release = signs.release(rows(d, &pair), &mut rng).unwrap();
        let pairs = SignPairs::between(&release, &release).unwrap();
        let angle = pairs.angle(0, 1).unwrap();
        angles.push(angle.value);
        errors += angle.standard_error.powi(2);
        cosines += pairs.cosine(0, 1).unwrap().value;
    }
    let n = repetitions as f64;
    let mean = angles.iter().sum::<f64>() / n;
    let variance = angles.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / n;
    // Theorem 4.6: Var = pi^2 c (1 - c) / (k (2q - 1)^4).
    let signal = (2.0 * keep - 1.0).powi(2);
    let c = 0.5 + signal * (0.5 - theta / std::f64::consts::PI);
    let expected = std::f64::consts::PI.powi(2) * c * (1.0 - c) / (bits as f64 * signal.powi(2));
    assert!((mean - theta).abs() < 6.0 * (expected / n).sqrt(), "{mean}");
    // Seven standard errors of a variance, and two per cent for the pseudo-counts.
    assert!((variance / expected - 1.0).abs() < 7.0 * (2.0 / n).sqrt(), "{variance} {expected}");
    assert!((errors / n / expected - 1.0).abs() < 0.02, "{} {expected}", errors / n);
    // The cosine is clamped and curved, hence biased by about cos(theta) variance / 2.
    assert!((cosines / n - theta.cos()).abs() < expected, "{}", cosines / n);
}

#[test]
fn reading_a_public_query_whole_beats_counting_collisions() {
    let (d, bits) = (64, 64);
    let budget = Budget::new(160.0, 0.0).unwrap();
    for (theta, factor) in [(0.35f64, 1.25), (0.8, 1.15), (1.5, 1.1)] {
        let pair = at_angle(d, theta);
        let (mut plain, mut likely, mut claimed) = (0.0, 0.0, 0.0);
        let repetitions = 300;
        let mut rng = noise();
        for seed in 0..repetitions {
            let sketch =
                SignSketch::single(Family::Gaussian, d, bits, PublicSeed::new(seed)).unwrap();
            let exact = sketch.simhash(rows(d, &pair[..d])).unwrap();
            let rule = FlipRule::RandomizedResponse;
            let signs =
                PrivateSigns::new(sketch, rule, attribute(1.0), bound(ONE), budget).unwrap();
            let release = signs.release(rows(d, &pair[d..]), &mut rng).unwrap();
            let collisions = SignPairs::between(&exact, &release).unwrap().cosine(0, 0).unwrap();
            let confidence = dp_core::Probability::new(0.95).unwrap();
            let (whole, _) =
                cosine_to_public_row(signs.sketch(), &pair[..d], &release, 0, confidence).unwrap();
            plain += (collisions.value - theta.cos()).powi(2);
            likely += (whole.value - theta.cos()).powi(2);
            claimed += whole.standard_error.powi(2);
        }
        assert!(plain > factor * likely, "theta {theta}: {plain} against {likely}");
        assert!((0.6..1.6).contains(&(claimed / likely)), "theta {theta}: {claimed} {likely}");
    }
}

#[test]
fn estimators_refuse_what_they_cannot_invert() {
    let budget = Budget::new(3.0, 0.0).unwrap();
    let release = |seed, rule| -> Release<_, _> {
        let sketch = SignSketch::single(Family::Rademacher, 8, 8, PublicSeed::new(seed)).unwrap();
        let signs = PrivateSigns::new(sketch, rule, attribute(1.0), bound(ONE), budget).unwrap();
        signs.release(rows(8, &uniform(16, 9)), &mut noise()).unwrap()
    };
    let plain = release(1, FlipRule::RandomizedResponse);
    let smooth = release(1, FlipRule::OptimalSmooth);
    let other = release(2, FlipRule::RandomizedResponse);
    assert!(SignPairs::between(&plain, &plain).unwrap().hamming(0, 1).unwrap().value.is_finite());
    assert!(SignPairs::between(&plain, &plain).unwrap().angle(0, 2).is_err());
    assert!(SignPairs::between(&plain, &smooth).is_err());
    assert!(SignPairs::between(&plain, &other).is_err());
    let profile = plain.certificate().guarantee().profile().unwrap();
    assert!(profile.log_delta(budget.epsilon).delta() == 0.0);
}

#[test]
fn every_family_can_be_signed() {
    let budget = Budget::new(8.0, 1e-6).unwrap();
    let values = uniform(3 * 40, 12);
    for family in [
        Family::Gaussian,
        Family::Rademacher,
        Family::Achlioptas,
        Family::VerySparse,
        Family::SparseJl { nonzeros: 4 },
        Family::Srht { sampling: Sampling::WithoutReplacement },
        Family::CountSketch,
        Family::Oporp,
    ] {
        let sketch = SignSketch::repeated(family, 40, 64, 2, PublicSeed::new(1)).unwrap();
        for rule in [FlipRule::RandomizedResponse, FlipRule::OptimalSmooth] {
            let signs = PrivateSigns::new(sketch.clone(), rule, attribute(1.0), bound(ONE), budget)
                .unwrap();
            let release = signs.release(rows(40, &values), &mut noise()).unwrap();
            release.certificate().verify_consistency().unwrap();
            assert_eq!((release.payload().bits().n(), release.payload().bits().bits()), (3, 64));
        }
    }
}

#[test]
fn a_refusal_names_the_row_in_the_callers_data() {
    let (n, d) = (5000, 20);
    let one = EntryBound::new(1.0).expect("positive");
    let budget = Budget::new(5.0, 0.0).expect("valid");
    for family in [Family::Oporp, Family::Gaussian] {
        let sketch = SignSketch::single(family, d, 8, PublicSeed::new(4)).expect("valid");
        let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
        let rule = FlipRule::OptimalSmooth;
        let signs = PrivateSigns::new(sketch, rule, adjacency, one, budget).expect("calibrates");
        let mut values = vec![0.5; n * d];
        values[4711 * d + 3] = 1.5;
        values[4800 * d] = -2.0;
        let rows = RowsView::f64(n, d, &values).expect("finite");
        let mut rng = NoiseRng::deterministic_not_private(1);
        let error = signs.release(rows, &mut rng).expect_err("out of range").to_string();
        assert!(error.contains("row 4711") && error.contains("column 3"), "{error}");
    }
}
