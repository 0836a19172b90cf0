//! Users with several rows: what they move by brute force, what is paid for it, certificates that pay for less, refusals.

use crate::rows::adjacencies;
use crate::support::Draws;
use dp_core::certificate::Statement;
use dp_core::profile::{RowChange, covariance_sensitivity};
use dp_core::{
    Adjacency, Budget, Guarantee, L2Sensitivity, NoiseRng, NormBound, Probability, Profile,
    Release, Theorem, authority,
};
use linalg_dp::analysis::Moments;
use linalg_dp::covariance::{
    GaussianCovariance, JlCovariance, PrivateCovariance, QuantileConfig, QuantileCovariance,
    WishartCovariance, WishartShape,
};
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use linalg_dp::verify::{Finding, verify, verify_consistency};

const USER: u64 = 5;

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

fn of_users(bound: f64) -> [Adjacency; 3] {
    adjacencies(bound).map(|each| each.of_user(USER).unwrap())
}

fn sensitivity(guarantee: &Guarantee) -> f64 {
    match guarantee.profile().unwrap() {
        Profile::SymmetricGaussian { bound, change, .. } => covariance_sensitivity(*bound, *change),
        other => panic!("{other:?}"),
    }
}

/// A unit vector.
fn direction(d: usize, draws: &mut Draws) -> Vec<f64> {
    let raw: Vec<f64> = (0..d).map(|_| draws.normal()).collect();
    let norm = raw.iter().map(|x| x * x).sum::<f64>().sqrt();
    raw.iter().map(|x| x / norm).collect()
}

/// Releases of neighbours with the same noise differ by what the user moves: at most what is paid for, and nearly as much where
/// all rows of the user are equal. One row less in the count, or the root of the rows in place of their number, would be exceeded.
#[test]
fn no_user_moves_a_covariance_further_than_is_paid_for_and_equal_rows_as_far() {
    let (d, others, m) = (4, 20, USER as usize);
    let mut draws = Draws::new(71);
    for (which, adjacency) in of_users(1.5).into_iter().enumerate() {
        let replace = matches!(adjacency.each(), Adjacency::ReplaceRow { .. });
        let mechanism = GaussianCovariance::calibrate(d, adjacency, budget()).unwrap();
        let paid = sensitivity(mechanism.guarantee());
        let mut largest = 0.0f64;
        for trial in 0..60 {
            let rest: Vec<f64> = (0..others).flat_map(|_| direction(d, &mut draws)).collect();
            let (same, other) = (direction(d, &mut draws), direction(d, &mut draws));
            // At right angles to the first, so that the two are as far apart as can be.
            let dot: f64 = same.iter().zip(&other).map(|(a, b)| a * b).sum();
            let turned: Vec<f64> = same.iter().zip(&other).map(|(a, b)| b - dot * a).collect();
            let row = |equal: &Vec<f64>, draws: &mut Draws| match trial % 3 {
                0 => equal.clone(),
                1 => direction(d, draws),
                _ => direction(d, draws).iter().map(|x| 0.3 * x).collect(),
            };
            // Beyond the bound: rows are cut to it.
            let long = |x: Vec<f64>| x.into_iter().map(|x| 3.0 * x);
            let user: Vec<f64> = (0..m).flat_map(|_| long(row(&same, &mut draws))).collect();
            let instead: Vec<f64> = match (which, replace) {
                (_, true) => (0..m).flat_map(|_| long(row(&turned, &mut draws))).collect(),
                // Added or removed, or of zeros.
                _ if matches!(adjacency.each(), Adjacency::AddRemoveRow { .. }) => Vec::new(),
                _ => vec![0.0; m * d],
            };
            let release = |rows: &[f64]| {
                let mut rng = NoiseRng::deterministic_not_private(9);
                mechanism.release(rows, &mut rng).unwrap()
            };
            let (a, b) =
                (release(&[rest.clone(), user].concat()), release(&[rest, instead].concat()));
            let moved = (a.payload().unbiased() - b.payload().unbiased()).norm_l2();
            assert!(moved <= paid, "{adjacency}: {moved} of {paid}");
            largest = largest.max(moved);
        }
        assert!(largest > 0.999 * paid, "{adjacency}: {largest} of {paid}");
    }
}

