//! Errors of all methods over a series of matrices or budgets, each with and without the same post-processing.

use super::distance::{distances, frobenius};
use super::matrices::Source;
use crate::error::Result;
use crate::framework::{
    Claim, Context, Curve, Origin, Point, Report, Seeds, Setting as Parameter, sabotage,
};
use crate::metrics::mean_and_error;
use dp_core::{Budget, FreshSeed, L2Sensitivity, NoiseRng, calibrate};
use faer::Mat;
use linalg_dp::low_rank::{
    InputPerturbation, Kept, LowRank, Pfp, PfpOptions, PrivateLowRank, PublishedPfp, Setting,
    Split, Spread, shrink_value, truncated_svd,
};
use sketch::RowsView;

/// One place on the horizontal axis.
pub(super) struct Case<'a> {
    pub(super) x: f64,
    pub(super) source: Source<'a>,
    pub(super) setting: Setting,
    pub(super) budget: Budget,
}

/// The mechanisms compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    NonPrivate,
    InputPerturbation,
    PublishedPfp,
    ExactPfp,
    ShapedPfp,
}

/// What is done with a release before its error is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    /// Nothing.
    Plain,
    /// Singular values shrunk to the known noise, by the same rule for all.
    Shrunk,
}

/// A mechanism and what follows it.
pub(super) type Method = (Mechanism, After);

/// Ours at its best.
pub(super) const OURS: Method = (Mechanism::ShapedPfp, After::Shrunk);
/// The baseline at its best.
pub(super) const INPUT: Method = (Mechanism::InputPerturbation, After::Shrunk);
/// The baseline as it is published.
pub(super) const INPUT_PLAIN: Method = (Mechanism::InputPerturbation, After::Plain);
/// The paper's own constants, without help.
pub(super) const PUBLISHED: Method = (Mechanism::PublishedPfp, After::Plain);
/// The paper's own constants, shrunk.
pub(super) const PUBLISHED_SHRUNK: Method = (Mechanism::PublishedPfp, After::Shrunk);
/// Exact calibration, shrunk.
pub(super) const EXACT_SHRUNK: Method = (Mechanism::ExactPfp, After::Shrunk);

const MECHANISMS: [Mechanism; 5] = [
    Mechanism::NonPrivate,
    Mechanism::InputPerturbation,
    Mechanism::PublishedPfp,
    Mechanism::ExactPfp,
    Mechanism::ShapedPfp,
];

pub(super) fn label((mechanism, after): Method) -> String {
    let name = match mechanism {
        Mechanism::NonPrivate => return "not private (truncated SVD)".into(),
        Mechanism::InputPerturbation => "input perturbation",
        Mechanism::PublishedPfp => "PFP, published",
        Mechanism::ExactPfp => "PFP, exact",
        Mechanism::ShapedPfp => "PFP, exact, shaped",
    };
    if after == After::Shrunk { format!("{name}, shrunk") } else { name.into() }
}

/// `setting` with the rank raised to the sketch size: what input perturbation keeps before it is shrunk.
fn wide(s: &Setting, row_bound: dp_core::NormBound) -> Result<Setting> {
    let rank = s.k().min(s.m().min(s.n()) - 2);
    let shift = dp_core::Shift::new(s.shift())?;
    Ok(Setting::new((s.m(), s.n()), rank, 2, shift, row_bound)?)
}

/// A noisy truncated SVD with its singular values shrunk to noise of deviation `sigma` per entry.
pub(super) fn shrink_input(factors: &LowRank, sigma: f64) -> Result<LowRank> {
    let ((m, n), k) = (factors.shape(), factors.rank());
    let (u, c) = (factors.left(), factors.coefficients());
    // C is k x n, its rows orthogonal: their norms are the singular values.
    let scales: Vec<f64> = (0..k)
        .map(|l| {
            let y = (0..n).map(|j| c[(l, j)] * c[(l, j)]).sum::<f64>().sqrt() / sigma;
            if y > 0.0 { shrink_value(y, m, n) / y } else { 0.0 }
        })
        .collect();
    let left = (0..m * k).map(|e| u[(e / k, e % k)]).collect();
    let transposed = (0..n * k).map(|e| scales[e % k] * c[(e % k, e / k)]).collect();
    Ok(LowRank::new((m, n, k), left, transposed)?)
}

