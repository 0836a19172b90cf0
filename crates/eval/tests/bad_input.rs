//! What a user can get wrong on the way from a file to a release, and what he is told.

use dp_core::{Adjacency, Budget, NoiseRng, PublicSeed};
use sketch::RowsView;
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::PrivateProjection;

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> B {
    B::try_from(1.0).unwrap()
}

fn projection(k: usize) -> Result<ProjectionSpec, String> {
    ProjectionSpec::new(Family::Oporp, 4, k, PublicSeed::new(1)).map_err(|e| e.to_string())
}

fn release(n: usize, rows: &[f64]) -> Result<(), String> {
    let adjacency = Adjacency::Attribute { beta: one() };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let projection = projection(2)?.build();
    let mechanism = PrivateProjection::gaussian(projection, adjacency, one(), budget).unwrap();
    let rows = RowsView::f64(n, 4, rows).map_err(|e| e.to_string())?;
    let mut rng = NoiseRng::deterministic_not_private(1);
    mechanism.release(rows, &mut rng).map(drop).map_err(|e| e.to_string())
}

#[track_caller]
fn says<T>(result: Result<T, impl ToString>, parts: &[&str]) {
    let message = result.err().expect("must be refused").to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}

#[test]
fn budgets() {
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        says(Budget::new(epsilon, 1e-6), &["epsilon", &epsilon.to_string(), "(0, inf)"]);
    }
    for delta in [-1e-9, 1.0, f64::NAN] {
        says(Budget::new(1.0, delta), &["delta", &delta.to_string(), "[0, 1)"]);
    }
}

#[test]
fn shapes() {
    says(projection(0), &["k = 0", "[1, 4]"]);
    says(projection(5), &["k = 5", "[1, 4]"]);
    assert_eq!(projection(4).map(|p| p.k()), Ok(4));
    says(release(2, &[0.0; 7]), &["length 7", "8"]);
}

#[test]
fn values_are_named_by_place_and_never_shown() {
    says(
        release(2, &[0.0, 0.0, 0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0]),
        &["row 1, column 1", "finite"],
    );
    let outside = release(1, &[0.0, 0.0, 0.0, -1.25]);
    says(outside.clone(), &["row 0, column 3", "[-1, 1]"]);
    assert!(!outside.unwrap_err().contains("1.25"), "a private value was shown");
    assert_eq!(release(1, &[0.0, 1.0, -1.0, 0.5]), Ok(()));
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("truncated-idx3");
    std::fs::write(&path, [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 9]).unwrap();
    says(eval::data::images(&path, None), &["truncated-idx3", "ends before its last row"]);
    std::fs::write(&path, b"not an IDX file").unwrap();
    says(eval::data::images(&path, None), &["truncated-idx3", "two zero bytes"]);
    says(eval::data::images(&folder.path().join("absent"), None), &["absent"]);
}
