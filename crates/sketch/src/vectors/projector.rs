//! Rows through a projection: what one change does to what comes out, checks, blocks of noise.

use crate::error::{Error, Result};
use crate::memory::zeros;
use crate::projection::{Rooms, SharedProjection, few_together, output_len, project_checked};
use crate::rows::{Incoming, NORM_SLACK, RowsView, block_rows, pass_rows};
use core::ops::ControlFlow;
use dp_core::mechanism::{Progress, Sensitivity, Statistic};
use dp_core::noise::AdditiveNoise;
use dp_core::{Adjacency, EntryBound, L1Sensitivity, L2Sensitivity, NoiseRng};
use rayon::prelude::*;

/// Asked between parts of the work whether to go on.
pub(super) type Hook<'h> = dyn FnMut(Progress) -> ControlFlow<()> + 'h;

/// The adjacencies these mechanisms know.
pub(super) const ADJACENCIES: &str = "attribute, row shift or replaced row for a release with one output row per input row, or several of a user";

/// A projection of rows of which one may change as the adjacency says, with entries up to a bound.
#[derive(Debug, Clone)]
pub(super) struct Projector {
    projection: SharedProjection,
    adjacency: Adjacency,
    bound: EntryBound,
}

impl Projector {
    pub(super) fn new(
        projection: SharedProjection,
        adjacency: Adjacency,
        bound: EntryBound,
    ) -> Self {
        Self { projection, adjacency, bound }
    }

    pub(super) fn projection(&self) -> &SharedProjection {
        &self.projection
    }

    pub(super) fn bound(&self) -> EntryBound {
        self.bound
    }

    /// Largest absolute value of an output.
    pub(super) fn magnitude(&self) -> f64 {
        self.projection.output_range(self.bound).magnitude
    }

    /// The largest change of an output row in l2: exact for an attribute of this very P, by the certified
    /// bound on its spectral norm for whole rows. And how many numbers it touches.
    pub(super) fn l2(&self) -> Result<Statistic<L2Sensitivity>> {
        let (l2, touched) = match self.adjacency.each() {
            Adjacency::Attribute { beta } => {
                (beta.get() * UP * self.projection.max_row_l2(), self.touched())
            }
            _ => (self.whole_row()?, self.k()),
        };
        // The rows of a user move output rows of their own: at right angles.
        let rows = match self.adjacency.rows() {
            1 => 1.0,
            rows => (rows as f64).sqrt() * UP,
        };
        self.statistic(L2Sensitivity::new(l2 * rows)?, touched)
    }

    /// As [`Projector::l2`] in l1.
    pub(super) fn l1(&self) -> Result<Statistic<L1Sensitivity>> {
        let (l1, touched) = match self.adjacency.each() {
            Adjacency::Attribute { beta } => {
                (beta.get() * UP * self.projection.max_row_l1(), self.touched())
            }
            _ => (self.whole_row()? * (self.k() as f64).sqrt() * UP, self.k()),
        };
        self.statistic(L1Sensitivity::new(l1 * self.adjacency.rows() as f64)?, touched)
    }

    fn k(&self) -> usize {
        self.projection.spec().k()
    }

    fn touched(&self) -> usize {
        self.projection.touched_by_one_attribute()
    }

    fn whole_row(&self) -> Result<f64> {
        Ok(norm_of_change(self.adjacency.each())? * self.projection.spectral_norm_bound()? * UP)
    }

    /// A change of an output row, as a statistic.
    pub(super) fn statistic<S: Sensitivity>(
        &self,
        sensitivity: S,
        touched: usize,
    ) -> Result<Statistic<S>> {
        let range = self.projection.output_range(self.bound);
        let magnitude = EntryBound::new(range.magnitude)?;
        let rows = usize::try_from(self.adjacency.rows()).unwrap_or(usize::MAX);
        let [length, touched] = [self.k(), touched].map(|n| n.saturating_mul(rows));
        let statistic = Statistic::new(self.adjacency, sensitivity, length, magnitude);
        Ok(statistic.touching(touched).computed_within(range.error)?)
    }

