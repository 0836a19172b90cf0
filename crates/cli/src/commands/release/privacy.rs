//! Adjacency, bounds and budget: all of them explicit.

use crate::error::{Error, Result, no_effect, positive};
use clap::{Args, ValueEnum};
use dp_core::{Adjacency, Budget, EntryBound};
use readers::{IdColumn, Limits, OutsideBounds, Users};
use std::path::Path;

/// Which two inputs must be hard to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AdjacencyKind {
    /// One value of one row changes by at most --beta (sketch, bounded, signs).
    Attribute,
    /// One row moves by at most --shift in l2 norm (sketch, low-rank).
    RowShift,
    /// One row of norm at most --norm-bound becomes another one (sketch, covariance).
    ReplaceRow,
    /// One row of norm at most --norm-bound is added or removed (covariance).
    AddRemoveRow,
    /// One row of norm at most --norm-bound becomes zero; the number of rows is public (covariance).
    ZeroRow,
    /// One set of at least --min-size items becomes another that differs in at most --alpha items
    /// (minhash).
    SetItems,
    /// One set or row becomes any other (units, minhash --mechanism buckets).
    AnyInput,
}

impl AdjacencyKind {
    /// Name, needed option, meaning.
    fn help(self) -> [&'static str; 3] {
        match self {
            Self::Attribute => [
                "attribute",
                "--beta B",
                "one value of one row changes by at most B: hides a single attribute, not a person",
            ],
            Self::RowShift => {
                ["row-shift", "--shift S", "one whole row moves by at most S in l2 norm"]
            }
            Self::ReplaceRow => [
                "replace-row",
                "--norm-bound R",
                "one row of l2 norm at most R becomes any other: hides a person who owns one row",
            ],
            Self::AddRemoveRow => [
                "add-remove-row",
                "--norm-bound R",
                "one row of l2 norm at most R is added or removed: hides that a person is in the file",
            ],
            Self::ZeroRow => [
                "zero-row",
                "--norm-bound R",
                "one row of l2 norm at most R becomes zero, the number and order of rows being public: streams",
            ],
            Self::SetItems => [
                "set-items",
                "--alpha A --min-size M",
                "one set of at least M items becomes another that differs in at most A items",
            ],
            Self::AnyInput => [
                "any-input",
                "",
                "one set or row becomes any other: the strongest, and the dearest",
            ],
        }
    }
}

/// The adjacency and its sizes.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct AdjacencyOptions {
    /// Which two inputs must be hard to tell apart. There is no default.
    #[arg(long, value_enum)]
    adjacency: Option<AdjacencyKind>,
    /// attribute: largest change of one value.
    #[arg(long)]
    beta: Option<f64>,
    /// row-shift: largest l2 norm of the change of a row.
    #[arg(long)]
    shift: Option<f64>,
    /// replace-row, add-remove-row, zero-row: largest l2 norm of a row.
    #[arg(long)]
    pub(crate) norm_bound: Option<f64>,
    /// set-items: largest number of items that are in one of two sets and not in the other; an item exchanged is two.
    #[arg(long)]
    alpha: Option<u64>,
    /// set-items: least number of items of a set.
    #[arg(long)]
    min_size: Option<u64>,
}

