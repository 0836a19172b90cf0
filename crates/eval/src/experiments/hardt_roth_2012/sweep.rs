//! Errors of all methods over a series of matrices or budgets.

use super::matrices::Matrix;
use crate::error::Result;
use crate::framework::{Context, Curve, Origin, Point, Seeds, Setting as Parameter};
use crate::metrics::mean_and_error;
use dp_core::{Budget, FreshSeed, NoiseRng};
use linalg_dp::low_rank::{
    InputPerturbation, Kept, Pfp, PfpOptions, PublishedPfp, Setting, Split, Spread, truncated_svd,
};

/// One place on the horizontal axis.
pub(super) struct Case<'a> {
    pub(super) x: f64,
    pub(super) matrix: &'a Matrix,
    pub(super) setting: Setting,
    pub(super) budget: Budget,
}

/// The methods compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    NonPrivate,
    InputPerturbation,
    PublishedPfp,
    ExactPfp,
    BestPfp,
}

impl Method {
    pub(super) const ALL: [Self; 5] = [
        Self::NonPrivate,
        Self::InputPerturbation,
        Self::PublishedPfp,
        Self::ExactPfp,
        Self::BestPfp,
    ];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::NonPrivate => "not private (truncated SVD)",
            Self::InputPerturbation => "input perturbation",
            Self::PublishedPfp => "PFP, published",
            Self::ExactPfp => "PFP, exact",
            Self::BestPfp => "PFP, exact, shaped and shrunk",
        }
    }

    /// Frobenius errors of independent releases; none where the method states nothing (the
    /// published rule above epsilon 1).
    fn errors(self, run: &Run<'_>, case: &Case<'_>) -> Result<Vec<f64>> {
        let view = case.matrix.view()?;
        let (setting, budget) = (case.setting, case.budget);
        match self {
            Self::NonPrivate => Ok(vec![truncated_svd(&view, setting.rank())?.distance(&view)?]),
            Self::InputPerturbation => {
                let mechanism = InputPerturbation::calibrate(setting, budget)?;
                run.repeat(|_, rng| Ok(mechanism.release(&view, rng)?.payload().distance(&view)?))
            }
            Self::PublishedPfp if budget.epsilon.get() > 1.0 => Ok(vec![]),
            Self::PublishedPfp => {
                let mechanism = PublishedPfp::new(setting, budget, Default::default())?;
                run.repeat(|seed, rng| {
                    let release = mechanism.release(&view, seed, rng)?;
                    Ok(release.payload().factors().distance(&view)?)
                })
            }
            Self::ExactPfp => {
                let options = PfpOptions {
                    kept: Kept::All,
                    spread: Spread::Isotropic,
                    split: Split::LeastError,
                    ..PfpOptions::default()
                };
                let mechanism = Pfp::calibrate(setting, budget, options)?;
                run.repeat(|seed, rng| {
                    let release = mechanism.release(&view, seed, rng)?;
                    Ok(release.payload().factors().distance(&view)?)
                })
            }
            Self::BestPfp => {
                let mechanism = Pfp::calibrate(setting, budget, PfpOptions::default())?;
                run.repeat(|seed, rng| {
                    let release = mechanism.release(&view, seed, rng)?;
                    Ok(release.payload().shrunk()?.distance(&view)?)
                })
            }
        }
    }
}

/// The repetitions of one method at one place.
struct Run<'a> {
    context: &'a Context<'a>,
    part: String,
    repetitions: u64,
}

impl Run<'_> {
    fn repeat(&self, one: impl Fn(FreshSeed, &mut NoiseRng) -> Result<f64>) -> Result<Vec<f64>> {
        (0..self.repetitions)
            .map(|i| {
                let seed = self.context.fresh_seed(&self.part, i);
                one(seed, &mut self.context.noise(&self.part, i))
            })
            .collect()
    }
}

/// Mean errors of every method over the cases, as curves, with `||A||_F` (releasing zero) as the last.
pub(super) fn curves(
    context: &Context<'_>,
    part: &str,
    data: &str,
    cases: &[Case<'_>],
    repetitions: usize,
) -> Result<Vec<Curve>> {
    let delta = cases[0].budget.delta.get();
    let origin = |mechanism: &str, repetitions| Origin {
        mechanism: mechanism.into(),
        k: Parameter::PerPoint(cases.iter().map(|c| c.setting.k() as f64).collect()),
        epsilon: Parameter::PerPoint(cases.iter().map(|c| c.budget.epsilon.get()).collect()),
        delta: Parameter::Fixed(delta),
        sigma: Parameter::None,
        seeds: Seeds::Derived(context.seed),
        data: data.into(),
        repetitions,
    };
    let mut out = Vec::new();
    for method in Method::ALL {
        let repetitions = if method == Method::NonPrivate { 1 } else { repetitions };
        let mut points = Vec::new();
        for (i, case) in cases.iter().enumerate() {
            let part = format!("{part} {} {i}", method.label());
            let run = Run { context, part, repetitions: repetitions as u64 };
            let samples = method.errors(&run, case)?;
            let (y, error) =
                if samples.is_empty() { (f64::NAN, None) } else { mean_and_error(&samples) };
            points.push(Point { x: case.x, y, error });
            context.progress.step();
        }
        out.push(Curve {
            label: method.label().into(),
            points,
            origin: origin(method.label(), repetitions),
        });
    }
    let zero = cases
        .iter()
        .map(|c| Ok(Point::exact(c.x, frobenius(c.matrix)?)))
        .collect::<Result<Vec<_>>>()?;
    out.push(Curve { label: "zero matrix".into(), points: zero, origin: origin("none", 1) });
    Ok(out)
}

/// Steps [`curves`] will report.
pub(super) fn steps(cases: usize) -> u64 {
    (Method::ALL.len() * cases) as u64
}

/// The curve of a method among those of [`curves`].
pub(super) fn of(curves: &[Curve], method: Method) -> &[Point] {
    let found = curves.iter().find(|c| c.label == method.label());
    &found.expect("every method has a curve").points
}

/// `||A||_F`.
pub(super) fn frobenius(matrix: &Matrix) -> Result<f64> {
    let view = matrix.view()?;
    let mut sum = 0.0;
    for i in 0..matrix.m {
        view.for_each_entry(i, |_, x| sum += x * x);
    }
    Ok(sum.sqrt())
}

/// "a / b" of two methods at every point, for a claim's numbers.
pub(super) fn ratios(curves: &[Curve], above: Method, below: Method) -> Vec<f64> {
    of(curves, above).iter().zip(of(curves, below)).map(|(a, b)| a.y / b.y).collect()
}

/// Numbers with three digits, separated by commas.
pub(super) fn show(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ")
}
