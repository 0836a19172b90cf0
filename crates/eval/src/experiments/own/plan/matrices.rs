//! Covariances, components, windows, low-rank approximations and regressions.

use super::super::laws::{Normals, gram, with_target};
use super::tried::{Measure, Question, Range, Tried};
use crate::error::Result;
use crate::framework::Context;
use crate::framework::sabotage;
use dp_core::{Adjacency, Budget, NormBound, Shift};
use faer::Mat;
use linalg_dp::analysis::{Regression, Ridge, pca, regression};
use linalg_dp::covariance::GaussianCovariance;
use linalg_dp::dense::symmetric_eigen;
use linalg_dp::low_rank::{InputPerturbation, Pfp, PfpOptions, Setting};
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use linalg_dp::plan::{
    CovarianceMethod, CovarianceTask, LowRankMethod, LowRankTask, Planned, RegressionMethod,
    RegressionTask, plan_covariance, plan_direction, plan_low_rank, plan_regression, plan_window,
};
use linalg_dp::window::{StreamConfig, WindowMechanism};
use sketch::RowsView;

/// Laws of second moments, largest first.
pub(super) const SPECTRA: [&str; 4] = ["equal", "1/i", "spiked", "low rank"];

fn spectrum(name: &str, d: usize) -> Vec<f64> {
    let one = |i: usize| match name {
        "equal" => 1.0,
        "1/i" => 1.0 / (i + 1) as f64,
        "spiked" => [20.0, 1.0][usize::from(i > 0)],
        _ => [1.0, 1e-3][usize::from(i > 2)],
    };
    let all: Vec<f64> = (0..d).map(one).collect();
    let total: f64 = all.iter().sum();
    all.iter().map(|x| x / total).collect()
}

/// Gaussian rows of that law, of mean square norm a half, within norm one.
fn rows(n: usize, law: &[f64], seed: u64) -> Vec<f64> {
    let mut normals = Normals::new(seed);
    let mut all = Vec::with_capacity(n * law.len());
    for _ in 0..n {
        let row: Vec<f64> = law.iter().map(|l| (0.5 * l).sqrt() * normals.next()).collect();
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
        all.extend(row.iter().map(|x| x / norm));
    }
    all
}

fn range<M>(plan: &Planned<M>) -> Option<Range> {
    Some(Range { value: plan.error, low: plan.low, high: plan.high })
}

fn distance(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    (a - b).norm_l2()
}

/// What a question is about, and how often a way is tried.
pub(super) struct Asked<'c> {
    pub(super) context: &'c Context<'c>,
    pub(super) adjacency: Adjacency,
    pub(super) budget: Budget,
    pub(super) releases: u64,
}

