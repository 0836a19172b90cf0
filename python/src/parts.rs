//! Releases in parts, for workers that share files and a key, and no memory.

use crate::error::{Fault, Result};
use crate::mechanism::{Mechanism, Portion};
use crate::payer::Payer;
use crate::rows::{Rows, append, check_width, sets};
use crate::run::{Run, work};
use dp_core::output::{Access, write};
use dp_core::parts::{
    Block, Content, ContentHash, Inputs, KeyFile, Manifest, PartWriter, PinnedFile, ReleaseKey,
    Reserved, Terms,
};
use linalg_dp::covariance::CovarianceMechanism;
use linalg_dp::parts::{check, output, publish};
use pyo3::prelude::*;
use sketch::RowsView;
use sketch::rows::Storage;
use sketch::sets::ItemSet;
use std::path::PathBuf;

/// Fixes a release in parts: a new key, a new manifest, and the payment. Blocks are file, row group, first row and rows; `columns` is
/// the number of features, none for sets. The number of the release.
#[pyfunction]
#[pyo3(signature = (mechanism, columns, files, blocks, key, manifest, ledger=None, label=None))]
#[allow(clippy::too_many_arguments)] // named where they are given
pub(crate) fn parts_plan(
    py: Python<'_>,
    mechanism: &Mechanism,
    columns: Option<usize>,
    files: Vec<PathBuf>,
    blocks: Vec<(usize, u64, u64, u64)>,
    key: PathBuf,
    manifest: PathBuf,
    ledger: Option<&Bound<'_, Payer>>,
    label: Option<&str>,
) -> Result<String> {
    if mechanism.promise().is_none() {
        return Err(Fault::Data("this release gives no differential privacy".into()));
    }
    let ledger = ledger.map(Bound::get);
    if manifest.exists() {
        let words = "a manifest is there: go on with it, or name another folder";
        return Err(Fault::Data(words.into()));
    }
    work(py, || {
        let files = files.iter().map(|file| Ok(PinnedFile::of(file)?));
        let files: Vec<PinnedFile> = files.collect::<Result<_>>()?;
        let block = |(file, group, first, rows)| Block::new(file, Some(group), first, rows);
        let inputs = Inputs { files, blocks: blocks.into_iter().map(block).collect() };
        let secret = ReleaseKey::draw()?;
        let terms = terms(mechanism, columns, &secret, &inputs)?;
        check(&terms)?;
        KeyFile::create(&key, &secret)?;
        let written = reserve(&secret, ledger, mechanism, label).and_then(|reserved| {
            let made = Manifest::new(&secret, inputs, terms, reserved)?;
            write(&manifest, made.text().as_bytes(), Access::Owner)?;
            Ok(made.id().to_owned())
        });
        if written.is_err() {
            // Nothing can be made with it.
            let _ = std::fs::remove_file(&key);
        }
        written
    })
}

fn reserve(
    key: &ReleaseKey,
    ledger: Option<&Payer>,
    mechanism: &Mechanism,
    label: Option<&str>,
) -> Result<Option<Reserved>> {
    let (Some(ledger), Some(promise)) = (ledger, mechanism.promise()) else { return Ok(None) };
    let label = label.unwrap_or("a release from Python");
    let label = format!("{label}, reserved for release {} in parts", key.id());
    let file = ledger.spend(promise, &label)?;
    let charge = file.charges().last().map(|c| c.id().to_owned()).unwrap_or_default();
    Ok(Some(Reserved { ledger: file.id().to_owned(), charge }))
}

/// What a release on these inputs states besides its rows.
fn terms(
    mechanism: &Mechanism,
    columns: Option<usize>,
    key: &ReleaseKey,
    inputs: &Inputs,
) -> Result<Terms> {
    let nothing = match columns {
        Some(d) => Portion::Rows(RowsView::f64(0, d, &[])?),
        None => Portion::Sets(Vec::new()),
    };
    let mut run = Run::of_block(key.noise_of_terms(), inputs.seed(key));
    Ok(Terms::of(&mechanism.block(&nothing, &mut run)?.encode()?)?)
}

/// A manifest with its key, in a worker.
#[pyclass(frozen, module = "dps._dps")]
pub(crate) struct Parts {
    manifest: Manifest,
    key: ReleaseKey,
}

#[pymethods]
impl Parts {
    /// Reads a manifest; the key from its file, or from an environment variable of this process.
    #[new]
    #[pyo3(signature = (manifest, key=None, variable=None))]
    fn new(manifest: PathBuf, key: Option<PathBuf>, variable: Option<&str>) -> Result<Self> {
        let key = match (key, variable) {
            (Some(key), None) => KeyFile::read(&key)?,
            (None, Some(variable)) => ReleaseKey::from_environment(variable)?,
            _ => return Err(Fault::invalid("key", "both or neither", "a file or a variable")),
        };
        let text = std::fs::read_to_string(&manifest);
        let text = text.map_err(|e| dp_core::Error::io(manifest.display(), &e))?;
        Ok(Self { manifest: Manifest::parse(&text, &key)?, key })
    }

