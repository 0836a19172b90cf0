//! Same public seed, same noise stream: the same release bit for bit, at any number of threads.

use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, PublicSeed, Shift};
use rand_core::Rng;
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, Sampling};
use sketch::sets::{BucketPrivMin, ItemSet, SymbolShape};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::vectors::PrivateProjection;

const D: usize = 96;
const K: usize = 24;
/// More rows than one block of noise or of projection holds.
const ROWS: usize = 9000;

fn values() -> Vec<f64> {
    let mut generator = PublicSeed::new(3).generator(0);
    (0..ROWS * D).map(|_| (generator.next_u64() >> 11) as f64 * 2f64.powi(-52) - 1.0).collect()
}

/// Runs `release` in pools of 1, 2 and 8 threads and compares the results.
fn same_at_any_thread_count<T: PartialEq + Send>(name: &str, release: impl Fn() -> T + Sync) {
    let [one, two, eight] = [1, 2, 8].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(&release)
    });
    assert!(one == two && one == eight, "{name} depends on the number of threads");
}

fn attribute() -> (Adjacency, EntryBound) {
    let one = EntryBound::new(1.0).expect("positive");
    (Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") }, one)
}

#[test]
fn projected_releases() {
    let values = values();
    let (adjacency, bound) = attribute();
    let budget = Budget::new(1.0, 1e-6).expect("valid");
    for family in [
        Family::Gaussian,
        Family::Rademacher,
        Family::SparseJl { nonzeros: 4 },
        Family::Srht { sampling: Sampling::WithoutReplacement },
        Family::Oporp,
        Family::CountSketch,
    ] {
        same_at_any_thread_count(&format!("{family:?}"), || {
            let spec = ProjectionSpec::new(family, D, K, PublicSeed::new(7)).expect("valid");
            let mechanism =
                PrivateProjection::gaussian(spec.build(), adjacency, bound, budget).expect("meets");
            let rows = RowsView::f64(ROWS, D, &values).expect("finite");
            let mut rng = NoiseRng::deterministic_not_private(5);
            let release = mechanism.release(rows, &mut rng).expect("in range");
            release.payload().values().iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        });
    }
}

#[test]
fn sign_and_set_releases() {
    let values = values();
    let (adjacency, bound) = attribute();
    same_at_any_thread_count("signs", || {
        let seed = PublicSeed::new(4);
        let sketch = SignSketch::repeated(Family::Oporp, D, K, 1, seed).expect("valid");
        let budget = Budget::new(2.0, 0.0).expect("valid");
        let rule = FlipRule::OptimalSmooth;
        let signs = PrivateSigns::new(sketch, rule, adjacency, bound, budget).expect("meets");
        let rows = RowsView::f64(ROWS, D, &values).expect("finite");
        let mut rng = NoiseRng::deterministic_not_private(5);
        signs.release(rows, &mut rng).expect("in range").into_parts().0
    });
    let sets: Vec<ItemSet> =
        (0..3000u64).map(|i| ItemSet::new((i..i + 40).collect()).expect("not empty")).collect();
    same_at_any_thread_count("sets", || {
        let shape = SymbolShape::new(16, 1, 4).expect("valid");
        let epsilon = dp_core::Epsilon::new(8.0).expect("valid");
        let mechanism = BucketPrivMin::new(shape, epsilon).expect("meets");
        let mut rng = NoiseRng::deterministic_not_private(5);
        mechanism.release(&sets, PublicSeed::new(1), &mut rng).expect("accepted").into_parts().0
    });
}
