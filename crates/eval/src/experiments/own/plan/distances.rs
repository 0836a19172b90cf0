//! Squared distances: every method that `plan_distances` knows, and other sizes of the projection that it chooses.

use super::tried::{Measure, Question, Range, Tried};
use crate::data::Points;
use crate::error::Result;
use crate::framework::Context;
use crate::framework::sabotage;
use dp_core::mechanism::Mechanism as _;
use dp_core::{Adjacency, Budget, EntryBound, SquaredNorm};
use sketch::RowsView;
use sketch::distances::{
    NoiseAddition, RandomizedResponse, ValueRange, noisy_bit_distance, noisy_distance,
};
use sketch::plan::{DistanceMethod, DistanceTask, plan_distances};
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::{
    AveragedProjection, MultiScale, Pairs, PrivateProjection, ProjectionConfig,
    multi_scale_squared_distance,
};

/// Rows of a release, and pairs of them whose distances are nearest to their median.
const ROWS: usize = 60;
const PAIRS: usize = 200;

/// Rows whose distances are asked for.
pub(super) struct Crowd {
    name: String,
    rows: Points,
    range: ValueRange,
    bound: EntryBound,
    /// Pairs, with their squared distances.
    pairs: Vec<(usize, usize, f64)>,
    /// The median of those.
    distance: f64,
}

impl Crowd {
    /// Rows of a set, spread over all of it, whose values are in `[low, high]`.
    pub(super) fn of(name: &str, points: &Points, (low, high): (f64, f64)) -> Result<Self> {
        let places: Vec<usize> = (0..ROWS).map(|i| i * points.n() / ROWS).collect();
        let rows = points.select(&places);
        let distance = |i: usize, j: usize| -> f64 {
            rows.row(i).iter().zip(rows.row(j)).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let mut pairs: Vec<(usize, usize, f64)> = (0..ROWS)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| (i, j, distance(i, j)))
            .collect();
        pairs.sort_by(|a, b| a.2.total_cmp(&b.2));
        let middle = pairs.len() / 2;
        let pairs = pairs[middle - PAIRS / 2..middle + PAIRS / 2].to_vec();
        let distance = pairs[PAIRS / 2].2;
        let (range, bound) = (ValueRange::new(low, high)?, EntryBound::new(low.abs().max(high))?);
        Ok(Self { name: name.into(), rows, range, bound, pairs, distance })
    }

    /// The question at a budget.
    pub(super) fn ask(
        &self,
        context: &Context<'_>,
        adjacency: Adjacency,
        budget: Budget,
        releases: u64,
    ) -> Result<Question> {
        let task = DistanceTask {
            n: ROWS,
            d: self.rows.d(),
            adjacency,
            range: self.range,
            squared_distance: self.distance,
            budget,
        };
        let mut ways: Vec<_> = plan_distances(&task)?
            .into_iter()
            .map(|plan| {
                let range = Range { value: plan.standard_error, low: plan.low, high: plan.high };
                (plan.method, Some(range))
            })
            .collect();
        // Noise on bits is for bits, and the plan knows them by their range only.
        if !self.is_bits() {
            ways.retain(|(method, _)| *method != DistanceMethod::RandomizedResponse);
        }
        let sizes = ways.iter().find_map(|(method, _)| match *method {
            DistanceMethod::Projection { k, noise } => Some((k, noise)),
            _ => None,
        });
        if let Some((k, noise)) = sizes {
            for k in [k / 2, 2 * k].into_iter().filter(|k| (1..=task.d).contains(k)) {
                ways.push((DistanceMethod::Projection { k, noise }, None));
            }
        }
        // Staircase noise has no epsilon above 20.
        let budget = sabotage::spent_within(budget, 19.0)?;
        let spending = DistanceTask { budget, ..task };
        let tried = ways.into_iter().map(|(method, range)| {
            let name = format!("{method:?}");
            let part = format!("{} {adjacency} {} {name}", self.name, task.budget);
            // Its noise is that of every projection.
            let fresh = match method {
                DistanceMethod::FreshProjection { k } => Some(AveragedProjection::gaussian(
                    task.d,
                    k,
                    adjacency,
                    self.bound,
                    spending.budget,
                )?),
                _ => None,
            };
            Tried::of(name, range, releases, |r| {
                Ok(self.released(context, &spending, (&method, fresh.as_ref()), (&part, r))?.sqrt())
            })
        });
        Ok(Question {
            goal: "distance",
            data: self.name.clone(),
            protects: adjacency.to_string(),
            epsilon: task.budget.epsilon.get(),
            measure: Measure::Error,
            tried: tried.collect::<Result<_>>()?,
        })
    }

