//! Private projections with realised calibration.

use super::common::{bound, gaussian_budget, gaussian_noise, pure_budget, repeated, search_rng};
use crate::search::{RowPair, worst_attribute, worst_direction};
use crate::subject::{Draw, Side, Subject, budget_of, gaussian_ratio, laplace_ratio};
use dp_core::calibrate::PublishedRule;
use dp_core::{Adjacency, Budget, PublicSeed};
use eval::Result;
use sketch::RowsView;
use sketch::projection::{Family, Groups, ProjectionSpec, Sampling, SharedProjection, project};
use sketch::vectors::{MultiScale, PrivateProjection, SketchNoise, System};
use std::sync::Arc;

/// Family name in the table.
pub(crate) const FAMILY: &str = "private projection";
/// Rows of one release, each an independent run on the same row.
pub(crate) const BATCH: usize = 64;

/// A mechanism on a pair of rows, its images included.
#[derive(Debug, Clone)]
pub(crate) struct Rowwise {
    /// The mechanism.
    pub(crate) mechanism: Arc<PrivateProjection>,
    /// The pair.
    pub(crate) rows: RowPair,
}

/// The image of a row under a public projection.
///
/// # Errors
/// Another number of features.
pub(crate) fn image(projection: &SharedProjection, row: &[f64]) -> Result<Vec<f64>> {
    Ok(project(projection.as_ref(), RowsView::f64(1, row.len(), row)?)?)
}

fn norm(x: &[f64], y: &[f64], noise: SketchNoise) -> f64 {
    let gaps = x.iter().zip(y).map(|(a, b)| a - b);
    match noise {
        SketchNoise::Gaussian(_) => gaps.map(|g| g * g).sum::<f64>().sqrt(),
        SketchNoise::Laplace(_) | SketchNoise::Staircase(_) => gaps.map(f64::abs).sum(),
    }
}

impl Rowwise {
    /// The pair one attribute apart whose images lie farthest apart in the norm of the noise.
    ///
    /// # Errors
    /// A projection that refuses rows.
    pub(crate) fn attribute(mechanism: PrivateProjection, beta: f64, largest: f64) -> Result<Self> {
        let projection = mechanism.projection().clone();
        let noise = mechanism.noise();
        let value = |pair: &RowPair| {
            let of = |row: &[f64]| image(&projection, row);
            match (of(&pair.left), of(&pair.right)) {
                (Ok(a), Ok(b)) => norm(&a, &b, noise),
                _ => 0.0,
            }
        };
        let d = projection.spec().d();
        let (rows, _) = worst_attribute(d, (beta, largest), &mut search_rng(d as u64), value);
        Ok(Self { mechanism: Arc::new(mechanism), rows })
    }

    /// The pair `x` and `x + v` of the largest image of v, |v| = `shift`, centred at zero.
    ///
    /// # Errors
    /// A projection that refuses rows.
    pub(crate) fn shift(mechanism: PrivateProjection, shift: f64) -> Result<Self> {
        let projection = mechanism.projection().clone();
        let zero = vec![0.0; projection.spec().k()];
        let noise = mechanism.noise();
        let value = |v: &[f64]| image(&projection, v).map_or(0.0, |z| norm(&z, &zero, noise));
        let d = projection.spec().d();
        let (v, _) = worst_direction(d, shift, &mut search_rng(d as u64), value);
        let half = |sign: f64| v.iter().map(|x| 0.5 * sign * x).collect();
        Ok(Self {
            mechanism: Arc::new(mechanism),
            rows: RowPair { left: half(-1.0), right: half(1.0) },
        })
    }

    /// The scale of the noise.
    #[must_use]
    pub(crate) fn scale(&self) -> f64 {
        super::common::scale(self.mechanism.noise())
    }

    /// The audit of one row.
    ///
    /// # Errors
    /// A projection that refuses rows.
    pub(crate) fn subject(&self, name: &str, pair: &str) -> Result<Subject> {
        let Self { mechanism, rows } = self;
        let k = mechanism.projection().spec().k();
        let (a, b) = (
            image(mechanism.projection(), &rows.left)?,
            image(mechanism.projection(), &rows.right)?,
        );
        let noise = mechanism.noise();
        let budget = mechanism.guarantee().budget();
        let subject = Subject::new(name, FAMILY, budget, pair, k, self.sampler())
            .batched(BATCH)
            .under(mechanism.guarantee())?;
        Ok(match noise {
            SketchNoise::Gaussian(g) => {
                let sigma = g.sigma().get();
                subject.with_runs(40_000).likelihood(move |z| gaussian_ratio(z, &a, &b, sigma))
            }
            SketchNoise::Laplace(l) => {
                let scale = l.scale().get();
                subject.likelihood(move |z| laplace_ratio(z, &a, &b, scale))
            }
            SketchNoise::Staircase(s) => {
                let ratio = move |z: &[f64]| -> f64 {
                    let each = z.iter().zip(a.iter().zip(&b));
                    each.map(|(z, (a, b))| s.log_ratio(z - a, z - b)).sum()
                };
                subject.likelihood(ratio)
            }
        })
    }