/// Frobenius errors of independent releases, plain and shrunk; none where the method states nothing (the
/// published rule above epsilon 1).
#[derive(Default, Clone)]
pub(super) struct Errors {
    pub(super) plain: Vec<f64>,
    pub(super) shrunk: Vec<f64>,
    /// What the formula says the plain error is, where there is one.
    pub(super) predicted: Vec<f64>,
    /// Errors of releasing zero.
    zero: Vec<f64>,
}

/// `rho` of the paper's figure 3 at half of the budget, typed in from the paper.
pub(super) fn figure_3_rho(k: f64, budget: Budget) -> f64 {
    let (e, d) = (0.5 * budget.epsilon.get(), 0.5 * budget.delta.get());
    2.0 / e * (8.0 * k * (4.0 * k / d).ln() * (2.0 / d).ln()).sqrt()
}

/// Sigma of the exact calibration for a shift of 1.
pub(super) fn exact_sigma(budget: Budget) -> Result<f64> {
    Ok(calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get())
}

/// The published W: an orthonormal basis of the range sketch.
pub(super) fn found_range(release: &PrivateLowRank) -> Result<Mat<f64>> {
    Ok(release.range().expect("found before it was projected on").basis()?)
}

/// A release of some rows, plain and shrunk, and what the formula says of the plain error.
type Made = (LowRank, LowRank, f64);

