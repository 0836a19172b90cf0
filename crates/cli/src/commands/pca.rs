//! `dps pca`: principal components of a release.

use super::loaded::{AnyRelease, Asked, read};
use super::trust::TrustOptions;
use crate::error::{Error, Result, no_effect, probability};
use crate::output::Record;
use clap::Args;
use dp_core::atomic_file::{Access, AtomicFile};
use faer::Mat;
use linalg_dp::analysis::pca;
use linalg_dp::dense::thin_svd;
use linalg_dp::low_rank::LowRank;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `dps pca`.
#[derive(Args)]
pub(crate) struct PcaOptions {
    /// A release file: covariance or low-rank approximation; `-` reads standard input.
    file: PathBuf,
    /// How many components.
    #[arg(long)]
    components: usize,
    /// Write the components here, one a row: `.csv` or `.npy`. A file that exists is never written over.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Covariance: probability that an error bound does not hold [default: 0.05].
    #[arg(long)]
    failure: Option<f64>,
    #[command(flatten)]
    trust: TrustOptions,
}

impl PcaOptions {
    pub(crate) fn run(&self) -> Result<Record> {
        let k = self.components;
        if let Some(path) = &self.out {
            check_name(path)?;
            check_free(path)?;
        }
        let release = read(&self.file, &self.trust.get())?;
        let (record, directions, explained) = match &release {
            AnyRelease::Covariance(release) => {
                let failure = probability("--failure", self.failure.unwrap_or(0.05))?;
                let found = pca(release, k)?;
                let found = found.payload();
                let record = Record::new()
                    .number("total", found.total())
                    .number("error of an explained value", found.explained_error(failure)?)
                    .number(
                        "sine of the largest angle to the true space",
                        found.subspace_error(failure)?,
                    )
                    .number("failure probability", failure.get());
                (record, found.directions().to_owned(), found.explained().to_vec())
            }
            AnyRelease::LowRank(release) => {
                let why = "a low-rank approximation comes without error bounds";
                no_effect("--failure", self.failure.as_ref(), why)?;
                let (directions, explained) = of_factors(&release.payload().shrunk()?, k)?;
                (Record::new(), directions, explained)
            }
            other => return Err(other.cannot("principal components")),
        };
        if let Some(path) = &self.out {
            write(path, &directions)?;
        }
        let rows = explained.iter().enumerate().map(|(i, &value)| {
            Record::new().integer("component", i as u64 + 1).number("explained", value)
        });
        let record = match &self.out {
            Some(path) => record.text("components in", path.display().to_string()),
            None => record,
        };
        Ok(record.table("components", rows.collect()))
    }
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

fn check_name(path: &Path) -> Result<()> {
    if matches!(path.extension().and_then(|e| e.to_str()), Some("csv" | "npy")) {
        return Ok(());
    }
    Err(Error::usage("--out takes the name of a file that ends in .csv or .npy"))
}

/// Components are no release, and what is there may be anything: it is never written over.
fn check_free(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    let out = path.display();
    Err(Error::usage(format!("{out} exists, and is never written over: choose another name")))
}

/// Writes directions (columns) as rows of a file.
fn write(path: &Path, directions: &Mat<f64>) -> Result<()> {
    let mut file = AtomicFile::create(path, Access::Shared)?;
    let failed = |e| Error::io(path, e);
    let (d, k) = (directions.nrows(), directions.ncols());
    match path.extension().and_then(|e| e.to_str()) {
        Some("csv") => {
            for c in 0..k {
                let row: Vec<String> =
                    (0..d).map(|i| format!("{:e}", directions[(i, c)])).collect();
                writeln!(file, "{}", row.join(",")).map_err(failed)?;
            }
        }
        _ => {
            use npyz::WriterBuilder;
            let mut writer = npyz::WriteOptions::new()
                .default_dtype()
                .shape(&[k as u64, d as u64])
                .writer(&mut file)
                .begin_nd()
                .map_err(failed)?;
            for c in 0..k {
                writer.extend((0..d).map(|i| directions[(i, c)])).map_err(failed)?;
            }
            writer.finish().map_err(failed)?;
        }
    }
    check_free(path)?;
    Ok(file.commit()?)
}
