//! Norms, costs and moments of projections, beside numbers that were worked out by hand.

use super::apply::OutputRange;
use super::cost::Cost;
use super::dense::RowSource;
use super::norms::{RowNorms, certified_largest_eigenvalue};
use super::spec::{Family, ProjectionSpec, Sampling};
use dp_core::PublicSeed;
use faer::Mat;

const UNIT: f64 = 0.5 * f64::EPSILON;

fn spec(family: Family, d: usize, k: usize) -> ProjectionSpec {
    ProjectionSpec::new(family, d, k, PublicSeed::new(1)).expect("valid")
}

/// A matrix of equal rows.
struct Equal(Vec<f64>);

impl RowSource for Equal {
    fn d(&self) -> usize {
        3
    }

    fn k(&self) -> usize {
        self.0.len()
    }

    fn fill(&self, _: usize, out: &mut [f64]) {
        out.copy_from_slice(&self.0);
    }
}

/// A thousand tenths, each a little above a tenth, sum up to less than a hundred in floating point; norms are no less than the true.
#[test]
fn norms_of_rows_are_no_less_than_the_true_ones() {
    let source = Equal(vec![0.1; 1000]);
    assert!(source.0.iter().sum::<f64>() < 100.0);
    let norms = RowNorms::of_row(&source, 1, 2.0, &mut [0.0; 1000]);
    let l2 = 2.0 * 10f64.sqrt();
    assert!(norms.l1 >= 200.0 && norms.l1 < 200.0 * (1.0 + 1e-12), "{}", norms.l1);
    assert!(norms.l2 >= l2 && norms.l2 < l2 * (1.0 + 1e-12), "{}", norms.l2);
}

/// The bound covers what summing up the matrix and factorising it may hide, and little more.
#[test]
fn the_bound_on_an_eigenvalue_covers_every_rounding() {
    // One large eigenvalue among 200: the trace of what is factorised is 199 times it.
    for size in [1e6, 1.0, 1e-6] {
        let k = 200;
        let one = Mat::from_fn(k, k, |i, j| if (i, j) == (3, 3) { size } else { 0.0 });
        let above = certified_largest_eigenvalue(&one, 10).expect("verified") / size - 1.0;
        let hidden = 199.0 * (k as f64 + 1.0) * UNIT;
        assert!(above >= hidden && above < 1e-10, "{size}: {above} {hidden}");
    }
    // Products that were summed: a billion each.
    let (even, terms) = (Mat::<f64>::identity(2, 2), 1_000_000_000);
    let above = certified_largest_eigenvalue(&even, terms).expect("verified") - 1.0;
    let hidden = 2.0 * terms as f64 * UNIT;
    assert!(above >= hidden && above < 1.1 * hidden, "{above} {hidden}");
    assert!(certified_largest_eigenvalue(&even, 1 << 44).is_err());
}

/// An eigenvalue that was computed too small is found out: here of the lower triangle alone, which has 1 where the mean of both
/// triangles has 6.
#[test]
fn an_eigenvalue_that_is_too_small_is_not_believed() {
    let uneven = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 10.0 * (j as f64) });
    let bound = certified_largest_eigenvalue(&uneven, 10).expect("verified");
    assert!(bound >= 6.0, "{bound}");
}

#[test]
fn errors_of_sums_are_those_of_their_roundings() {
    let range = OutputRange::of_sum(10, 2, 3.0);
    let least = 12.0 * UNIT * 3.0;
    assert!(range.error >= least && range.error < least * (1.0 + 1e-12), "{range:?}");
    let (many, mu) = (1usize << 40, 2f64.powi(40) * UNIT);
    let large = OutputRange::of_sum(many, 0, 1.0).error;
    assert!(large >= mu / (1.0 - mu) && large < mu / (1.0 - mu) * (1.0 + 1e-12), "{large}");
    let above = range.magnitude - 3.0;
    assert!(above >= least && above < 3.0 * least, "{range:?}");
}

