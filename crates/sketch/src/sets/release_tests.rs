//! Releases: certificates, refusals, threads, and estimators on real releases.

use super::*;
use dp_core::calibrate::Acceptance;
use dp_core::{Adjacency, Budget, Epsilon, FreshSeed, NoiseRng, Probability, PublicSeed};

fn set(items: impl Iterator<Item = u64>) -> ItemSet {
    ItemSet::new(items.collect()).expect("set")
}

/// Two sets of 40 items, 30 in common: similarity 0.6.
fn pair() -> [ItemSet; 2] {
    [set(0..40), set((0..30).chain(100..110))]
}

fn mixture(k: usize, b: u32) -> MixtureResponse {
    let n = SetNeighbours::new(1, 20).expect("neighbours");
    let shape = SymbolShape::new(100, k, b).expect("shape");
    MixtureResponse::calibrate(shape, n, Budget::new(16.0, 1e-4).expect("budget"))
        .expect("calibrated")
}

#[test]
fn small_sets_are_refused_without_their_size() {
    let sets = [set(0..40), set(0..7)];
    let mut rng = NoiseRng::deterministic_not_private(1);
    let fresh = FreshSeed::reproducible_not_private(1);
    let error = mixture(1, 2).release(&sets, fresh, &mut rng).expect_err("too small").to_string();
    assert_eq!(error, "set 1 has fewer items than the minimum size 20 that the guarantee needs");
}

#[test]
fn certificates_verify_and_name_their_adjacency() {
    let mut rng = NoiseRng::deterministic_not_private(1);
    let fresh = FreshSeed::reproducible_not_private(1);
    let release = mixture(1, 2).release(&pair(), fresh, &mut rng).expect("release");
    release.certificate().verify_consistency().expect("verifies");
    let adjacency = release.certificate().guarantee().adjacency();
    assert_eq!(adjacency, Adjacency::SetItems { alpha: 1, min_size: 20 });

    let shape = SymbolShape::new(100, 1, 4).expect("shape");
    let bucket = BucketPrivMin::new(shape, Epsilon::new(50.0).expect("epsilon")).expect("bucket");
    let release = bucket.release(&pair(), PublicSeed::new(1), &mut rng).expect("release");
    release.certificate().verify_consistency().expect("verifies");
    assert_eq!(release.certificate().guarantee().adjacency(), Adjacency::AnyInput);
    // Each bucket: keep = e^0.5/(e^0.5 + 3), to the last digits and never above.
    let exact = 0.5f64.exp() / (0.5f64.exp() + 3.0);
    let keep = bucket.response().keep().get();
    assert!(keep <= exact && keep > exact * (1.0 - 1e-9), "{keep} {exact}");
}

#[test]
fn releases_do_not_depend_on_threads() {
    let sets: Vec<ItemSet> = (0..300u64).map(|i| set(i..i + 30)).collect();
    let release = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("pool");
        pool.install(|| {
            let mut rng = NoiseRng::deterministic_not_private(3);
            let bins = BinResponse::calibrate(64, 8, 1, Budget::new(2.0, 0.0).expect("budget"));
            bins.expect("calibrated").release(&sets, PublicSeed::new(4), &mut rng).expect("release")
        })
    };
    assert_eq!(release(1), release(2));
    assert_eq!(release(1), release(8));
}

/// Mean and standard error over repetitions.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// 2,000 releases each, 5.5 standard errors: false alarms below 4e-8 a check.
#[test]
fn estimates_from_releases_are_unbiased() {
    let (sets, j) = (pair(), 0.6f64);
    let mut rng = NoiseRng::deterministic_not_private(11);
    for (k, b) in [(1, 2), (1, 8), (2, 4)] {
        let mechanism = mixture(k, b);
        let law =
            CollisionLaw::new(100, k, u64::from(b), mechanism.response().keep()).expect("law");
        let values: Vec<f64> = (0..2_000)
            .map(|r| {
                let fresh = FreshSeed::reproducible_not_private(r);
                let release = mechanism.release(&sets, fresh, &mut rng).expect("release");
                law.power(SetPairs::within(&release).agreeing(0, 1).expect("rows")).value
            })
            .collect();
        let (mean, se) = moments(&values);
        let truth = j.powi(k as i32);
        assert!((mean - truth).abs() < 5.5 * se, "K {k}, B {b}: {mean} against {truth}");
        assert!((mean - 0.8 * truth).abs() > 5.5 * se, "no power");
        let stated = law.power((100.0 * law.agree(j)).round() as u32).standard_error;
        // The stated error is the longer arm of a discrete interval: at least the spread.
        let ratio = stated / (se * 2_000f64.sqrt());
        assert!((0.95..1.3).contains(&ratio), "{se} {stated}");
    }
}

