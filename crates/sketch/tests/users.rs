//! Users with several rows or sets: signs, bounded values, set signatures: the loss of all of them, certificates that count fewer, estimates.

use dp_core::release_file::{decode, encode};
use dp_core::{
    Adjacency, Budget, Certificate, Epsilon, NoiseRng, Probability, Profile, PublicSeed, Release,
    Shift, Theorem, authority,
};
use sketch::bounded::{BoundedConfig, BoundedLaw, PrivateBounded};
use sketch::distances::ValueRange;
use sketch::projection::Family;
use sketch::sets::{BinResponse, BucketPrivMin, ItemSet, PrivateSymbols, SymbolShape};
use sketch::signs::{FlipRule, PrivateSigns, SignSketch, smooth_to_public_row};
use sketch::verify::Finding;
use sketch::{RowsView, verify, verify_consistency};

const USER: u64 = 3;
const D: usize = 20;

fn attribute() -> Adjacency {
    Adjacency::Attribute { beta: Shift::new(1.0).unwrap() }
}

fn user() -> Adjacency {
    attribute().of_user(USER).unwrap()
}

fn rows() -> Vec<f64> {
    (0..40 * D).map(|i| ((i * 31) % 199) as f64 / 199.0).collect()
}

fn secret() -> NoiseRng {
    NoiseRng::from_os().unwrap()
}

fn sketch(family: Family) -> SignSketch {
    SignSketch::repeated(family, D, 8, 4, PublicSeed::new(5)).unwrap()
}

/// What one sign that differs loses, times the most that can differ in all rows of a user: the budget, and no more.
#[test]
fn all_rows_of_a_user_lose_the_budget_together() {
    let values = rows();
    let view = RowsView::f64(40, D, &values).unwrap();
    for (family, of_one_row) in [(Family::Oporp, 4), (Family::Gaussian, 8)] {
        for rule in [FlipRule::RandomizedResponse, FlipRule::OptimalSmooth] {
            let (entry, budget) = (1.0.try_into().unwrap(), Budget::new(6.0, 0.0).unwrap());
            let made = |unit, budget| {
                PrivateSigns::new(sketch(family), rule, unit, entry, budget).unwrap()
            };
            let signs = made(user(), budget);
            let touched = of_one_row * USER;
            let Profile::RandomizedResponse { bits, keep } = *signs.guarantee().profile().unwrap()
            else {
                panic!("another profile")
            };
            assert_eq!(bits, touched, "{family:?}");
            let one = (keep.get() / (1.0 - keep.get())).ln();
            let all = one * touched as f64;
            assert!(all <= 6.0 && all > 6.0 * (1.0 - 1e-6), "{family:?}: {all}");
            // The same flips as of one row for a third of it.
            let third = made(attribute(), Budget::new(2.0, 0.0).unwrap());
            let apart = (0..4).map(|l| signs.flips().flip(l).get() - third.flips().flip(l).get());
            assert!(apart.fold(0.0, |m, x: f64| x.abs().max(m)) < 1e-9);

            let release = signs.release(view, &mut secret()).unwrap();
            assert_eq!(verify(&release).unwrap().sensitivity, Finding::Agrees);
            let statement = release.certificate().statement().clone();
            for bits in [of_one_row, touched - 1] {
                let profile = Profile::RandomizedResponse { bits, keep };
                let guarantee =
                    authority!().proven(user(), budget, profile, Theorem::SignsTouched).unwrap();
                let certificate = authority!().certificate(statement.clone(), guarantee);
                let forged = Release::certified(release.payload().clone(), certificate);
                let error = verify_consistency(&forged).unwrap_err().to_string();
                assert!(error.contains("one unit touches"), "{error}");
            }
            // Fewer signs than rows are not even asked about.
            let profile = Profile::RandomizedResponse { bits: USER - 1, keep };
            assert!(authority!().proven(user(), budget, profile, Theorem::SignsTouched).is_err());
        }
    }
}

/// Estimates need the change of one attribute, and find it in a user's.
#[test]
fn signs_of_users_are_read_as_those_of_rows() {
    let values = rows();
    let view = RowsView::f64(40, D, &values).unwrap();
    let (entry, budget) = (1.0.try_into().unwrap(), Budget::new(600.0, 0.0).unwrap());
    let sketch = SignSketch::repeated(Family::Gaussian, D, 640, 40, PublicSeed::new(5)).unwrap();
    let signs =
        PrivateSigns::new(sketch.clone(), FlipRule::OptimalSmooth, user(), entry, budget).unwrap();
    let release = signs.release(view, &mut secret()).unwrap();
    let (query, sure) = (&values[..D], Probability::new(0.999).unwrap());
    let length = query.iter().map(|x| x * x).sum::<f64>().sqrt();
    let norms = length..=length;
    let found = smooth_to_public_row(&sketch, query, &release, 0, norms, sure).unwrap();
    assert!(found.interval.low <= 1.0 && found.interval.high >= 0.99, "{found:?}");
    assert!(found.cosine.value > 0.5, "{found:?}");
}

