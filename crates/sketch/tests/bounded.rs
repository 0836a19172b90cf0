//! Values of a declared range, one by one: law, estimates, files, refusals, search.

use dp_core::mechanism::Mechanism;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, NoiseRng, PrivacyProfile, Probability, Release, Shift,
};
use sketch::bounded::{
    BoundedConfig, BoundedLaw, BoundedPairs, BoundedQueries, BoundedValues, PrivateBounded,
};
use sketch::distances::ValueRange;
use sketch::search::{BoundedIndex, Score};
use sketch::verify::verify_consistency;
use sketch::{Error, RowsView};

fn config(d: usize, low: f64, high: f64) -> BoundedConfig {
    let range = ValueRange::new(low, high).expect("a range");
    let beta = Shift::new(high - low).expect("a width");
    BoundedConfig { d, range, beta, law: BoundedLaw::LeastError, clip: false }
}

fn law(one_bit: bool) -> BoundedLaw {
    if one_bit { BoundedLaw::OneBit } else { BoundedLaw::LeastError }
}

fn pure(epsilon: f64) -> Budget {
    Budget::new(epsilon, 0.0).expect("a budget")
}

fn mechanism(config: BoundedConfig, epsilon: f64) -> PrivateBounded {
    PrivateBounded::new(config, pure(epsilon)).expect("calibrated")
}

fn rng(seed: u64) -> NoiseRng {
    NoiseRng::deterministic_not_private(seed)
}

fn released(mechanism: &PrivateBounded, rows: &[f64], seed: u64) -> Release<BoundedValues> {
    let d = mechanism.config().d;
    let rows = RowsView::f64(rows.len() / d, d, rows).expect("rows");
    mechanism.release(rows, &mut rng(seed)).expect("released")
}

/// The guarantee is pure, meets the budget, leaves next to nothing of it, and states the profile of one response.
#[test]
fn the_budget_is_met_and_used() {
    for epsilon in [1.0 / 1024.0, 0.1, 1.0, 3.0, 10.0, 32.0] {
        for one_bit in [false, true] {
            let made =
                mechanism(BoundedConfig { law: law(one_bit), ..config(3, 0.0, 1.0) }, epsilon);
            let guarantee = made.guarantee();
            let profile = guarantee.profile().expect("a profile");
            let at = |e: f64| profile.log_delta(dp_core::Epsilon::new(e).expect("epsilon")).get();
            assert_eq!(at(epsilon), f64::NEG_INFINITY, "{epsilon}");
            assert!(at(epsilon * (1.0 - 1e-3)) > f64::NEG_INFINITY, "{epsilon}: all of it is used");
            guarantee.verify().expect("holds together");
        }
    }
    // With a delta a little more is told.
    let more = PrivateBounded::new(config(1, 0.0, 1.0), Budget::new(1.0, 0.05).expect("budget"));
    assert!(more.expect("made").variance() < mechanism(config(1, 0.0, 1.0), 1.0).variance());
}

