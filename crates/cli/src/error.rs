//! What can go wrong, and the exit status it gives.

use crate::flags::with_flags;
use crate::output::Record;
use readers::DataError;
pub(crate) use readers::shown;
use std::path::{Path, PathBuf};

/// The file of an error of a library that knows rows only.
const UNNAMED: &str = "input";

/// Result of a command.
pub(crate) type Result<T, E = Error> = core::result::Result<T, E>;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A parameter, a calibration, a certificate or a charge was refused.
    #[error(transparent)]
    Core(dp_core::Error),
    /// A sketch was refused.
    #[error(transparent)]
    Sketch(sketch::Error),
    /// A matrix release was refused.
    #[error(transparent)]
    Linalg(linalg_dp::Error),
    /// A file could not be read or written.
    #[error("{}: {source}", shown(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The data is not what was declared.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The options do not go together.
    #[error("{0}")]
    Usage(String),
    /// An option is missing or wrong, and there is a list to choose from.
    #[error("{said}")]
    Choices {
        /// What is wrong.
        said: String,
        /// What can be said instead, a line each.
        choices: Vec<String>,
    },
    /// Something that must not be done.
    #[error("{0}")]
    Refused(String),
}

impl From<readers::Error> for Error {
    fn from(error: readers::Error) -> Self {
        match error {
            readers::Error::Io { path, source } => Self::Io { path, source },
            readers::Error::Data(error) => {
                Self::Data(DataError { rule: with_flags(&error.rule), ..error })
            }
            readers::Error::Options(text) => Self::Usage(with_flags(&text)),
            readers::Error::Rows(error) => error.into(),
            error => Self::Refused(format!("{error}; nothing was released")),
        }
    }
}

impl From<dp_core::Error> for Error {
    fn from(error: dp_core::Error) -> Self {
        match error {
            dp_core::Error::NotAccepted { name, fault } => {
                // Of everything else the time is short enough.
                let long = if fault.contains("takes long") { "; --long computes it" } else { "" };
                Self::Refused(format!(
                    "not accepted: {fault}. What it states of itself holds together{long}; --accept {name} \
                     lets it pass"
                ))
            }
            error => Self::Core(error),
        }
    }
}

impl From<linalg_dp::Error> for Error {
    fn from(error: linalg_dp::Error) -> Self {
        match error {
            linalg_dp::Error::Core(error) => error.into(),
            error => Self::Linalg(error),
        }
    }
}

impl From<sketch::Error> for Error {
    fn from(error: sketch::Error) -> Self {
        use sketch::Error as E;
        let data = |column: Option<usize>, rule: String, record: Option<usize>| {
            let column = column.map(|c| format!("column {}", c + 1));
            let record = record.map(|r| r as u64 + 1);
            Self::Data(DataError { file: UNNAMED.into(), column, rule, record })
        };
        match error {
            E::Core(error) => error.into(),
            E::NotFinite { row, column } => {
                data(Some(column), "a value is not finite".into(), Some(row))
            }
            E::OutOfRange { row, column, bound } => {
                let rule = format!("a value is outside the declared bound [-{bound}, {bound}]");
                data(Some(column), rule, Some(row))
            }
            E::NormOutOfRange { row, bound } => data(
                None,
                format!("a row is longer than the declared norm bound {bound}"),
                Some(row),
            ),
            E::NormTooSmall { row, floor } => data(
                None,
                format!("a row is shorter than the promised least norm {floor}"),
                Some(row),
            ),
            E::SetTooSmall { row, min_size } => {
                data(None, format!("a set has fewer items than --min-size {min_size}"), Some(row))
            }
            E::OutOfInterval { row, column, low, high } => {
                let rule = format!(
                    "a value (zero where a sparse row or a bit stores nothing) is outside the declared range \
                     [{low}, {high}]; declare a range that holds for every possible file, or move such values \
                     to its ends with --clip-range, which categories do not take"
                );
                data(Some(column), rule, Some(row))
            }
            E::NotWhole { row, column } => {
                let rule = "a value is not a whole number, as categories are; number them from 0";
                data(Some(column), rule.into(), Some(row))
            }
            E::NotBit { row, column } => {
                data(Some(column), "a value is no bit: it must be 0 or 1".into(), Some(row))
            }
            error => Self::Sketch(error),
        }
    }
}

