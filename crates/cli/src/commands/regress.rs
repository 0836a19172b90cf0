//! `dps regress`: linear regression from a released covariance.

use super::loaded::{AnyRelease, Asked, read};
use super::named::{column_of, column_record};
use super::trust::TrustOptions;
use crate::error::{Result, probability};
use crate::output::Record;
use clap::Args;
use linalg_dp::analysis::{Moments, Regression};
use linalg_dp::covariance::column_names;
use std::path::PathBuf;

/// What the intervals are intervals for.
const ESTIMAND: &str =
    "the ridge solution on the rows that entered, not the coefficients without a ridge";

/// Options of `dps regress`.
#[derive(Args)]
pub(crate) struct RegressOptions {
    /// A release file: covariance or window with symmetric Gaussian noise; `-` reads standard input. One that was
    /// released with its sums gives an intercept.
    file: PathBuf,
    /// The column that is predicted from all others: its position in the release, from one, or its name where the
    /// release keeps names.
    #[arg(long)]
    target: String,
    /// Probability that an interval does not cover [default: 0.05].
    #[arg(long)]
    failure: Option<f64>,
    #[command(flatten)]
    trust: TrustOptions,
}

impl RegressOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let failure = probability("--failure", self.failure.unwrap_or(0.05))?;
        let release = read(&self.file, &self.trust.get())?;
        let (covariance, names) = match &release {
            AnyRelease::Covariance(release) => {
                (release.payload(), column_names(release.certificate())?)
            }
            AnyRelease::Window(release) => (release.payload().covariance(), None),
            other => return Err(other.cannot("a regression")),
        };
        let (d, names) = (covariance.dim(), names.as_deref());
        let target = column_of("--target", &self.target, d, names)?;
        let found = match &release {
            AnyRelease::Covariance(release) if covariance.sums().is_some() => {
                Regression::centred(&Moments::of(release)?, target)?
            }
            _ => Regression::of(covariance, target)?,
        };
        let columns = (1..=d as u64).filter(|c| *c != target as u64 + 1);
        let rows = columns.zip(found.coefficients()).zip(found.ranges(failure)?).map(
            |((column, value), (low, high))| {
                column_record(column, names)
                    .number("coefficient", *value)
                    .number("low", low)
                    .number("high", high)
            },
        );
        let record = Record::new().integer("target", target as u64 + 1);
        let record = match (found.intercept(), found.intercept_range(failure)?) {
            (Some(intercept), Some((low, high))) => record
                .number("intercept", intercept)
                .number("intercept at least", low)
                .number("intercept at most", high),
            _ => record,
        };
        Ok(record
            .text("eigenvalues", found.method().name())
            .integer("directions", found.directions() as u64)
            .text("intervals are for", ESTIMAND)
            .number("failure probability of an interval", failure.get())
            .table("coefficients", rows.collect()))
    }
}
