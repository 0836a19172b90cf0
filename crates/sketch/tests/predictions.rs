//! What mechanisms predict of their errors, against releases; and releases that are watched.

use core::ops::ControlFlow;
use dp_core::calibrate::Acceptance;
use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget, Epsilon, FreshSeed, NoiseRng, Probability, PublicSeed};
use sketch::distances::{
    NoiseAddition, RandomizedResponse, ValueRange, noisy_bit_count, noisy_bit_count_interval,
    noisy_bit_distance, noisy_distance,
};
use sketch::projection::{Family, ProjectionSpec};
use sketch::sets::{
    BinResponse, ItemSet, MixtureResponse, NoisySecureMinHash, SetFacts, SetNeighbours, SetPairs,
    SymbolShape,
};
use sketch::signs::{FlipRule, PrivateSigns, SignPairs, SignSketch};
use sketch::vectors::{
    AveragedProjection, MultiScale, Pairs, PrivateProjection, multi_scale_squared_distance,
};
use sketch::{Error, RowsView};

const REPETITIONS: u64 = 3_000;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn budget(epsilon: f64, delta: f64) -> Budget {
    Budget::new(epsilon, delta).unwrap()
}

/// Compares a predicted root mean square with that of so many draws. The standard error of the latter is
/// below 0.027 of it for a kurtosis up to 10: six of them are 0.16, and 1.3 or 0.7 times the
/// prediction are refused.
fn check(name: &str, predicted: f64, truth: f64, draw: impl FnMut(u64) -> f64) {
    let sum: f64 = (0..REPETITIONS).map(draw).map(|x| (x - truth).powi(2)).sum();
    let found = (sum / REPETITIONS as f64).sqrt() / predicted;
    assert!((0.84..1.16).contains(&found), "{name}: {found} of what was predicted");
}

/// Two rows of 16 entries at squared distance 4.
fn rows() -> Vec<f64> {
    let mut values: Vec<f64> = (0..16).map(|i| f64::from(i % 4) / 4.0).collect();
    values.extend(
        values
            .clone()
            .iter()
            .enumerate()
            .map(|(i, x)| x + if i % 2 == 0 { 0.5f64.sqrt() } else { 0.0 }),
    );
    values
}

#[test]
fn vectors_err_as_predicted() {
    let values = rows();
    let rows = RowsView::f64(2, 16, &values).unwrap();
    let attribute = Adjacency::Attribute { beta: bound(0.5) };
    let spec =
        |k, seed| ProjectionSpec::new(Family::Rademacher, 16, k, PublicSeed::new(seed)).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(1);
    let made = |seed| {
        let p = spec(8, seed).build();
        PrivateProjection::gaussian(p, attribute, bound(2.0), budget(4.0, 1e-6)).unwrap()
    };
    let predicted = made(0).predict(4.0).unwrap().root_mean_square;
    check("projection", predicted, 4.0, |r| {
        let release = made(r).release(rows, &mut rng).unwrap();
        Pairs::within(&release).squared_distance(0, 1).unwrap().value
    });
    let averaged =
        AveragedProjection::gaussian(16, 8, attribute, bound(2.0), budget(4.0, 1e-6)).unwrap();
    let predicted = averaged.predict(4.0).unwrap().root_mean_square;
    check("averaged", predicted, 4.0, |r| {
        let fresh = FreshSeed::reproducible_not_private(r);
        let release = averaged.clone().release(fresh, rows, &mut rng).unwrap();
        Pairs::within(&release).squared_distance(0, 1).unwrap().value
    });
    let scales = |seed: u64| {
        let scales = vec![spec(4, 2 * seed).build(), spec(12, 2 * seed + 1).build()];
        MultiScale::gaussian(scales, &[1.0, 1.0], attribute, bound(2.0), budget(4.0, 1e-6)).unwrap()
    };
    let predicted = scales(0).predict(4.0).unwrap().root_mean_square;
    check("multi-scale", predicted, 4.0, |r| {
        let release = scales(r).release(rows, &mut rng).unwrap();
        multi_scale_squared_distance(&release, 0, 1, bound(4.0)).unwrap().value
    });
    assert!(made(0).predict(-1.0).is_err_and(|e| e.to_string().contains("squared distance = -1")));
}

