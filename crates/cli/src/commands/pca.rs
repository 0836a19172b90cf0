//! `dps pca`: principal components of a release.
//!
//! The covariance is denoised first; what is typical stands beside what is guaranteed, each by that name.

use super::loaded::{AnyRelease, Asked, in_units, read};
use super::tables;
use super::trust::TrustOptions;
use crate::error::{Error, Result, no_effect, probability};
use crate::output::Record;
use clap::Args;
use dp_core::Release;
use faer::Mat;
use linalg_dp::analysis::{pca, pca_centred};
use linalg_dp::covariance::{PrivateCovariance, column_names};
use linalg_dp::dense::thin_svd;
use linalg_dp::low_rank::LowRank;
use std::path::PathBuf;

/// Options of `dps pca`.
#[derive(Args)]
pub(crate) struct PcaOptions {
    /// A release file: covariance, window or low-rank approximation; `-` reads standard input.
    file: PathBuf,
    /// How many components.
    #[arg(long)]
    components: usize,
    /// Covariance: around the mean; it must have been released with its sums (`--means`).
    #[arg(long)]
    center: bool,
    /// Write the components here, one a row: `.csv`, below the names of columns where the release keeps them, or `.npy`. A file that exists is never written over.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Covariance: write the denoised matrix here, one row a line: `.csv` or `.npy`, as --out.
    #[arg(long)]
    matrix: Option<PathBuf>,
    /// Covariance: probability that a guaranteed bound does not hold [default: 0.05].
    #[arg(long)]
    failure: Option<f64>,
    #[command(flatten)]
    trust: TrustOptions,
}

impl PcaOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let k = self.components;
        for path in [&self.out, &self.matrix].into_iter().flatten() {
            tables::check_name(path, &tables::PLAIN)?;
            tables::check_free(path)?;
        }
        if self.out.is_some() && self.out == self.matrix {
            return Err(Error::usage("--out and --matrix name one file: choose two"));
        }
        let release = read(&self.file, &self.trust.get())?;
        let (record, directions, rows) = match &release {
            AnyRelease::Covariance(release) => self.of_covariance(release)?,
            _ if self.center => return Err(release.cannot("components around the mean")),
            AnyRelease::Window(release) => {
                let (window, certificate) = (release.payload(), release.certificate().clone());
                self.of_covariance(&Release::certified(window.covariance().clone(), certificate))?
            }
            AnyRelease::LowRank(release) => {
                let why = "a low-rank approximation comes without error bounds";
                no_effect("--failure", self.failure.as_ref(), why)?;
                let why = "a low-rank approximation is no covariance";
                no_effect("--matrix", self.matrix.as_ref(), why)?;
                let (directions, explained) = of_factors(&release.payload().shrunk()?, k)?;
                let row = |value: &f64| Record::new().number("explained", *value);
                (Record::new(), directions, explained.iter().map(row).collect())
            }
            other => return Err(other.cannot("principal components")),
        };
        if let Some(path) = &self.out {
            let names = match &release {
                AnyRelease::Covariance(release) => column_names(release.certificate())?,
                _ => None,
            };
            tables::write_columns(path, &directions, names.as_deref())?;
        }
        let record = match &self.out {
            Some(path) => record.text("components in", path.display().to_string()),
            None => record,
        };
        Ok(in_units(&release, record)?.table("components", numbered(rows)))
    }

    fn of_covariance(
        &self,
        release: &Release<PrivateCovariance>,
    ) -> Result<(Record, Mat<f64>, Vec<Record>)> {
        let failure = probability("--failure", self.failure.unwrap_or(0.05))?;
        let of = if self.center { pca_centred } else { pca };
        let found = of(release, self.components)?;
        let found = found.payload();
        let denoised = found.denoised();
        let names = column_names(release.certificate())?;
        let mut record = names.iter().fold(Record::new(), |r, names| r.names("columns", names));
        record = record
            .text("around", if self.center { "the mean" } else { "zero" })
            .number("total", found.total())
            .text("eigenvalues", denoised.method().name())
            .number("typical error of the matrix, Frobenius", denoised.typical_error())
            .number("guaranteed error of the matrix, Frobenius", denoised.error(failure)?)
            .number(
                "typical sine of the largest angle to the true space",
                found.typical_subspace_error(),
            )
            .number(
                "guaranteed sine of the largest angle to the true space",
                found.subspace_error(failure)?,
            )
            .number("failure probability of what is guaranteed", failure.get());
        if let Some(path) = &self.matrix {
            tables::write_columns(path, &denoised.matrix(), names.as_deref())?;
            record = record.text("matrix in", path.display().to_string());
        }
        let (typical, ranges) =
            (found.typical_explained_errors(), found.explained_ranges(failure)?);
        let rows = found.explained().iter().zip(typical).zip(ranges);
        let row = |((value, typical), (low, high)): ((&f64, f64), (f64, f64))| {
            Record::new()
                .number("explained", *value)
                .number("typical error", typical)
                .number("guaranteed at least", low)
                .number("guaranteed at most", high)
        };
        Ok((record, found.directions().to_owned(), rows.map(row).collect()))
    }
}

/// Rows under a number from one.
fn numbered(rows: Vec<Record>) -> Vec<Record> {
    let number = |(i, row)| Record::new().integer("component", i).and(row);
    (1u64..).zip(rows).map(number).collect()
}

/// Right singular vectors of a released matrix, and its squared singular values; the matrix
/// itself is never multiplied out.
fn of_factors(factors: &LowRank, k: usize) -> Result<(Mat<f64>, Vec<f64>)> {
    let largest = factors.rank();
    if k == 0 || k > largest {
        return Err(Error::usage(format!(
            "--components {k}: this approximation has {largest} components"
        )));
    }
    let left = thin_svd(factors.left())?;
    // B = U (S V^T C): the right singular vectors are those of the small factor.
    let turned = left.v.transpose() * factors.coefficients();
    let small = Mat::from_fn(turned.ncols(), turned.nrows(), |i, j| left.s[j] * turned[(j, i)]);
    let svd = thin_svd(small.as_ref())?;
    Ok((svd.u.get(.., ..k).to_owned(), svd.s[..k].iter().map(|s| s * s).collect()))
}