impl AdjacencyOptions {
    /// The adjacency, one of those that `what` can protect.
    pub(crate) fn get(&self, what: &str, known: &[AdjacencyKind]) -> Result<Adjacency> {
        let kind = self.adjacency.ok_or_else(|| Error::Choices {
            said: format!(
                "--adjacency is required: it says which two files nobody must be able to tell \
                 apart, and so what epsilon means. For {what}:"
            ),
            choices: explain(known),
        })?;
        let [name, option, _] = kind.help();
        if !known.contains(&kind) {
            return Err(Error::Choices {
                said: format!("{what} cannot protect adjacency {name}; it can:"),
                choices: explain(known),
            });
        }
        self.only(kind)?;
        let missing = || Error::usage(format!("--adjacency {name} needs {option}"));
        let size = |name, value: Option<f64>| positive(name, value.ok_or_else(missing)?);
        let row = || positive("--norm-bound", self.norm_bound.ok_or_else(missing)?);
        Ok(match kind {
            AdjacencyKind::Attribute => Adjacency::Attribute { beta: size("--beta", self.beta)? },
            AdjacencyKind::RowShift => Adjacency::RowShift { l2: size("--shift", self.shift)? },
            AdjacencyKind::ReplaceRow => Adjacency::ReplaceRow { bound: row()? },
            AdjacencyKind::AddRemoveRow => Adjacency::AddRemoveRow { bound: row()? },
            AdjacencyKind::ZeroRow => Adjacency::ZeroRow { bound: row()? },
            AdjacencyKind::SetItems => Adjacency::SetItems {
                alpha: self.alpha.ok_or_else(missing)?,
                min_size: self.min_size.ok_or_else(missing)?,
            },
            AdjacencyKind::AnyInput => Adjacency::AnyInput,
        })
    }
}

impl AdjacencyOptions {
    /// Refuses sizes that belong to another adjacency.
    fn only(&self, kind: AdjacencyKind) -> Result<()> {
        let [name, needed, _] = kind.help();
        let why = |of: &str| format!("--adjacency {name} has no {of}");
        let belongs = |option: &str| needed.split(' ').any(|word| word == option);
        for (option, value, of) in [
            ("--beta", self.beta, "largest change of one value"),
            ("--shift", self.shift, "largest shift of a row"),
            ("--norm-bound", self.norm_bound, "largest norm of a row"),
        ] {
            no_effect(option, value.filter(|_| !belongs(option)).as_ref(), &why(of))?;
        }
        for (option, value) in [("--alpha", self.alpha), ("--min-size", self.min_size)] {
            no_effect(option, value.filter(|_| !belongs(option)).as_ref(), &why("items of sets"))?;
        }
        Ok(())
    }
}

/// Two lines each.
fn explain(known: &[AdjacencyKind]) -> Vec<String> {
    let lines = |kind: &AdjacencyKind| {
        let [name, option, meaning] = kind.help();
        [format!("--adjacency {name} {option}").trim_end().to_owned(), format!("    {meaning}")]
    };
    known.iter().flat_map(lines).collect()
}

/// The unit: a user with several rows.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct UserOptions {
    /// CSV, Parquet, Arrow: the column that says whose a row is (of sets in JSON lines a field, in lines the first word, `1`). It does
    /// not enter; the unit that is protected is a user with up to --rows-a-user rows or sets, each of which may change as the
    /// adjacency says. Whose they are is not protected.
    #[arg(long, value_name = "COLUMN", requires = "rows_a_user")]
    user: Option<String>,
    /// Most rows or sets of a user: of those who have more the first in the file are released. How many were left out is said to
    /// you alone. With --adjacency add-remove-row the unit is up to 2 M rows of one user that come or go, since a row that comes
    /// in may put another out: twice the noise, and M is 2^19 at most.
    #[arg(long, value_name = "M", requires = "user", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    rows_a_user: Option<u64>,
}

impl UserOptions {
    /// Whether a user's rows are bounded.
    pub(crate) fn any(&self) -> bool {
        self.user.is_some()
    }

    /// The unit, and how its rows are bounded. Where rows come and go, as many of a user may leave those that enter as come in
    /// (`docs/proofs/adjacency.md`).
    pub(crate) fn of(&self, each: Adjacency, bound: impl FnOnce(Users)) -> Result<Adjacency> {
        let (Some(column), Some(most)) = (&self.user, self.rows_a_user) else { return Ok(each) };
        let unit = match each {
            Adjacency::AddRemoveRow { .. } if most > 1 << 19 => {
                return Err(Error::usage(
                    "--rows-a-user with --adjacency add-remove-row is at most 524288: as many rows of a user may leave as come in",
                ));
            }
            Adjacency::AddRemoveRow { .. } => each.of_user(2 * most)?,
            _ => each.of_user(most)?,
        };
        bound(Users::new(column, most));
        Ok(unit)
    }
}

