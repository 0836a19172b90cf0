//! Releases whose unit is a user with several rows, before both verifiers.

use crate::verifier::{judged, library_accepts};
use dp_core::release_file::{encode, open};
use dp_core::{
    Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, NormBound, Probability, PublicSeed, Shift,
};
use linalg_dp::covariance::{GaussianCovariance, QuantileConfig, QuantileCovariance};
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use serde_json::{Value, json};
use sketch::RowsView;
use sketch::bounded::{BoundedConfig, BoundedLaw, PrivateBounded};
use sketch::distances::ValueRange;
use sketch::projection::{Family, ProjectionSpec};
use sketch::sets::{
    BinResponse, BucketPrivMin, FreshBinResponse, ItemSet, SetNeighbours, SymbolShape,
};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use sketch::units::{PrivateUnits, UnitsConfig};
use sketch::vectors::PrivateProjection;

fn rng() -> NoiseRng {
    NoiseRng::deterministic_not_private(2)
}

fn user(each: Adjacency) -> Adjacency {
    each.of_user(3).unwrap()
}

fn attribute() -> Adjacency {
    user(Adjacency::Attribute { beta: Shift::new(1.0).unwrap() })
}

fn budgets() -> (Budget, Budget) {
    (Budget::new(2.0, 1e-6).unwrap(), Budget::new(9.0, 0.0).unwrap())
}

/// Releases of rows, and their names.
fn of_rows(view: RowsView<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let ((delta, pure), bound) = (budgets(), EntryBound::new(1.0).unwrap());
    let projection =
        || ProjectionSpec::new(Family::Oporp, 9, 4, PublicSeed::new(5)).unwrap().build();
    let gauss = PrivateProjection::gaussian(projection(), attribute(), bound, delta).unwrap();
    let laplace = PrivateProjection::laplace(projection(), attribute(), bound, pure).unwrap();
    let config = UnitsConfig {
        projection: projection(),
        adjacency: user(Adjacency::AnyInput),
        lengths: None,
    };
    let units = PrivateUnits::new(config, pure).unwrap();
    let sketch = SignSketch::single(Family::Oporp, 9, 4, PublicSeed::new(5)).unwrap();
    let rule = FlipRule::OptimalSmooth;
    let signs = PrivateSigns::new(sketch, rule, attribute(), bound, pure).unwrap();
    let config = BoundedConfig {
        d: 9,
        range: ValueRange::new(-0.5, 0.5).unwrap(),
        beta: Shift::new(1.0).unwrap(),
        law: BoundedLaw::LeastError,
        clip: false,
    };
    let bounded = PrivateBounded::of_user(config, 3, pure).unwrap();
    let bins = BinResponse::of_user(8, 4, 2, 3, pure).unwrap();
    let shape = SymbolShape::new(8, 1, 4).unwrap();
    let buckets = BucketPrivMin::of_user(shape, 3, pure.epsilon).unwrap();
    let sets: Vec<_> = (1..9u64).map(|i| ItemSet::new((0..i).collect()).unwrap()).collect();
    let seed = PublicSeed::new(3);
    vec![
        ("bins", encode(&bins.release(&sets, seed, &mut rng()).unwrap()).unwrap()),
        ("buckets", encode(&buckets.release(&sets, seed, &mut rng()).unwrap()).unwrap()),
        ("gauss", encode(&gauss.release(view, &mut rng()).unwrap()).unwrap()),
        ("laplace", encode(&laplace.release(view, &mut rng()).unwrap()).unwrap()),
        ("units", encode(&units.release(view, &mut rng()).unwrap()).unwrap()),
        ("signs", encode(&signs.release(view, &mut rng()).unwrap()).unwrap()),
        ("bounded", encode(&bounded.release(view, &mut rng()).unwrap()).unwrap()),
    ]
}

/// Releases of matrices, and their names.
fn of_matrices(rows: &[f64]) -> Vec<(String, Vec<u8>)> {
    let (bound, (budget, _)) = (NormBound::new(1.5).unwrap(), budgets());
    let mut all = Vec::new();
    for each in [
        Adjacency::AddRemoveRow { bound },
        Adjacency::ReplaceRow { bound },
        Adjacency::ZeroRow { bound },
    ] {
        let adjacency = user(each);
        let covariance = GaussianCovariance::calibrate(3, adjacency, budget).unwrap();
        let moments = GaussianCovariance::calibrate_moments(3, adjacency, budget).unwrap();
        let within = Probability::new(0.9).unwrap();
        let config = QuantileConfig { dim: 3, adjacency, within, means: true };
        let chosen = QuantileCovariance::calibrate(config, budget).unwrap();
        let config = NewtonConfig { features: 2, adjacency, label_bound: bound, intercept: true };
        let newton = PrivateNewton::calibrate(config, budget).unwrap();
        let mut add = |name: &str, bytes| all.push((format!("{name}, {each}"), bytes));
        add("covariance", encode(&covariance.release(rows, &mut rng()).unwrap()).unwrap());
        add("moments", encode(&moments.release(rows, &mut rng()).unwrap()).unwrap());
        add("chosen", encode(&chosen.release(rows, &mut rng()).unwrap()).unwrap());
        add("regression", encode(&newton.release(rows, &mut rng()).unwrap()).unwrap());
    }
    all
}

