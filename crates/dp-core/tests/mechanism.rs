//! Calibrated noise: the rounding is paid for, and nothing can be paired otherwise.

use core::ops::ControlFlow;
use dp_core::accounting::Ledger;
use dp_core::authority;
use dp_core::mechanism::{Basis, Calibrated, Mechanism, PrivateVector, Statistic};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid, LaplaceNoise, NoiseLaw};
use dp_core::{
    Adjacency, Budget, Claim, EntryBound, Error, L1Sensitivity, L2Sensitivity, LaplaceScale,
    NoiseRng, NoiseScale, NormBound, PrivacyProfile, Profile, Provenance, Shift, Theorem,
    calibrate,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn row() -> Adjacency {
    Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() }
}

fn basis() -> Basis {
    Basis::declared("the tests", "a row has norm one")
}

fn l2(length: usize, magnitude: f64) -> Statistic<L2Sensitivity> {
    let one = L2Sensitivity::new(1.0).unwrap();
    Statistic::new(row(), one, length, EntryBound::new(magnitude).unwrap())
}

fn l1(length: usize, magnitude: f64) -> Statistic<L1Sensitivity> {
    let one = L1Sensitivity::new(1.0).unwrap();
    Statistic::new(row(), one, length, EntryBound::new(magnitude).unwrap())
}

/// The sensitivity that the guarantee counts with, and the grid.
fn paid<N: AdditiveNoise>(calibrated: &Calibrated<N>) -> (f64, Grid) {
    let sensitivity = match calibrated.guarantee().profile() {
        Some(Profile::Gaussian { sensitivity, .. }) => sensitivity.get(),
        Some(Profile::Laplace { sensitivity, .. }) => sensitivity.get(),
        other => panic!("{other:?}"),
    };
    (sensitivity, calibrated.grid())
}

/// The steps of the proof page, one by one.
#[test]
fn same_numbers_as_by_hand() -> Outcome {
    let budget = Budget::new(0.7, 1e-7)?;
    for (length, magnitude, error) in [(1, 1.0, 0.0), (40, 3e5, 1e-9), (1000, 1e9, 1e-5)] {
        let exact = L2Sensitivity::new(0.3)?;
        let bound = EntryBound::new(magnitude)?;
        let grid = Grid::choose(calibrate::gaussian(budget, exact)?, bound)?;
        let sensitivity = grid.inflate_l2(exact, length, error)?;
        let sigma = calibrate::gaussian(budget, sensitivity)?;
        let statistic = Statistic::new(row(), exact, length, bound).computed_within(error)?;
        let made = Calibrated::<GaussianNoise>::calibrate(statistic, budget, basis())?;
        assert_eq!(made.law(), NoiseLaw::RoundedGaussian { sigma, grid });
        assert_eq!(made.guarantee().profile(), Some(&Profile::Gaussian { sensitivity, sigma }));

        let exact = L1Sensitivity::new(0.3)?;
        let grid = Grid::choose(calibrate::laplace(budget, exact)?, bound)?;
        let sensitivity = grid.inflate_l1(exact, length, error)?;
        let scale = calibrate::laplace(budget, sensitivity)?;
        let statistic = Statistic::new(row(), exact, length, bound).computed_within(error)?;
        let made = Calibrated::<LaplaceNoise>::calibrate(statistic, budget, basis())?;
        assert_eq!(made.law(), NoiseLaw::RoundedLaplace { scale, grid });
        assert_eq!(made.guarantee().profile(), Some(&Profile::Laplace { sensitivity, scale }));
    }
    Ok(())
}

