//! Categories and bits by randomised response: law, shares, files, refusals.

use dp_core::noise::NoiseLaw;
use dp_core::release_file::{decode, encode};
use dp_core::{Budget, Certificate, NoiseRng, Probability, Profile, Release, Shift, calibrate};
use sketch::bounded::{BoundedConfig, BoundedLaw, BoundedValues, CategoryCounts, PrivateBounded};
use sketch::distances::ValueRange;
use sketch::verify::verify_consistency;
use sketch::{Error, RowsView};

fn config(d: usize, categories: u64) -> BoundedConfig {
    let last = (categories - 1) as f64;
    let range = ValueRange::new(0.0, last).expect("a range");
    let (beta, law) = (Shift::new(last).expect("beta"), BoundedLaw::Categories(categories));
    BoundedConfig { d, range, beta, law, clip: false }
}

fn pure(epsilon: f64) -> Budget {
    Budget::new(epsilon, 0.0).expect("a budget")
}

fn made(d: usize, categories: u64, epsilon: f64) -> PrivateBounded {
    PrivateBounded::new(config(d, categories), pure(epsilon)).expect("calibrated")
}

fn released(mechanism: &PrivateBounded, rows: &[f64], seed: u64) -> Release<BoundedValues> {
    let d = mechanism.config().d;
    let view = RowsView::f64(rows.len() / d, d, rows).expect("rows");
    mechanism.release(view, &mut NoiseRng::deterministic_not_private(seed)).expect("released")
}

/// The response of the certificate is that of the profile, and answers come as often as it says: exact counts of two columns.
#[test]
fn answers_are_those_of_one_response() {
    for (categories, epsilon) in [(2u64, 0.7), (3, 2.0), (7, 1.5), (256, 6.0)] {
        let mechanism = made(2, categories, epsilon);
        let guarantee = mechanism.guarantee();
        let keep = calibrate::kary_response(pure(epsilon), 1, categories).expect("calibrated");
        let expected = Profile::KaryResponse { responses: 1, alphabet: categories, keep };
        assert_eq!(guarantee.profile(), Some(&expected));
        guarantee.verify().expect("holds together");
        let n = 40_000;
        let last = (categories - 1) as f64;
        let rows = [last, 0.0].repeat(n);
        let release = released(&mechanism, &rows, 3);
        let law = NoiseLaw::KaryResponse { alphabet: categories, keep };
        assert_eq!(release.certificate().statement().noise, law);
        for (column, truth) in [(0, last as u8), (1, 0)] {
            let mut seen = vec![0usize; categories as usize];
            for row in 0..n {
                seen[usize::from(release.payload().answer(row, column).expect("an answer"))] += 1;
            }
            let other = (1.0 - keep.get()) / last;
            for (answer, &seen) in seen.iter().enumerate() {
                let p = if answer == usize::from(truth) { keep.get() } else { other };
                let deviation = (n as f64 * p * (1.0 - p)).sqrt();
                let off = (seen as f64 - n as f64 * p).abs();
                assert!(
                    off < 6.0 * deviation + 3.0,
                    "{categories} {column} {answer}: {seen} of {p}"
                );
            }
        }
    }
}

/// Shares of many columns at once: unbiased, errors as stated and predicted, intervals cover.
#[test]
fn shares_err_as_stated_and_intervals_cover() {
    let (d, n) = (400, 500);
    let confidence = Probability::new(0.9).expect("a probability");
    for (categories, epsilon) in [(2u64, 1.0), (4, 0.5), (5, 3.0)] {
        let mechanism = made(d, categories, epsilon);
        // Category j has about j parts.
        let all: u64 = (0..categories).sum();
        let of_row = |row: u64| (0..categories).find(|c| row % all < (0..=*c).sum()).unwrap_or(0);
        let truth =
            |category: u64| (0..n as u64).filter(|&row| of_row(row) == category).count() as f64;
        let rows: Vec<f64> = (0..n as u64).flat_map(|row| vec![of_row(row) as f64; d]).collect();
        let release = released(&mechanism, &rows, 8);
        for category in 0..categories {
            let truth = truth(category);
            let (mut sum, mut squares, mut stated, mut missed) = (0.0, 0.0, 0.0, 0);
            for column in 0..d {
                let counts = CategoryCounts::of(release.payload(), column).expect("counts");
                assert_eq!((counts.rows(), counts.categories()), (n as u64, categories as usize));
                let told = counts.count(category as usize).expect("a count");
                let interval = counts.count_interval(category as usize, confidence).expect("one");
                let share = counts.share(category as usize).expect("a share");
                assert!((share.value * n as f64 - told.value).abs() < 1e-9);
                sum += told.value - truth;
                squares += (told.value - truth).powi(2);
                stated += told.standard_error.powi(2) / d as f64;
                missed += usize::from(!interval.contains(truth));
            }
            let (bias, rms, stated) = (sum / d as f64, (squares / d as f64).sqrt(), stated.sqrt());
            assert!(
                bias.abs() < 5.0 * stated / (d as f64).sqrt(),
                "{categories} {category}: {bias}"
            );
            assert!((rms / stated - 1.0).abs() < 0.2, "{categories} {category}: {rms} of {stated}");
            let most = mechanism.share_error() * (n as f64).sqrt();
            assert!(stated <= most * (1.0 + 1e-9), "{stated} of {most}");
            // A tenth at most, five standard deviations of that.
            assert!(missed < d / 10 + 30, "{categories} {category}: {missed} missed");
        }
    }
}