    /// The public number of the release.
    fn id(&self) -> &str {
        self.manifest.id()
    }

    /// All rows.
    fn rows(&self) -> u64 {
        self.manifest.rows()
    }

    /// First block of part i of `of`, and the one behind its last.
    fn part(&self, i: usize, of: usize) -> Result<(usize, usize)> {
        let blocks = self.manifest.part(i, of)?;
        Ok((blocks.start, blocks.end))
    }

    /// Makes a part: `read(file, group, first, rows)` gives the rows or sets of a block, of `columns` features.
    fn make(
        &self,
        py: Python<'_>,
        mechanism: &Mechanism,
        columns: Option<usize>,
        blocks: (usize, usize),
        out: PathBuf,
        read: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let (manifest, key) = (&self.manifest, &self.key);
        let inputs = manifest.inputs();
        work(py, || {
            Ok::<_, Fault>(manifest.check_terms(&terms(mechanism, columns, key, inputs)?)?)
        })?;
        let mut writer = PartWriter::create(&out, manifest, key, blocks.0..blocks.1)?;
        let mut unused = key.noise_of_terms();
        let mut sums = mechanism.sums().map(|mechanism| mechanism.stream(&mut unused));
        while let Some(index) = writer.next() {
            let block = &inputs.blocks[index];
            let file = &inputs.files[block.file];
            file.check()?;
            let data = read.call1((file.name(), block.group, block.first, block.rows))?;
            file.check()?;
            let mut release = |portion: &Portion<'_>| -> Result<()> {
                let (rows, content) = content(key, index, portion);
                if rows != block.rows {
                    let words = format!("block {index} has {rows} rows of {}", block.rows);
                    return Err(Fault::Data(words));
                }
                let rng = manifest.noise(key, index, &content)?;
                match (&mut sums, portion) {
                    (Some(sums), Portion::Rows(view)) => {
                        sums.push_view(*view)?;
                        Ok(writer.push(&content, &[])?)
                    }
                    _ => {
                        let mut run = Run::of_block(rng, inputs.seed(key));
                        let held = mechanism.block(portion, &mut run)?;
                        Ok(writer.push(&content, &held.block(manifest.terms(), rows)?)?)
                    }
                }
            };
            match columns {
                None => {
                    let portion = Portion::Sets(sets(&data)?);
                    work(py, || release(&portion))?;
                }
                Some(_) => {
                    let mut kept = None;
                    let source = Rows::of(&data)?.source(&mut kept)?;
                    work(py, || {
                        source.whole(&mut |_, _| Ok(()), |view| release(&Portion::Rows(view)))
                    })?;
                }
            }
        }
        if let Some(mut sums) = sums {
            writer.sums(&sums.sums())?;
        }
        Ok(writer.finish()?)
    }
}

fn dense<'r>(view: &RowsView<'r>) -> std::borrow::Cow<'r, [f64]> {
    if let Storage::F64(values) = view.storage() {
        return std::borrow::Cow::Borrowed(values);
    }
    let mut values = Vec::new();
    append(view, &mut values);
    std::borrow::Cow::Owned(values)
}

/// How many rows there are, and what they are.
fn content(key: &ReleaseKey, index: usize, portion: &Portion<'_>) -> (u64, Content) {
    let hash = ContentHash::new(key, index);
    match portion {
        Portion::Rows(view) => (view.n() as u64, hash.rows(view.n(), view.d(), &dense(view))),
        Portion::Sets(sets) => {
            (sets.len() as u64, hash.sets(sets.len(), sets.iter().map(ItemSet::items)))
        }
    }
}

/// Refuses rows of another number of features than `columns`; without it, what are no sets.
#[pyfunction]
#[pyo3(signature = (data, columns=None))]
pub(crate) fn parts_fit(data: &Bound<'_, PyAny>, columns: Option<usize>) -> Result<()> {
    let Some(d) = columns else { return sets(data).map(drop) };
    let mut kept = None;
    let source = Rows::of(data)?.source(&mut kept)?;
    source.each(&mut |_, _| Ok(()), &mut |rows| check_width(&rows, d)).map(drop)
}

/// Whether the key's one output is at `out`, and the key destroyed.
#[pyfunction]
pub(crate) fn parts_published(key: PathBuf, out: PathBuf) -> Result<bool> {
    Ok(KeyFile::published(&key, &out)?.is_some())
}

/// Puts parts together into a new file, publishes it, destroys the key.
#[pyfunction]
pub(crate) fn parts_merge(
    py: Python<'_>,
    manifest: PathBuf,
    key: PathBuf,
    parts: Vec<PathBuf>,
    out: PathBuf,
) -> Result<()> {
    work(py, || {
        let file = KeyFile::open(&key)?;
        let text = std::fs::read_to_string(&manifest);
        let text = text.map_err(|e| dp_core::Error::io(manifest.display(), &e))?;
        let manifest = Manifest::parse(&text, file.key())?;
        let to = output(&out, &file)?;
        publish(&manifest, file, &parts, to)?;
        Ok(())
    })
}
