//! What every row of signs goes through, and what a release says of them.

use crate::signs::{ONE, attribute, bound, noise, oporp, rows, uniform};
use dp_core::{Budget, PublicSeed};
use sketch::projection::Family;
use sketch::rows::{CsrView, RowsView};
use sketch::signs::{
    FlipRule, IndividualNoise, IndividualSigns, PrivateSigns, SignPairs, SignSketch,
};

/// More rows than are projected at once, of more bits than a word: signs that no attribute reaches stay, so that equal rows
/// have the signs of one that was projected alone, the last as the first.
#[test]
fn rows_of_every_block_are_released() {
    let (n, d, bits) = (4100, 66, 65);
    let values = [0.3, -0.8, 0.5].repeat(n * d / 3);
    let sketch = SignSketch::single(Family::Gaussian, d, bits, PublicSeed::new(8)).unwrap();
    let budget = Budget::new(1.0, 0.0).unwrap();
    let kind = IndividualNoise::RandomizedResponse;
    let exact = sketch.simhash(rows(d, &values[..d])).unwrap();
    let signs = IndividualSigns::new(sketch, kind, attribute(1e-9), bound(ONE), budget).unwrap();
    let release = signs.release(rows(d, &values), &mut noise()).unwrap();
    for row in 0..n {
        assert_eq!(release.payload().bits().row(row), exact.payload().bits().row(0), "{row}");
    }
}

/// Alike of a projection that is too large to be kept, which is drawn anew for every 4,096 rows.
#[test]
fn rows_of_every_block_of_a_large_projection_are_released() {
    let (n, d, bits) = (4_100, 16_400, 65);
    let (offsets, columns) = ((0..=n).collect::<Vec<_>>(), vec![7; n]);
    let csr = CsrView { offsets: &offsets, columns: &columns, values: &vec![0.5; n] };
    let view = RowsView::csr(n, d, csr).unwrap();
    let sketch = SignSketch::single(Family::Gaussian, d, bits, PublicSeed::new(8)).unwrap();
    let exact = sketch.simhash(view.slice(0..1)).unwrap();
    // No sign of 266,500 is flipped: each is with probability 2e-9.
    let budget = Budget::new(20.0 * bits as f64, 0.0).unwrap();
    let rule = FlipRule::RandomizedResponse;
    let signs = PrivateSigns::new(sketch, rule, attribute(0.1), bound(ONE), budget).unwrap();
    let release = signs.release(view, &mut noise()).unwrap();
    for row in 0..n {
        assert_eq!(release.payload().bits().row(row), exact.payload().bits().row(0), "{row}");
    }
}

/// Rows of zeros have no signs: each bit is a fair coin, under a budget that keeps all others.
#[test]
fn zeros_are_fair_coins() {
    let (n, d, bits) = (100, 100, 100);
    let budget = Budget::new(20.0 * bits as f64, 0.0).unwrap();
    let rule = FlipRule::RandomizedResponse;
    let sketch = SignSketch::single(Family::Gaussian, d, bits, PublicSeed::new(8)).unwrap();
    let signs = PrivateSigns::new(sketch, rule, attribute(0.1), bound(ONE), budget).unwrap();
    let release = signs.release(rows(d, &vec![0.0; n * d]), &mut noise()).unwrap();
    let words = release.payload().bits().words();
    let ones: u32 = words.iter().map(|word| word.count_ones()).sum();
    // Six standard errors of 10,000 fair coins: false alarms below 2e-9.
    assert!((f64::from(ones) - 5000.0).abs() < 300.0, "{ones}");
}

/// What a release says of its projections: every seed, rows, bits and repetitions.
#[test]
fn statements_name_every_projection() {
    let budget = Budget::new(1.0, 0.0).unwrap();
    let rule = FlipRule::RandomizedResponse;
    let signs = PrivateSigns::new(oporp(8, 2, 4), rule, attribute(0.1), bound(ONE), budget);
    let release = signs.unwrap().release(rows(4, &[0.5; 12]), &mut noise()).unwrap();
    let public = &release.certificate().statement().public;
    let text = format!("{public:?}");
    for (key, value) in
        [("n", 3u64), ("bits", release.payload().bits().bits() as u64), ("repetitions", 2)]
    {
        assert_eq!(public.get(key), Some(&value.into()), "{text}");
    }
    assert!(public.contains_key("projection seed 2"), "{text}");
}

/// The cosine's error to second order, from the angle's.
#[test]
fn the_error_of_a_cosine_follows_from_the_angles() {
    let d = 64;
    let values = uniform(2 * d, 9);
    let sketch = SignSketch::single(Family::Gaussian, d, 64, PublicSeed::new(8)).unwrap();
    let budget = Budget::new(128.0, 0.0).unwrap();
    let rule = FlipRule::RandomizedResponse;
    let signs = PrivateSigns::new(sketch, rule, attribute(0.1), bound(ONE), budget).unwrap();
    let release = signs.release(rows(d, &values), &mut noise()).unwrap();
    let pairs = SignPairs::between(&release, &release).unwrap();
    let (angle, cosine) = (pairs.angle(0, 1).unwrap(), pairs.cosine(0, 1).unwrap());
    let e = angle.standard_error;
    let (sin, cos) = angle.value.sin_cos();
    let expected = (sin * sin * e * e + cos * cos * e.powi(4) / 2.0).sqrt();
    assert!(sin > 0.1 && cos.abs() > 0.1 && e > 0.05, "{angle:?}");
    assert!((cosine.value - cos).abs() < 1e-12);
    assert!((cosine.standard_error / expected - 1.0).abs() < 1e-12, "{cosine:?} {expected}");
}
