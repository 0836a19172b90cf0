//! Releases in parts: one path for a whole release and for a block of one.

use super::common::{OutputOptions, SeedOptions};
use super::feed::{Feed, Source};
use super::part_options::PartOf;
use crate::commands::disjoint::named;
use crate::commands::mapped::with_map;
use crate::error::{Error, Result};
use crate::output::Record;
use dp_core::ledger_file::BudgetFile;
use dp_core::output::{Access, Output, write};
use dp_core::parts::{
    Block, Inputs, KeyFile, Manifest, PartWriter, PinnedFile, ReleaseKey, Reserved, Terms,
};
use dp_core::{Certificate, FreshSeed, Guarantee, NoiseRng};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// One release that a mechanism is to make.
pub(crate) struct Making<'a> {
    pub(crate) to: Output,
    pub(crate) rng: &'a mut NoiseRng,
    pub(crate) feed: Feed<'a>,
    /// The key and the pinned rows, where the release has parts.
    pinned: Option<(&'a ReleaseKey, &'a Inputs)>,
}

impl Making<'_> {
    /// The seed of an averaged mechanism, drawn after the rows are fixed.
    pub(crate) fn fresh(&self) -> Result<FreshSeed> {
        match self.pinned {
            Some((key, inputs)) => Ok(inputs.seed(key)),
            None => Ok(FreshSeed::draw()?),
        }
    }
}

/// What comes of it.
pub(crate) enum Made {
    /// Nothing: a dry run.
    Planned,
    /// A release.
    Released(Box<Certificate>),
    /// A manifest or a part.
    Parts(Record),
}

/// How a mechanism is run.
pub(crate) trait Maker {
    /// Makes a release file of what it is fed.
    fn release(&mut self, making: Making<'_>) -> Result<Certificate>;

    /// Adds rows to exact sums, where the mechanism releases sums of all rows and no rows; whether it does.
    fn add(&mut self, _rows: &Feed<'_>) -> Result<bool> {
        Ok(false)
    }

    /// The sums of what was added.
    fn sums(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

impl<F: FnMut(Making<'_>) -> Result<Certificate>> Maker for F {
    fn release(&mut self, making: Making<'_>) -> Result<Certificate> {
        self(making)
    }
}

/// What a process is asked to release, and what it promises.
pub(crate) struct Asked<'a> {
    pub(crate) guarantee: &'a Guarantee,
    pub(crate) label: &'a str,
    pub(crate) source: Source<'a>,
    drawn: bool,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(guarantee: &'a Guarantee, label: &'a str, source: Source<'a>) -> Self {
        Self { guarantee, label, source, drawn: false }
    }

    /// Notes whether a public seed was drawn that nobody said.
    pub(crate) fn drawn(self, seed: &SeedOptions) -> Self {
        Self { drawn: seed.drawn(), ..self }
    }
}

impl OutputOptions {
    /// Makes a release, or what the options of parts ask for in its place.
    pub(crate) fn make(&self, asked: &Asked<'_>, maker: &mut dyn Maker) -> Result<Made> {
        if let Some(like) = self.like.get() {
            like.check(asked.guarantee, self.mapped.get().map(AsRef::as_ref), self.ledger())?;
        }
        if !self.parts.any() {
            let Some(mut rng) =
                self.charge(asked.guarantee, asked.label, || asked.source.check())?
            else {
                return Ok(Made::Planned);
            };
            let (mut to, feed) = (self.take()?, Feed::Whole(&asked.source));
            asked.source.ids().into_iter().for_each(|ids| to.name_rows(ids));
            let making = Making { to, rng: &mut rng, feed, pinned: None };
            return Ok(Made::Released(Box::new(maker.release(making)?)));
        }
        self.check_parts(asked)?;
        if self.parts.plan_parts {
            self.plan_parts(asked, maker).map(Made::Parts)
        } else {
            self.part(asked, maker).map(Made::Parts)
        }
    }

    fn check_parts(&self, asked: &Asked<'_>) -> Result<()> {
        asked.source.check_parts()?;
        if self.for_tests_or_stdout() {
            return Err(Error::usage(
                "a release in parts takes its noise from the release key and is written to files: leave \
                 --insecure-test-noise and --dry-run out, and name a file with --out",
            ));
        }
        if asked.drawn {
            return Err(Error::usage(
                "--seed is required for a release in parts: every part draws the same projection or hash functions from it; \
                 any public number will do",
            ));
        }
        Ok(())
    }

    fn plan_parts(&self, asked: &Asked<'_>, maker: &mut dyn Maker) -> Result<Record> {
        self.begin()?;
        let path = self.parts.key.as_deref().expect("required");
        let (source, key) = (&asked.source, ReleaseKey::draw()?);
        let file = PinnedFile::of(source.path())?;
        let mut blocks = Vec::new();
        let chosen = self.parts.block_rows.unwrap_or_else(|| source.block_rows());
        let mut first = 0;
        source.blocks(
            |_| Some(chosen),
            |_| true,
            |index, held| {
                let block = Block::new(0, None, first, held.len() as u64);
                first += block.rows;
                blocks.push(block.pinned(held.content(&key, index)));
                Ok(())
            },
        )?;
        file.check()?;
        let inputs = Inputs { files: vec![file], blocks };
        let terms = self.terms(maker, &key, &inputs)?;
        linalg_dp::parts::check(&terms)?;
        KeyFile::create(path, &key)?;
        let named = self.name_manifest();
        let made = named.and_then(|()| {
            let reserved = self.reserve(asked, &key);
            let made = reserved.and_then(|reserved| {
                let manifest = Manifest::new(&key, inputs, terms, reserved)?;
                write(self.out(), manifest.text().as_bytes(), Access::Owner)?;
                Ok(manifest)
            });
            made.inspect_err(|_| drop(std::fs::remove_file(self.out())))
        });
        // Nothing can be made with a key that has no manifest.
        let manifest = made.inspect_err(|_| drop(std::fs::remove_file(path)))?;
        let record = Record::new()
            .text("manifest", self.out().display().to_string())
            .text("release id", manifest.id())
            .integer("blocks", manifest.inputs().blocks.len() as u64)
            .text("key", path.display().to_string());
        let record = super::promise(record, asked.guarantee);
        let record = with_map(record, self.mapped.get().map(AsRef::as_ref));
        Ok(match manifest.reserved() {
            Some(Reserved { charge, .. }) => record.text("reserved in the ledger as", charge),
            None => record,
        })
    }

    /// Takes the name of the manifest before anything is spent: what has it by now, the key or a release, stays.
    fn name_manifest(&self) -> Result<()> {
        let out = self.out();
        match std::fs::File::create_new(out) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(Error::usage(format!(
                    "{} is there, or is the key: --out names a new file for the manifest, beside --key",
                    out.display()
                )))
            }
            made => made.map(drop).map_err(|error| Error::io(out, error)),
        }
    }

