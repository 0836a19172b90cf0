//! Numbers that a caller computed: the noise is audited, the sensitivity is the caller's word.

use super::common::{bound, gaussian_budget, gaussian_noise, pure_budget, pure_noise};
use crate::subject::{Draw, Side, Subject, gaussian_ratio, laplace_ratio};
use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
use dp_core::noise::{DiscreteGaussian, DiscreteLaplace, GaussianNoise, LaplaceNoise};
use dp_core::{Adjacency, Budget, L1Sensitivity, L2Sensitivity, calibrate};
use eval::Result;

/// Family name in the table.
pub(crate) const FAMILY: &str = "declared numbers";

const PAIR: &str = "one row more, as far away as declared";

fn basis() -> Basis {
    Basis::declared("the audit", "the pair moves the numbers by one")
}

/// Two sums, moved by one in l2.
fn sums(claim: Budget) -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let statistic = Statistic::new(adjacency, L2Sensitivity::new(1.0)?, 2, bound(1e6)?);
    let made = PrivateVector::<GaussianNoise>::calibrate((statistic, basis()), claim)?;
    let (sigma, guarantee) = (made.calibrated().noise().sigma().get(), made.guarantee().clone());
    let (left, right) = ([10.0, 20.0], [10.6, 20.8]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        out.extend_from_slice(made.release(side.of(&left, &right), &mut draw.noise())?.payload());
        Ok(())
    };
    Ok(Subject::new("declared sums", FAMILY, claim, PAIR, 2, sample)
        .under(&guarantee)?
        .with_runs(40_000)
        .likelihood(move |z| gaussian_ratio(z, &left, &right, sigma)))
}

/// A histogram, one of whose counts is one higher.
fn counts(claim: Budget) -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let statistic = Statistic::new(adjacency, L1Sensitivity::new(1.0)?, 3, bound(1e6)?);
    let made = PrivateVector::<LaplaceNoise>::calibrate((statistic, basis()), claim)?;
    let (scale, guarantee) = (made.calibrated().noise().scale().get(), made.guarantee().clone());
    let (left, right) = ([3.0, 0.0, 7.0], [3.0, 1.0, 7.0]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        out.extend_from_slice(made.release(side.of(&left, &right), &mut draw.noise())?.payload());
        Ok(())
    };
    Ok(Subject::new("declared counts", FAMILY, claim, PAIR, 3, sample)
        .under(&guarantee)?
        .with_runs(40_000)
        .likelihood(move |z| laplace_ratio(z, &left, &right, scale)))
}

/// The same histogram under integer Laplace noise.
pub(crate) fn whole_counts(claim: Budget) -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: bound(1.0)? };
    let statistic = Statistic::new(adjacency, L1Sensitivity::new(1.0)?, 3, bound(1e6)?);
    let made = PrivateVector::<DiscreteLaplace>::calibrate((statistic, basis()), claim)?;
    let (scale, guarantee) = (made.calibrated().noise().scale().get(), made.guarantee().clone());
    let (left, right) = ([3.0, 0.0, 7.0], [3.0, 1.0, 7.0]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        out.extend_from_slice(made.release(side.of(&left, &right), &mut draw.noise())?.payload());
        Ok(())
    };
    Ok(Subject::new("declared counts, integer noise", FAMILY, claim, PAIR, 3, sample)
        .under(&guarantee)?
        .with_runs(40_000)
        .likelihood(move |z| laplace_ratio(z, &left, &right, scale)))
}

/// A sum of whole numbers up to two, under integer Gaussian noise.
fn whole_sum(claim: Budget) -> Result<Subject> {
    let adjacency = Adjacency::AddRemoveRow { bound: bound(2.0)? };
    let statistic = Statistic::new(adjacency, L2Sensitivity::new(2.0)?, 2, bound(1e6)?).touching(1);
    let made = PrivateVector::<DiscreteGaussian>::calibrate((statistic, basis()), claim)?;
    let (sigma, guarantee) = (made.calibrated().noise().sigma().get(), made.guarantee().clone());
    let (left, right) = ([40.0, -3.0], [42.0, -3.0]);
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        out.extend_from_slice(made.release(side.of(&left, &right), &mut draw.noise())?.payload());
        Ok(())
    };
    Ok(Subject::new("declared sum, integer Gaussian", FAMILY, claim, PAIR, 2, sample)
        .under(&guarantee)?
        .with_runs(60_000)
        .likelihood(move |z| gaussian_ratio(z, &left, &right, sigma)))
}

/// Sigma of integer Gaussian noise on one number that moves by two.
fn whole_noise(budget: Budget) -> Result<f64> {
    Ok(calibrate::discrete_gaussian(budget, 2)?.get())
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    Ok(vec![
        Subject::built(gaussian_budget()?, gaussian_noise, sums)?,
        Subject::built(pure_budget()?, pure_noise, counts)?,
        Subject::built(pure_budget()?, pure_noise, whole_counts)?,
        // Where the event that shows most is frequent enough to be counted.
        Subject::built(Budget::new(2.0, 0.05)?, whole_noise, whole_sum)?,
    ])
}
