//! `dps release counts`.

use super::common::OutputOptions;
use super::feed::Source;
use super::parts::{Asked, Made, Making};
use super::privacy::{AdjacencyKind, AdjacencyOptions, BudgetOptions};
use super::said::predicted;
use crate::error::{Error, Result};
use crate::input::{ItemOptions, all_sets};
use crate::output::Record;
use crate::same_file::refuse_released;
use clap::Args;
use dp_core::mechanism::Mechanism as _;
use dp_core::{Adjacency, Budget};
use sketch::sets::{GroupCounts, ItemGroups, SetNeighbours, SetWriter};
use std::path::PathBuf;

/// Options of `dps release counts`.
#[derive(Args)]
pub(crate) struct CountOptions {
    #[command(flatten)]
    input: ItemOptions,
    #[command(flatten)]
    output: OutputOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    groups: GroupOptions,
}

/// Where the groups come from.
#[derive(Args)]
#[group(required = true, multiple = false)]
#[command(next_help_heading = "Mechanism")]
struct GroupOptions {
    /// A file of sets that are public, read as the input is: groups of items that are often in one set, as many as tell most at
    /// this epsilon. They are published. Never sets that are released, nor sets chosen by them.
    #[arg(long, value_name = "FILE")]
    public: Option<PathBuf>,
    /// A file of groups, read as the input is: the items of one group a line; a public hash puts all others into
    /// one of these too. They are published, so that they must not follow from the sets.
    #[arg(long, value_name = "FILE")]
    groups: Option<PathBuf>,
}

impl CountOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let adjacency = self.adjacency.get("counts of groups", &[AdjacencyKind::SetItems])?;
        let Adjacency::SetItems { alpha, min_size } = adjacency else {
            return Err(Error::usage("counts of groups protect items of sets"));
        };
        let budget = self.budget.get()?;
        let groups = self.groups(alpha, budget)?;
        let k = groups.k();
        let mechanism = GroupCounts::calibrate(groups, alpha, budget)?;
        let neighbours = Some(SetNeighbours::new(alpha, min_size)?);
        let label = format!("counts of {k} groups of items");
        let source = Source::Sets { options: &self.input, neighbours };
        let asked = Asked::new(mechanism.guarantee(), &label, source);
        let made = self.output.make(&asked, &mut |making: Making<'_>| {
            let Making { to, rng, feed, .. } = making;
            let mut writer = SetWriter::create(to, &mechanism, (), rng)?;
            feed.sets(|sets| Ok(writer.push(sets)?))?;
            Ok(writer.finish()?.certificate)
        })?;
        let record = match made {
            Made::Released(certificate) => self.output.written(&certificate),
            Made::Planned => Ok(self.output.planned(&label, mechanism.guarantee())),
            Made::Parts(record) => return Ok(record),
        };
        Ok(predicted(record?, mechanism.predict(())?))
    }

    fn groups(&self, alpha: u64, budget: Budget) -> Result<ItemGroups> {
        for (option, file) in [("--public", &self.groups.public), ("--groups", &self.groups.groups)]
        {
            if let Some(file) = file {
                refuse_released(option, file, &self.input.input, &self.input.more)?;
            }
        }
        Ok(match (&self.groups.public, &self.groups.groups) {
            (Some(public), _) => {
                ItemGroups::of_sample(&all_sets(&self.input.like(public))?, alpha, budget)?
            }
            (None, Some(groups)) => ItemGroups::new(&all_sets(&self.input.like(groups))?)?,
            (None, None) => return Err(Error::usage("--public or --groups is missing")),
        })
    }
}