/// Bins: the counts are unbiased exactly, the ratio that ranks up to a bias below 0.01 (32 to 128 bins).
#[test]
fn bin_estimates_are_nearly_unbiased_with_the_stated_error() {
    let sets = pair();
    let mut rng = NoiseRng::deterministic_not_private(12);
    for (bins, values, epsilon) in [(128, 8, 4.0), (128, 2, 2.0), (64, 16, 8.0)] {
        let budget = Budget::new(epsilon, 0.0).expect("budget");
        let mechanism = BinResponse::calibrate(bins, values, 1, budget).expect("calibrated");
        let (mut ratios, mut found, mut errors, mut empties) = (vec![], vec![], vec![], vec![]);
        for r in 0..2_000 {
            let release = mechanism.release(&sets, PublicSeed::new(r), &mut rng).expect("release");
            let law = BinLaw::of(release.payload()).expect("bins");
            let seen = SetPairs::within(&release).outcomes(0, 1).expect("rows");
            let estimate = law.jaccard(seen);
            ratios.push(law.score(seen));
            found.push(estimate.value);
            errors.push(estimate.standard_error.powi(2));
            empties.push(law.invert_counts(seen)[0]);
        }
        let (mean, se) = moments(&ratios);
        assert!((mean - 0.6).abs() < 0.012 + 5.5 * se, "{bins} bins: {mean}");
        let spread = se * 2_000f64.sqrt();
        let (likeliest, se) = moments(&found);
        assert!((likeliest - 0.6).abs() < 0.05, "{bins} bins: likeliest {likeliest}");
        let of_likeliest = se * 2_000f64.sqrt();
        assert!(of_likeliest < 1.02 * spread, "{bins} bins: {of_likeliest} {spread}");
        let stated = moments(&errors).0.sqrt();
        assert!(
            // The longer arm of a skewed interval, cut to the range.
            (0.9..1.45).contains(&(stated / of_likeliest)),
            "{bins} bins: stated {stated}, seen {of_likeliest}"
        );
        let predicted = law_error(bins, values, &mechanism);
        assert!(
            (predicted / spread - 1.0).abs() < 0.2,
            "{bins} bins: predicted {predicted}, {spread}"
        );
        // 50 items of the union miss a bin with (1 - 1/bins)^50.
        let truth = bins as f64 * (1.0 - 1.0 / bins as f64).powi(50);
        let (mean, se) = moments(&empties);
        assert!((mean - truth).abs() < 5.5 * se, "empty bins {mean} against {truth}");
    }
}

/// What `docs/proofs/one-permutation.md` says of the error where noise hides most bins: 40 items, 100 bins of two values,
/// epsilon 1. The ratio is cut to `[0, 1]`.
#[test]
fn where_noise_hides_bins_the_likeliest_similarity_errs_less() {
    let mut rng = NoiseRng::deterministic_not_private(41);
    let budget = Budget::new(1.0, 0.0).expect("budget");
    let mechanism = BinResponse::calibrate(100, 2, 1, budget).expect("calibrated");
    for (common, [ratio, likeliest]) in [(2, [0.45, 0.32]), (27, [0.43, 0.41]), (38, [0.53, 0.58])]
    {
        let set = |first: u64| (0..common).chain(first..first + 40 - common);
        let sets = [1000, 2000].map(|first| ItemSet::new(set(first).collect()).expect("set"));
        let truth = sets[0].jaccard(&sets[1]);
        let mut sums = [0.0; 2];
        for seed in 0..4_000 {
            let release = mechanism.release(&sets, PublicSeed::new(seed), &mut rng).expect("sets");
            let law = BinLaw::of(release.payload()).expect("bins");
            let seen = SetPairs::within(&release).outcomes(0, 1).expect("rows");
            let found = [law.score(seen).clamp(0.0, 1.0), law.likeliest(seen)];
            sums.iter_mut().zip(found).for_each(|(sum, x)| *sum += (x - truth).powi(2) / 4e3);
        }
        for (sum, said) in sums.into_iter().zip([ratio, likeliest]) {
            assert!((sum.sqrt() - said).abs() < 0.03, "{common}: {} against {said}", sum.sqrt());
        }
    }
}

fn law_error(bins: usize, values: u32, mechanism: &BinResponse) -> f64 {
    let law = BinLaw::new(bins, u64::from(values), mechanism.response().keep()).expect("law");
    law.standard_error_at(40.0, 0.6)
}

/// The law that ranking and planning use, against releases.
#[test]
fn outcome_probabilities_describe_releases() {
    let sets = pair();
    let mut rng = NoiseRng::deterministic_not_private(13);
    let budget = Budget::new(3.0, 0.0).expect("budget");
    let mechanism = BinResponse::calibrate(64, 4, 1, budget).expect("calibrated");
    let mut counts = [0u64; 4];
    const R: u64 = 2_000;
    let law = BinLaw::new(64, 4, mechanism.response().keep()).expect("law");
    for r in 0..R {
        let release = mechanism.release(&sets, PublicSeed::new(r), &mut rng).expect("release");
        let seen = SetPairs::within(&release).outcomes(0, 1).expect("rows");
        counts.iter_mut().zip(seen).for_each(|(c, s)| *c += u64::from(s));
    }
    for (count, p) in counts.iter().zip(law.outcome_probabilities(40.0, 0.6)) {
        let n = (64 * R) as f64;
        // Bins are negatively dependent: the binomial error is an upper bound.
        assert!((*count as f64 / n - p).abs() < 5.5 * (p * (1.0 - p) / n).sqrt(), "{counts:?} {p}");
    }
}