/// Steps and bytes at d = 4096 and k = 100, or 64 where the family asks for it.
#[test]
fn costs_are_those_of_the_tables() {
    let (without, with) = (Sampling::WithoutReplacement, Sampling::WithReplacement);
    for (family, steps, bytes) in [
        (Family::Identity, 0.0, 0.0),
        (Family::Rademacher, 0.0, 0.0),
        // 4096 (16 + 100); 64 * 100.
        (Family::Gaussian, 475_136.0, 6_400.0),
        (Family::Achlioptas, 475_136.0, 6_400.0),
        // 4096/64 + 4096/16 + 2000; 4096/8 + 4096 + 800.
        (Family::Srht { sampling: without }, 2_320.0, 5_408.0),
        (Family::Srht { sampling: with }, 2_064.0, 1_312.0),
        // 100/64 nonzeros: 4096 (16 + 100) + 100; 24 (4096 * 1.5625) + 8 * 4096 + 1600.
        (Family::VerySparse, 475_236.0, 187_968.0),
        // 4096 (16 + 4 + 2) + 100; 24 (4 * 4096) + 8 * 4096 + 1600.
        (Family::SparseJl { nonzeros: 4 }, 90_212.0, 427_584.0),
        (Family::HashedCopies { copies: 4 }, 90_212.0, 427_584.0),
        // 4096 * 24 + 100; 24 * 4096 + 8 * 4096 + 1600 + 8 * 4196.
        (Family::Oporp, 98_404.0, 166_240.0),
        (Family::CountSketch, 82_020.0, 132_672.0),
    ] {
        let k = if family == Family::Identity { 4096 } else { 100 };
        let cost = spec(family, 4096, k).cost_of_rows();
        assert_eq!(cost, Cost { steps, bytes }, "{family:?}");
        let whole = spec(family, 4096, k).cost_of_spectrum();
        let known = matches!(family, Family::Identity | Family::Oporp | Family::CountSketch);
        // 4096 (16 + 100) + 4096 * 10^4/32 + 10^6/16; 40 * 10^4 + 204800 + 8 * 409600.
        let more = if known { (0.0, 0.0) } else { (1_817_636.0, 3_881_600.0) };
        assert_eq!(whole, Cost { steps: steps + more.0, bytes: bytes + more.1 }, "{family:?}");
    }
    // A panel takes no more than 2^23 bytes, and wide Hadamard projections have no Gram matrix.
    let wide = spec(Family::Rademacher, 1 << 15, 100).cost_of_spectrum();
    assert_eq!(wide.bytes, 400_000.0 + 204_800.0 + 8_388_608.0);
    let wide = spec(Family::Srht { sampling: without }, 1 << 13, 2049);
    assert_eq!(wide.cost_of_spectrum(), wide.cost_of_rows());
}

/// Drawing without replacement takes what is left of the population: (8 - 4)/7 for one of eight.
#[test]
fn moments_are_those_of_the_families() {
    let (without, with) = (Sampling::WithoutReplacement, Sampling::WithReplacement);
    let f = 4.0 / 7.0;
    for (family, pair, quartic) in [
        (Family::Gaussian, 1.0, 0.0),
        (Family::Rademacher, 1.0, -2.0),
        (Family::CountSketch, 1.0, -2.0),
        (Family::HashedCopies { copies: 4 }, 1.0, -0.5),
        (Family::Oporp, f, -2.0 * f),
        (Family::Srht { sampling: with }, 1.0, -2.0),
        (Family::Srht { sampling: without }, f, -2.0 * f),
        (Family::VerySparse, 1.0, 8f64.sqrt() - 3.0),
    ] {
        let found = spec(family, 8, 4).moments();
        assert!((found.pair - pair).abs() < 1e-15, "{family:?}: {found:?}");
        assert!((found.quartic - quartic).abs() < 1e-15, "{family:?}: {found:?}");
    }
}