/// As many times the noise as rows, and the same privacy as the ledger counts for so many steps of one row.
#[test]
fn noise_grows_with_the_rows_as_ledgers_count_it() {
    for (each, user) in adjacencies(1.0).into_iter().zip(of_users(1.0)) {
        for (one, all) in [
            (
                GaussianCovariance::calibrate(6, each, budget()).unwrap(),
                GaussianCovariance::calibrate(6, user, budget()).unwrap(),
            ),
            (
                GaussianCovariance::calibrate_moments(6, each, budget()).unwrap(),
                GaussianCovariance::calibrate_moments(6, user, budget()).unwrap(),
            ),
        ] {
            let ratio = all.sigma().get() / one.sigma().get();
            assert!((ratio / USER as f64 - 1.0).abs() < 1e-6, "{ratio}");
            // One row of the user, alone, loses a fifth of the shift.
            let moved =
                |guarantee: &Guarantee, unit| match guarantee.profile_under(unit).unwrap().unwrap()
                {
                    Profile::Gaussian { sensitivity, sigma } => sensitivity.get() / sigma.get(),
                    Profile::SymmetricGaussian { bound, change, sigma } => {
                        covariance_sensitivity(bound, change) / sigma.get()
                    }
                    other => panic!("{other:?}"),
                };
            let (own, counted) = (moved(all.guarantee(), user), moved(one.guarantee(), user));
            assert!((counted / own / USER as f64 - 1.0).abs() < 1e-6, "{counted} {own}");
        }
    }
}

fn agrees(release: &Release<PrivateCovariance>) {
    assert_eq!(verify(release).unwrap().sensitivity, Finding::Agrees);
}

fn refused(release: Release<PrivateCovariance>, guarantee: Guarantee) {
    let statement: Statement = release.certificate().statement().clone();
    let certificate = authority!().certificate(statement, guarantee);
    let forged = Release::certified(release.into_parts().0, certificate);
    let error = verify_consistency(&forged).unwrap_err().to_string();
    assert!(error.contains("guarantee") || error.contains("sensitivity"), "{error}");
}

/// What one row moves, under the name of a user's; one row less; another kind of change.
#[test]
fn certificates_that_pay_for_fewer_rows_are_refused() {
    let rows = [0.6, 0.8, 0.1].repeat(30);
    for (each, user) in adjacencies(1.0).into_iter().zip(of_users(1.0)) {
        let mut rng = NoiseRng::from_os().unwrap();
        let mechanism = GaussianCovariance::calibrate(3, user, budget()).unwrap();
        let release = mechanism.release(&rows, &mut rng).unwrap();
        agrees(&release);
        let Profile::SymmetricGaussian { bound, sigma, change } =
            *release.certificate().guarantee().profile().unwrap()
        else {
            panic!("another profile")
        };
        let theorem = || Theorem::CovarianceGaussian;
        let shorter = |rows: f64| {
            let bound = NormBound::new(rows.sqrt() * (1.0 + 1e-6)).unwrap();
            Profile::SymmetricGaussian { bound, sigma, change }
        };
        // The core does not make them, nor does a file that says so hold together.
        for rows in [1.0, 4.0] {
            let made = authority!().proven(user, budget(), shorter(rows), theorem());
            assert!(made.is_err(), "{rows} rows of {user}");
        }
        let larger = each.of_user(USER + 1).unwrap();
        let profile = Profile::SymmetricGaussian { bound, sigma, change };
        assert!(authority!().proven(larger, budget(), profile, theorem()).is_err());
        // The bound of the rows alone: clipped and rounded rows may be longer.
        let exact = NormBound::new((USER as f64).sqrt()).unwrap();
        let profile = Profile::SymmetricGaussian { bound: exact, sigma, change };
        refused(release, authority!().proven(user, budget(), profile, theorem()).unwrap());
    }
}