#[test]
fn noisy_bits_estimate_is_unbiased_with_the_stated_variance() {
    let n = SetNeighbours::new(1, 20).expect("neighbours");
    let claimed = Budget::new(32.0, 1e-4).expect("budget");
    let mechanism = NoisySecureMinHash::published(100, 1, n, claimed, Acceptance::AcceptTrueDelta)
        .expect("built");
    let mut rng = NoiseRng::deterministic_not_private(14);
    let (mut values, mut errors) = (vec![], vec![]);
    for r in 0..2_000 {
        let fresh = FreshSeed::reproducible_not_private(r);
        let release = mechanism.release(&pair(), fresh, &mut rng).expect("release");
        release.certificate().verify_consistency().expect("verifies");
        let estimate = release.payload().power(0, 1).expect("rows");
        values.push(estimate.value);
        errors.push(estimate.standard_error.powi(2));
    }
    let (mean, se) = moments(&values);
    assert!((mean - 0.6).abs() < 5.5 * se, "{mean}");
    let stated = moments(&errors).0.sqrt();
    let ratio = stated / (se * 2_000f64.sqrt());
    assert!((0.95..1.3).contains(&ratio), "{stated} {se}");
}

#[test]
fn useless_parameters_are_named() {
    let budget = Budget::new(1.0, 0.0).expect("budget");
    assert!(
        BinResponse::calibrate(10, 0, 1, budget)
            .is_err_and(|e| e.to_string().contains("values of a bin = 0"))
    );
    assert!(
        BinResponse::calibrate(0, 2, 1, budget).is_err_and(|e| e.to_string().contains("bins = 0"))
    );
    assert!(SymbolShape::new(10, 1, 1).is_err_and(|e| e.to_string().contains("alphabet = 1")));
    let one = Probability::new(1.0).expect("one");
    assert!(BinLaw::new(10, 1, one).is_err_and(|e| e.to_string().contains("10 x 1")));
}

/// What is read is as valid as what is made.
#[test]
fn parameters_out_of_range_are_not_read() {
    let facts = |text: &str| serde_json::from_str::<SymbolFacts>(text).map_err(|e| e.to_string());
    let m = BucketPrivMin::new(SymbolShape::new(20, 1, 4).unwrap(), Epsilon::new(8.0).unwrap());
    let mut rng = NoiseRng::deterministic_not_private(11);
    let release = m.unwrap().release(&pair(), PublicSeed::new(1), &mut rng).unwrap();
    let good = serde_json::to_string(release.payload().facts()).unwrap();
    facts(&good).unwrap();
    let old = facts(&good.replace("fold64/v2", "fold64/v1")).unwrap_err();
    assert!(old.contains("fold64/v1") && old.contains("fold64/v2"), "{old}");
    let edits = [
        (r#""slots":20"#, r#""slots":0"#, "slots = 0"),
        (r#""slots":20"#, r#""slots":2000000"#, "slots = 2000000"),
        (r#""alphabet":4"#, r#""alphabet":1"#, "alphabet = 1"),
        (r#""alphabet":4"#, r#""alphabet":5"#, "sketch"),
        (r#""concatenation":1"#, r#""concatenation":0"#, "concatenation = 0"),
        (r#""concatenation":1"#, r#""concatenation":9"#, "sketch"),
    ];
    for (from, to, named) in edits {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let error = facts(&text).unwrap_err();
        assert!(error.contains(named), "{to}: {error}");
    }
    let keep = good.find(r#""keep":"#).expect("keep");
    let useless = format!("{}\"keep\":0.25}}", &good[..keep]);
    assert!(facts(&useless).unwrap_err().contains("keep probability = 0.25"));
    let scheme = r#"{"sketch":"minhash","slots":0,"seed":1,"hash":"fold64/v2"}"#;
    assert!(serde_json::from_str::<Scheme>(scheme).is_err());
    for shape in ["[0, 1, 4]", "[4, 0, 4]", "[4, 1, 1]", "[4294967296, 4294967296, 4]"] {
        let [l, k, b] = serde_json::from_str::<[u64; 3]>(shape).unwrap();
        let text = format!(r#"{{"positions":{l},"concatenation":{k},"alphabet":{b}}}"#);
        assert!(serde_json::from_str::<SymbolShape>(&text).is_err(), "{text}");
    }
}