/// Tells the owner alone how many were left out, where a user's are bounded.
pub(crate) fn say_left_out(left_out: Option<u64>, what: &str) {
    if let Some(left_out) = left_out {
        crate::output::complain(&format!(
            "{left_out} {what} of users who have more were left out. This number is for you: publish it nowhere"
        ));
    }
}

/// Names of rows.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct IdOptions {
    /// CSV, Parquet, Arrow: publish this column as the names of the rows, as it stands: it is not protected, and must not follow
    /// from anything that is. `search` and `distance` answer with these names and take them. Never for rows whose presence
    /// in the file is a secret.
    #[arg(long, value_name = "COLUMN")]
    keep_id: Option<String>,
}

impl IdOptions {
    /// Rows are called what the column says.
    pub(crate) fn of(&self, input: &crate::input::InputOptions) {
        self.keep_id.iter().for_each(|column| input.name_rows(IdColumn::new(column)));
    }
}

/// What may be spent.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct BudgetOptions {
    /// Epsilon, in nats; about 1 is common, above 10 protects little.
    #[arg(long)]
    epsilon: Option<f64>,
    /// Delta, far below one over the number of people; 0 asks for pure differential privacy.
    #[arg(long)]
    delta: Option<f64>,
}

impl BudgetOptions {
    /// The budget; warns about units.
    pub(crate) fn get(&self) -> Result<Budget> {
        let missing = |name: &str| Error::usage(format!("--{name} is required"));
        let epsilon = self.epsilon.ok_or_else(|| missing("epsilon"))?;
        let delta = self.delta.ok_or_else(|| missing("delta (0 for pure differential privacy)"))?;
        let budget = Budget::new(epsilon, delta)?;
        if epsilon > 20.0 {
            crate::output::complain(&format!(
                "warning: epsilon {epsilon:?} is in nats (a factor exp(epsilon) between \
                 probabilities): it protects next to nothing. Was it meant in percent, or as a factor?"
            ));
        }
        if delta > 1e-3 {
            crate::output::complain(&format!(
                "warning: delta {delta:?} is a probability of no protection at all; it should be \
                 far below one over the number of people"
            ));
        }
        Ok(budget)
    }
}

/// Declared bounds of values and what happens outside.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct BoundOptions {
    /// Largest absolute value of an entry, for every possible file (after --divide).
    #[arg(long)]
    pub(crate) bound: Option<f64>,
    /// Move values to the bound, and scale rows to the norm bound, instead of refusing the file.
    /// How many is private: it is neither counted nor printed.
    #[arg(long)]
    clip: bool,
}

impl BoundOptions {
    /// The limits of a file under an adjacency.
    pub(crate) fn limits(&self, adjacency: Adjacency, file: &Path) -> Result<Limits> {
        let norm = match adjacency.each() {
            Adjacency::ReplaceRow { bound }
            | Adjacency::AddRemoveRow { bound }
            | Adjacency::ZeroRow { bound } => Some(bound),
            _ => None,
        };
        let entry = self.bound.map(|bound| positive("--bound", bound)).transpose()?;
        let outside = if self.clip { OutsideBounds::Clip } else { OutsideBounds::Refuse };
        let unused = (self.clip && entry.is_none() && norm.is_none()).then_some(());
        no_effect("--clip", unused.as_ref(), "no --bound is declared")?;
        if self.clip {
            crate::output::complain(
                "values outside the declared bounds are clipped; how many is private and is not counted",
            );
        }
        Ok(Limits { entry, norm, least: None, outside, file: file.to_owned() })
    }

    /// The largest absolute value: declared, or what the norm bound implies.
    pub(crate) fn largest(&self, adjacency: Adjacency) -> Result<EntryBound> {
        match (self.bound, adjacency.each()) {
            (Some(bound), _) => positive("--bound", bound),
            (
                None,
                Adjacency::ReplaceRow { bound }
                | Adjacency::AddRemoveRow { bound }
                | Adjacency::ZeroRow { bound },
            ) => Ok(bound.of_entries()),
            (None, _) => Err(Error::usage(
                "--bound is required: the largest absolute value an entry can have in any \
                 possible file (1 when values lie in [-1, 1])",
            )),
        }
    }
}
