//! Errors of the libraries as exceptions of `dps.errors`, one class a kind.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Why a call failed.
pub(crate) enum Fault {
    /// An error of `dp-core`.
    Core(dp_core::Error),
    /// An error of `sketch`.
    Sketch(sketch::Error),
    /// An error of `linalg-dp`.
    Linalg(linalg_dp::Error),
    /// Data that is not what was declared.
    Data(String),
    /// An exception that Python raised.
    Python(PyErr),
}

pub(crate) type Result<T, E = Fault> = core::result::Result<T, E>;

impl From<dp_core::Error> for Fault {
    fn from(error: dp_core::Error) -> Self {
        Self::Core(error)
    }
}

impl From<sketch::Error> for Fault {
    fn from(error: sketch::Error) -> Self {
        match error {
            sketch::Error::Core(error) => Self::Core(error),
            error => Self::Sketch(error),
        }
    }
}

impl From<linalg_dp::Error> for Fault {
    fn from(error: linalg_dp::Error) -> Self {
        match error {
            linalg_dp::Error::Core(error) => Self::Core(error),
            error => Self::Linalg(error),
        }
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl Fault {
    /// The same fault of rows that start at `first` in the caller's data.
    pub(crate) fn offset_row(self, first: usize) -> Self {
        match self {
            Self::Sketch(error) => Self::Sketch(error.offset_row(first)),
            other => other,
        }
    }

    /// A parameter outside its range.
    pub(crate) fn invalid(name: &'static str, value: impl ToString, allowed: &str) -> Self {
        Self::Core(dp_core::Error::invalid(name, value, allowed))
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        Python::attach(|py| raised(py, fault).unwrap_or_else(|error| error))
    }
}

/// The exception of a fault.
fn raised(py: Python<'_>, fault: Fault) -> PyResult<PyErr> {
    use dp_core::Error as Core;
    let fields = PyDict::new(py);
    let (class, message) = match &fault {
        Fault::Python(error) => return Ok(error.clone_ref(py)),
        Fault::Data(message) => ("DataError", message.clone()),
        Fault::Core(error) => {
            let class = match error {
                Core::InvalidParameter { name, value, allowed } => {
                    fields.set_item("parameter", name)?;
                    fields.set_item("value", value)?;
                    fields.set_item("allowed", allowed)?;
                    "ParameterError"
                }
                Core::Calibration { .. } => "CalibrationError",
                Core::RuleMissesBudget { true_delta, .. } => {
                    fields.set_item("true_delta", true_delta.delta())?;
                    "CalibrationError"
                }
                Core::CertificateRejected { .. } => "CertificateError",
                Core::NotAccepted { name, .. } => {
                    fields.set_item("exception", name)?;
                    "NotAcceptedError"
                }
                Core::BudgetExceeded { .. } => "BudgetExceededError",
                Core::Ledger { .. } => "LedgerError",
                Core::Mismatch { .. } | Core::Unmet { .. } => "MismatchError",
                Core::File { .. } => "FileError",
                Core::Io { .. } => "FileAccessError",
                Core::Stopped { .. } => "StoppedError",
                _ => "Error",
            };
            (class, error.to_string())
        }
        Fault::Sketch(error) => (of_sketch(error), error.to_string()),
        Fault::Linalg(error) => (of_linalg(error), error.to_string()),
    };
    let exception = py.import("dps.errors")?.getattr(class)?.call((message,), Some(&fields))?;
    Ok(PyErr::from_value(exception))
}

fn of_sketch(error: &sketch::Error) -> &'static str {
    use sketch::Error as E;
    match error {
        E::Length { .. }
        | E::Shape { .. }
        | E::NotFinite { .. }
        | E::OutOfRange { .. }
        | E::OutOfInterval { .. }
        | E::NotWhole { .. }
        | E::NotBit { .. }
        | E::NormOutOfRange { .. }
        | E::NormTooSmall { .. }
        | E::Sparse { .. }
        | E::SetTooSmall { .. } => "DataError",
        E::Index { .. } => "RowIndexError",
        E::Incompatible { .. } => "MismatchError",
        E::Undefined { .. } => "EstimateError",
        _ => "Error",
    }
}

fn of_linalg(error: &linalg_dp::Error) -> &'static str {
    use linalg_dp::Error as E;
    match error {
        E::Shape { .. } | E::NotFinite { .. } | E::Sketch(_) => "DataError",
        E::Numerical { .. } | E::Property { .. } => "EstimateError",
        E::Io { .. } => "FileAccessError",
        E::NotProven { .. } => "ParameterError",
        _ => "Error",
    }
}
