//! `dps moments`: means, deviations and correlations from a release of moments; shares of categories.

use super::loaded::{AnyRelease, Asked, in_units, read};
use super::named::column_record;
use super::tables;
use super::trust::TrustOptions;
use crate::error::{Result, probability};
use crate::output::Record;
use clap::Args;
use dp_core::Probability;
use linalg_dp::analysis::Moments;
use linalg_dp::covariance::column_names;
use sketch::bounded::{BoundedValues, CategoryCounts};
use std::path::PathBuf;

/// Options of `dps moments`.
#[derive(Args)]
pub(crate) struct MomentsOptions {
    /// A release file of `dps release covariance --means`, or of `dps release bounded --categories`; `-` reads standard input.
    file: PathBuf,
    /// Probability that an interval does not cover [default: 0.05].
    #[arg(long)]
    failure: Option<f64>,
    /// Write the correlations here, one row a line: `.csv`, below the names of columns where the release keeps them, or `.npy`. A file that exists is never written over.
    #[arg(long)]
    correlations: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustOptions,
}

/// The share of every category of every column.
fn shares(release: &BoundedValues, failure: Probability) -> Result<Record> {
    let confidence = Probability::new(1.0 - failure.get())?;
    let mut rows = Vec::new();
    for column in 0..release.d() {
        let counts = CategoryCounts::of(release, column)?;
        for category in 0..counts.categories() {
            let share = counts.share(category)?;
            let interval = counts.share_interval(category, confidence)?;
            rows.push(
                column_record(column as u64 + 1, None)
                    .integer("category", category as u64)
                    .number("share", share.value)
                    .number("standard error", share.standard_error)
                    .number("share at least", interval.low)
                    .number("share at most", interval.high),
            );
        }
    }
    let record = Record::new()
        .integer("rows", release.n() as u64)
        .text(
            "intervals are for",
            if release.is_of_categories() {
                "the rows that entered, one category at a time"
            } else {
                "categories, or values as they were rounded to a step at random (the release does not say), one at a time"
            },
        )
        .number("failure probability of an interval", failure.get());
    Ok(record.table("shares", rows))
}

impl MomentsOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        if let Some(path) = &self.correlations {
            tables::check_name(path, &tables::PLAIN)?;
            tables::check_free(path)?;
        }
        let failure = probability("--failure", self.failure.unwrap_or(0.05))?;
        let read = read(&self.file, &self.trust.get())?;
        let release = match &read {
            AnyRelease::Covariance(release) => release,
            AnyRelease::Bounded(release) if self.correlations.is_none() => {
                return shares(release.payload(), failure);
            }
            _ => return Err(read.cannot("means")),
        };
        let moments = Moments::of(release)?;
        let (low, high) = moments.rows_range(failure)?;
        let mut record = Record::new()
            .number("rows", moments.rows())
            .number("rows at least", low)
            .number("rows at most", high)
            .text("intervals are for", "the rows that entered, one at a time")
            .number("failure probability of an interval", failure.get());
        let names = column_names(release.certificate())?;
        if let Some(path) = &self.correlations {
            tables::write_columns(path, &moments.correlations(), names.as_deref())?;
            record = record.text("correlations in", path.display().to_string());
        }
        let (means, deviations) = (moments.means(), moments.deviations());
        let means = means.into_iter().zip(moments.mean_ranges(failure)?);
        let deviations = deviations.into_iter().zip(moments.deviation_ranges(failure)?);
        let row = |(column, ((mean, means), (deviation, deviations)))| {
            let (means, deviations): ((f64, f64), (f64, f64)) = (means, deviations);
            column_record(column, names.as_deref())
                .number("mean", mean)
                .number("mean at least", means.0)
                .number("mean at most", means.1)
                .number("deviation", deviation)
                .number("deviation at least", deviations.0)
                .number("deviation at most", deviations.1)
        };
        let rows = (1u64..).zip(means.zip(deviations)).map(row).collect();
        Ok(in_units(&read, record)?.table("columns", rows))
    }
}