/// Values at the ends, on the grid and between; bits; ranges far from zero. Errors are never above what is stated, means are
/// right, and intervals cover.
#[test]
fn estimates_err_as_stated_and_intervals_cover() {
    let (d, n) = (12, 600);
    let confidence = Probability::new(0.9).expect("a probability");
    let unit = [0.0, 1.0, 0.5, 0.25, 0.71, 0.0, 0.0, 1.0, 0.33, 0.5, 0.05, 0.98];
    let other = [1.0, 1.0, 0.0, 0.5, 0.29, 0.1, 0.0, 0.0, 0.67, 0.5, 0.95, 0.9];
    for (epsilon, one_bit, low, high) in [
        (0.5, false, 0.0, 1.0),
        (2.0, false, -3.0, 5.0),
        (3.0, true, 0.0, 1.0),
        (5.0, false, 100.0, 100.5),
    ] {
        let made = mechanism(BoundedConfig { law: law(one_bit), ..config(d, low, high) }, epsilon);
        let stretch = |x: &[f64; 12]| x.map(|x| low + (high - low) * x);
        let (x, y) = (stretch(&unit), stretch(&other));
        let rows: Vec<f64> = [x, y].concat().repeat(n);
        let release = released(&made, &rows, 5);
        let view = RowsView::f64(1, d, &y).expect("rows");
        let query = BoundedQueries::exact(release.payload(), view).expect("queries");
        let (within, exact) = (
            BoundedPairs::within(&release),
            BoundedPairs::exact(&release, &query).expect("comparable"),
        );
        let dot = |a: &[f64; 12], b: &[f64; 12]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let distance = dot(&x, &x) + dot(&y, &y) - 2.0 * dot(&x, &y);
        let product = |i: usize, j: usize| {
            let interval = within.inner_product_interval(i, j, confidence);
            (within.inner_product(i, j).expect("estimate"), interval.expect("interval"))
        };
        let apart = |i: usize, j: usize| {
            let interval = within.squared_distance_interval(i, j, confidence);
            (within.squared_distance(i, j).expect("estimate"), interval.expect("interval"))
        };
        let ask = |i: usize, j: usize| {
            let interval = exact.inner_product_interval(i, j, confidence);
            (exact.inner_product(i, j).expect("estimate"), interval.expect("interval"))
        };
        let far = |i: usize, j: usize| {
            let interval = exact.squared_distance_interval(i, j, confidence);
            (exact.squared_distance(i, j).expect("estimate"), interval.expect("interval"))
        };
        type Told<'a> = &'a dyn Fn(usize, usize) -> (sketch::Estimate, sketch::Interval);
        let kinds: [(&str, f64, Told<'_>, bool); 5] = [
            ("product", dot(&x, &y), &|r, _| product(2 * r, 2 * r + 1), true),
            ("norm", dot(&x, &x), &|r, _| product(2 * r, 2 * r), false),
            ("distance", distance, &|r, _| apart(2 * r, 2 * r + 1), false),
            ("asked product", dot(&x, &y), &|r, _| ask(2 * r, 0), true),
            ("asked distance", distance, &|r, _| far(2 * r, 0), false),
        ];
        for (name, truth, told, unbiased) in kinds {
            let told: Vec<_> = (0..n).map(|r| told(r, 0)).collect();
            let stated = told[0].0.standard_error;
            let (mut sum, mut squares, mut missed) = (0.0, 0.0, 0);
            for (estimate, interval) in &told {
                assert_eq!(estimate.standard_error, stated);
                sum += estimate.value - truth;
                squares += (estimate.value - truth).powi(2);
                missed += usize::from(!interval.contains(truth));
            }
            let place = format!("{name} at {epsilon} on [{low}, {high}]");
            let (bias, rms) = (sum / n as f64, (squares / n as f64).sqrt());
            // Five standard errors of a mean of n, and of a root mean square.
            assert!(!unbiased || bias.abs() < 5.0 * stated / (n as f64).sqrt(), "{place}: {bias}");
            assert!(rms < stated * 1.15, "{place}: {rms} of {stated}");
            assert!(missed as f64 <= 0.1 * n as f64, "{place}: {missed} missed");
        }
        // Bits say nothing of squares: the interval knows, where a distance of grid values would not.
        assert_eq!(apart(0, 0).0.value, 0.0);
    }
}

/// Predicted, stated and found errors of a product with a query agree where the law errs most.
#[test]
fn predictions_are_of_the_worst_values() {
    let d = 40;
    for epsilon in [1.0, 3.0] {
        let made = mechanism(config(d, 0.0, 1.0), epsilon);
        let predicted = made.predict((d as f64).sqrt()).expect("predicted").root_mean_square;
        let error = |x: f64| {
            let release = released(&made, &vec![x; d * 3000], 9);
            let sums = release.payload().values();
            let sums = sums.chunks(d).map(|row| row.iter().sum::<f64>() - x * d as f64);
            (sums.map(|e| e * e).sum::<f64>() / 3000.0).sqrt()
        };
        let worst = [0.0, 0.25, 0.5].map(error).into_iter().fold(0.0, f64::max);
        assert!((worst / predicted - 1.0).abs() < 0.08, "{epsilon}: {worst}, said {predicted}");
        let stated = made.variance() * d as f64;
        assert!((stated.sqrt() / predicted - 1.0).abs() < 1e-12);
    }
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(mechanism(config(1, 0.0, 1.0), 1.0).predict(norm).is_err());
    }
}