#[test]
fn distances_and_bits_err_as_predicted() {
    let values = rows();
    let rows = RowsView::f64(2, 16, &values).unwrap();
    let attribute = Adjacency::Attribute { beta: bound(0.5) };
    let range = ValueRange::new(0.0, 2.0).unwrap();
    let table = NoiseAddition::new(2, 16, range, attribute, budget(1.0, 1e-6)).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(2);
    check("table", table.predict(()).unwrap().root_mean_square, 4.0, |_| {
        noisy_distance(&table.release(rows, &mut rng).unwrap(), 0, 1).unwrap().value
    });
    let bits = [0xFFFFu64, 0x0FF0];
    let rows = RowsView::bits(2, 16, &bits).unwrap();
    let response = RandomizedResponse::new(16, Epsilon::new(2.0).unwrap()).unwrap();
    check("bits", response.predict(()).unwrap().root_mean_square, 8.0, |_| {
        noisy_bit_distance(&response.release(rows, &mut rng).unwrap(), 0, 1).unwrap().value
    });
}

#[test]
fn signs_err_as_predicted_and_smooth_flips_say_that_they_cannot() {
    let values = rows();
    let rows = RowsView::f64(2, 16, &values).unwrap();
    let adjacency = Adjacency::Attribute { beta: bound(0.5) };
    let made = |rule| {
        let sketch = SignSketch::single(Family::Rademacher, 16, 16, PublicSeed::new(4)).unwrap();
        PrivateSigns::new(sketch, rule, adjacency, bound(2.0), budget(30.0, 0.0)).unwrap()
    };
    let signs = made(FlipRule::RandomizedResponse);
    let exact = signs.sketch().simhash(rows).unwrap();
    let equal = SignPairs::between(&exact, &exact).unwrap().equal_signs(0, 1).unwrap().value;
    let mut rng = NoiseRng::deterministic_not_private(3);
    check("signs", signs.predict(()).unwrap().root_mean_square, equal, |_| {
        let release = signs.release(rows, &mut rng).unwrap();
        SignPairs::between(&release, &release).unwrap().equal_signs(0, 1).unwrap().value
    });
    let smooth = made(FlipRule::OptimalSmooth);
    assert!(matches!(smooth.predict(()), Err(Error::Undefined { .. })));
}

/// A cosine's error is the angle's to second order: `(sin t e)^2 + (cos t e^2)^2 / 2`, of an angle from 0 to pi.
#[test]
fn cosines_from_signs_err_as_their_angles() {
    let values = rows();
    let rows = RowsView::f64(2, 16, &values).unwrap();
    let adjacency = Adjacency::Attribute { beta: bound(0.5) };
    let sketch = SignSketch::single(Family::Gaussian, 16, 16, PublicSeed::new(4)).unwrap();
    let rule = FlipRule::RandomizedResponse;
    let signs = PrivateSigns::new(sketch, rule, adjacency, bound(2.0), budget(90.0, 0.0)).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(5);
    for _ in 0..20 {
        let release = signs.release(rows, &mut rng).unwrap();
        let pairs = SignPairs::between(&release, &release).unwrap();
        let (angle, cosine) = (pairs.angle(0, 1).unwrap(), pairs.cosine(0, 1).unwrap());
        let (t, e) = (angle.value.clamp(0.0, std::f64::consts::PI), angle.standard_error);
        let error = ((t.sin() * e).powi(2) + 0.5 * (t.cos() * e * e).powi(2)).sqrt();
        assert!((cosine.standard_error / error - 1.0).abs() < 1e-12 && cosine.value == t.cos());
    }
}