impl Asked<'_> {
    fn question(
        &self,
        goal: &'static str,
        data: &str,
        measure: Measure,
        tried: Vec<Tried>,
    ) -> Question {
        let (protects, epsilon) = (self.adjacency.to_string(), self.budget.epsilon.get());
        Question { goal, data: data.into(), protects, epsilon, measure, tried }
    }

    fn part(&self, goal: &str, data: &str, way: impl core::fmt::Debug) -> String {
        format!("{goal} {data} {} {} {way:?}", self.adjacency, self.budget)
    }

    /// Every way of a plan: what is made of its method once, and a sample a release.
    fn try_all<M: core::fmt::Debug + Copy, P>(
        &self,
        (goal, data): (&str, &str),
        plans: &[Planned<M>],
        make: impl Fn(M) -> Result<P>,
        mut one: impl FnMut(&P, &str, u64) -> Result<f64>,
    ) -> Result<Vec<Tried>> {
        let of = |plan: &Planned<M>| {
            let (part, made) = (self.part(goal, data, plan.method), make(plan.method)?);
            let name = format!("{:?}", plan.method);
            Tried::of(name, range(plan), self.releases, |r| one(&made, &part, r))
        };
        plans.iter().map(of).collect()
    }

    /// The whole matrix.
    pub(super) fn covariance(&self, name: &str, d: usize, n: usize) -> Result<Question> {
        let task = CovarianceTask { dim: d, adjacency: self.adjacency, budget: self.budget };
        let data = rows(n, &spectrum(name, d), self.context.data_seed(name, d as u64));
        let exact = gram(&data, d);
        let seen = sabotage::data(data);
        let spent = sabotage::spent(self.budget)?;
        let goal = ("covariance", name);
        let make = |method| {
            Ok(match method {
                CovarianceMethod::Moments => {
                    GaussianCovariance::calibrate_moments(d, self.adjacency, spent)?
                }
                _ => GaussianCovariance::calibrate(d, self.adjacency, spent)?,
            })
        };
        let tried = self.try_all(goal, &plan_covariance(&task)?, make, |mechanism, part, r| {
            let release = mechanism.release(&seen, &mut self.context.noise(part, r))?;
            Ok(distance(&release.payload().unbiased(), &exact))
        })?;
        Ok(self.question("covariance", name, Measure::Error, tried))
    }

    /// The strongest direction, where the gap is a public fact.
    pub(super) fn component(&self, name: &str, d: usize, n: usize) -> Result<Question> {
        let task = CovarianceTask { dim: d, adjacency: self.adjacency, budget: self.budget };
        let data = rows(n, &spectrum(name, d), self.context.data_seed(name, d as u64));
        let exact = symmetric_eigen(gram(&data, d).as_ref())?;
        let gaps: Vec<f64> = exact.values[1..].iter().map(|v| exact.values[0] - v).collect();
        let plan = plan_direction(&task, &gaps)?;
        let seen = sabotage::data(data);
        let spent = sabotage::spent(self.budget)?;
        let make = |_| Ok(GaussianCovariance::calibrate(d, self.adjacency, spent)?);
        let tried = self.try_all(("component", name), &[plan], make, |mechanism, part, r| {
            let release = mechanism.release(&seen, &mut self.context.noise(part, r))?;
            let found = sabotage::solved(
                || Ok(pca(&release, 1)?.payload().directions().to_owned()),
                || Mat::from_fn(d, 1, |i, _| f64::from(u8::from(i == 0))),
            )?;
            let cosine: f64 = (0..d).map(|i| found[(i, 0)] * exact.vectors[(i, 0)]).sum();
            Ok(1.0 - cosine * cosine)
        })?;
        Ok(self.question("first component", name, Measure::Loss, tried))
    }

    /// A full window.
    pub(super) fn window(&self, name: &str, d: usize) -> Result<Question> {
        const BLOCK: usize = 8;
        let (blocks, ticks) = (16, 40);
        let config = StreamConfig::new(d, (blocks * BLOCK) as u64, self.adjacency, self.budget);
        let config = StreamConfig { block: BLOCK as u64, ..config };
        let plans = plan_window(&config, Some(ticks as u64))?;
        let law = spectrum(name, d);
        let data = rows(ticks * BLOCK, &law, self.context.data_seed("stream", d as u64));
        let seen = sabotage::data(data.clone());
        let spent = sabotage::spent(self.budget)?;
        let make = |schedule| {
            let config = StreamConfig { schedule, budget: spent, ..config };
            Ok(WindowMechanism::calibrate(config)?)
        };
        let tried = self.try_all(("window", name), &plans, make, |mechanism, part, r| {
            let mut rng = self.context.noise(part, r);
            let mut stream = mechanism.stream(&mut rng);
            let (mut sum, mut full) = (0.0, 0.0);
            for (tick, block) in seen.chunks_exact(BLOCK * d).enumerate() {
                stream.push(block)?;
                if tick < blocks {
                    continue;
                }
                let first = (tick + 1 - blocks) * BLOCK * d;
                let exact = gram(&data[first..(tick + 1) * BLOCK * d], d);
                let release = stream.release()?;
                let found = release.payload().covariance().unbiased();
                sum += distance(&found, &exact).powi(2);
                full += 1.0;
            }
            Ok((sum / full).sqrt())
        })?;
        Ok(self.question("window", name, Measure::Error, shortened(tried)))
    }

    /// A matrix of that rank with rows of equal weight.
    pub(super) fn low_rank(
        &self,
        (m, n): (usize, usize),
        rank: usize,
        strength: f64,
    ) -> Result<Question> {
        let name = format!("{m} x {n}, entries about {strength}");
        let mut normals = Normals::new(self.context.data_seed(&name, 0));
        let left = Mat::from_fn(m, rank, |_, _| strength * normals.next());
        let right = Mat::from_fn(rank, n, |_, _| normals.next() / (rank as f64).sqrt());
        let product = linalg_dp::dense::product(left.as_ref(), right.as_ref());
        let norm = product.norm_l2();
        let data: Vec<f64> = (0..m * n).map(|e| product[(e / n, e % n)]).collect();
        let view = RowsView::f64(m, n, &data)?;
        let longest = data
            .chunks_exact(n)
            .map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt())
            .fold(1.0, f64::max);
        let row_bound = NormBound::new(2.0 * longest)?;
        let Adjacency::RowShift { l2: shift } = self.adjacency else {
            unreachable!("low rank protects a shift");
        };
        let budget = self.budget;
        let task = LowRankTask { shape: (m, n), rank, shift, row_bound, norm, budget };
        let setting = Setting::recommended((m, n), rank, shift, row_bound)?;
        let spent = sabotage::spent(budget)?;
        let plans = plan_low_rank(&task)?;
        let pfp = Pfp::calibrate(setting, spent, PfpOptions::default())?;
        let input = InputPerturbation::calibrate(setting, spent)?;
        let tried = self.try_all(("low rank", &name), &plans, Ok, |method, part, r| {
            let mut rng = self.context.noise(part, r);
            sabotage::with_rows(view, |seen| match *method {
                LowRankMethod::FindAndProject { .. } => {
                    let release = pfp.release(&seen, self.context.fresh_seed(part, r), &mut rng)?;
                    Ok(release.payload().shrunk()?.distance(&view)?)
                }
                LowRankMethod::InputPerturbation => {
                    Ok(input.release(&seen, &mut rng)?.payload().distance(&view)?)
                }
                _ => Ok(norm),
            })
        })?;
        Ok(self.question("low rank", &name, Measure::Error, tried))
    }

    /// A regression whose facts are those of another draw, which is public.
    pub(super) fn regression(&self, power: f64, d: usize, n: usize) -> Result<Question> {
        let name = format!("i^-{power}, {n} x {d}");
        let public = with_target(n, d, power, self.context.data_seed(&name, 1_000));
        let facts = Facts::of(&public, d)?;
        let label_bound = NormBound::new(1.0)?;
        let task = RegressionTask {
            rows: n as u64,
            adjacency: self.adjacency,
            label_bound,
            spectrum: &facts.spectrum,
            explained: facts.explained,
            residual: facts.residual,
            budget: self.budget,
        };
        let plans = plan_regression(&task)?;
        let spent = sabotage::spent(self.budget)?;
        let config =
            NewtonConfig { features: d, adjacency: self.adjacency, label_bound, intercept: false };
        let both = NormBound::new(2f64.sqrt())?;
        let longer = match self.adjacency {
            Adjacency::ReplaceRow { .. } => Adjacency::ReplaceRow { bound: both },
            Adjacency::ZeroRow { .. } => Adjacency::ZeroRow { bound: both },
            _ => Adjacency::AddRemoveRow { bound: both },
        };
        let newton = PrivateNewton::calibrate(config, spent)?;
        let sums = GaussianCovariance::calibrate(d + 1, longer, spent)?;
        let tried = self.try_all(("regression", &name), &plans, Ok, |method, part, r| {
            let data = with_target(n, d, power, self.context.data_seed(&name, r));
            let exact = gram(&data, d + 1);
            let best = regression(exact.as_ref(), d, Ridge::Fixed { lambda: 0.0 })?;
            let seen = sabotage::data(data);
            let mut rng = self.context.noise(part, r);
            let found = match *method {
                RegressionMethod::Newton => sabotage::solved(
                    || Ok(newton.release(&seen, &mut rng)?.payload().coefficients().to_vec()),
                    || vec![0.0; d],
                )?,
                RegressionMethod::Covariance => {
                    let release = sums.release(&seen, &mut rng)?;
                    sabotage::solved(
                        || Ok(Regression::of(release.payload(), d)?.coefficients().to_vec()),
                        || vec![0.0; d],
                    )?
                }
                _ => vec![0.0; d],
            };
            let off: Vec<f64> = (0..d).map(|i| found[i] - best[(i, 0)]).collect();
            let along = |i: usize| (0..d).map(|j| exact[(i, j)] * off[j]).sum::<f64>();
            let excess: f64 = (0..d).map(|i| off[i] * along(i)).sum();
            Ok((excess / n as f64).sqrt())
        })?;
        Ok(self.question("regression", &name, Measure::Error, tried))
    }
}