    /// Charges the ledger for a release that is still to be made: it is spent, whatever becomes of it.
    fn reserve(&self, asked: &Asked<'_>, key: &ReleaseKey) -> Result<Option<Reserved>> {
        let Some(ledger) = self.ledger() else { return Ok(None) };
        let label = format!("{}, reserved for release {} in parts", asked.label, key.id());
        let part = self.part_of_data()?;
        let named = named(part.as_ref(), &label).mapped(self.mapped.get().map(AsRef::as_ref));
        let file = BudgetFile::spend(ledger, asked.guarantee, 1, named)?;
        file.recovered().iter().for_each(|said| super::noted(said));
        let charge = file.charges().last().map(|c| c.id().to_owned()).unwrap_or_default();
        Ok(Some(Reserved { ledger: file.id().to_owned(), charge }))
    }

    fn part(&self, asked: &Asked<'_>, maker: &mut dyn Maker) -> Result<Record> {
        if self.ledger().is_some() {
            return Err(Error::usage(
                "--part charges no ledger: --plan-parts charged it; leave --ledger out",
            ));
        }
        let (source, key) = (&asked.source, self.parts.key()?);
        let path = self.parts.manifest.as_deref().expect("required");
        let manifest = read_manifest(path, &key)?;
        let inputs = manifest.inputs();
        let [file] = inputs.files.as_slice() else {
            return Err(Error::Refused(
                "the manifest is of several files: dps.spark made it".into(),
            ));
        };
        let here = PinnedFile::of(source.path())?;
        if here.name() != file.name() {
            let words = format!("the manifest is of {}, not of {}", file.name(), here.name());
            return Err(Error::Refused(words));
        }
        file.check()?;
        manifest.check_terms(&self.terms(maker, &key, inputs)?)?;
        let PartOf(i, of) = self.parts.part.expect("required");
        let range = manifest.part(i, of)?;
        let mut writer = PartWriter::create(self.out(), &manifest, &key, range.clone())?;
        let size = |index: usize| inputs.blocks.get(index).map(|block| block.rows);
        // Sums of no block are zeros, not nothing.
        maker.add(&Feed::Nothing)?;
        source.blocks(
            size,
            |index| range.contains(&index),
            |index, held| {
                if size(index) != Some(held.len() as u64) {
                    return Err(source.changed());
                }
                let content = held.content(&key, index);
                let mut rng = manifest.noise(&key, index, &content)?;
                let feed = Feed::Block(held);
                if maker.add(&feed)? {
                    return Ok(writer.push(&content, &[])?);
                }
                let (to, sink) = self.memory()?;
                let pinned = Some((&key, inputs));
                maker.release(Making { to, rng: &mut rng, feed, pinned })?;
                let bytes = sink.take();
                Ok(writer.push(&content, manifest.terms().payload(&bytes, held.len() as u64)?)?)
            },
        )?;
        file.check()?;
        writer.sums(&maker.sums())?;
        if writer.next().is_some() {
            return Err(source.changed());
        }
        writer.finish()?;
        Ok(Record::new()
            .text("part", self.out().display().to_string())
            .text("release id", manifest.id())
            .text("of", format!("{i}/{of}"))
            .integer("blocks", range.len() as u64))
    }

    /// What a release on these inputs states besides its rows.
    fn terms(&self, maker: &mut dyn Maker, key: &ReleaseKey, inputs: &Inputs) -> Result<Terms> {
        let (to, sink) = self.memory()?;
        let mut rng = key.noise_of_terms();
        let pinned = Some((key, inputs));
        maker.release(Making { to, rng: &mut rng, feed: Feed::Nothing, pinned })?;
        Ok(Terms::of(&sink.take())?)
    }

    /// A release of a block, which states what the whole does.
    fn memory(&self) -> Result<(Output, Sink)> {
        let sink = Sink::default();
        let mut output = Output::stream("block", sink.clone())?;
        self.mapped.get().into_iter().for_each(|mapped| output.mapped(mapped.clone()));
        Ok((output, sink))
    }
}

/// Reads a manifest that was sealed under this key.
pub(crate) fn read_manifest(path: &Path, key: &ReleaseKey) -> Result<Manifest> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|e| dp_core::Error::io(path.display(), &e))?;
    Ok(Manifest::parse(&text, key)?)
}

/// A release file in memory.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn take(&self) -> Vec<u8> {
        core::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