fn sets() -> [ItemSet; 2] {
    [0..80u64, 20..100].map(|items| ItemSet::new(items.collect()).unwrap())
}

#[test]
fn sets_err_as_predicted() {
    let (sets, similarity) = (sets(), 0.6);
    let facts = SetFacts { size: 80.0, similarity };
    let mut rng = NoiseRng::deterministic_not_private(4);
    let bins = BinResponse::calibrate(256, 8, 1, budget(5.0, 0.0)).unwrap();
    check("bins", bins.predict(facts).unwrap().root_mean_square, similarity, |r| {
        let release = bins.release(&sets, PublicSeed::new(r), &mut rng).unwrap();
        SetPairs::within(&release).jaccard(0, 1).unwrap().value
    });
    let bits = BinResponse::calibrate(512, 1, 1, budget(5.0, 0.0)).unwrap();
    check("occupancy bits", bits.predict(facts).unwrap().root_mean_square, similarity, |r| {
        let release = bits.release(&sets, PublicSeed::new(r), &mut rng).unwrap();
        SetPairs::within(&release).jaccard(0, 1).unwrap().value
    });
    let (shape, neighbours) =
        (SymbolShape::new(128, 1, 4).unwrap(), SetNeighbours::new(1, 80).unwrap());
    let mixture = MixtureResponse::calibrate(shape, neighbours, budget(8.0, 1e-4)).unwrap();
    check("mixture", mixture.predict(facts).unwrap().root_mean_square, similarity, |r| {
        let fresh = FreshSeed::reproducible_not_private(r);
        let release = mixture.release(&sets, fresh, &mut rng).unwrap();
        SetPairs::within(&release).jaccard(0, 1).unwrap().value
    });
    let noisy = (SymbolShape::new(2048, 2, 2).unwrap(), neighbours, Acceptance::AcceptTrueDelta);
    let noisy = NoisySecureMinHash::calibrate(noisy, budget(300.0, 1e-4)).unwrap();
    check("noisy bits", noisy.predict(facts).unwrap().root_mean_square, similarity, |r| {
        let fresh = FreshSeed::reproducible_not_private(r);
        noisy.release(&sets, fresh, &mut rng).unwrap().payload().jaccard(0, 1).unwrap().value
    });
    let letters = (shape, neighbours, Acceptance::AcceptTrueDelta);
    let refused = NoisySecureMinHash::calibrate(letters, budget(9.0, 1e-4)).unwrap_err();
    assert!(refused.to_string().contains("alphabet = 4"), "{refused}");
    let wrong = SetFacts { size: 80.0, similarity: 1.5 };
    assert!(bins.predict(wrong).is_err_and(|e| e.to_string().contains("similarity = 1.5")));
}

#[test]
fn sets_of_two_releases_are_compared_when_their_keys_agree() {
    let [left, right] = sets();
    let bins = BinResponse::calibrate(256, 8, 1, budget(5.0, 0.0)).unwrap();
    let predicted = bins.predict(SetFacts { size: 80.0, similarity: 0.6 }).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(5);
    check("two releases", predicted.root_mean_square, 0.6, |r| {
        let mut one = |set: &ItemSet| {
            bins.release(core::slice::from_ref(set), PublicSeed::new(r), &mut rng).unwrap()
        };
        let (a, b) = (one(&left), one(&right));
        SetPairs::between(&a, &b).unwrap().jaccard(0, 0).unwrap().value
    });
    let of = |m: &BinResponse, seed, rng: &mut NoiseRng| {
        m.release(core::slice::from_ref(&left), PublicSeed::new(seed), rng).unwrap()
    };
    let (a, other_seed) = (of(&bins, 1, &mut rng), of(&bins, 2, &mut rng));
    assert!(matches!(SetPairs::between(&a, &other_seed), Err(Error::Incompatible { .. })));
    let weaker = BinResponse::calibrate(256, 8, 1, budget(6.0, 0.0)).unwrap();
    let error = SetPairs::between(&a, &of(&weaker, 1, &mut rng)).unwrap_err().to_string();
    assert!(error.contains("responses of the two releases"), "{error}");
    // A copy is the same release: a set shares its noise with itself.
    let copy = a.clone();
    let pairs = SetPairs::between(&a, &copy).unwrap();
    assert_eq!(pairs.jaccard(0, 0).unwrap().value, 1.0);
    assert!(pairs.agreeing(0, 0).is_err());
}