/// Neighbours on both sides of ties, at every size of the data: their distance on the grid is
/// what the guarantee counts with, nearly reached, and several times the exact one at worst.
#[test]
fn rounding_on_every_grid_is_paid_for() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let mut dearest = 0.0f64;
    for magnitude in [1e3, 1e9, 1e11, 4e12] {
        let n = 1 << 16;
        let made = Calibrated::<GaussianNoise>::calibrate(l2(n, magnitude), budget, basis())?;
        let (sensitivity, grid) = paid(&made);
        let g = grid.spacing();
        // Each number moves by 1/sqrt n, from many places around a tie.
        let each = 1.0 / (n as f64).sqrt();
        let distance = |from: f64| grid.round(from + each) - grid.round(from);
        let places = (0..=64).map(|i| (0.5 + f64::from(i) / 64.0) * g);
        let worst = places.flat_map(|x| [x.next_down(), x]).map(distance).fold(0.0, f64::max);
        let moved = worst * (n as f64).sqrt();
        assert!(moved <= sensitivity, "{moved} at {magnitude}, certified {sensitivity}");
        assert!(sensitivity <= 1.0 + (n as f64).sqrt() * g * (1.0 + 1e-9));
        dearest = dearest.max(sensitivity);
        // What is certified is met by the noise that is there.
        let profile = made.guarantee().profile().unwrap();
        assert!(profile.log_delta(budget.epsilon) <= budget.delta.ln());
        let unpaid = calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?;
        assert!(made.noise().sigma() > unpaid);
    }
    assert!(dearest > 1.4, "{dearest}: the coarse grid was not reached");
    Ok(())
}

/// The worst neighbours there are for a coarse grid: every number crosses a tie.
#[test]
fn crossing_every_tie_costs_what_is_certified() -> Outcome {
    let budget = Budget::new(1.0, 0.0)?;
    let n = 1 << 12;
    let made = Calibrated::<LaplaceNoise>::calibrate(l1(n, 1e12), budget, basis())?;
    let (sensitivity, grid) = paid(&made);
    let g = grid.spacing();
    // Moves of a hair each, far below the sensitivity in all: a whole spacing each on the grid.
    let (a, b) = ((0.5 * g).next_down(), (0.5 * g).next_up());
    let hair = n as f64 * (b - a);
    let moved = n as f64 * (grid.round(b) - grid.round(a));
    assert!(hair < 1e-6 && moved >= 2.0, "{hair} {moved}");
    assert!(moved <= sensitivity && sensitivity < moved + 1.001, "{moved} of {sensitivity}");
    Ok(())
}

#[test]
fn a_magnitude_that_no_grid_carries_is_refused() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    for magnitude in [1e14, 1e20, 1e300] {
        let refused = Calibrated::<GaussianNoise>::calibrate(l2(3, magnitude), budget, basis());
        assert!(matches!(refused, Err(Error::InvalidParameter { .. })), "{magnitude}");
    }
}

/// A caller's word is a caller's word, everywhere.
#[test]
fn a_users_own_numbers_are_declared() -> Outcome {
    let budget = Budget::new(1.0, 0.0)?;
    let mechanism = PrivateVector::<LaplaceNoise>::calibrate((l1(3, 1e6), basis()), budget)?;
    let guarantee = mechanism.guarantee();
    assert!(matches!(guarantee.provenance(), Provenance::Declared { .. }));
    assert_eq!(guarantee.claim(), Claim::Met);
    let release = mechanism.release(&[120.0, 33.0, 7.0], &mut NoiseRng::from_os()?)?;
    let certificate = release.certificate();
    certificate.verify_consistency()?;
    let strict = certificate.verify().unwrap_err().to_string();
    assert!(strict.contains("declared, not proven"), "{strict}");
    let mut ledger = Ledger::new(row());
    assert!(ledger.add(certificate, "counts").is_err());
    ledger.spend_accepting_claim(guarantee, 1, "counts")?;
    assert_eq!(ledger.entries().len(), 1);
    // Words must be said.
    let nothing = Basis::declared("", " ");
    assert!(PrivateVector::<LaplaceNoise>::calibrate((l1(3, 1e6), nothing), budget).is_err());
    Ok(())
}