    fn sampler(&self) -> impl Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + 'static {
        let d = self.rows.left.len();
        let (left, right) = (repeated(&self.rows.left, BATCH), repeated(&self.rows.right, BATCH));
        let mechanism = self.mechanism.clone();
        move |side, draw, out| {
            let rows = RowsView::f64(BATCH, d, side.of(&left, &right))?;
            let release = mechanism.release(rows, &mut draw.noise())?;
            out.extend_from_slice(release.payload().values());
            Ok(())
        }
    }
}

/// The audit of a mechanism that is built at any budget, so that its twin is at a larger one.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn audited(
    name: impl Into<String>,
    pair: &'static str,
    claim: Budget,
    build: impl Fn(Budget) -> Result<Rowwise> + Clone + Send + Sync + 'static,
) -> Result<Subject> {
    let (name, at) = (name.into(), build.clone());
    let noise = move |budget| Ok(at(budget)?.scale());
    let subject = Subject::built(claim, noise, move |budget| build(budget)?.subject(&name, pair))?;
    Ok(subject.twin_with_runs(80_000))
}

pub(super) const ATTRIBUTE: &str =
    "attribute: coordinate and base row by search on the realised sensitivity";
const WHOLE_ROW: &str = "whole row: direction by search on the realised singular values";

/// The budget at which a system is audited.
///
/// # Errors
/// Never: the budget is valid.
pub(crate) fn budget_for(system: System) -> Result<Budget> {
    if system.is_pure() { pure_budget() } else { gaussian_budget() }
}

/// One of the systems at audit size.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn system(system: System) -> Result<Rowwise> {
    system_at(system, budget_for(system)?)
}

fn system_at(system: System, budget: Budget) -> Result<Rowwise> {
    // Theorem 3.4 spends budget on a tail bound for every row: it needs no more than it claims.
    let made = system.mechanism(12, 4, PublicSeed::new(71), bound(1.0)?, bound(1.0)?, budget)?;
    Rowwise::attribute(made, 1.0, 1.0)
}

/// A projection of another family under exact Gaussian noise.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn gaussian(
    family: Family,
    d: usize,
    k: usize,
    adjacency: Adjacency,
    budget: Budget,
) -> Result<PrivateProjection> {
    let projection = ProjectionSpec::new(family, d, k, PublicSeed::new(72))?.build();
    Ok(PrivateProjection::gaussian(projection, adjacency, bound(1.0)?, budget)?)
}

/// Staircase noise on OPORP.
fn staircase(budget: Budget) -> Result<Rowwise> {
    let projection = ProjectionSpec::new(Family::Oporp, 8, 4, PublicSeed::new(77))?.build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = PrivateProjection::staircase(projection, adjacency, bound(1.0)?, budget)?;
    Rowwise::attribute(made, 1.0, 1.0)
}

/// Staircase noise on sums of chosen groups.
fn grouped(budget: Budget) -> Result<Rowwise> {
    let projection = Groups::new(&[1, -1, 2, 1, 3, -3, 2, 1])?.spec().build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = PrivateProjection::staircase(projection, adjacency, bound(1.0)?, budget)?;
    Rowwise::attribute(made, 1.0, 1.0)
}

/// Two rows of one release: the second is the same on both sides, and must tell nothing.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn two_rows(rowwise: &Rowwise) -> Result<Subject> {
    let one = rowwise.subject("", ATTRIBUTE)?;
    let k = one.width;
    let d = rowwise.rows.left.len();
    let other = vec![0.25; d];
    let pairs = |row: &[f64]| repeated(&[row, &other].concat(), BATCH / 2);
    let (left, right) = (pairs(&rowwise.rows.left), pairs(&rowwise.rows.right));
    let mechanism = rowwise.mechanism.clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, d, side.of(&left, &right))?;
        out.extend_from_slice(mechanism.release(rows, &mut draw.noise())?.payload().values());
        Ok(())
    };
    let mut subject = Subject::new(
        "DP-OPORP, with a second row beside it",
        FAMILY,
        one.claim,
        "attribute of the first row; the second is fixed",
        2 * k,
        sample,
    )
    .batched(BATCH / 2)
    .under(rowwise.mechanism.guarantee())?
    .with_runs(one.runs);
    for (name, score) in one.scores {
        subject = subject.score(name, move |x| score(&x[..k]));
    }
    Ok(subject)
}

