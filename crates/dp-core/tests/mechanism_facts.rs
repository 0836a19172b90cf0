//! What a mechanism on the caller's own numbers states, and the very ends of what it takes.

use dp_core::mechanism::author::Authority;
use dp_core::mechanism::{Basis, Calibrated, GridNoise, Mechanism, PrivateVector, Statistic};
use dp_core::noise::{
    AdditiveNoise, DiscreteGaussian, DiscreteLaplace, GaussianNoise, LaplaceNoise, StaircaseNoise,
};
use dp_core::{
    Adjacency, Budget, EntryBound, Error, L1Sensitivity, L2Sensitivity, NoiseRng, NormBound,
    Profile, authority,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn row() -> Adjacency {
    Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() }
}

fn basis() -> Basis {
    Basis::declared("the tests", "a change moves what the statistic says")
}

fn one<S>(sensitivity: S, length: usize, magnitude: f64) -> Statistic<S>
where
    S: dp_core::mechanism::Sensitivity,
{
    Statistic::new(row(), sensitivity, length, EntryBound::new(magnitude).unwrap())
}

fn l1(sensitivity: f64) -> L1Sensitivity {
    L1Sensitivity::new(sensitivity).unwrap()
}

fn l2(sensitivity: f64) -> L2Sensitivity {
    L2Sensitivity::new(sensitivity).unwrap()
}

/// Noise on zeros alone: its mean absolute value, its variance and its fourth cumulant are those that are stated, and its deviation
/// is what the mechanism predicts. Six standard errors, and for the cumulant as many of its own estimate.
fn stated_moments_are_those_of_noise<N: GridNoise>(
    sensitivity: N::Sensitivity,
    budget: Budget,
) -> Outcome {
    let n = 400_000;
    let statistic = one(sensitivity, n, 100.0).touching(1);
    let mechanism = PrivateVector::<N>::calibrate((statistic, basis()), budget)?;
    let mut rng = NoiseRng::deterministic_not_private(11);
    let released = mechanism.release(&vec![0.0; n], &mut rng)?;
    let law = mechanism.calibrated().law();
    let predicted = mechanism.predict(())?;
    let mean =
        |f: &dyn Fn(f64) -> f64| released.payload().iter().map(|&x| f(x)).sum::<f64>() / n as f64;
    let [second, fourth, eighth] = [2, 4, 8].map(|power| mean(&|x: f64| x.powi(power)));
    let [variance, cumulant] = law.moments().expect("additive");
    assert!((predicted.root_mean_square / variance.sqrt() - 1.0).abs() < 1e-12, "{law:?}");
    assert_eq!(predicted.of, "one number");
    let near = |found: f64, stated: f64, deviation: f64| {
        let error = 6.0 * deviation / (n as f64).sqrt();
        assert!((found - stated).abs() < error, "{law:?}: {found}, stated {stated} within {error}");
    };
    near(second, variance, (fourth - second * second).sqrt());
    near(fourth - 3.0 * variance * variance, cumulant, (eighth - fourth * fourth).sqrt());
    if let Some(absolute) = law.mean_absolute() {
        near(mean(&f64::abs), absolute, second.sqrt());
    }
    Ok(())
}

#[test]
fn stated_moments_are_those_of_the_noise() -> Outcome {
    let (pure, budget) = (Budget::new(1.0, 0.0)?, Budget::new(1.0, 1e-6)?);
    stated_moments_are_those_of_noise::<GaussianNoise>(l2(2.0), budget)?;
    stated_moments_are_those_of_noise::<LaplaceNoise>(l1(2.0), pure)?;
    stated_moments_are_those_of_noise::<StaircaseNoise>(l1(2.0), pure)?;
    stated_moments_are_those_of_noise::<StaircaseNoise>(l1(2.0), Budget::new(5.0, 0.0)?)?;
    for epsilon in [0.3, 1.0, 4.0] {
        let pure = Budget::new(epsilon, 0.0)?;
        stated_moments_are_those_of_noise::<DiscreteLaplace>(l1(2.0), pure)?;
        let budget = Budget::new(2.0 * epsilon, 1e-3)?;
        stated_moments_are_those_of_noise::<DiscreteGaussian>(l2(1.0), budget)?;
    }
    Ok(())
}

