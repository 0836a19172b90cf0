//! `Sliding-Priv-PCA` and `Sliding-Priv-Constrained-PCP`, as published.

use dp_core::{Bound, Budget, NoiseRng, Provenance};
use faer::Mat;
use linalg_dp::Error;
use linalg_dp::analysis::{projection_cost, subspace_distance};
use linalg_dp::window::{
    CAVEAT, PublishedAlgorithm, PublishedConfig, PublishedStream, SlidingPrivConstrainedPcp,
    SlidingPrivPca,
};

const D: usize = 5;
const RANK: usize = 2;

/// A budget so large that the published noise is small against a window of 60 rows.
fn config() -> PublishedConfig {
    PublishedConfig {
        dim: D,
        window: 60,
        rho: 0.3,
        bound: Bound::new(1.0).expect("positive"),
        claimed: Budget::new(2000.0, 0.01).expect("valid"),
        algorithm: PublishedAlgorithm::SlidingPrivPcp { rank: RANK },
    }
}

/// The first 90 rows lie along axes 3 and 4, the last 90 along axes 0 and 1.
fn row(t: usize) -> [f64; D] {
    let mut row = [0.0; D];
    let (first, second) = if t < 90 { (3, 4) } else { (0, 1) };
    let angle = 0.7 * t as f64;
    row[first] = 0.9 * angle.cos();
    row[second] = 0.7 * angle.sin();
    row
}

fn axes(a: usize, b: usize) -> Mat<f64> {
    Mat::from_fn(D, 2, |i, j| if i == [a, b][j] { 1.0 } else { 0.0 })
}

#[test]
fn sliding_priv_pca_finds_the_window_s_plane_and_says_that_it_is_not_proven() {
    let mut rng = NoiseRng::deterministic_not_private(2);
    let mut pca = SlidingPrivPca::new(config()).expect("valid");
    for t in 0..180 {
        pca.push(&row(t), &mut rng).expect("accepted");
    }
    let release = pca.release().expect("rows pushed");
    let (span, basis) = release.payload();
    assert!(span.first_row <= 120 && span.end_row == 180);
    // The window holds rows of the later plane only.
    assert!(subspace_distance(axes(0, 1).as_ref(), basis.as_ref()).expect("same shape") < 0.35);
    let certificate = release.certificate();
    assert_eq!(certificate.statement().mechanism, "published Sliding-Priv-PCA");
    match certificate.guarantee().provenance() {
        Provenance::Published { caveat, .. } => assert_eq!(caveat, CAVEAT),
        other => panic!("{other:?}"),
    }
    assert!(certificate.guarantee().profile().is_none());
}

#[test]
fn sliding_priv_pca_is_post_processing_of_the_pcp_release() {
    let (mut a, mut b) =
        (NoiseRng::deterministic_not_private(3), NoiseRng::deterministic_not_private(3));
    let mut pca = SlidingPrivPca::new(config()).expect("valid");
    let mut pcp = PublishedStream::new(config()).expect("valid");
    for t in 0..100 {
        pca.push(&row(t), &mut a).expect("accepted");
        pcp.push(&row(t), &mut b).expect("accepted");
    }
    let matrix = pcp.release().expect("rows").into_parts().0.1;
    let basis = pca.release().expect("rows").into_parts().0.1;
    // No basis of coordinate axes does better on the released matrix: the cost is the least.
    let cost = projection_cost(matrix.as_ref(), basis.as_ref()).expect("orthonormal");
    for i in 0..D {
        for j in 0..i {
            let other = projection_cost(matrix.as_ref(), axes(i, j).as_ref()).expect("orthonormal");
            assert!(cost <= other + 1e-9, "axes {i}, {j}");
        }
    }
}

#[test]
fn sliding_priv_constrained_pcp_chooses_from_the_set_given() {
    let set = vec![axes(3, 4), axes(0, 2), axes(0, 1), axes(1, 4)];
    let mut rng = NoiseRng::deterministic_not_private(2);
    let mut constrained = SlidingPrivConstrainedPcp::new(config(), set).expect("valid");
    for t in 0..180 {
        constrained.push(&row(t), &mut rng).expect("accepted");
        if t == 80 {
            let early = constrained.release().expect("rows pushed");
            assert_eq!(early.payload().index, 0, "the first plane, while the window holds it");
        }
    }
    let release = constrained.release().expect("rows pushed");
    assert_eq!(release.payload().index, 2);
    let statement = release.certificate().statement();
    assert_eq!(statement.mechanism, "published Sliding-Priv-Constrained-PCP");
    let guarantee = release.certificate().guarantee();
    assert!(matches!(guarantee.provenance(), Provenance::Published { .. }));
}

#[test]
fn what_does_not_fit_is_refused() {
    let other = PublishedConfig { algorithm: PublishedAlgorithm::SlidingPriv, ..config() };
    assert!(matches!(SlidingPrivPca::new(other), Err(Error::Core(_))));
    let refused = |set: Vec<Mat<f64>>| SlidingPrivConstrainedPcp::new(config(), set).err();
    assert!(matches!(refused(vec![]), Some(Error::Core(_))));
    assert!(matches!(refused(vec![Mat::zeros(D, RANK)]), Some(Error::Core(_))));
    assert!(matches!(refused(vec![Mat::identity(D, 3)]), Some(Error::Shape { .. })));
    assert!(matches!(refused(vec![Mat::identity(4, RANK)]), Some(Error::Shape { .. })));
}
