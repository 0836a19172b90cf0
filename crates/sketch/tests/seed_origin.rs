//! Certificates of averaged guarantees say where their seed came from.

use dp_core::{Adjacency, Bound, Budget, FreshSeed, NoiseRng, PublicValue, SeedOrigin};
use sketch::private::AveragedProjection;
use sketch::rows::RowsView;

#[test]
fn a_seed_somebody_knew_is_stated() {
    let bound = Bound::new(1.0).expect("positive");
    let adjacency = Adjacency::Attribute { beta: bound };
    let budget = Budget::new(1.0, 1e-6).expect("valid");
    let data = [0.5; 32];
    let rows = RowsView::f64(2, 16, &data).expect("finite");
    let origin_of = |fresh: FreshSeed| {
        let mechanism =
            AveragedProjection::gaussian(16, 4, adjacency, bound, budget).expect("calibrates");
        let mut rng = NoiseRng::deterministic_not_private(1);
        let release = mechanism.release(fresh, rows, &mut rng).expect("accepted");
        release.certificate().verify_consistency().expect("holds together");
        release.certificate().statement().public.get(SeedOrigin::KEY).cloned()
    };
    let words = |origin: SeedOrigin| Some(PublicValue::from(origin.name()));
    let known = FreshSeed::reproducible_not_private(7);
    assert_eq!(origin_of(known), words(SeedOrigin::ReproducibleNotPrivate));
    let drawn = FreshSeed::draw().expect("entropy");
    assert_eq!(origin_of(drawn), words(SeedOrigin::OperatingSystem));
}