    /// Mean square error over the pairs of one release.
    fn released(
        &self,
        context: &Context<'_>,
        task: &DistanceTask,
        (method, fresh): (&DistanceMethod, Option<&AveragedProjection>),
        (part, r): (&str, u64),
    ) -> Result<f64> {
        let mut rng = context.noise(part, r);
        let bound = self.bound;
        let spec = |family, k, scale: u64| {
            let seed = context.public_seed(part, 8 * r + scale);
            ProjectionSpec::new(family, task.d, k, seed)
        };
        let rows = RowsView::f64(ROWS, task.d, self.rows.values())?;
        let of_projection = |family, k, noise, rng: &mut _| -> Result<f64> {
            let projection = spec(family, k, 0)?.build();
            let adjacency = task.adjacency;
            let config = ProjectionConfig { projection, adjacency, bound, noise };
            let mechanism = PrivateProjection::calibrate(config, task.budget)?;
            let release = sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, rng)?))?;
            self.error(|i, j| Ok(Pairs::within(&release).squared_distance(i, j)?.value))
        };
        if let Some(fresh) = fresh {
            let seed = context.fresh_seed(part, r);
            let release = sabotage::with_rows(rows, |rows| {
                Ok(fresh.clone().release(seed, rows, &mut rng)?)
            })?;
            return self.error(|i, j| Ok(Pairs::within(&release).squared_distance(i, j)?.value));
        }
        match method {
            DistanceMethod::Projection { k, noise } => {
                of_projection(Family::Oporp, *k, *noise, &mut rng)
            }
            DistanceMethod::RawData { noise } => {
                of_projection(Family::Identity, task.d, *noise, &mut rng)
            }
            DistanceMethod::MultiScale { sizes } => {
                let built = sizes.iter().enumerate().map(|(i, &k)| {
                    Ok::<_, crate::Error>(spec(Family::Oporp, k, i as u64)?.build())
                });
                let built = built.collect::<Result<Vec<_>>>()?;
                let shares = vec![1.0; sizes.len()];
                let scales =
                    MultiScale::gaussian(built, &shares, task.adjacency, bound, task.budget)?;
                let release =
                    sabotage::with_rows(rows, |rows| Ok(scales.release(rows, &mut rng)?))?;
                let expected = SquaredNorm::new(self.distance)?;
                self.error(|i, j| Ok(multi_scale_squared_distance(&release, i, j, expected)?.value))
            }
            DistanceMethod::NoiseAddition => {
                let table =
                    NoiseAddition::new(ROWS, task.d, task.range, task.adjacency, task.budget)?;
                let release = sabotage::with_rows(rows, |rows| Ok(table.release(rows, &mut rng)?))?;
                self.error(|i, j| Ok(noisy_distance(&release, i, j)?.value))
            }
            _ => {
                let flips = RandomizedResponse::new(task.d, task.budget.epsilon)?;
                let release = sabotage::with_rows(rows, |rows| Ok(flips.release(rows, &mut rng)?))?;
                self.error(|i, j| Ok(noisy_bit_distance(&release, i, j)?.value))
            }
        }
    }

    fn is_bits(&self) -> bool {
        self.rows.values().iter().all(|x| *x == 0.0 || *x == 1.0)
    }

    fn error(&self, estimate: impl Fn(usize, usize) -> Result<f64>) -> Result<f64> {
        let mut sum = 0.0;
        for &(i, j, exact) in &self.pairs {
            sum += (estimate(i, j)? - exact).powi(2);
        }
        Ok(sum / self.pairs.len() as f64)
    }
}

/// Points whose pixels are in one half or the other: bits.
pub(super) fn bits(points: &Points) -> Result<Points> {
    let values = points.values().iter().map(|x| f64::from(u8::from(*x >= 0.5))).collect();
    Points::new(points.name(), points.d(), values, None)
}

/// The least range about zero, in steps of a tenth, that all values are in.
pub(super) fn range(points: &Points) -> (f64, f64) {
    let largest = points.values().iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let largest = (10.0 * largest).ceil() / 10.0;
    (-largest, largest)
}
