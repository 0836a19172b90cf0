//! `dps export`: the numbers of a release, for other programs.

use super::cells::{Cell, Table};
use super::content::Content;
use super::loaded::{AnyRelease, Asked, checked, in_units};
use super::tables;
use super::trust::TrustOptions;
use crate::error::Result;
use crate::output::{Record, complain};
use clap::Args;
use dp_core::certificate::canonical;
use dp_core::release_file::RowIds;
use linalg_dp::any::Values;
use linalg_dp::covariance::column_names;
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// Options of `dps export`.
#[derive(Args)]
pub(crate) struct Export {
    /// A release file; `-` reads standard input.
    file: PathBuf,
    /// Write the table here: `.csv` (a column `row`, one `id` where the release keeps ids, then one for each number), `.npy` (a matrix; signs packed,
    /// eight a byte, the first in the lowest bit, as binary indexes take them), `.arrow` or `.parquet` (columns
    /// `row`, `id` where ids are kept, and `values`, a list of fixed size; the certificate, the release's hash and constants of
    /// correction in the file's metadata). A file that exists is never written over.
    #[arg(long)]
    out: PathBuf,
    #[command(flatten)]
    trust: TrustOptions,
}

impl Export {
    pub(crate) fn run(&self) -> Result<Record> {
        tables::check_name(&self.out, tables::ALL)?;
        tables::check_free(&self.out)?;
        let content = Content::open(&self.file)?;
        let (release, summary, _) = checked(&content, &self.trust.get())?;
        let hash = Sha256::digest(content.release()?);
        let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let correction = correction(&release);
        let mut about = vec![
            ("dps.kind".to_owned(), summary.kind.name().to_owned()),
            ("dps.release.sha256".to_owned(), hash.clone()),
            ("dps.certificate".to_owned(), canonical(&summary.certificate)),
        ];
        about.extend(correction.iter().map(|(name, x)| (format!("dps.{name}"), format!("{x:e}"))));
        let names = columns(&release)?;
        if let Some(names) = &names {
            about.push(("dps.columns".to_owned(), names_text(names)));
        }
        if release.ids().is_some() && tables::extension(&self.out) == Some("npy") {
            complain(
                "an NPY file has no place for ids: export to .csv, .arrow or .parquet to keep them",
            );
        }
        let said = Said { about, ids: release.ids(), names };
        let values = release.values().ok_or_else(|| release.cannot("a table"))?;
        let (rows, columns) = match values {
            Values::Reals(width, values) => self.write(width, &values, said)?,
            Values::Symbols(width, symbols) => self.write(width, symbols, said)?,
            Values::Signs(bits) if tables::extension(&self.out) == Some("npy") => {
                let width = bits.bits().div_ceil(8);
                let bytes = |row| bits.row(row).iter().flat_map(|w| w.to_le_bytes()).take(width);
                let packed: Vec<u8> = (0..bits.n()).flat_map(bytes).collect();
                self.write(width, &packed, said)?
            }
            Values::Signs(bits) => {
                let signs = |row| {
                    (0..bits.bits()).map(move |bit| if bits.get(row, bit) { 1i8 } else { -1 })
                };
                let signs: Vec<i8> = (0..bits.n()).flat_map(signs).collect();
                self.write(bits.bits(), &signs, said)?
            }
            _ => return Err(release.cannot("a table")),
        };
        let record = Record::new()
            .text("table", self.out.display().to_string())
            .text("kind", summary.kind.name())
            .integer("rows", rows as u64)
            .integer("columns", columns as u64)
            .text("release sha256", hash);
        let record =
            correction.into_iter().fold(record, |record, (name, x)| record.number(name, x));
        in_units(&release, record)
    }

    fn write<T: Cell>(
        &self,
        width: usize,
        cells: &[T],
        Said { about, ids, names }: Said<'_>,
    ) -> Result<(usize, usize)> {
        tables::write(&self.out, &Table { width, cells, about, ids, names })?;
        Ok((cells.len().checked_div(width).unwrap_or(0), width))
    }
}

/// What is said beside the numbers.
struct Said<'a> {
    about: Vec<(String, String)>,
    ids: Option<&'a RowIds>,
    names: Option<Vec<String>>,
}

/// Names of the columns of a matrix, where the release keeps them.
fn columns(release: &AnyRelease) -> Result<Option<Vec<String>>> {
    Ok(match release {
        AnyRelease::Covariance(release) => column_names(release.certificate())?,
        AnyRelease::Regression(release) => {
            let names = column_names(release.certificate())?;
            let intercept = release.payload().intercept().map(|_| "intercept".to_owned());
            names.map(|names| names.into_iter().chain(intercept).collect())
        }
        _ => None,
    })
}

/// A JSON array.
fn names_text(names: &[String]) -> String {
    serde_json::Value::from(names).to_string()
}

/// What to subtract from squared norms and distances of the rows of a sketch so that they are unbiased: the sum of
/// the variances of the noise. Chosen groups and given matrices tell neither of rows, with or without it.
fn correction(release: &AnyRelease) -> Vec<(&'static str, f64)> {
    let AnyRelease::Sketch(release) = release else { return Vec::new() };
    if !release.payload().projection().keeps_products() {
        return Vec::new();
    }
    let noise = release.payload().k() as f64 * release.payload().noise_variance();
    vec![("subtract from squared norms", noise), ("subtract from squared distances", 2.0 * noise)]
}