/// One value that changes moves its own cell alone, whatever streams the rows have; parts and batches do not change the noise.
#[test]
fn rows_have_streams_of_their_own() {
    let made = mechanism(config(5, 0.0, 1.0), 2.0);
    let rows: Vec<f64> = (0..50).map(|i| f64::from(i % 7) / 6.0).collect();
    let mut moved = rows.clone();
    moved[22] = 1.0 - moved[22];
    let (a, b) = (released(&made, &rows, 3), released(&made, &moved, 3));
    let different: Vec<usize> =
        (0..50).filter(|&i| a.payload().values()[i] != b.payload().values()[i]).collect();
    // The row's later values share its stream, whose use may shift: other rows do not.
    assert!(different.iter().all(|i| i / 5 == 22 / 5), "{different:?}");
    let again = released(&made, &rows, 3);
    assert_eq!(a.payload(), again.payload());
    assert_ne!(a.payload(), released(&made, &rows, 4).payload());
    // The same generator twice: new streams.
    let view = RowsView::f64(10, 5, &rows).expect("rows");
    let mut one = rng(3);
    let first = made.release(view, &mut one).expect("released");
    assert_ne!(first.payload(), made.release(view, &mut one).expect("released").payload());
}

#[test]
fn what_no_law_covers_is_refused_before_noise() {
    let one = config(2, 0.0, 1.0);
    for epsilon in [1e-4, 33.0, 1e6] {
        let Err(error) = PrivateBounded::new(one, pure(epsilon)) else { panic!("{epsilon}") };
        assert!(error.to_string().contains("2^-10"), "{error}");
    }
    let narrow = BoundedConfig { beta: Shift::new(0.99).expect("beta"), ..one };
    let error = PrivateBounded::new(narrow, pure(1.0)).expect_err("wider than beta").to_string();
    assert!(error.contains("beta") && error.contains('1'), "{error}");
    assert!(PrivateBounded::new(BoundedConfig { d: 0, ..one }, pure(1.0)).is_err());
    for (low, high) in [(0.0, 0.0), (1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
        assert!(ValueRange::new(low, high).is_err(), "{low} {high}");
    }
    for (low, high) in [(0.0, 5e-324), (0.0, 1e-200), (-1e200, 1e200), (0.0, f64::MAX)] {
        assert!(PrivateBounded::new(config(1, low, high), pure(1.0)).is_err(), "{low} {high}");
    }
    // A width of one step of the last place: values are its two ends.
    let hair = config(2, 1.0, 1.0 + f64::EPSILON);
    let release = released(&mechanism(hair, 30.0), &[1.0, 1.0 + f64::EPSILON], 1);
    assert!(release.payload().values().iter().all(|v| (v - 1.0).abs() < 1e-15));

    let made = mechanism(one, 1.0);
    let mut generator = rng(1);
    for outside in [-1e-300, 1.0 + f64::EPSILON, 1e300] {
        let rows = [0.5, 0.5, 0.5, outside];
        let rows = RowsView::f64(2, 2, &rows).expect("finite");
        let refused = made.release(rows, &mut generator);
        assert!(matches!(refused, Err(Error::OutOfInterval { row: 1, column: 1, .. })));
    }
    assert!(RowsView::f64(1, 2, &[f64::NAN, 0.0]).is_err());
    // Nothing was drawn for what was refused.
    let rows = [0.0, 1.0];
    let rows = RowsView::f64(1, 2, &rows).expect("rows");
    let late = made.release(rows, &mut generator).expect("released");
    assert_eq!(late.payload(), made.release(rows, &mut rng(1)).expect("released").payload());
    // Clipped, they are the ends.
    let clips = mechanism(BoundedConfig { clip: true, ..one }, 1.0);
    assert_eq!(
        released(&clips, &[-7.0, 1e300], 2).payload(),
        released(&clips, &[0.0, 1.0], 2).payload()
    );
}

#[test]
fn files_hold_all_and_forged_ones_are_refused() {
    let made = mechanism(config(3, -1.0, 1.0), 2.0);
    let release = released(&made, &[0.0, 1.0, -1.0, 0.5, 0.25, -0.75], 7);
    verify_consistency(&release).expect("holds together");
    let bytes = encode(&release).expect("written");
    let read: Release<BoundedValues, Certificate> = decode(&bytes).expect("read");
    assert_eq!(read.payload(), release.payload());
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 1;
        assert!(decode::<BoundedValues, Certificate>(&broken).is_err(), "byte {at}");
    }
    // The certificate of another range, of another adjacency, of another response.
    let wide = released(&mechanism(config(3, -2.0, 2.0), 2.0), &[0.0; 6], 7);
    let weak = released(&made_with(4.0), &[0.0; 6], 7);
    for other in [&wide, &weak] {
        let forged = Release::certified(release.payload().clone(), other.certificate().clone());
        assert!(encode(&forged).is_err() && verify_consistency(&forged).is_err());
    }
    // Joined ones count on; another law, range or the same release twice do not join.
    let more = released(&made, &[0.1; 3], 8);
    let joined = BoundedValues::joined(&[release.payload(), more.payload()]).expect("joined");
    assert_eq!((joined.n(), joined.d()), (3, 3));
    for other in [release.payload(), wide.payload(), weak.payload()] {
        assert!(BoundedValues::joined(&[release.payload(), other]).is_err());
    }
    assert!(BoundedPairs::between(&release, &wide).is_err());
    // No rows, and one value a row.
    let none = released(&made, &[], 1);
    let bytes = encode(&none).expect("written");
    let none: Release<BoundedValues, Certificate> = decode(&bytes).expect("read");
    assert_eq!(none.payload().n(), 0);
    assert!(BoundedPairs::within(&none).inner_product(0, 0).is_err());
    assert!(BoundedIndex::denoised(none.payload(), Score::Cosine).is_ok());
    let one = released(&mechanism(config(1, 0.0, 1.0), 1.0), &[0.3, 0.9], 1);
    assert!(BoundedPairs::within(&one).squared_distance(0, 1).is_ok());
    assert!(BoundedIndex::denoised(one.payload(), Score::Cosine).is_ok());
}