/// Both accept the honest ones, and refuse more rows than the noise hides.
#[test]
fn releases_of_users_are_held_to_their_number_of_rows() {
    let rows: Vec<f64> = (0..36).map(|i| f64::from(i % 7) / 8.0 - 0.4).collect();
    let view = RowsView::f64(4, 9, &rows).unwrap();
    let (mut honest, mut edited) = (Vec::new(), Vec::new());
    let named = of_rows(view).into_iter().map(|(name, bytes)| (name.to_owned(), bytes));
    for (name, bytes) in named.chain(of_matrices(&rows)) {
        assert!(library_accepts(&bytes), "{name}");
        for (what, more) in [("one row more", 1), ("many rows more", 1000)] {
            let forged = fuzzing::forged(&bytes, |_, fields| {
                let place = fields.pointer_mut("/certificate/guarantee/adjacency/rows").unwrap();
                *place = json!(place.as_u64().unwrap() + more);
            });
            let forged = forged.unwrap();
            assert!(!library_accepts(&forged), "{name}: {what}");
            edited.push((format!("{name}: {what}"), forged));
        }
        honest.push((name, bytes));
    }
    judged(&honest, &edited);
}

/// What hides one row names a user with a thousand: both refuse it, of every kind.
#[test]
fn releases_of_single_rows_hide_no_user() {
    let mut edited = Vec::new();
    // Fresh hash functions, which all sets share.
    let neighbours = SetNeighbours::new(2, 1000).unwrap();
    let fresh = FreshBinResponse::calibrate(8, 4, neighbours, budgets().0).unwrap();
    let sets = [ItemSet::new((0..1000).collect()).unwrap()];
    let seed = FreshSeed::reproducible_not_private(7);
    let fresh = encode(&fresh.release(&sets, seed, &mut rng()).unwrap()).unwrap();
    assert!(library_accepts(&fresh));
    let samples = fuzzing::releases().unwrap().into_iter().map(|one| (one.name, one.bytes));
    for (name, bytes) in samples.chain([("fresh bins".to_owned(), fresh)]) {
        let mut wrapped = false;
        let forged = fuzzing::forged(&bytes, |_, fields| {
            let Some(place) = fields.pointer_mut("/certificate/guarantee/adjacency") else {
                return;
            };
            let each = place.take();
            *place = json!({"kind": "user", "rows": 1000, "each": each});
            wrapped = true;
        });
        if let (true, Ok(forged)) = (wrapped, forged) {
            assert!(!library_accepts(&forged), "{name}");
            edited.push((name, forged));
        }
    }
    assert!(edited.len() > 20, "{}", edited.len());
    judged(&[], &edited);
}

/// In a file a guarantee of users with several rows is proven: nobody's word stands for it.
#[test]
fn releases_of_users_are_proven() {
    let samples = fuzzing::releases().unwrap();
    let bytes = |name: &str| &samples.iter().find(|sample| sample.name == name).unwrap().bytes;
    let user = json!({"kind": "user", "rows": 2, "each": {"kind": "attribute", "beta": 2.0}});
    let bounded = |provenance: Option<Value>| {
        let forged = fuzzing::forged(bytes("bounded.dps"), |_, fields| {
            let certificate = &mut fields["certificate"];
            certificate["ln_true_delta"] = json!("-inf");
            let guarantee = &mut certificate["guarantee"];
            guarantee["adjacency"] = user.clone();
            guarantee["budget"]["epsilon"] = json!(7.0);
            guarantee["profile"]["responses"] = json!(2);
            if let Some(provenance) = provenance {
                guarantee["provenance"] = provenance;
            }
        });
        forged.unwrap()
    };
    let proven = bounded(None);
    assert!(library_accepts(&proven));
    let declared = json!({"kind": "declared", "by": "somebody", "reason": "a test"});
    let published = json!({"kind": "published", "source": "a paper", "caveat": "a test"});
    let individual = fuzzing::forged(bytes("individual.dps"), |_, fields| {
        fields["certificate"]["adjacency"] = user.clone();
    });
    let mut edited = Vec::new();
    for (name, file) in [
        ("declared", bounded(Some(declared))),
        ("published", bounded(Some(published))),
        ("individual", individual.unwrap()),
    ] {
        let refused = open(&file).unwrap_err().to_string();
        assert!(refused.contains("not proven"), "{name}: {refused}");
        edited.push((name.to_owned(), file));
    }
    judged(&[("proven".to_owned(), proven)], &edited);
}

/// Set signatures under the theorem of signs, whose bits nothing of the file would count.
#[test]
fn signatures_of_sets_are_no_signs() {
    let samples = fuzzing::releases().unwrap();
    let sample = samples.iter().find(|sample| sample.name.contains("occupancy")).unwrap();
    for rows in [1, 3] {
        let forged = fuzzing::forged(&sample.bytes, |_, fields| {
            let keep = fields.pointer("/parameters/keep").unwrap().clone();
            let guarantee = fields.pointer_mut("/certificate/guarantee").unwrap();
            let one = json!({"kind": "attribute", "beta": 1.0});
            guarantee["adjacency"] = match rows {
                1 => one,
                _ => json!({"kind": "user", "rows": rows, "each": one}),
            };
            guarantee["profile"] =
                json!({"kind": "randomized-response", "bits": rows, "keep": keep});
            guarantee["provenance"] = json!({"kind": "proven", "theorem": "signs-touched"});
            guarantee["budget"]["epsilon"] = json!(40.0);
        });
        let forged = forged.unwrap();
        assert!(!library_accepts(&forged), "{rows}");
        judged(&[], &[(format!("{rows} rows"), forged)]);
    }
}