/// Gaussian noise on one number near zero, with Mironov's trace among the scores.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn near_zero(budget: Budget) -> Result<(Rowwise, Subject)> {
    let attribute = Adjacency::Attribute { beta: bound(1.0)? };
    let made = gaussian(Family::Identity, 1, 1, attribute, budget)?;
    let rows = RowPair { left: vec![1.0], right: vec![0.0] };
    let rowwise = Rowwise { mechanism: Arc::new(made), rows };
    let subject = rowwise
        .subject("Gaussian noise, low bits", "0 against 1: sums near zero keep bits below 2^-53")?
        // Near zero, 0 + noise has bits that 1 + noise, rounded at 2^-53, cannot have.
        .score("low bits", |z| {
            f64::from(u8::from((z[0] * 2f64.powi(53)).fract() != 0.0 && z[0].abs() < 0.25))
        });
    Ok((rowwise, subject))
}

/// The budget of [`at_epsilon_four`].
///
/// # Errors
/// Never: the budget is valid.
pub(crate) fn epsilon_four() -> Result<Budget> {
    Ok(Budget::new(4.0, 1e-2)?)
}

/// Gaussian noise at a larger epsilon, where a constant short of sqrt 2 can be counted.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn at_epsilon_four(budget: Budget) -> Result<(Rowwise, Subject)> {
    let projection = ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(76))?.build();
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let made = PrivateProjection::gaussian(projection, adjacency, bound(1.0)?, budget)?;
    let rows = RowPair { left: vec![1.0], right: vec![0.0] };
    let rowwise = Rowwise { mechanism: Arc::new(made), rows };
    let subject = rowwise.subject("Gaussian noise, epsilon 4", "0 against 1")?.with_runs(600_000);
    Ok((rowwise, subject))
}

fn published(rule: PublishedRule, (d, k): (usize, usize), epsilon: f64) -> Result<Subject> {
    let projection = ProjectionSpec::new(Family::Gaussian, d, k, PublicSeed::new(73))?.build();
    let budget = Budget::new(epsilon, 1e-2)?;
    let (beta, one) = (bound(1.0)?, bound(1.0)?);
    let made = PrivateProjection::published(projection.clone(), rule, beta, one, budget)?;
    let rowwise = Rowwise::attribute(made, 1.0, 1.0)?;
    let scale = rowwise.scale();
    let exact = move |budget| -> Result<Rowwise> {
        let adjacency = Adjacency::Attribute { beta };
        let made = PrivateProjection::gaussian(projection.clone(), adjacency, one, budget)?;
        Rowwise::attribute(made, 1.0, 1.0)
    };
    // A rule is not stated at every budget: its twin has exact noise for a larger one.
    Ok(rowwise.subject(&format!("rule {rule}"), ATTRIBUTE)?.weaker_by(move |share| {
        let weaker = budget_of(budget, share * scale, |b| Ok(exact(b)?.scale()))?;
        exact(weaker)?.subject("", ATTRIBUTE)
    }))
}