/// Every step of a regression and the counts of a chosen bound are paid for as many times.
#[test]
fn steps_pay_for_every_row() {
    let one = NormBound::new(1.0).unwrap();
    let rows = [0.3, -0.4, 0.5].repeat(400);
    for (each, user) in adjacencies(1.0).into_iter().zip(of_users(1.0)) {
        let made = |adjacency| {
            let config = NewtonConfig { features: 2, adjacency, label_bound: one, intercept: true };
            PrivateNewton::calibrate(config, budget()).unwrap()
        };
        let steps = |guarantee: &Guarantee| match guarantee.profile().unwrap() {
            Profile::GaussianComposition { steps } => steps.clone(),
            other => panic!("{other:?}"),
        };
        let (of_one, of_user) = (made(each), made(user));
        let config = |adjacency| {
            let within = Probability::new(0.9).unwrap();
            QuantileConfig { dim: 3, adjacency, within, means: false }
        };
        let chosen =
            |adjacency| QuantileCovariance::calibrate(config(adjacency), budget()).unwrap();
        let (choice_of_one, choice) = (chosen(each), chosen(user));
        for (one, all) in [
            (steps(of_one.guarantee()), steps(of_user.guarantee())),
            (steps(choice_of_one.guarantee()), steps(choice.guarantee())),
        ] {
            for (one, all) in one.iter().zip(&all) {
                let ratio = all.sensitivity.get() / one.sensitivity.get();
                assert!((ratio / USER as f64 - 1.0).abs() < 1e-6, "{ratio}");
                let noise = all.sigma.get() / one.sigma.get();
                assert!((noise / USER as f64 - 1.0).abs() < 1e-6, "{noise}");
            }
        }
        let mut rng = NoiseRng::from_os().unwrap();
        assert_eq!(
            verify(&of_user.release(&rows, &mut rng).unwrap()).unwrap().sensitivity,
            Finding::Agrees
        );
        agrees(&choice.release(&rows, &mut rng).unwrap());
        // Less in any step is no step of such a user.
        for which in 0..3 {
            let mut less = steps(of_user.guarantee());
            let short = less[which].sensitivity.get() * 0.74;
            less[which].sensitivity = L2Sensitivity::new(short).unwrap();
            let profile = Profile::GaussianComposition { steps: less };
            assert!(authority!().proven(user, budget(), profile, Theorem::PrivateNewton).is_err());
        }
        let mut less = steps(choice.guarantee());
        less[1].sensitivity = L2Sensitivity::new(less[1].sensitivity.get() * 0.79).unwrap();
        let profile = Profile::GaussianComposition { steps: less };
        let theorem = Theorem::CovarianceOfChosenBound;
        assert!(authority!().proven(user, budget(), profile, theorem).is_err());
    }
}

/// The number of rows is known where rows stay, and means are read from the sums as of one row a user.
#[test]
fn moments_of_users_know_what_those_of_rows_know() {
    let rows = [0.6, 0.2].repeat(50_000);
    for user in of_users(1.0) {
        let mechanism = GaussianCovariance::calibrate_moments(2, user, budget()).unwrap();
        let release = mechanism.release(&rows, &mut NoiseRng::from_os().unwrap()).unwrap();
        agrees(&release);
        let moments = Moments::of(&release).unwrap();
        let known = !matches!(user.each(), Adjacency::AddRemoveRow { .. });
        assert_eq!(moments.rows() == 50_000.0, known, "{user}");
        assert!((moments.means()[0] - 0.6).abs() < 0.05, "{:?}", moments.means());
    }
}

/// Noise whose loss grows otherwise than with the length of a change.
#[test]
fn other_noise_refuses_users() {
    let shape = WishartShape::LeastSpectralNorm;
    for user in of_users(1.0) {
        for error in [
            WishartCovariance::calibrate(3, user, budget(), shape).err().unwrap().to_string(),
            JlCovariance::calibrate(3, 40, user, budget()).err().unwrap().to_string(),
        ] {
            assert!(error.contains("of a user with several rows"), "{error}");
        }
        let change = match user.each() {
            Adjacency::ReplaceRow { .. } => RowChange::Replace,
            _ => RowChange::AddRemove,
        };
        let profile = Profile::Wishart {
            dim: 3,
            dof: 9,
            bound: NormBound::new(50.0).unwrap(),
            scale: dp_core::NoiseScale::new(1e4).unwrap(),
            change,
        };
        let theorem = Theorem::CovarianceWishart;
        assert!(authority!().proven(user, budget(), profile, theorem).is_err());
    }
}