/// A mechanism that is calibrated for a place.
type Ready = Box<dyn Fn(RowsView<'_>, FreshSeed, &mut NoiseRng) -> Result<Made>>;

/// None where a mechanism states nothing, and for what is not private.
fn ready(
    mechanism: Mechanism,
    case: &Case<'_>,
    row_bound: dp_core::NormBound,
) -> Result<Option<Ready>> {
    let (setting, budget) = (case.setting, case.budget);
    let (m, n, r) = (setting.m() as f64, setting.n() as f64, setting.rank() as f64);
    Ok(match mechanism {
        Mechanism::NonPrivate => None,
        Mechanism::InputPerturbation => {
            let wide = wide(&setting, row_bound)?;
            let mechanism = InputPerturbation::calibrate(wide, sabotage::spent(budget)?)?;
            let nominal = exact_sigma(budget)?;
            Some(Box::new(move |view, _, rng| {
                let release = sabotage::with_rows(view, |a| Ok(mechanism.release(&a, rng)?))?;
                let factors = release.payload();
                let plain = leading(factors, setting.rank())?;
                let shrunk = shrink_input(factors, nominal)?;
                Ok((plain, shrunk, nominal * (r * (m + n - r)).sqrt()))
            }))
        }
        Mechanism::PublishedPfp if budget.epsilon.get() > 1.0 => None,
        Mechanism::PublishedPfp => {
            let spent = sabotage::published(budget)?;
            let mechanism = PublishedPfp::new(setting, spent, Default::default())?;
            let rho = figure_3_rho(setting.k() as f64, budget);
            Some(Box::new(move |view, seed, rng| {
                let release = sabotage::with_rows(view, |a| Ok(mechanism.release(&a, seed, rng)?))?;
                let basis = found_range(release.payload())?;
                let largest =
                    |l: usize| (0..basis.nrows()).map(|i| basis[(i, l)].abs()).fold(0.0, f64::max);
                let squares = (0..basis.ncols()).map(|l| largest(l).powi(2)).sum::<f64>();
                let (plain, shrunk) = both(release.payload())?;
                Ok((plain, shrunk, rho * (n * squares).sqrt()))
            }))
        }
        Mechanism::ExactPfp | Mechanism::ShapedPfp => {
            let isotropic = PfpOptions {
                kept: Kept::All,
                spread: Spread::Isotropic,
                split: Split::LeastError,
                ..PfpOptions::default()
            };
            let exact = mechanism == Mechanism::ExactPfp;
            let options = if exact { isotropic } else { PfpOptions::default() };
            let mut mechanism = Pfp::calibrate(setting, budget, options)?;
            let (nominal, spent) = (mechanism.predicted_error(), sabotage::spent(budget)?);
            if spent != budget {
                mechanism = Pfp::calibrate(setting, spent, options)?;
            }
            Some(Box::new(move |view, seed, rng| {
                let release = sabotage::with_rows(view, |a| Ok(mechanism.release(&a, seed, rng)?))?;
                let (plain, shrunk) = both(release.payload())?;
                Ok((plain, shrunk, nominal))
            }))
        }
    })
}

/// All mechanisms at one place, in their order. All of them see the matrix of a repetition, which is drawn once.
fn errors(
    context: &Context<'_>,
    part: impl Fn(Mechanism) -> String,
    case: &Case<'_>,
    (repetitions, row_bound): (u64, dp_core::NormBound),
) -> Result<Vec<Errors>> {
    let all = MECHANISMS.into_iter().map(|m| Ok((m, part(m), ready(m, case, row_bound)?)));
    let all = all.collect::<Result<Vec<_>>>()?;
    let mut found = vec![Errors::default(); all.len()];
    for i in 0..repetitions {
        let matrix = case.source.matrix(i)?;
        let (view, zero) = (matrix.view()?, frobenius(&matrix)?);
        for ((mechanism, part, ready), found) in all.iter().zip(&mut found) {
            // Without noise one matrix has one error.
            let again = i == 0 || matches!(case.source, Source::Drawn(_));
            if *mechanism == Mechanism::NonPrivate && again {
                let best = sabotage::solved(
                    || Ok(truncated_svd(&view, case.setting.rank())?),
                    || LowRank::zero(matrix.m, matrix.n),
                )?;
                found.plain.push(best.distance(&view)?);
            }
            let Some(ready) = ready else { continue };
            let (seed, mut rng) = (context.fresh_seed(part, i), context.noise(part, i));
            let (plain, shrunk, predicted) = ready(view, seed, &mut rng)?;
            let found_of = |a: LowRank| -> Result<LowRank> {
                let (m, n) = a.shape();
                sabotage::solved(|| Ok(a), || LowRank::zero(m, n))
            };
            let (plain, shrunk) = (found_of(plain)?, found_of(shrunk)?);
            // A constant answer is zero; a random one errs by up to twice the matrix.
            let errors = distances([&plain, &shrunk], view, zero);
            let [plain, shrunk] = errors.map(|error| sabotage::answer(error, zero, part, i));
            found.plain.push(plain);
            found.shrunk.push(shrunk);
            found.predicted.push(predicted);
            found.zero.push(zero);
        }
    }
    Ok(found)
}

/// The leading components of a truncated SVD.
fn leading(factors: &LowRank, rank: usize) -> Result<LowRank> {
    let ((m, n), k) = (factors.shape(), factors.rank());
    let rank = rank.min(k);
    let (u, c) = (factors.left(), factors.coefficients());
    let left = (0..m * rank).map(|e| u[(e / rank, e % rank)]).collect();
    let transposed = (0..n * rank).map(|e| c[(e % rank, e / rank)]).collect();
    Ok(LowRank::new((m, n, rank), left, transposed)?)
}

fn both(payload: &PrivateLowRank) -> Result<(LowRank, LowRank)> {
    Ok((payload.factors().clone(), payload.shrunk()?))
}

/// Errors of all mechanisms over the cases.
pub(super) struct Sweep {
    /// By mechanism, then by case.
    errors: Vec<(Mechanism, Vec<Errors>)>,
    xs: Vec<f64>,
    /// Whether every repetition has a matrix of its own.
    redrawn: bool,
    origin: Origin,
}

/// Measures every mechanism over the cases.
pub(super) fn sweep(
    context: &Context<'_>,
    part: &str,
    data: &str,
    cases: &[Case<'_>],
    repetitions: usize,
    row_bound: dp_core::NormBound,
) -> Result<Sweep> {
    let redrawn = cases.iter().all(|c| matches!(c.source, Source::Drawn(_)));
    let mut found = MECHANISMS.map(|mechanism| (mechanism, Vec::new()));
    for (i, case) in cases.iter().enumerate() {
        let part = |mechanism: Mechanism| format!("{part} {mechanism:?} {i}");
        let here = errors(context, part, case, (repetitions as u64, row_bound))?;
        for ((_, all), one) in found.iter_mut().zip(here) {
            all.push(one);
            context.progress.step();
        }
    }
    let errors = found.into();
    let origin = Origin {
        mechanism: String::new(),
        k: Parameter::PerPoint(cases.iter().map(|c| c.setting.k() as f64).collect()),
        epsilon: Parameter::PerPoint(cases.iter().map(|c| c.budget.epsilon.get()).collect()),
        delta: Parameter::Fixed(cases[0].budget.delta.get()),
        sigma: Parameter::None,
        seeds: Seeds::Derived(context.seed),
        data: data.into(),
        repetitions,
    };
    Ok(Sweep { errors, xs: cases.iter().map(|c| c.x).collect(), redrawn, origin })
}

/// Steps [`sweep`] will report.
pub(super) fn steps(cases: usize) -> u64 {
    (MECHANISMS.len() * cases) as u64
}

impl Sweep {
    fn of(&self, mechanism: Mechanism) -> &[Errors] {
        let found = self.errors.iter().find(|(m, _)| *m == mechanism);
        &found.expect("all were measured").1
    }

    /// Samples of a method at every case.
    pub(super) fn samples(&self, (mechanism, after): Method) -> Vec<&[f64]> {
        self.of(mechanism)
            .iter()
            .map(|e| if after == After::Shrunk { &e.shrunk[..] } else { &e.plain[..] })
            .collect()
    }

    /// Mean errors of a method; not a number where it states nothing.
    pub(super) fn means(&self, method: Method) -> Vec<f64> {
        self.samples(method).iter().map(|s| mean_and_error(s).0).collect()
    }

    /// Mean errors of releasing zero.
    pub(super) fn zeros(&self) -> Vec<f64> {
        let all = self.of(Mechanism::InputPerturbation);
        all.iter().map(|e| mean_and_error(&e.zero).0).collect()
    }

    /// Mean error of `above` over that of `below` at every case.
    pub(super) fn ratios(&self, above: Method, below: Method) -> Vec<f64> {
        self.means(above).iter().zip(self.means(below)).map(|(a, b)| a / b).collect()
    }

    /// Largest distance of a method's mean error above another's over the cases, in standard errors of the difference;
    /// below zero where it is ahead everywhere.
    pub(super) fn behind(&self, ours: Method, theirs: Method) -> f64 {
        let distance = |(a, b): (&[f64], &[f64])| {
            let ((a, s), (b, t)) = (mean_and_error(a), mean_and_error(b));
            (a - b) / s.unwrap_or(0.0).hypot(t.unwrap_or(0.0))
        };
        let pairs = self.samples(ours).into_iter().zip(self.samples(theirs));
        pairs.map(distance).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Largest deviation of measured over predicted plain error from 1, over cases where the signal stands out.
    fn gap(&self, mechanism: Mechanism, tail: f64, counts: impl Fn(usize) -> bool) -> f64 {
        let mut worst = 0.0f64;
        for (i, e) in self.of(mechanism).iter().enumerate() {
            if e.plain.is_empty() || !counts(i) {
                continue;
            }
            let found = mean_and_error(&e.plain).0;
            let said = mean_and_error(&e.predicted).0.hypot(tail);
            worst = worst.max((found / said - 1.0).abs());
        }
        worst
    }

    /// Claims that a mechanism's error is what a formula says, within 10 per cent; `tail` is the deviation of the
    /// data beyond the rank.
    fn claim_gap<'r>(
        &self,
        report: &'r mut Report,
        text: String,
        (mechanism, tail): (Mechanism, f64),
        counts: impl Fn(usize) -> bool,
    ) -> &'r mut Claim {
        let gap = self.gap(mechanism, tail, counts);
        report
            .claim(text, gap < 0.1, format!("largest deviation {gap:.3}"))
            .catches(&sabotage::ANSWERS[..2])
            .catches(&[sabotage::Sabotage::SolverConstant])
    }

    /// The claims that tie measured errors to numbers that do not come from the mechanisms themselves.
    pub(super) fn claim_levels<'r>(
        &self,
        report: &'r mut Report,
        name: &str,
        tail: f64,
        counts: impl Fn(usize) -> bool,
    ) -> &'r mut Claim {
        let text = format!(
            "{name}: the error of input perturbation is sigma sqrt(r (m + n - r)) and the tail beyond rank r, {tail:.0}, \
             sigma by the exact profile of the budget (within 10 per cent, where the signal stands out)"
        );
        self.claim_gap(report, text, (Mechanism::InputPerturbation, tail), &counts)
            .of("section 1: randomised response")
            .catches(&sabotage::NOISE)
            .catches(&[sabotage::Sabotage::DataIgnored]);
        self.claim_published(report, name, tail, counts)
    }

    /// The claim that ties the published algorithm's error to figure 3.
    pub(super) fn claim_published<'r>(
        &self,
        report: &'r mut Report,
        name: &str,
        tail: f64,
        counts: impl Fn(usize) -> bool,
    ) -> &'r mut Claim {
        let text = format!(
            "{name}: the error of the published PFP is rho sqrt(n sum alpha_i^2), rho of figure 3 at half the budget \
             (within 10 per cent)"
        );
        self.claim_gap(report, text, (Mechanism::PublishedPfp, tail), counts)
            .of("figure 3, theorem 4.7")
            .catches(&[sabotage::Sabotage::PublishedDoubled])
    }

    /// The curves of all methods, with `||A||_F` (releasing zero) as the last.
    pub(super) fn curves(&self) -> Vec<Curve> {
        let mut out = Vec::new();
        for &(mechanism, ref errors) in &self.errors {
            for after in [After::Plain, After::Shrunk] {
                let method = (mechanism, after);
                if mechanism == Mechanism::NonPrivate && after == After::Shrunk {
                    continue;
                }
                let of = |(&x, s): (&f64, &[f64])| {
                    if s.is_empty() { Point::exact(x, f64::NAN) } else { Point::mean(x, s) }
                };
                let points = self.xs.iter().zip(self.samples(method)).map(of).collect();
                let repetitions = errors.first().map_or(1, |e| e.plain.len().max(1));
                let mechanism = label(method);
                let seeds = if repetitions > 1 { self.origin.seeds.clone() } else { Seeds::None };
                let origin = Origin { mechanism, repetitions, seeds, ..self.origin.clone() };
                out.push(Curve { label: label(method), points, origin });
            }
        }
        let zeros = self.of(Mechanism::InputPerturbation);
        let of = |(&x, e): (&f64, &Errors)| {
            if self.redrawn { Point::mean(x, &e.zero) } else { Point::exact(x, e.zero[0]) }
        };
        let points = self.xs.iter().zip(zeros).map(of).collect();
        let mut origin = Origin { mechanism: "none".into(), ..self.origin.clone() };
        if !self.redrawn {
            (origin.seeds, origin.repetitions) = (Seeds::None, 1);
        }
        out.push(Curve { label: "zero matrix".into(), points, origin });
        out
    }
}

/// Numbers with three digits, separated by commas.
pub(super) fn show(values: &[f64]) -> String {
    values.iter().map(|x| format!("{x:.3}")).collect::<Vec<_>>().join(", ")
}