#[test]
fn counts_of_answers_are_unbiased_and_covered() {
    let answers: Vec<bool> = (0..60).map(|i| i % 3 == 0).collect();
    let response = RandomizedResponse::new(1, Epsilon::new(1.0).unwrap()).unwrap();
    let mut rng = NoiseRng::deterministic_not_private(6);
    let p = Probability::new(0.95).unwrap();
    let (mut sum, mut held, mut error) = (0.0, 0u32, 0.0);
    for _ in 0..REPETITIONS {
        let release = response.release_bools(&answers, &mut rng).unwrap();
        let count = noisy_bit_count(&release, 0).unwrap();
        (sum, error) = (sum + count.value, count.standard_error);
        held += u32::from(noisy_bit_count_interval(&release, 0, p).unwrap().contains(20.0));
    }
    // Six standard errors: false alarms below 2e-9; the value that flips give alone is 26.9.
    let mean = sum / REPETITIONS as f64;
    let reach = 6.0 * error / (REPETITIONS as f64).sqrt();
    assert!((mean - 20.0).abs() < reach && reach < 2.0, "{mean} within {reach}");
    // Covers with at least 95 %: less than 92.6 % has probability below 1e-9; and it is not everything.
    assert!(held > 2_778 && held < 3_000, "{held} of {REPETITIONS}");
    assert!(response.release_bools(&[], &mut rng).is_ok());
    let two = RandomizedResponse::new(2, Epsilon::new(1.0).unwrap()).unwrap();
    assert!(matches!(two.release_bools(&[true; 3], &mut rng), Err(Error::Length { .. })));
    let release = two.release_bools(&[true; 4], &mut rng).unwrap();
    assert!(matches!(noisy_bit_count(&release, 2), Err(Error::Index { .. })));
}

#[test]
fn a_watched_release_is_the_same_and_can_be_stopped() {
    let values: Vec<f64> = (0..100_000 * 4).map(|i| f64::from(i % 7) / 7.0).collect();
    let rows = RowsView::f64(100_000, 4, &values).unwrap();
    let adjacency = Adjacency::Attribute { beta: bound(1.0) };
    let p = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(1)).unwrap().build();
    let made = PrivateProjection::gaussian(p, adjacency, bound(1.0), budget(1.0, 1e-6)).unwrap();
    let rng = || NoiseRng::deterministic_not_private(7);
    let whole = made.release(rows, &mut rng()).unwrap();
    let mut asked = Vec::new();
    let watched = made
        .release_watched(rows, &mut rng(), &mut |progress| {
            asked.push((progress.done, progress.total));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(watched, whole);
    assert!(asked.len() > 1 && asked.iter().enumerate().all(|(i, a)| a.0 == i as u64), "{asked:?}");
    let stop = &mut |progress: dp_core::mechanism::Progress| match progress.done {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let error = made.release_watched(rows, &mut rng(), stop).unwrap_err().to_string();
    assert!(error.contains("stopped by the caller after 1"), "{error}");
    let sketch = SignSketch::single(Family::Oporp, 4, 2, PublicSeed::new(1)).unwrap();
    let rule = FlipRule::RandomizedResponse;
    let signs = PrivateSigns::new(sketch, rule, adjacency, bound(1.0), budget(1.0, 0.0)).unwrap();
    let error = signs.release_watched(rows, &mut rng(), stop).unwrap_err().to_string();
    assert!(error.contains("nothing is published"), "{error}");
}