/// Every fact of a statistic is the one that was given, and is in the certificate.
#[test]
fn facts_of_a_statistic_are_those_given() -> Outcome {
    let statistic = one(l1(3.5), 7, 42.0).touching(4).computed_within(0.25)?;
    assert_eq!(statistic.adjacency(), row());
    assert_eq!(statistic.sensitivity(), l1(3.5));
    assert_eq!((statistic.length(), statistic.coordinates()), (7, 4));
    assert_eq!((statistic.error(), statistic.magnitude().get()), (0.25, 42.0));
    let budget = Budget::new(1.0, 0.0)?;
    let mechanism = PrivateVector::<LaplaceNoise>::calibrate((statistic, basis()), budget)?;
    assert_eq!(mechanism.statistic(), &statistic);
    let release = mechanism.release(&[0.0; 7], &mut NoiseRng::from_os()?)?;
    let said = serde_json::to_value(&release.certificate().statement().public)?;
    for (name, value) in [
        ("numbers", 7.0),
        ("numbers one change moves", 4.0),
        ("largest number", 42.0),
        ("computation error", 0.25),
    ] {
        assert_eq!(said[name].as_f64(), Some(value), "{name} in {said}");
    }
    assert!(one(l1(1.0), 3, 1.0).computed_within(-1e-9).is_err());
    assert!(one(l1(1.0), 3, 1.0).computed_within(f64::INFINITY).is_err());
    assert_eq!(one(l1(1.0), 3, 1.0).computed_within(0.0)?.error(), 0.0);
    Ok(())
}

/// The largest number is that of the exact ones and their error; one unit more is refused, under integer noise whatever is no whole number.
#[test]
fn the_largest_number_is_taken_and_the_next_is_not() -> Outcome {
    let budget = Budget::new(1.0, 0.0)?;
    let statistic = one(l1(1.0), 2, 40.0).computed_within(0.5)?;
    let mechanism = PrivateVector::<LaplaceNoise>::calibrate((statistic, basis()), budget)?;
    let mut rng = NoiseRng::from_os()?;
    let most = 40.5_f64;
    assert!(mechanism.release(&[most, -most], &mut rng).is_ok());
    for values in [[most.next_up(), 0.0], [0.0, -most.next_up()]] {
        let said = mechanism.release(&values, &mut rng).unwrap_err().to_string();
        assert!(said.contains("[-40.5, 40.5]"), "{said}");
    }
    let whole = (one(l1(1.0), 2, 40.0), basis());
    let whole = PrivateVector::<DiscreteLaplace>::calibrate(whole, budget)?;
    assert!(whole.release(&[40.0, -3.0], &mut rng).is_ok());
    for values in [[1.5, 2.0], [2.0, 1e-9]] {
        let said = whole.release(&values, &mut rng).unwrap_err().to_string();
        assert!(said.contains("whole numbers"), "{said}");
    }
    // Other noise takes them.
    assert!(mechanism.release(&[1.5, 1e-9], &mut rng).is_ok());
    Ok(())
}

/// By how much whole numbers move: the largest whole number, or root of one, up to what was said; a root that was rounded down counts.
#[test]
fn whole_numbers_move_by_whole_numbers() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let profile = |statistic| -> Result<Profile, Error> {
        let made =
            Calibrated::<DiscreteLaplace>::calibrate(statistic, Budget::new(1.0, 0.0)?, basis())?;
        Ok(made.guarantee().profile().unwrap().clone())
    };
    for (said, moves) in [(1.0, 1), (2.9, 2), (3.0_f64.next_down(), 3), (3.0, 3), (700.5, 700)] {
        let found = profile(one(l1(said), 3, 10.0))?;
        assert!(
            matches!(found, Profile::DiscreteLaplace { moves: m, .. } if m == moves),
            "{found:?}"
        );
    }
    for said in [0.999, 0.5] {
        let refused = profile(one(l1(said), 3, 10.0)).unwrap_err().to_string();
        assert!(refused.contains("sensitivity") && refused.contains("[1, inf)"), "{refused}");
        assert!(
            Calibrated::<DiscreteGaussian>::calibrate(one(l2(said), 3, 9.0), budget, basis())
                .is_err()
        );
    }
    let squared = |statistic: Statistic<L2Sensitivity>| -> Result<(f64, f64, Option<u64>), Error> {
        let made = Calibrated::<DiscreteGaussian>::calibrate(statistic, budget, basis())?;
        Ok(match *made.guarantee().profile().unwrap() {
            Profile::Zcdp { rho } => (rho, made.noise().sigma().get(), None),
            Profile::DiscreteGaussian { moves, sigma } => (0.0, sigma.get(), Some(moves)),
            ref other => panic!("{other:?}"),
        })
    };
    for (said, square) in [(3f64.sqrt(), 3.0), (1.0, 1.0), (2.3, 5.0), (3.0, 9.0)] {
        let (rho, sigma, _) = squared(one(l2(said), 3, 10.0))?;
        assert!((rho * 2.0 * sigma * sigma / square - 1.0).abs() < 1e-9, "{said}: {rho} {sigma}");
        // One number moves by no more than the root, rounded down.
        let (_, alone, moves) = squared(one(l2(said), 3, 10.0).touching(1))?;
        assert_eq!(moves, Some(square.sqrt() as u64));
        assert!(alone < sigma);
        assert!(squared(one(l2(said), 3, 10.0).touching(0)).is_err());
        assert_eq!(squared(one(l2(said), 3, 10.0).touching(2))?.2, None);
    }
    // Whole numbers are exact, and not beyond 2^51.
    let most = 2f64.powi(51);
    assert!(
        profile(one(l1(1.0), 3, most)).is_ok() && profile(one(l1(1.0), 3, most.next_up())).is_err()
    );
    let inexact = profile(one(l1(1.0), 3, 9.0).computed_within(1e-300)?).unwrap_err();
    assert!(inexact.to_string().contains("computation error"), "{inexact}");
    Ok(())
}

