//! Which part of a public partition the rows are.

use crate::error::{Error, Result};
use clap::{Args, ValueEnum};
use dp_core::accounting::{Named, Part};
use dp_core::adjacency::Partition;

/// Which part of a partition a release is of.
#[derive(Args, Debug)]
#[command(next_help_heading = "Parts of the data set in the ledger")]
pub(crate) struct DisjointOptions {
    /// The rows are one part of a public partition of the data set, as in `regions/north`: of a partition the ledger counts the
    /// worst parts that one unit can touch (one, or by `row` as many as it has rows), and not the sum over all; releases of one
    /// part add up. That the parts are disjoint, and the same ones in every release, is your word: whoever moves is counted where they were.
    #[arg(long, value_name = "PARTITION/PART", requires = "disjoint_by")]
    disjoint_part: Option<String>,
    /// What decides which part a row goes to: `unit` where all rows of the ledger's unit are in one part, whatever they say; `row`
    /// for a key of the row that no change alters; `content` for what the row says, in a ledger whose unit is rows that are added or removed.
    /// With the last two a user has no more rows than the unit says in all parts together: --rows-a-user bounds those of one file.
    #[arg(long, value_enum, requires = "disjoint_part")]
    disjoint_by: Option<By>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Unit,
    Row,
    Content,
}

impl DisjointOptions {
    /// Refuses rows of one user in several parts, where the rows are bounded file by file: users who have more are in more parts
    /// than the ledger counts.
    pub(crate) fn check_users(&self) -> Result<()> {
        match self.disjoint_by {
            None | Some(By::Unit) => Ok(()),
            Some(By::Row | By::Content) => Err(Error::usage(
                "--user bounds the rows of a user in this file, and --disjoint-by row or content lets the same user have as many in \
                 every other part, more than the ledger counts: make the parts so that all rows of a user are in one, and say \
                 --disjoint-by unit, or leave --disjoint-part out",
            )),
        }
    }

    /// The part, where one is declared.
    pub(crate) fn get(&self) -> Result<Option<Part>> {
        let (Some(part), Some(by)) = (&self.disjoint_part, self.disjoint_by) else {
            return Ok(None);
        };
        let Some((partition, name)) = part.split_once('/') else {
            return Err(Error::usage(format!(
                "--disjoint-part {part:?}: write the name of the partition and of the part, as in regions/north"
            )));
        };
        let by = match by {
            By::Unit => Partition::ByUnit,
            By::Row => Partition::ByRow,
            By::Content => Partition::ByContent,
        };
        Ok(Some(Part::new(partition, name, by)?))
    }
}

/// What a ledger calls a release, and its part.
pub(crate) fn named<'a>(part: Option<&'a Part>, label: &'a str) -> Named<'a> {
    part.map_or(label.into(), |part| part.labelled(label))
}