impl Error {
    /// Options that do not go together.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into())
    }

    /// A file that could not be read or written.
    pub(crate) fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), source }
    }

    /// The same error for records that come after `first` others.
    pub(crate) fn after(mut self, first: u64) -> Self {
        if let Self::Data(DataError { record: Some(record), .. }) = &mut self {
            *record += first;
        }
        self
    }

    /// The same error, where it is about one of these parameters with the option that gave it.
    pub(crate) fn with_options(mut self, options: &[(&str, &'static str)]) -> Self {
        if let Self::Core(dp_core::Error::InvalidParameter { name, .. }) = &mut self
            && let Some((_, option)) = options.iter().find(|(parameter, _)| *parameter == *name)
        {
            *name = *option;
        }
        self
    }

    /// The same error about a file, where it names none.
    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        if let Self::Data(DataError { file, .. }) = &mut self
            && file.as_os_str() == UNNAMED
        {
            path.clone_into(file);
        }
        self
    }

    /// Exit status; the table is in the help text of `dps`.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Core(dp_core::Error::InvalidParameter { .. })
            | Self::Sketch(sketch::Error::Index { .. })
            | Self::Usage(_)
            | Self::Choices { .. } => 2,
            Self::Core(dp_core::Error::Io { .. })
            | Self::Linalg(linalg_dp::Error::Io { .. })
            | Self::Io { .. } => 3,
            Self::Data(_) => 4,
            _ => 1,
        }
    }

    /// The error as a record, with the true delta where a published rule missed its claim.
    pub(crate) fn record(&self) -> Record {
        let text = self.choices().iter().fold(self.to_string(), |text, line| text + "\n" + line);
        let record = Record::new().text("error", text);
        match self {
            Self::Core(dp_core::Error::RuleMissesBudget { rule, true_delta, .. }) => {
                record.text("rule", *rule).number("true_delta", true_delta.delta())
            }
            _ => record,
        }
    }

    /// The lines that stand below the message.
    pub(crate) fn choices(&self) -> &[String] {
        match self {
            Self::Choices { choices, .. } => choices,
            _ => &[],
        }
    }

    /// What the operator at a terminal is told besides.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Data(DataError { record: Some(record), .. }) => Some(format!(
                "it is record {record} of the data (which one may be private: keep this line to \
                 yourself; it is not part of any output)"
            )),
            Self::Core(dp_core::Error::InvalidParameter { name: "delta", .. }) => Some(
                "delta is a probability: write 1e-6, not 6 or 1e6; 0 asks for pure differential \
                 privacy"
                    .into(),
            ),
            _ => None,
        }
    }
}

/// A probability strictly between zero and one, by the name of its option.
pub(crate) fn probability(option: &str, value: f64) -> Result<dp_core::Probability> {
    if value > 0.0 && value < 1.0 {
        return Ok(dp_core::Probability::new(value)?);
    }
    let example = match option {
        "--confidence" => 0.95,
        "--failure" => 0.05,
        "--moments-share" => 0.25,
        "--within" => 0.9,
        "--failing" => 0.001,
        _ => 0.5,
    };
    Err(Error::usage(format!(
        "{option} {value:?} is not allowed: it takes a number in (0, 1), as {example}"
    )))
}

/// A positive number, by the name of its option.
pub(crate) fn positive<B: TryFrom<f64>>(option: &str, value: f64) -> Result<B> {
    B::try_from(value).map_err(|_| {
        Error::usage(format!(
            "{option} {value:?} is not allowed: it takes a positive, finite number"
        ))
    })
}

/// Refuses an option that was given although it has no effect here: a person who gave it expects
/// something that would not happen.
pub(crate) fn no_effect<T>(option: &str, value: Option<&T>, why: &str) -> Result<()> {
    match value {
        None => Ok(()),
        Some(_) => Err(Error::usage(format!("{option} has no effect: {why}; leave it out"))),
    }
}