/// Staircase noise is for a change of one number; nobody states more numbers that change than there are.
#[test]
fn numbers_that_change_are_counted() -> Outcome {
    let pure = Budget::new(1.0, 0.0)?;
    let touching = |numbers| (one(l1(1.0), 5, 10.0).touching(numbers), basis());
    assert!(PrivateVector::<StaircaseNoise>::calibrate(touching(1), pure).is_ok());
    let two = PrivateVector::<StaircaseNoise>::calibrate(touching(2), pure).unwrap_err();
    assert!(two.to_string().contains("at most 1"), "{two}");
    assert!(PrivateVector::<LaplaceNoise>::calibrate(touching(5), pure).is_ok());
    let six = PrivateVector::<LaplaceNoise>::calibrate(touching(6), pure).unwrap_err();
    assert!(six.to_string().contains("[1, 5]"), "{six}");
    // Of a positive sensitivity something moves, and its rounding is paid.
    assert!(PrivateVector::<LaplaceNoise>::calibrate(touching(0), pure).is_err());
    // Fewer that change cost less rounding.
    let sensitivity = |numbers| -> Result<f64, Error> {
        let made = PrivateVector::<LaplaceNoise>::calibrate(touching(numbers), pure)?;
        match made.guarantee().profile() {
            Some(Profile::Laplace { sensitivity, .. }) => Ok(sensitivity.get()),
            other => panic!("{other:?}"),
        }
    };
    assert!(sensitivity(1)? < sensitivity(5)?);
    Ok(())
}

/// Noise takes another type only with the same law.
#[test]
fn another_type_has_the_same_law() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let made = |magnitude| {
        Calibrated::<GaussianNoise>::calibrate(one(l2(1.0), 3, magnitude), budget, basis())
    };
    let guarantee = made(10.0)?.guarantee().clone();
    let same = authority!().recast(made(10.0)?, |noise: GaussianNoise| noise)?;
    assert_eq!(same.guarantee(), &guarantee);
    let other = *made(1e9)?.noise();
    let wrong = authority!().recast(made(10.0)?, |_: GaussianNoise| other);
    assert!(matches!(wrong, Err(Error::Mismatch { .. })));
    Ok(())
}

/// Calibrated noise draws what its noise draws, block by block too.
#[test]
fn blocks_have_the_noise_of_the_law() -> Outcome {
    let budget = Budget::new(1.0, 1e-6)?;
    let made = Calibrated::<GaussianNoise>::calibrate(one(l2(1.0), 9, 10.0), budget, basis())?;
    let stream = || NoiseRng::deterministic_not_private(5).stream();
    let [mut by_law, mut by_block, mut checked] = [[0.5; 9]; 3];
    made.noise().add_block(&mut stream(), &mut by_law)?;
    made.add_block(&mut stream(), &mut by_block)?;
    made.add_checked(&mut stream(), &mut checked)?;
    assert!(by_law == by_block && by_law == checked && by_law != [0.5; 9]);
    Ok(())
}

/// The packages of this project, by their whole names.
#[test]
fn nobody_else_states_theorems() {
    for name in
        ["dp-core", "sketch", "dp-sketch", "linalg-dp", "eval", "audit", "fuzzing", "benches"]
    {
        let _ = Authority::of_package(name);
    }
    for name in
        ["", "dp-cor", "dp-cora", "sketcH", "dp-core ", "xuzzing", "benchex", "eva", "numpy"]
    {
        let found = std::panic::catch_unwind(|| Authority::of_package(name));
        let said = found.expect_err(name);
        let said = said.downcast_ref::<&str>().expect("words");
        assert!(said.contains("declare what you know"), "{name}: {said}");
    }
}
