//! `dps release low-rank`.

use super::common::read_all;
use super::privacy::AdjacencyKind;
use super::rows::{Promise, RowsOptions};
use super::said::predicted;
use crate::commands::choice::{ERROR, warn_of_worse};
use crate::error::{Error, Result, positive};
use crate::output::Record;
use clap::Args;
use dp_core::mechanism::Mechanism as _;
use dp_core::{Adjacency, FreshSeed, release_file};
use linalg_dp::low_rank::{Pfp, PfpOptions, Setting};
use sketch::RowsView;

/// Options of `dps release low-rank`.
#[derive(Args)]
pub(crate) struct LowRankOptions {
    #[command(flatten)]
    rows: RowsOptions,
    /// Rank of the approximation.
    #[arg(long, help_heading = "Mechanism")]
    rank: usize,
    /// Columns of the sketch beyond the rank [default: a third of the rows, at most 20 times the rank, in all].
    #[arg(long, help_heading = "Mechanism")]
    oversampling: Option<usize>,
    /// Longest l2 norm of a row; longer rows are scaled to it (that moves no two rows apart).
    #[arg(long, help_heading = "Privacy")]
    row_bound: f64,
}

impl LowRankOptions {
    /// Holds the whole matrix in memory: its number of rows (public here) shapes the noise.
    pub(crate) fn run(&self) -> Result<Record> {
        let Promise { adjacency, budget, limits } =
            self.rows.promise("a low-rank approximation", &[AdjacencyKind::RowShift])?;
        let Adjacency::RowShift { l2: shift } = adjacency else {
            return Err(Error::usage("a low-rank approximation protects --adjacency row-shift"));
        };
        self.rows.output.begin()?;
        let input = self.rows.open()?;
        let d = input.rows.d();
        let (n, values) = read_all(input, limits)?;
        let row_bound = positive("--row-bound", self.row_bound)?;
        let recommended = Setting::recommended((n, d), self.rank, shift, row_bound);
        let setting = match self.oversampling {
            Some(p) => Setting::new((n, d), self.rank, p, shift, row_bound)?,
            None => recommended.clone()?,
        };
        let calibrate = |setting| Pfp::calibrate(setting, budget, PfpOptions::default());
        let mechanism = calibrate(setting)?;
        if let (Some(_), Ok(best)) = (self.oversampling, recommended)
            && let Ok(found) = calibrate(best)
        {
            let named = format!("a sketch of {} columns", setting.k());
            let best = format!("{} columns, as recommended", best.k());
            let predicted = mechanism.predicted_error();
            warn_of_worse(ERROR, (&named, predicted), &(best, found.predicted_error()));
        }
        let guarantee = mechanism.guarantee();
        let label = format!("low-rank approximation, rank {}", self.rank);
        let Some(mut rng) = self.rows.output.charge(guarantee, &label, || Ok(()))? else {
            return Ok(predicted(self.rows.planned(&label, guarantee), mechanism.predict(())?));
        };
        let rows = RowsView::f64(n, d, &values)?;
        let released = mechanism.release(&rows, FreshSeed::draw()?, &mut rng);
        let release = released.map_err(|e| Error::from(e).in_file(&self.rows.input.input))?;
        release_file::write(self.rows.output.take()?, &release)?;
        let record = self.rows.written(release.certificate())?;
        Ok(predicted(record, mechanism.predict(())?))
    }
}
