//! Staircase noise on projections: sensitivities by brute force, what is refused, what a release says.

use dp_core::noise::{AdditiveNoise, NoiseLaw};
use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, NoiseRng, Profile, Provenance, PublicSeed, Release, Theorem,
};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec, project};
use sketch::vectors::{NoiseKind, Pairs, PrivateProjection, PrivateSketch, ProjectionConfig};
use sketch::verify::Finding;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn made(family: Family, d: usize, k: usize, epsilon: f64) -> sketch::Result<PrivateProjection> {
    let projection = ProjectionSpec::new(family, d, k, PublicSeed::new(3))?.build();
    let adjacency = Adjacency::Attribute { beta: bound(0.7) };
    PrivateProjection::staircase(projection, adjacency, bound(1.0), Budget::new(epsilon, 0.0)?)
}

/// In steps of the grid, on rounded rows: no attribute moves a number by more than the width, one moves it by
/// nearly that, and no other number moves.
#[test]
fn one_attribute_moves_one_number_by_the_width() {
    for (family, k) in [(Family::Oporp, 7), (Family::CountSketch, 7), (Family::Identity, 30)] {
        let d = 30;
        let mechanism = made(family, d, k, 2.0).unwrap();
        let NoiseLaw::Staircase { width, grid, .. } = mechanism.noise().law() else {
            panic!("a staircase")
        };
        let x: Vec<f64> = (0..d).map(|i| 0.3 * ((i * 37 % 11) as f64 / 5.5 - 1.0)).collect();
        let steps = |x: &[f64]| -> Vec<i64> {
            let rows = RowsView::f64(1, d, x).unwrap();
            let image = project(&**mechanism.projection(), rows).unwrap();
            image.iter().map(|v| (grid.round(*v) / grid.spacing()) as i64).collect()
        };
        let before = steps(&x);
        let mut most = 0;
        for i in 0..d {
            for step in [0.7, -0.7, 0.35, 0.7f64.next_down()] {
                let mut y = x.clone();
                y[i] += step;
                let moved: Vec<u64> =
                    steps(&y).iter().zip(&before).map(|(a, b)| a.abs_diff(*b)).collect();
                assert!(moved.iter().filter(|m| **m > 0).count() <= 1, "{family:?} {i}");
                most = most.max(*moved.iter().max().unwrap());
            }
        }
        assert!(most <= width && most + 4 > width, "{family:?}: {most} {width}");
    }
}

#[test]
fn what_it_does_not_prove_is_refused() {
    for family in [
        Family::Gaussian,
        Family::Rademacher,
        Family::SparseJl { nonzeros: 2 },
        Family::HashedCopies { copies: 2 },
    ] {
        let refused = made(family, 16, 4, 1.0).unwrap_err().to_string();
        assert!(refused.contains("one change moves"), "{family:?}: {refused}");
    }
    // One nonzero a row is enough, whatever the family is called.
    assert!(made(Family::SparseJl { nonzeros: 1 }, 16, 4, 1.0).is_ok());
    assert!(made(Family::Gaussian, 1, 1, 1.0).is_ok());
    for epsilon in [1e-3, 1.0 / 33.0, 20.1] {
        assert!(made(Family::Oporp, 16, 4, epsilon).is_err(), "{epsilon}");
    }
    for adjacency in [
        Adjacency::RowShift { l2: bound(1.0) },
        Adjacency::ReplaceRow { bound: bound(1.0) },
        Adjacency::AddRemoveRow { bound: bound(1.0) },
        Adjacency::AnyInput,
    ] {
        let projection =
            ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(3)).unwrap().build();
        let budget = Budget::new(1.0, 0.0).unwrap();
        let made = PrivateProjection::staircase(projection, adjacency, bound(1.0), budget);
        assert!(made.is_err(), "{adjacency}");
    }
}

fn release(mechanism: &PrivateProjection, rows: RowsView<'_>) -> Release<PrivateSketch> {
    mechanism.release(rows, &mut NoiseRng::from_os().unwrap()).unwrap()
}

#[test]
fn releases_are_proven_read_back_and_verified() {
    let x: Vec<f64> = (0..40 * 16).map(|i| ((i * 31) % 199) as f64 / 199.0).collect();
    let rows = RowsView::f64(40, 16, &x).unwrap();
    let mechanism = made(Family::Oporp, 16, 8, 3.0).unwrap();
    let release = release(&mechanism, rows);
    let theorem = Theorem::ProjectionStaircase;
    assert_eq!(*release.certificate().guarantee().provenance(), Provenance::Proven { theorem });
    let report = sketch::verify(&release).unwrap();
    assert_eq!((report.sensitivity, report.payload), (Finding::Agrees, Finding::Agrees));
    let read: Release<PrivateSketch> = decode(&encode(&release).unwrap()).unwrap();
    assert!(read.payload() == release.payload());
    let pairs = Pairs::within(&read);
    assert!(pairs.squared_distance(0, 1).unwrap().standard_error > 0.0);
    // Less noise than Laplace: a third of the variance at epsilon 3.
    let config = |noise| ProjectionConfig {
        projection: mechanism.projection().clone(),
        adjacency: Adjacency::Attribute { beta: bound(0.7) },
        bound: bound(1.0),
        noise,
    };
    use dp_core::mechanism::Mechanism;
    let variance = |noise| {
        let budget = Budget::new(3.0, 0.0).unwrap();
        PrivateProjection::calibrate(config(noise), budget).unwrap().noise().variance()
    };
    let ratio = variance(NoiseKind::Staircase) / variance(NoiseKind::Laplace);
    assert!((ratio - 0.687).abs() < 1e-3, "{ratio}");
}

/// The same numbers under a certificate of another projection's, and rows without noise.
#[test]
fn what_a_release_cannot_be_is_refused() {
    let mechanism = made(Family::Oporp, 16, 8, 1.0).unwrap();
    let x = vec![0.0; 400 * 16];
    let rows = RowsView::f64(400, 16, &x).unwrap();
    let honest = release(&mechanism, rows);
    let (sketch, certificate) = honest.into_parts();
    let quiet = PrivateSketch::new(sketch.projection(), sketch.noise().clone(), vec![0.0; 400 * 8]);
    let refused = sketch::verify(&Release::certified(quiet.unwrap(), certificate.clone()));
    assert!(refused.unwrap_err().to_string().contains("vary less"));
    // A projection of which one attribute moves several numbers.
    let dense = ProjectionSpec::new(Family::Gaussian, 16, 8, PublicSeed::new(3)).unwrap();
    let mut statement = certificate.statement().clone();
    statement.public.extend(dense.public_parameters());
    let forged: Certificate =
        dp_core::authority!().certificate(statement, certificate.guarantee().clone());
    let sketch = PrivateSketch::new(dense, sketch.noise().clone(), sketch.values().to_vec());
    assert!(sketch::verify(&Release::certified(sketch.unwrap(), forged)).is_err());
    let Some(Profile::Staircase { .. }) = certificate.guarantee().profile() else {
        panic!("a staircase")
    };
}