#[test]
fn what_is_no_category_is_refused_before_noise() {
    let refused = |config: BoundedConfig, epsilon: f64| {
        PrivateBounded::new(config, pure(epsilon)).expect_err("refused").to_string()
    };
    let of =
        |categories: u64| BoundedConfig { law: BoundedLaw::Categories(categories), ..config(2, 5) };
    for categories in [0, 1, 257, 65_535, u64::MAX] {
        assert!(refused(of(categories), 1.0).contains("categories"), "{categories}");
    }
    // Another range, a beta that is less than the categories, clipping, an epsilon without a law.
    for categories in [2, 4, 6, 256] {
        assert!(refused(of(categories), 1.0).contains("range"), "{categories}");
    }
    let narrow = BoundedConfig { beta: Shift::new(3.0).expect("beta"), ..config(2, 5) };
    assert!(refused(narrow, 1.0).contains("beta"));
    assert!(refused(BoundedConfig { clip: true, ..config(2, 5) }, 1.0).contains("clip"));
    for epsilon in [5e-324, 1e-4, 33.0, 1e300] {
        assert!(refused(config(2, 5), epsilon).contains("epsilon"), "{epsilon}");
    }
    let mechanism = made(2, 5, 1.0);
    let mut generator = NoiseRng::deterministic_not_private(1);
    for bad in [0.5, -1.0, 5.0, 4.000_000_1, 1e300] {
        let rows = [0.0, 1.0, bad, 2.0];
        let rows = RowsView::f64(2, 2, &rows).expect("finite");
        let error = mechanism.release(rows, &mut generator).expect_err("refused");
        let inside = (0.0..=4.0).contains(&bad);
        assert_eq!(matches!(error, Error::NotWhole { row: 1, column: 0 }), inside, "{error}");
        let error = error.to_string();
        assert!(!error.contains("000_000") && !error.contains("0.5"), "{error}");
    }
    // Nothing was drawn for what was refused, and a generator that is used again draws anew.
    let rows = [0.0, 1.0].repeat(40);
    let view = || RowsView::f64(40, 2, &rows).expect("rows");
    let late = mechanism.release(view(), &mut generator).expect("released");
    let first = mechanism.release(view(), &mut NoiseRng::deterministic_not_private(1));
    assert_eq!(late.payload(), first.expect("released").payload());
    assert_ne!(
        late.payload(),
        mechanism.release(view(), &mut generator).expect("released").payload()
    );
}

/// Through a file and back; a payload beside another certificate, none, one row, and a law that has no categories.
#[test]
fn files_hold_categories_as_bounded_values() {
    let mechanism = made(3, 4, 2.0);
    let release = released(&mechanism, &[0.0, 1.0, 3.0, 2.0, 2.0, 2.0], 7);
    verify_consistency(&release).expect("holds together");
    let bytes = encode(&release).expect("written");
    let read: Release<BoundedValues, Certificate> = decode(&bytes).expect("read");
    assert_eq!(read.payload(), release.payload());
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 1;
        assert!(decode::<BoundedValues, Certificate>(&broken).is_err(), "byte {at}");
    }
    let other = released(&made(3, 4, 4.0), &[0.0; 6], 7);
    let wider = released(&made(3, 5, 2.0), &[0.0; 6], 7);
    for other in [&other, &wider] {
        let forged = Release::certified(release.payload().clone(), other.certificate().clone());
        assert!(encode(&forged).is_err() && verify_consistency(&forged).is_err());
    }
    // Bits of one law and range: certificate and payload say of both that they are categories, or of none.
    let cells =
        PrivateBounded::new(BoundedConfig { law: BoundedLaw::OneBit, ..config(3, 2) }, pure(2.0));
    let bits = released(&cells.expect("made"), &[0.0; 3], 7);
    let two = released(&made(3, 2, 2.0), &[0.0; 3], 7);
    for (payload, certificate) in [(&bits, &two), (&two, &bits)] {
        let forged =
            Release::certified(payload.payload().clone(), certificate.certificate().clone());
        assert!(encode(&forged).is_err() && verify_consistency(&forged).is_err());
    }
    for release in [&bits, &two] {
        let read: Release<BoundedValues, Certificate> =
            decode(&encode(release).expect("written")).expect("read");
        assert_eq!(read.payload(), release.payload());
    }
    let none = released(&mechanism, &[], 1);
    let counts = CategoryCounts::of(none.payload(), 0).expect("counts");
    assert_eq!((counts.rows(), counts.count(0).expect("zero").value), (0, 0.0));
    assert!(counts.share(0).is_err());
    let one = released(&mechanism, &[3.0, 3.0, 3.0], 1);
    let counts = CategoryCounts::of(one.payload(), 2).expect("counts");
    let all = counts.count_interval(3, Probability::new(0.99).expect("p")).expect("an interval");
    assert_eq!((all.low, all.high), (0.0, 1.0));
    assert!(counts.count(4).is_err() && CategoryCounts::of(one.payload(), 3).is_err());
    // Nine cells at several offsets are no categories.
    let law = BoundedLaw::LeastError;
    let cells =
        PrivateBounded::new(BoundedConfig { law, ..config(3, 4) }, pure(3.0)).expect("made");
    let cells = released(&cells, &[0.0; 3], 1);
    assert!(CategoryCounts::of(cells.payload(), 0).is_err());
    for (release, law) in [
        (&release, BoundedLaw::Categories(4)),
        (&cells, BoundedLaw::LeastError),
        // Laws whose shape others have too: bits, and the law of least error at this epsilon.
        (&released(&made(3, 2, 2.0), &[0.0; 3], 1), BoundedLaw::Categories(2)),
        (&released(&made(3, 3, 2.0), &[0.0; 3], 1), BoundedLaw::Categories(3)),
    ] {
        let budget = release.certificate().guarantee().budget();
        assert_eq!(release.payload().made_by(budget, 1).expect("a law"), law);
    }
}