fn made_with(epsilon: f64) -> PrivateBounded {
    mechanism(config(3, -1.0, 1.0), epsilon)
}

/// The adjacency that a certificate of a range states is at least as wide, and is that of one attribute.
#[test]
fn the_range_is_held_against_the_adjacency() {
    let wider = BoundedConfig { beta: Shift::new(9.0).expect("beta"), ..config(3, -1.0, 1.0) };
    let release = released(&mechanism(wider, 2.0), &[0.0; 3], 7);
    verify_consistency(&release).expect("beta may be more than the range");
    let json = serde_json::to_value(release.certificate()).expect("JSON");
    assert_eq!(
        release.certificate().guarantee().adjacency(),
        Adjacency::Attribute { beta: wider.beta }
    );
    let narrower = serde_json::to_string(&json).expect("text").replace("9.0", "1.5");
    // Its digest no longer agrees; resealing is in the tests of forged certificates.
    assert!(serde_json::from_str::<Certificate>(&narrower).is_err());
}

/// Two groups of rows: found by cosine, better denoised than not.
#[test]
fn denoising_ranks_better_where_rows_have_structure() {
    let (d, n) = (64, 400);
    let of_group = |group: usize| (0..d).map(move |j| f64::from(u8::from(j % 4 == group)));
    let rows: Vec<f64> = (0..n).flat_map(|i| of_group(i % 4)).collect();
    let release = released(&mechanism(config(d, 0.0, 1.0), 0.5), &rows, 11);
    let items = release.payload();
    let asked: Vec<usize> = (0..40).collect();
    let queries = BoundedQueries::released(items, &asked).expect("queries");
    let exact = BoundedQueries::exact(items, RowsView::f64(40, d, &rows[..40 * d]).expect("rows"));
    let exact = exact.expect("queries");
    let found = |index: BoundedIndex<'_>, queries: &BoundedQueries| {
        let hits = index.top_k(queries, 21).expect("found");
        let good = |q: usize| hits.indices(q).iter().filter(|&&r| r as usize % 4 == q % 4).count();
        (0..40).map(good).sum::<usize>() as f64 / (40.0 * 21.0)
    };
    let plain = found(BoundedIndex::new(items, Score::Cosine).expect("index"), &queries);
    let denoised = || BoundedIndex::denoised(items, Score::Cosine).expect("index");
    let (better, best) = (found(denoised(), &queries), found(denoised(), &exact));
    assert!(better > plain + 0.05 && best >= better && best > 0.9, "{plain} {better} {best}");
    assert!(BoundedIndex::new(items, Score::SquaredDistance).is_err());
    let other = RowsView::f64(1, 2, &[0.0, 1.0]).expect("rows");
    assert!(BoundedQueries::exact(items, other).is_err());
}