/// Of every value of every row one response: a user's lose the budget together.
#[test]
fn bounded_values_of_a_user_share_the_budget() {
    let values = rows();
    let view = RowsView::f64(40, D, &values).unwrap();
    for law in [BoundedLaw::LeastError, BoundedLaw::OneBit] {
        let config = BoundedConfig {
            d: D,
            range: ValueRange::new(0.0, 1.0).unwrap(),
            beta: Shift::new(1.0).unwrap(),
            law,
            clip: false,
        };
        let budget = Budget::new(6.0, 0.0).unwrap();
        let mechanism = PrivateBounded::of_user(config, USER, budget).unwrap();
        let third = PrivateBounded::new(config, Budget::new(2.0, 0.0).unwrap()).unwrap();
        assert!((mechanism.variance() / third.variance() - 1.0).abs() < 1e-6);
        assert_eq!(mechanism.guarantee().adjacency(), user());
        let Profile::KaryResponse { responses, alphabet, keep } =
            *mechanism.guarantee().profile().unwrap()
        else {
            panic!("another profile")
        };
        let other = (1.0 - keep.get()) / (alphabet - 1) as f64;
        let all = responses as f64 * (keep.get() / other).ln();
        assert!(responses == USER && all <= 6.0 && all > 6.0 * (1.0 - 1e-6), "{all}");
        let release = mechanism.release(view, &mut secret()).unwrap();
        assert_eq!(verify(&release).unwrap().sensitivity, Finding::Agrees);
        let profile = Profile::KaryResponse { responses: USER - 1, alphabet, keep };
        assert!(authority!().proven(user(), budget, profile, Theorem::BoundedValues).is_err());
        assert!(PrivateBounded::of_user(config, 0, budget).is_err());
    }
}

/// Of every set that one user may have a bin for each changed item, or all positions: they lose the budget together, in files and in
/// what is checked of them.
#[test]
fn sets_of_a_user_share_the_budget() {
    let sets: Vec<_> = (0..30u64).map(|i| ItemSet::new((i..i + 30).collect()).unwrap()).collect();
    let (budget, seed) = (Budget::new(9.0, 0.0).unwrap(), PublicSeed::new(3));
    let bins = BinResponse::of_user(20, 4, 2, USER, budget).unwrap();
    let shape = SymbolShape::new(10, 1, 4).unwrap();
    let buckets = BucketPrivMin::of_user(shape, USER, Epsilon::new(9.0).unwrap()).unwrap();
    let third = BinResponse::calibrate(20, 4, 2, Budget::new(3.0, 0.0).unwrap()).unwrap();
    let (user, one) = (bins.response().keep().get(), third.response().keep().get());
    assert!((user / one - 1.0).abs() < 1e-9, "{user} {one}");
    for (release, theorem, of_one, letters) in [
        (bins.release(&sets, seed, &mut secret()).unwrap(), Theorem::OnePermutation, 2, 5),
        (buckets.release(&sets, seed, &mut secret()).unwrap(), Theorem::BucketResponse, 10, 4),
    ] {
        let guarantee = release.certificate().guarantee().clone();
        let unit = guarantee.adjacency();
        assert_eq!(unit.rows(), USER);
        let Profile::KaryResponse { responses, alphabet, keep } = *guarantee.profile().unwrap()
        else {
            panic!("another profile")
        };
        assert_eq!((responses, alphabet), (of_one * USER, letters));
        let other = (1.0 - keep.get()) / (letters - 1) as f64;
        let all = responses as f64 * (keep.get() / other).ln();
        assert!(all <= 9.0 && all > 9.0 * (1.0 - 1e-6), "{all}");
        assert_eq!(verify(&release).unwrap().sensitivity, Finding::Agrees);
        let bytes = encode(&release).unwrap();
        assert_eq!(
            decode::<PrivateSymbols, Certificate>(&bytes).unwrap().payload(),
            release.payload()
        );
        // Of one set, of one response less, or of more sets.
        let statement = release.certificate().statement().clone();
        for (responses, unit) in [
            (of_one, unit),
            (of_one * USER - 1, unit),
            (of_one * USER, unit.each().of_user(USER + 1).unwrap()),
        ] {
            let profile = Profile::KaryResponse { responses, alphabet, keep };
            let Ok(made) = authority!().proven(unit, budget, profile, theorem) else { continue };
            let certificate = authority!().certificate(statement.clone(), made);
            let forged = Release::certified(release.payload().clone(), certificate);
            assert!(verify_consistency(&forged).is_err(), "{responses} {unit}");
            assert!(decode::<PrivateSymbols, Certificate>(&encode(&forged).unwrap()).is_err());
        }
        let profile = Profile::KaryResponse { responses: USER - 1, alphabet, keep };
        assert!(authority!().proven(unit, budget, profile, theorem).is_err());
    }
    assert!(BinResponse::of_user(20, 4, 2, 0, budget).is_err());
    assert!(BucketPrivMin::of_user(shape, 1 << 30, Epsilon::new(9.0).unwrap()).is_err());
}
