//! Certificates of averaged guarantees say where their seed came from.

use dp_core::{
    Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, NormBound, PublicValue, SeedOrigin, Shift,
};
use sketch::rows::RowsView;
use sketch::signs::{FreshConfig, FreshSigns, NormFloor};
use sketch::vectors::AveragedProjection;

#[test]
fn a_seed_somebody_knew_is_stated() {
    let bound = EntryBound::new(1.0).expect("positive");
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
    let budget = Budget::new(1.0, 1e-6).expect("valid");
    let data = [0.5; 32];
    let rows = RowsView::f64(2, 16, &data).expect("finite");
    let origin_of = |fresh: FreshSeed| {
        let mechanism =
            AveragedProjection::gaussian(16, 4, adjacency, bound, budget).expect("calibrates");
        let mut rng = NoiseRng::deterministic_not_private(1);
        let release = mechanism.release(fresh, rows, &mut rng).expect("accepted");
        release.certificate().verify_consistency().expect("holds together");
        let public = &release.certificate().statement().public;
        assert_eq!(public["projection seed"], release.payload().projection().seed().into());
        assert!(matches!(&public["projection seed"], PublicValue::Text(hex) if hex.len() == 64));
        public.get(SeedOrigin::KEY).cloned()
    };
    let words = |origin: SeedOrigin| Some(PublicValue::from(origin.name()));
    let known = FreshSeed::reproducible_not_private(7);
    assert_eq!(origin_of(known), words(SeedOrigin::ReproducibleNotPrivate));
    let drawn = FreshSeed::draw().expect("entropy");
    assert_eq!(origin_of(drawn), words(SeedOrigin::OperatingSystem));
}

/// A pair can be aligned with the matrix of one seed; nothing below the model's floor is stated.
#[test]
fn averaged_projections_and_signs_refuse_a_tiny_delta() {
    let bound = EntryBound::new(1.0).expect("positive");
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
    let floor = NormFloor::Promised(NormBound::new(1.0).expect("positive"));
    for (delta, holds) in [(1e-30, false), (FreshSeed::LEAST_DELTA, true)] {
        let budget = Budget::new(1.0, delta).expect("valid");
        let projection = AveragedProjection::gaussian(16, 4, adjacency, bound, budget);
        assert_eq!(projection.is_ok(), holds, "{delta:e}: {projection:?}");
        let config = FreshConfig { d: 16, bits: 64, floor, bound, adjacency };
        let signs = FreshSigns::exact(config, budget);
        assert_eq!(signs.is_ok(), holds, "{delta:e}: {signs:?}");
    }
    // Delta zero holds for every seed.
    let config = FreshConfig { d: 16, bits: 4, floor, bound, adjacency };
    assert!(FreshSigns::exact(config, Budget::new(1.0, 0.0).expect("valid")).is_ok());
}
