//! `dps regress`: linear regression from a release.

use super::loaded::{AnyRelease, Asked, in_units, read};
use super::named::{column_of, column_record};
use super::trust::TrustOptions;
use crate::error::{Error, Result, no_effect, probability};
use crate::output::Record;
use clap::Args;
use dp_core::{Probability, PublicValue, Release};
use linalg_dp::analysis::{Moments, Regression};
use linalg_dp::covariance::column_names;
use linalg_dp::newton::NewtonRegression;
use std::path::PathBuf;

/// What the intervals of a regression on a released covariance are for.
const ESTIMAND: &str =
    "the ridge solution on the rows that entered, not the coefficients without a ridge";
/// What those of a released regression are for.
const OF_STEPS: &str = "the coefficients that the same steps would have found without noise in their gradients, not \
    those of least squares";

/// Options of `dps regress`.
#[derive(Args)]
pub(crate) struct RegressOptions {
    /// A release file: regression, covariance or window with symmetric Gaussian noise; `-` reads standard input. A
    /// covariance that was released with its sums gives an intercept.
    file: PathBuf,
    /// Covariance: the column that is predicted from all others: its position in the release, from one, or its name
    /// where the release keeps names. A released regression has its target.
    #[arg(long)]
    target: Option<String>,
    /// Probability that an interval does not cover [default: 0.05].
    #[arg(long)]
    failure: Option<f64>,
    #[command(flatten)]
    trust: TrustOptions,
}

/// What a regression found.
struct Found {
    coefficients: Vec<f64>,
    ranges: Vec<(f64, f64)>,
    intercept: Option<(f64, (f64, f64))>,
}

impl RegressOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let failure = probability("--failure", self.failure.unwrap_or(0.05))?;
        let release = read(&self.file, &self.trust.get())?;
        let (covariance, names) = match &release {
            AnyRelease::Regression(of) => {
                return in_units(&release, self.of_steps(of, failure)?);
            }
            AnyRelease::Covariance(release) => {
                (release.payload(), column_names(release.certificate())?)
            }
            AnyRelease::Window(release) => (release.payload().covariance(), None),
            other => return Err(other.cannot("a regression")),
        };
        let (d, names) = (covariance.dim(), names.as_deref());
        let missing =
            || Error::usage("--target is required: which column is predicted from the others");
        let target = self.target.as_ref().ok_or_else(missing)?;
        let target = column_of("--target", target, d, names)?;
        let found = match &release {
            AnyRelease::Covariance(release) if covariance.sums().is_some() => {
                Regression::centred(&Moments::of(release)?, target)?
            }
            _ => Regression::of(covariance, target)?,
        };
        let columns = (1..=d as u64).filter(|c| *c != target as u64 + 1);
        let read = Found {
            coefficients: found.coefficients().to_vec(),
            ranges: found.ranges(failure)?,
            intercept: found.intercept().zip(found.intercept_range(failure)?),
        };
        let about = |record: Record| {
            record
                .text("eigenvalues", found.method().name())
                .integer("directions", found.directions() as u64)
                .text("intervals are for", ESTIMAND)
        };
        let record = Record::new().integer("target", target as u64 + 1);
        in_units(&release, read.told(record, about, failure, columns, names))
    }

    fn of_steps(
        &self,
        release: &Release<NewtonRegression>,
        failure: Probability,
    ) -> Result<Record> {
        no_effect("--target", self.target.as_ref(), "a released regression has its target")?;
        let (found, certificate) = (release.payload(), release.certificate());
        let read = Found {
            coefficients: found.coefficients().to_vec(),
            ranges: found.ranges(failure)?,
            intercept: found.intercept().zip(found.intercept_range(failure)?),
        };
        let record = match certificate.statement().public.get("target") {
            Some(PublicValue::Text(name)) => Record::new().text("target", name),
            _ => Record::new(),
        };
        let names = column_names(certificate)?;
        let columns = 1..=read.coefficients.len() as u64;
        let about = |record: Record| record.text("intervals are for", OF_STEPS);
        Ok(read.told(record, about, failure, columns, names.as_deref()))
    }
}

impl Found {
    fn told(
        self,
        record: Record,
        about: impl Fn(Record) -> Record,
        failure: Probability,
        columns: impl Iterator<Item = u64>,
        names: Option<&[String]>,
    ) -> Record {
        let rows = columns.zip(self.coefficients).zip(self.ranges).map(
            |((column, value), (low, high))| {
                column_record(column, names)
                    .number("coefficient", value)
                    .number("low", low)
                    .number("high", high)
            },
        );
        let record = match self.intercept {
            Some((intercept, (low, high))) => record
                .number("intercept", intercept)
                .number("intercept at least", low)
                .number("intercept at most", high),
            None => record,
        };
        about(record)
            .number("failure probability of an interval", failure.get())
            .table("coefficients", rows.collect())
    }
}