/// What public rows say of a regression.
struct Facts {
    spectrum: Vec<f64>,
    explained: f64,
    residual: f64,
}

impl Facts {
    fn of(rows: &[f64], d: usize) -> Result<Self> {
        let n = (rows.len() / (d + 1)) as f64;
        let exact = gram(rows, d + 1);
        let values = symmetric_eigen(exact.get(..d, ..d))?.values;
        let best = regression(exact.as_ref(), d, Ridge::Fixed { lambda: 0.0 })?;
        let told: f64 = (0..d).map(|i| exact[(i, d)] * best[(i, 0)]).sum();
        Ok(Self {
            spectrum: values.iter().map(|v| v / n).collect(),
            explained: (told / n).sqrt(),
            residual: ((exact[(d, d)] - told) / n).sqrt(),
        })
    }
}

/// Names without the settings of a schedule.
fn shortened(tried: Vec<Tried>) -> Vec<Tried> {
    let short = |t: Tried| {
        let way = t.way.split_whitespace().next().unwrap_or_default().to_owned();
        Tried { way, ..t }
    };
    tried.into_iter().map(short).collect()
}

/// Rows of norm at most one, in the ways that they can be protected.
pub(super) fn of_rows(which: usize) -> Result<Adjacency> {
    let bound = NormBound::new(1.0)?;
    Ok(match which % 3 {
        0 => Adjacency::AddRemoveRow { bound },
        1 => Adjacency::ReplaceRow { bound },
        _ => Adjacency::ZeroRow { bound },
    })
}

/// A row that moves.
pub(super) fn shift(l2: f64) -> Result<Adjacency> {
    Ok(Adjacency::RowShift { l2: Shift::new(l2)? })
}
