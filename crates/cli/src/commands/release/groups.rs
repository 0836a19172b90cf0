//! `dps release sketch --groups private`.

use super::common::check_rereadable;
use super::feed::Source;
use super::parts::{Asked, Made, Making};
use super::rows::{Promise, RowsOptions};
use super::said::predicted;
use crate::error::{Error, Result, no_effect, positive, probability};
use crate::output::Record;
use clap::{Args, ValueEnum};
use dp_core::mechanism::Mechanism as _;
use dp_core::release_file::{self, RowIds};
use dp_core::{EntryBound, NormBound};
use linalg_dp::groups::{GroupsConfig, PrivateGroups};
use std::sync::PoisonError;

/// Groups that follow from the rows, and what they cost.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Mechanism")]
pub(crate) struct GroupOptions {
    /// Sums of groups of columns that move together, by noisy second moments of the rows, paid from the same budget (delta must
    /// be above zero): where nobody has public rows, for --adjacency attribute. `dps search` ranks by the best guess of rows.
    /// Needs a file that can be read twice.
    #[arg(long, value_enum, conflicts_with_all = ["family", "k", "grid", "groups_from", "public", "matrix", "nonzeros", "squared_distance", "user"])]
    groups: Option<GroupsOf>,
    /// --groups private: a guess of the norm of most rows that does not come from them. Longer ones are scaled to it in the second
    /// moments, and there alone; the noise of these grows with it [default: the largest that --bound allows].
    #[arg(long, value_name = "C")]
    row_norm: Option<f64>,
    /// --groups private: the share of epsilon that the second moments have, with all of delta [default: 0.25].
    #[arg(long, value_name = "SHARE")]
    moments_share: Option<f64>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GroupsOf {
    Private,
}

impl GroupOptions {
    /// Whether it is asked for; refuses what belongs to it elsewhere.
    pub(super) fn private(&self) -> Result<bool> {
        if self.groups.is_some() {
            return Ok(true);
        }
        let why = "only --groups private makes second moments";
        no_effect("--row-norm", self.row_norm.as_ref(), why)?;
        no_effect("--moments-share", self.moments_share.as_ref(), why)?;
        Ok(false)
    }

    pub(super) fn run(
        &self,
        rows: &RowsOptions,
        promise: Promise,
        bound: EntryBound,
    ) -> Result<Record> {
        let Promise { adjacency, budget, limits } = promise;
        let output = &rows.output;
        output.whole()?;
        check_rereadable(&rows.input.input, "--groups private")?;
        if budget.delta.get() == 0.0 {
            return Err(Error::usage(
                "--groups private spends delta on second moments: give a positive delta such as 1e-6, or take groups that cost \
                 nothing (--grid, --groups-from)",
            ));
        }
        let input = rows.open()?;
        let d = input.rows.d();
        let norm = match self.row_norm {
            Some(norm) => positive("--row-norm", norm)?,
            None => NormBound::new(bound.get() * (d as f64).sqrt())?,
        };
        let share = probability("--moments-share", self.moments_share.unwrap_or(0.25))?;
        let config = GroupsConfig { d, adjacency, bound, norm, share };
        let mechanism = PrivateGroups::calibrate(config, budget)?;
        let label = "sketch, sums of private groups, staircase noise";
        let source = Source::rows(&rows.input, input, limits);
        let asked = Asked::new(mechanism.guarantee(), label, source);
        let mut groups = 0;
        let made = output.make(&asked, &mut |making: Making<'_>| {
            let Making { to, rng, feed, .. } = making;
            let mut moments = mechanism.moments(rng);
            feed.rows(|rows| Ok(moments.push(rows)?))?;
            // They are read once more with the rows.
            if let Some(ids) = rows.input.ids() {
                *ids.lock().unwrap_or_else(PoisonError::into_inner) = RowIds::default();
            }
            let mut sums = moments.choose()?;
            feed.rows(|rows| Ok(sums.push(rows)?))?;
            let release = sums.finish()?;
            groups = release.payload().sums().k();
            release_file::write(to, &release)?;
            Ok(release.into_parts().1)
        })?;
        let record = match made {
            Made::Released(certificate) => {
                rows.written(&certificate)?.integer("groups", groups as u64)
            }
            Made::Planned => rows.planned(label, mechanism.guarantee()),
            Made::Parts(record) => return Ok(record),
        };
        let record = record
            .number("standard deviation of a second moment", mechanism.sigma().get())
            .number("epsilon of the sums alone", mechanism.epsilon_of_sums().get());
        Ok(predicted(record, mechanism.predict(())?))
    }
}
