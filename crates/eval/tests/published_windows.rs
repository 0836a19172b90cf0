//! Paper 5's algorithms as published.

use dp_core::noise::GeneratorKind;
use dp_core::{Budget, Certificate, NoiseRng, NormBound, Provenance};
use eval::Error;
use eval::published::{
    CAVEAT, PublishedAlgorithm, PublishedConfig, PublishedStream, SlidingPrivConstrainedPcp,
    SlidingPrivPca,
};
use faer::Mat;
use linalg_dp::analysis::{projection_cost, subspace_distance};

const D: usize = 5;
const RANK: usize = 2;

/// A budget so large that the published noise is small against a window of 60 rows.
fn config() -> PublishedConfig {
    PublishedConfig {
        dim: D,
        window: 60,
        rho: 0.3,
        bound: NormBound::new(1.0).expect("positive"),
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
    let refused = |error: Option<Error>, name: &str| match error {
        Some(Error::InvalidParameter { name: found, .. }) => assert_eq!(found, name),
        other => panic!("{name}: {other:?}"),
    };
    refused(SlidingPrivPca::new(other).err(), "algorithm");
    let choose = |set: Vec<Mat<f64>>| SlidingPrivConstrainedPcp::new(config(), set).err();
    refused(choose(vec![]), "set of projections");
    refused(choose(vec![Mat::identity(D, 3)]), "columns of a basis");
    for basis in [Mat::zeros(D, RANK), Mat::identity(4, RANK)] {
        assert!(matches!(choose(vec![basis]), Some(Error::Matrix(_))));
    }
    let claimed = Budget::new(1e-9, 1e-6).expect("valid");
    let tiny = PublishedConfig { claimed, ..other };
    refused(PublishedStream::new(tiny).err(), "epsilon");
}

#[test]
fn the_published_state_reveals_a_row() {
    let published = PublishedConfig {
        dim: 3,
        window: 10,
        rho: 0.2,
        bound: NormBound::new(1.0).expect("positive"),
        claimed: Budget::new(1.0, 1e-6).expect("valid"),
        algorithm: PublishedAlgorithm::SlidingPrivApprox { sketch_rows: 20 },
    };
    let mut stream = PublishedStream::new(published).expect("valid");
    let mut rng = NoiseRng::deterministic_not_private(4);
    stream.push(&[0.1, 0.2, 0.3], &mut rng).expect("accepted");
    let before = stream.exposed_sketches();
    let secret = [0.6, -0.64, 0.48];
    stream.push(&secret, &mut rng).expect("accepted");
    let after = stream.exposed_sketches();
    // One increment g a^T: every line of it is the row, up to a factor.
    let (old, new) = (&before[0].1, &after[0].1);
    let line: Vec<f64> = (0..3).map(|j| new[(0, j)] - old[(0, j)]).collect();
    let length = line.iter().map(|x| x * x).sum::<f64>().sqrt();
    let sign = (line[0] * secret[0]).signum();
    let norm = secret.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (x, s) in line.iter().zip(secret) {
        assert!((sign * x / length - s / norm).abs() < 1e-5, "the row's direction is exposed");
    }
    let release = stream.release().expect("rows pushed");
    let guarantee = release.certificate().guarantee();
    assert!(matches!(guarantee.provenance(), Provenance::Published { .. }));
    assert!(guarantee.profile().is_none());
}

#[test]
fn the_published_algorithms_run() {
    for algorithm in [
        PublishedAlgorithm::SlidingPrivApprox { sketch_rows: 30 },
        PublishedAlgorithm::SlidingPrivPcp { rank: 2 },
        PublishedAlgorithm::SlidingPriv,
    ] {
        let published = PublishedConfig {
            dim: 4,
            window: 40,
            rho: 0.4,
            bound: NormBound::new(1.0).expect("positive"),
            claimed: Budget::new(1.0, 1e-6).expect("valid"),
            algorithm,
        };
        let mut stream = PublishedStream::new(published).expect("valid");
        let mut rng = NoiseRng::deterministic_not_private(4);
        for t in 0..120 {
            stream.push(&row(t)[1..], &mut rng).expect("accepted");
        }
        assert!(stream.checkpoints() <= 41);
        let release = stream.release().expect("rows pushed");
        let (span, matrix) = release.payload();
        assert!(span.first_row <= 80 && span.end_row == 120);
        assert!((0..4).all(|i| matrix[(i, i)].is_finite()));
    }
}

fn is_known(certificate: &Certificate) -> bool {
    certificate.statement().generator == GeneratorKind::DeterministicNotPrivate
}

#[test]
fn the_published_stream_names_who_drew() {
    for algorithm in
        [PublishedAlgorithm::SlidingPrivApprox { sketch_rows: 3 }, PublishedAlgorithm::SlidingPriv]
    {
        let mut stream = PublishedStream::new(PublishedConfig {
            dim: 2,
            window: 4,
            rho: 0.3,
            bound: NormBound::new(1.0).expect("positive"),
            claimed: Budget::new(1.0, 1e-2).unwrap(),
            algorithm,
        })
        .unwrap();
        let known = || NoiseRng::deterministic_not_private(1);
        let secret = || NoiseRng::from_os().expect("entropy");
        assert!(stream.release().is_err(), "no row yet");
        stream.push(&[0.1, 0.2], &mut secret()).unwrap();
        assert!(!is_known(stream.release().unwrap().certificate()));
        stream.push(&[0.1, 0.2], &mut known()).unwrap();
        stream.push(&[0.1, 0.2], &mut secret()).unwrap();
        assert!(is_known(stream.release().unwrap().certificate()));
    }
}
