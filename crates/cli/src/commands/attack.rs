//! `dps attack`: what real attackers would have learnt from a release, measured by whoever has the truth.

use super::loaded::{self, AnyRelease, Asked as _};
use super::trust::TrustOptions;
use crate::error::{Error, Result};
use crate::input::{all_sets, numbers};
use crate::output::Record;
use clap::Args;
use dp_core::output::{Existing, Output};
use eval::attacks::{self, Measured};
use eval::data::Points;
use readers::{DataError, RowsFile, SetsFile};
use sketch::sets::ItemSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

mod plot;

/// Options of `dps attack`.
#[derive(Args)]
pub(crate) struct Attack {
    /// A release file: of vectors, unit vectors, signs, a covariance, or set signatures.
    file: PathBuf,
    /// The data that it was made of, in the same order: rows, or sets one a line.
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// Data of the same kind that everybody has, and that is not in the release.
    #[arg(long = "public", value_name = "FILE")]
    known: PathBuf,
    /// Labels of the true rows, whole numbers below 256, one a row: how often they are guessed.
    #[arg(long, value_name = "FILE", requires = "public_labels")]
    truth_labels: Option<PathBuf>,
    /// Labels of the public rows.
    #[arg(long, value_name = "FILE", requires = "truth_labels")]
    public_labels: Option<PathBuf>,
    /// Divide every value of both files by this first, as when the release was made.
    #[arg(long, default_value_t = 1.0)]
    divide: f64,
    /// Use only these columns of both files, as when the release was made.
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// Leave this column of both files out; may be given more than once.
    #[arg(long = "id", value_name = "COLUMN")]
    left_out: Vec<String>,
    /// Sets: what stands between the items of a set, as when the release was made.
    #[arg(long)]
    separator: Option<String>,
    /// Sets: the first word of a line names the set, and is left out.
    #[arg(long)]
    id_first: bool,
    /// Another release of the same rows, of vectors: how many rows of one are found again in the other.
    #[arg(long = "with", value_name = "RELEASE")]
    other: Option<PathBuf>,
    /// Draw the table (SVG), too. A file that is there stays.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustOptions,
}

/// What stands above every table.
const SECRET: &str = "this table is made from the true data, without noise: it is NOT private, and not to be published";

impl Attack {
    pub(crate) fn run(&self) -> Result<Record> {
        let plot =
            self.plot.as_ref().map(|path| Output::create(path, Existing::Keep)).transpose()?;
        let release = loaded::read(&self.file, &self.trust.get())?;
        let other =
            self.other.as_ref().map(|path| loaded::read(path, &self.trust.get())).transpose()?;
        if loaded::mapped(&release)?.is_some() {
            return Err(Error::usage(
                "the values of the release were mapped first (dps inspect shows its preprocessing), and those of the truth are not: no \
                 attack could be compared with it; release a file of mapped values to measure attacks",
            ));
        }
        let rows = || -> Result<(Points, Points)> {
            let truth = self.points(&self.truth, self.truth_labels.as_deref())?;
            Ok((truth, self.points(&self.known, self.public_labels.as_deref())?))
        };
        let found = match &release {
            AnyRelease::Sketch(release) => {
                let (truth, known) = rows()?;
                let links = match &other {
                    Some(AnyRelease::Sketch(other)) => {
                        attacks::on_links(release, other, &truth, &known)
                    }
                    Some(other) => return Err(other.cannot("links to vectors")),
                    None => Ok(Vec::new()),
                };
                attacks::on_vectors(release, &truth, &known)
                    .and_then(|found| Ok([found, links?].concat()))
            }
            other_kind if other.is_some() => {
                return Err(other_kind.cannot("links to another release"));
            }
            AnyRelease::Units(release) => {
                let (truth, known) = rows()?;
                attacks::on_units(release, &truth, &known)
            }
            AnyRelease::Signs(release) => {
                let (truth, known) = rows()?;
                attacks::on_signs(release, &truth, &known)
            }
            AnyRelease::Covariance(release) => {
                let (truth, known) = rows()?;
                attacks::on_covariance(release, &truth, &known)
            }
            AnyRelease::Symbols(release) => {
                attacks::on_sets(release, &self.sets(&self.truth)?, &self.sets(&self.known)?)
            }
            _ => {
                return Err(Error::usage(
                    "attacks are known here on vectors, unit vectors, signs, covariances, secure MinHash and occupancy bits; \
                     dps explain bounds what any attack learns from every kind",
                ));
            }
        };
        let found = found.map_err(refused)?;
        if let (Some(mut output), Some(path)) = (plot, &self.plot) {
            output.write_all(plot::draw(&found).as_bytes()).map_err(|e| Error::io(path, e))?;
            output.finish(&release.certificate())?;
        }
        let rows = found.into_iter().map(|attack| {
            let Measured { value, low, high, .. } = attack.release;
            let row = Record::new()
                .text("attack", attack.name)
                .text("who_knows", attack.knows)
                .text("measure", attack.measure)
                .number("release", value)
                .number("low", low)
                .number("high", high)
                .number("without_release", attack.without)
                .number("clean_data", attack.clean);
            let row = match attack.bound {
                Some(bound) => row.number("at_most", bound),
                None => row.text("at_most", "-"),
            };
            row.text("certificate_says", attack.says)
        });
        Ok(Record::new()
            .text("warning", SECRET)
            .text(
                "how to read it",
                "release: what the attack got out of it, with an interval of 95 %; without_release: the best guess \
                 of who has none; clean_data: the same attack on the data itself; at_most: the exact bound on \
                 every attack, on average over the noise",
            )
            .table("attacks", rows.collect()))
    }

    /// Rows, with their labels.
    fn points(&self, path: &Path, labels: Option<&Path>) -> Result<Points> {
        let file = RowsFile {
            divide: self.divide,
            columns: self.columns.clone(),
            leave_out: self.left_out.clone(),
            ..RowsFile::new(path)
        };
        let (d, values) = numbers(&file)?;
        let labels = labels.map(|path| {
            let (_, values) = numbers(&RowsFile::new(path))?;
            let label =
                |x: &f64| (x.fract() == 0.0 && (0.0..256.0).contains(x)).then_some(*x as u8);
            values.iter().map(label).collect::<Option<Vec<u8>>>().ok_or_else(|| {
                let rule = "labels are whole numbers from 0 to 255, one a row".to_owned();
                Error::Data(DataError { file: path.to_owned(), column: None, rule, record: None })
            })
        });
        Points::new("rows", d, values, labels.transpose()?).map_err(refused)
    }

    fn sets(&self, path: &Path) -> Result<Vec<ItemSet>> {
        let (separator, id_first) = (self.separator.clone(), self.id_first);
        all_sets(&SetsFile { separator, id_first, ..SetsFile::new(path) })
    }
}

fn refused(error: eval::Error) -> Error {
    match error {
        eval::Error::Privacy(error) => error.into(),
        eval::Error::Sketch(error) => error.into(),
        eval::Error::Matrix(error) => error.into(),
        eval::Error::File(error) => error.into(),
        error => Error::usage(error.to_string()),
    }
}
