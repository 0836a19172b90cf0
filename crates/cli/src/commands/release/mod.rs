//! `dps release`: one file a kind of release.

mod bounded;
mod common;
mod counts;
mod covariance;
mod feed;
mod groups;
mod like;
mod low_rank;
mod minhash;
mod part_options;
mod parts;
mod privacy;
mod projection;
mod regression;
mod rows;
mod said;
mod signs;
mod sketch;
mod units;

use crate::error::Result;
use crate::output::Record;
use ::sketch::projection::ProjectionSpec;
use clap::{Args, Subcommand};
use dp_core::certificate::preprocessing::Preprocessing;
use readers::ColumnRules;

pub(crate) use common::{noise, noted, read_all};
pub(crate) use like::Like;
pub(crate) use parts::read_manifest;
pub(crate) use privacy::{AdjacencyKind, AdjacencyOptions, BoundOptions, BudgetOptions};
pub(crate) use said::{predicted, promise};

/// Options of `dps release`.
#[derive(Args)]
pub(crate) struct Release {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// Real-valued sketches: distances, products, cosines, search. Streams.
    #[command(visible_alias = "vectors")]
    Sketch(sketch::SketchOptions),
    /// Whole rows as unit vectors (PrivUnitG, ProjUnit): cosines, search, exact queries; pure. Streams.
    Units(units::UnitOptions),
    /// Values of a declared range one by one (piecewise and one-bit laws): products, distances, search, exact queries; pure. Streams.
    ///
    /// Squared distances are too large on average: by up to half of the squared width a value at epsilon 1 and below or with
    /// --one-bit, an eighth at 2, little above 3; standard errors and intervals count it.
    Bounded(bounded::BoundedOptions),
    /// Signs of a projection: one bit a coordinate, Hamming search. Streams.
    Signs(signs::SignOptions),
    /// Signatures of item sets: Jaccard similarity, search. Streams.
    #[command(visible_alias = "sets")]
    Minhash(minhash::MinhashOptions),
    /// Counts of public groups of items: search among sets at small epsilon; pure. Streams.
    Counts(counts::CountOptions),
    /// The matrix of second moments `A^T A`: principal components, regression. Streams.
    Covariance(covariance::CovarianceOptions),
    /// A low-rank approximation of the whole matrix.
    LowRank(low_rank::LowRankOptions),
    /// Coefficients of a linear regression on one target, with intervals: less error than from a covariance, for one question.
    Regression(regression::RegressionOptions),
}

impl Release {
    /// From here on it is made as another one was.
    pub(crate) fn like(
        &self,
        like: Like,
        projections: Vec<ProjectionSpec>,
        mapped: Option<Preprocessing>,
    ) {
        let (rows, projection) = match &self.kind {
            Kind::Sketch(options) => (&options.rows, &options.projection),
            Kind::Units(options) => (&options.rows, &options.projection),
            Kind::Signs(options) => (&options.rows, &options.projection),
            Kind::Bounded(options) => {
                mapped.into_iter().for_each(|stated| {
                    options.rows.input.map_by(ColumnRules::of_release(stated));
                });
                let _ = options.rows.output.like.set(like);
                return;
            }
            Kind::Minhash(options) => {
                let _ = options.output.like.set(like);
                return;
            }
            _ => return,
        };
        mapped.into_iter().for_each(|stated| rows.input.map_by(ColumnRules::of_release(stated)));
        let _ = rows.output.like.set(like);
        projection.is_given(projections);
    }

    pub(crate) fn run(&self) -> Result<Record> {
        match &self.kind {
            Kind::Sketch(options) => options.run(),
            Kind::Units(options) => options.run(),
            Kind::Bounded(options) => options.run(),
            Kind::Signs(options) => options.run(),
            Kind::Minhash(options) => options.run(),
            Kind::Counts(options) => options.run(),
            Kind::Covariance(options) => options.run(),
            Kind::LowRank(options) => options.run(),
            Kind::Regression(options) => options.run(),
        }
    }
}
