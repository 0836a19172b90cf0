//! What every release of rows of numbers asks for.

use super::common::OutputOptions;
use super::privacy::{
    AdjacencyKind, AdjacencyOptions, BoundOptions, BudgetOptions, UserOptions, say_left_out,
};
use super::said::individual;
use crate::commands::mapped::with_map;
use crate::commands::worth::IDS;
use crate::error::Result;
use crate::input::InputOptions;
use crate::output::{self, Record};
use clap::Args;
use dp_core::{Adjacency, Budget, Certificate, Guarantee, IndividualCertificate};
use readers::{Input, Limits};

/// What every release of rows of numbers asks for.
#[derive(Args, Debug)]
pub(crate) struct RowsOptions {
    #[command(flatten)]
    pub(crate) input: InputOptions,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    #[command(flatten)]
    adjacency: AdjacencyOptions,
    #[command(flatten)]
    budget: BudgetOptions,
    #[command(flatten)]
    pub(crate) bounds: BoundOptions,
}

/// What is protected, for how much, and within which bounds.
pub(crate) struct Promise {
    pub(crate) adjacency: Adjacency,
    pub(crate) budget: Budget,
    pub(crate) limits: Limits,
}

impl RowsOptions {
    /// What `what` is asked to promise, among the adjacencies it knows.
    pub(crate) fn promise(&self, what: &str, known: &[AdjacencyKind]) -> Result<Promise> {
        let adjacency = self.adjacency.get(what, known)?;
        let budget = self.budget.get()?;
        let limits = self.bounds.limits(adjacency, &self.input.input)?;
        if let (Adjacency::Attribute { beta }, Some(bound)) = (adjacency, limits.entry)
            && beta.get() > 2.0 * bound.get()
        {
            output::complain(&format!(
                "warning: no value within --bound {:?} can change by more than {:?}, so --beta {:?} only \
                 adds noise",
                bound.get(),
                2.0 * bound.get(),
                beta.get()
            ));
        }
        Ok(Promise { adjacency, budget, limits })
    }

    /// As [`RowsOptions::promise`] where the unit may be a user.
    pub(crate) fn promise_of(
        &self,
        users: &UserOptions,
        what: &str,
        known: &[AdjacencyKind],
    ) -> Result<Promise> {
        if users.any() {
            self.output.check_users()?;
        }
        let Promise { adjacency, budget, limits } = self.promise(what, known)?;
        Ok(Promise {
            adjacency: users.of(adjacency, |users| self.input.bound_users(users))?,
            budget,
            limits,
        })
    }

    /// As [`InputOptions::open`]; the release is to state what becomes of values.
    pub(crate) fn open(&self) -> Result<Input> {
        let input = self.input.open()?;
        if let Some(preprocessing) = &input.preprocessing {
            let _ = self.output.mapped.set(preprocessing.clone());
        }
        Ok(input)
    }

    /// As [`OutputOptions::planned`], with the columns that would enter.
    pub(crate) fn planned(&self, label: &str, guarantee: &Guarantee) -> Record {
        self.with_columns(self.output.planned(label, guarantee))
    }

    /// As [`OutputOptions::written`], with the columns that entered.
    pub(crate) fn written(&self, certificate: &Certificate) -> Result<Record> {
        Ok(self.with_columns(self.output.written(certificate)?))
    }

    /// As [`RowsOptions::planned`] under individual differential privacy.
    pub(crate) fn planned_individual(
        &self,
        label: &str,
        adjacency: Adjacency,
        budget: Budget,
    ) -> Record {
        let record = Record::new().text("dry run", "nothing was released or spent");
        self.with_columns(individual(record.text("mechanism", label), adjacency, budget))
    }

    /// As [`RowsOptions::written`] under individual differential privacy.
    pub(crate) fn written_individual(&self, certificate: &IndividualCertificate) -> Result<Record> {
        certificate.verify()?;
        let record = self.output.described(&certificate.statement)?;
        let record = individual(record, certificate.adjacency, certificate.budget);
        Ok(self.with_columns(record.text("verification", "holds together")))
    }

    /// Names of the columns that entered, where the file has columns.
    fn with_columns(&self, record: Record) -> Record {
        say_left_out(self.input.left_out(), "rows");
        let record = match self.input.ids() {
            Some(_) => record.text("ids of rows", IDS),
            None => record,
        };
        let record = with_map(record, self.output.mapped.get().map(AsRef::as_ref));
        match self.input.entered() {
            Some(names) => record.names("columns that entered", names),
            None => record,
        }
    }
}