    /// n output rows, without noise yet.
    pub(super) fn output(&self, n: usize) -> Result<Vec<f64>> {
        Ok(zeros(output_len(self.projection.spec(), n)?))
    }

    /// Checks, projects and adds noise. One noise stream for [`block_rows`] rows; where P need not
    /// be generated again for every block, a block is finished while it is in the cache.
    pub(super) fn release_into(
        &self,
        rows: Incoming<'_>,
        out: &mut [f64],
        noise: &impl AdditiveNoise,
        rng: &mut NoiseRng,
        hook: &mut Hook<'_>,
    ) -> Result<()> {
        let (k, few) = (self.k(), self.few_together());
        let step = block_rows(k);
        let pass = if few { PASSES * pass_rows(k) } else { pass_rows(k) };
        let total = rows.n().div_ceil(pass) as u64;
        let part = |from: usize, out: &[f64]| rows.slice(from..from + out.len() / k);
        for (p, out) in out.chunks_mut(pass * k).enumerate() {
            Progress::new(p as u64, total).ask(hook)?;
            let first = p * pass;
            if few {
                let streams = rng.reserve((out.len() / k).div_ceil(step) as u64);
                let done: Vec<Result<()>> = out
                    .par_chunks_mut(step * k)
                    .zip(streams)
                    .enumerate()
                    .map(|(i, (out, mut stream))| {
                        let from = first + i * step;
                        let rows = part(from, out);
                        self.project_block(rows, out).map_err(|e| e.offset_row(from))?;
                        Ok(noise.add_block(&mut stream, out)?)
                    })
                    .collect();
                done.into_iter().collect::<Result<()>>()?;
            } else {
                let rows = part(first, out);
                self.project_block(rows, out).map_err(|e| e.offset_row(first))?;
                self.add_noise(out, noise, rng)?;
            }
        }
        Ok(())
    }

    /// Adds noise to projected rows, one stream for [`block_rows`] rows.
    pub(super) fn add_noise(
        &self,
        values: &mut [f64],
        noise: &impl AdditiveNoise,
        rng: &mut NoiseRng,
    ) -> Result<()> {
        let block = block_rows(self.k()) * self.k();
        let streams = rng.reserve(values.len().div_ceil(block) as u64);
        let blocks = values.par_chunks_mut(block).zip(streams);
        Ok(blocks.try_for_each(|(out, mut stream)| noise.add_block(&mut stream, out))?)
    }

    /// Checks and projects rows, without noise. After an error `out` holds no row's projection.
    pub(super) fn project_block(&self, rows: Incoming<'_>, out: &mut [f64]) -> Result<()> {
        rows.check_features(self.projection.spec().d())?;
        let project = |rows: RowsView<'_>, out: &mut [f64]| self.projection.apply(rows, out);
        project_checked(
            rows.within(self.bound),
            out,
            self.few_together().then(Rooms::default).as_ref(),
            |rows| self.check(rows),
            project,
        )
    }

    fn few_together(&self) -> bool {
        few_together(core::slice::from_ref(&self.projection))
    }

    fn check<'a>(&self, rows: Incoming<'a>) -> Result<RowsView<'a>> {
        let rows = rows.check_bound(self.bound)?;
        if let Adjacency::ReplaceRow { bound } = self.adjacency.each() {
            rows.check_norms(bound)?;
        }
        Ok(rows)
    }
}

/// Covers the rounding of a few products.
const UP: f64 = 1.0 + 4.0 * f64::EPSILON;

/// Passes between two questions to the hook, where P is kept.
const PASSES: usize = 16;

/// The largest l2 norm of the difference of two adjacent rows.
pub(super) fn norm_of_change(adjacency: Adjacency) -> Result<f64> {
    match adjacency {
        Adjacency::Attribute { beta } => Ok(beta.get()),
        Adjacency::RowShift { l2 } => Ok(l2.get()),
        Adjacency::ReplaceRow { bound } => Ok(2.0 * bound.get() * (1.0 + 2.0 * NORM_SLACK)),
        other => Err(Error::invalid("adjacency", other, ADJACENCIES)),
    }
}