/// The parameters of the certificate are those of the noise: edits do not verify.
#[test]
fn certificate_speaks_of_this_very_noise() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let mechanism = PrivateVector::<GaussianNoise>::calibrate((l2(2, 1e3), basis()), budget)?;
    let release = mechanism.release(&[1.0, 2.0], &mut NoiseRng::from_os()?)?;
    assert_eq!(release.certificate().statement().noise, mechanism.calibrated().law());
    let seen = mechanism.predict(())?.root_mean_square;
    assert_eq!(seen, mechanism.calibrated().noise().sigma().get());
    Ok(())
}

/// Authors who pair a profile with other noise are refused by the rule book.
#[test]
fn no_profile_beside_other_noise() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let sensitivity = L2Sensitivity::new(1.0)?;
    let sigma = calibrate::gaussian(budget, sensitivity)?;
    let profile = Profile::Gaussian { sensitivity, sigma };
    let shift = Adjacency::RowShift { l2: Shift::new(1.0)? };
    let basis = || authority!().theorem(Theorem::GaussianOnRows);
    let fine = Grid::choose(sigma, EntryBound::new(10.0)?)?;
    let of = |noise| authority!().calibrated(shift, budget, basis(), profile.clone(), noise);
    of(authority!().gaussian(sigma, fine)?)?;
    let half = authority!().gaussian(NoiseScale::new(0.5 * sigma.get())?, fine)?;
    assert!(matches!(of(half), Err(Error::CertificateRejected { .. })));
    let laplace = authority!().laplace(LaplaceScale::new(sigma.get())?, fine)?;
    assert!(authority!().calibrated(shift, budget, basis(), profile.clone(), laplace).is_err());
    // A theorem that does not speak of the adjacency.
    let noise = authority!().gaussian(sigma, fine)?;
    assert!(authority!().calibrated(row(), budget, basis(), profile, noise).is_err());
    Ok(())
}

#[test]
fn numbers_beyond_what_was_stated_are_refused() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let mechanism = PrivateVector::<GaussianNoise>::calibrate((l2(2, 10.0), basis()), budget)?;
    let mut rng = NoiseRng::from_os()?;
    for values in [&[1.0][..], &[1.0, 2.0, 3.0], &[1.0, 10.5], &[f64::NAN, 0.0], &[-1e300, 0.0]] {
        let text = mechanism.release(values, &mut rng).unwrap_err().to_string();
        assert!(!text.contains("10.5") && !text.contains("e300"), "{text}");
    }
    // Whoever asks: the mechanism, or its noise alone.
    for places in [0, 3] {
        let touching = l2(2, 10.0).touching(places);
        assert!(PrivateVector::<GaussianNoise>::calibrate((touching, basis()), budget).is_err());
        assert!(Calibrated::<GaussianNoise>::calibrate(touching, budget, basis()).is_err());
    }
    assert!(l2(2, 10.0).computed_within(f64::NAN).is_err());
    Ok(())
}

/// The hook may end a release between parts, and does not change what is drawn.
#[test]
fn the_hook_stops_and_changes_nothing() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let n = 600_000;
    let mechanism = PrivateVector::<GaussianNoise>::calibrate((l2(n, 10.0), basis()), budget)?;
    let values = vec![1.0; n];
    let rng = || NoiseRng::deterministic_not_private(7);
    let plain = mechanism.release(&values, &mut rng())?;
    let mut seen = Vec::new();
    let watched = mechanism.release_watched(&values, &mut rng(), &mut |progress| {
        seen.push((progress.done, progress.total));
        ControlFlow::Continue(())
    })?;
    assert_eq!(seen, [(0, 3), (1, 3), (2, 3)]);
    assert_eq!(plain, watched);
    let mut whole = values.clone();
    mechanism.calibrated().add_to(&mut rng(), &mut whole)?;
    assert_eq!(&whole, plain.payload());
    let stopped = mechanism.release_watched(&values, &mut rng(), &mut |progress| {
        if progress.done == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(stopped.unwrap_err(), Error::Stopped { done: 1, total: 3 });
    Ok(())
}