fn multi_scale(budget: Budget) -> Result<Subject> {
    let build = |k, seed| -> Result<SharedProjection> {
        Ok(ProjectionSpec::new(Family::Oporp, 8, k, PublicSeed::new(seed))?.build())
    };
    let projections = vec![build(2, 74)?, build(4, 75)?];
    let adjacency = Adjacency::Attribute { beta: bound(1.0)? };
    let one = bound(1.0)?;
    let shares = [1.0, 2.0];
    let made = MultiScale::gaussian(projections.clone(), &shares, adjacency, one, budget)?;
    let sigmas: Vec<f64> = made
        .noises()
        .iter()
        .map(|n| match n {
            SketchNoise::Gaussian(g) => g.sigma().get(),
            _ => f64::NAN,
        })
        .collect();
    // In units of each scale's noise the joint release is one Gaussian mechanism.
    let joint = move |row: &[f64]| -> Result<Vec<f64>> {
        let mut all = Vec::new();
        for (p, s) in projections.iter().zip(&sigmas) {
            all.extend(image(p, row)?.into_iter().map(|x| x / s));
        }
        Ok(all)
    };
    let distance = |p: &RowPair| match (joint(&p.left), joint(&p.right)) {
        (Ok(a), Ok(b)) => a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>(),
        _ => 0.0,
    };
    let (rows, _) = worst_attribute(8, (1.0, 1.0), &mut search_rng(8), distance);
    let (a, b) = (joint(&rows.left)?, joint(&rows.right)?);
    let budget = made.guarantee().budget();
    let noises: Vec<f64> = made
        .noises()
        .iter()
        .map(|n| if let SketchNoise::Gaussian(g) = n { g.sigma().get() } else { 1.0 })
        .collect();
    let (left, right) = (repeated(&rows.left, BATCH), repeated(&rows.right, BATCH));
    let guarantee = made.guarantee().clone();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let rows = RowsView::f64(BATCH, 8, side.of(&left, &right))?;
        let release = made.release(rows, &mut draw.noise())?;
        for row in 0..BATCH {
            for (sketch, sigma) in release.payload().iter().zip(&noises) {
                out.extend(sketch.row(row)?.iter().map(|z| z / sigma));
            }
        }
        Ok(())
    };
    Ok(Subject::new("multi-scale OPORP, 2 and 4 columns", FAMILY, budget, ATTRIBUTE, 6, sample)
        .under(&guarantee)?
        .batched(BATCH)
        .with_runs(40_000)
        .likelihood(move |z| gaussian_ratio(z, &a, &b, 1.0)))
}

/// The family's audits.
///
/// # Errors
/// A calibration that fails.
pub(crate) fn subjects() -> Result<Vec<Subject>> {
    let claim = gaussian_budget()?;
    let mut all = Vec::new();
    for one in System::ALL {
        let build = move |budget| system_at(one, budget);
        all.push(audited(one.name(), ATTRIBUTE, budget_for(one)?, build)?);
    }
    let attribute = Adjacency::Attribute { beta: bound(1.0)? };
    let sampling = Sampling::WithoutReplacement;
    for (name, family) in [
        ("sparse JL, 2 nonzeros", Family::SparseJl { nonzeros: 2 }),
        ("SRHT", Family::Srht { sampling }),
        ("Achlioptas", Family::Achlioptas),
        ("count-sketch", Family::CountSketch),
        ("hashed copies", Family::HashedCopies { copies: 3 }),
    ] {
        let build =
            move |budget| Rowwise::attribute(gaussian(family, 8, 4, attribute, budget)?, 1.0, 1.0);
        all.push(audited(name, ATTRIBUTE, claim, build)?);
    }
    for epsilon in [1.0, 3.0] {
        let name = format!("OPORP, staircase, epsilon {epsilon}");
        all.push(audited(name, ATTRIBUTE, Budget::new(epsilon, 0.0)?, staircase)?);
    }
    let grouped = audited("signed groups, staircase", ATTRIBUTE, Budget::new(3.0, 0.0)?, grouped)?;
    all.push(grouped);
    let shift = Adjacency::RowShift { l2: bound(1.0)? };
    let replace = Adjacency::ReplaceRow { bound: bound(1.0)? };
    for (name, family, adjacency, step) in [
        ("Gaussian projection, row shift", Family::Gaussian, shift, 1.0),
        ("Rademacher projection, replaced row", Family::Rademacher, replace, 2.0),
    ] {
        let build = move |budget| Rowwise::shift(gaussian(family, 6, 3, adjacency, budget)?, step);
        all.push(audited(name, WHOLE_ROW, claim, build)?);
    }
    let lemma1 = published(PublishedRule::KenthapadiLemma1, (8, 4), 1.0)?;
    all.push(lemma1.twin_with_runs(160_000));
    let lemma2 = published(PublishedRule::KenthapadiLemma2, (20, 18), 1.0)?;
    all.push(lemma2.twin_only_in_full());
    let classic = published(PublishedRule::DworkRothClassic, (8, 4), 0.9)?;
    all.push(classic.twin_with_runs(120_000));
    all.push(Subject::built(claim, gaussian_noise, multi_scale)?);
    let oporp = |budget| two_rows(&system_at(System::DpOporp, budget)?);
    all.push(Subject::built(claim, gaussian_noise, oporp)?);
    all.push(Subject::built(claim, gaussian_noise, |budget| Ok(near_zero(budget)?.1))?);
    let four = |budget| Ok(at_epsilon_four(budget)?.1);
    let four = Subject::built(epsilon_four()?, gaussian_noise, four)?;
    all.push(four.twin_with_runs(150_000));
    Ok(all)
}
