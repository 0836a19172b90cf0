//! What a release in parts is made of, fixed before any noise is drawn.

use super::content::Content;
use super::key::{Purpose, ReleaseKey};
use super::terms::Terms;
use crate::certificate::{canonical, digest, hex};
use crate::error::{Error, Result};
use crate::noise::NoiseRng;
use crate::seed::FreshSeed;
use crate::text::json_fault;
use core::ops::Range;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Version of the layout.
const FORMAT: u32 = 1;
/// Longest text: some five million blocks.
const LONGEST: u64 = 1 << 30;

/// A file as it was when the manifest was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinnedFile {
    name: String,
    bytes: u64,
    /// Nanoseconds since 1970.
    modified: u64,
}

impl PinnedFile {
    /// The file as it is now.
    ///
    /// # Errors
    /// [`Error::Io`]; a name that is not text.
    pub fn of(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        let whole = path.canonicalize().map_err(failed)?;
        let Some(name) = whole.to_str() else {
            return Err(Error::invalid("file", path.display(), "a name in UTF-8"));
        };
        let metadata = whole.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(Error::invalid("file", path.display(), "a file that can be read again"));
        }
        let modified = metadata.modified().map_err(failed)?;
        let modified = modified.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let modified = u64::try_from(modified).unwrap_or(u64::MAX);
        Ok(Self { name: name.to_owned(), bytes: metadata.len(), modified })
    }

    /// Its path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Refuses a file that is not as it was.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Io`].
    pub fn check(&self) -> Result<()> {
        let now = Self::of(Path::new(&self.name))?;
        if now == *self {
            return Ok(());
        }
        let reason = format!(
            "{} changed since the manifest was made: make a new manifest with a new key, which spends the budget again",
            self.name
        );
        Err(Error::file("input", reason))
    }
}

/// Rows that are released together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Number of the file.
    pub file: usize,
    /// Number of the group of rows within the file, where it has groups.
    pub group: Option<u64>,
    /// Its first row, within the group or the file.
    pub first: u64,
    /// How many rows.
    pub rows: u64,
    /// What the rows are, where they were read when the manifest was made.
    content: Option<String>,
}

impl Block {
    /// A block whose rows are not read yet.
    #[must_use]
    pub fn new(file: usize, group: Option<u64>, first: u64, rows: u64) -> Self {
        Self { file, group, first, rows, content: None }
    }

    /// The block with its rows pinned: any others are refused.
    #[must_use]
    pub fn pinned(self, content: Content) -> Self {
        Self { content: Some(content.text()), ..self }
    }
}

/// All rows of a release: files, and their blocks in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// The files.
    pub files: Vec<PinnedFile>,
    /// Their blocks, in the order of the release's rows.
    pub blocks: Vec<Block>,
}

impl Inputs {
    /// The seed of an averaged mechanism for these inputs: fixed when they are, and known to nobody who has not the key
    /// before it is published.
    #[must_use]
    pub fn seed(&self, key: &ReleaseKey) -> FreshSeed {
        FreshSeed::of_release_key(key.derive(Purpose::Seed, &[canonical(self).as_bytes()]))
    }

    fn check(&self) -> Result<()> {
        let wrong = |reason: &str| Err(Error::file("manifest", reason));
        if self.blocks.is_empty() {
            return wrong("has no block: the files hold no row");
        }
        let mut rows = 0u64;
        let mut before: Option<&Block> = None;
        for block in &self.blocks {
            let follows = match before {
                Some(b) if (b.file, b.group) == (block.file, block.group) => {
                    b.first.checked_add(b.rows) == Some(block.first)
                }
                Some(b) => (b.file, b.group) < (block.file, block.group) && block.first == 0,
                None => block.first == 0,
            };
            if !follows || block.rows == 0 || block.file >= self.files.len() {
                return wrong("has blocks that are empty, overlap, leave a gap or name no file");
            }
            match rows.checked_add(block.rows) {
                Some(sum) => rows = sum,
                None => return wrong("has more rows than can be counted"),
            }
            before = Some(block);
        }
        Ok(())
    }
}

/// Which ledger paid, when the manifest was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    /// The number of the ledger.
    pub ledger: String,
    /// The number of the payment.
    pub charge: String,
}

/// What a release in parts is made of: inputs, mechanism, and who paid. Sealed under the release key.
///
/// It names files and counts of rows, so only its owner reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    id: String,
    inputs: Inputs,
    /// Mechanism, calibration, all public parameters, version of this library.
    terms: Terms,
    reserved: Option<Reserved>,
    seal: String,
    /// Of all the rest, where it is sealed.
    #[serde(skip)]
    digest: String,
}

impl Manifest {
    /// Fixes the parts of the one release of a key.
    ///
    /// # Errors
    /// [`Error::File`] for blocks that overlap, leave a gap or are empty.
    pub fn new(
        key: &ReleaseKey,
        inputs: Inputs,
        terms: Terms,
        reserved: Option<Reserved>,
    ) -> Result<Self> {
        inputs.check()?;
        let (id, seal) = (key.id(), String::new());
        let mut made =
            Self { format: FORMAT, id, inputs, terms, reserved, seal, digest: String::new() };
        made.seal = made.sealed(key);
        made.digest = digest(&made);
        Ok(made)
    }

    /// Reads a manifest that was sealed under this key.
    ///
    /// # Errors
    /// [`Error::File`] naming what does not hold.
    pub fn parse(text: &str, key: &ReleaseKey) -> Result<Self> {
        let wrong = |reason: String| Error::file("manifest", reason);
        if text.len() as u64 > LONGEST {
            return Err(wrong(format!("is longer than {LONGEST} bytes")));
        }
        let found: Self = serde_json::from_str(text).map_err(|e| wrong(json_fault(&e)))?;
        if found.format != FORMAT {
            return Err(wrong("is of another version: make a new one".into()));
        }
        if found.id != key.id() {
            return Err(wrong("belongs to another release key".into()));
        }
        if found.seal != found.sealed(key) {
            return Err(wrong("was altered after it was sealed".into()));
        }
        found.inputs.check()?;
        let digest = digest(&found);
        Ok(Self { digest, ..found })
    }

    fn sealed(&self, key: &ReleaseKey) -> String {
        let bare = canonical(&Self { seal: String::new(), ..self.clone() });
        hex(&key.derive(Purpose::Manifest, &[bare.as_bytes()]))
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self)
    }

    /// The public number of the release.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Files and blocks.
    #[must_use]
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// Who paid.
    #[must_use]
    pub fn reserved(&self) -> Option<&Reserved> {
        self.reserved.as_ref()
    }

    /// What is released.
    #[must_use]
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// All rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.inputs.blocks.iter().map(|block| block.rows).sum()
    }

    /// The blocks of part i of N, i from one: consecutive ones, as many as the others' or one more.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] unless i is in `[1, N]`.
    pub fn part(&self, i: usize, of: usize) -> Result<Range<usize>> {
        if !(1..=of).contains(&i) {
            return Err(Error::invalid("part", format!("{i}/{of}"), "i/N with i in [1, N]"));
        }
        let cut = |i: usize| (self.inputs.blocks.len() as u128 * i as u128 / of as u128) as usize;
        Ok(cut(i - 1)..cut(i))
    }

    /// Refuses another mechanism, or other parameters, than the manifest was made for.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn check_terms(&self, terms: &Terms) -> Result<()> {
        if self.terms == *terms {
            return Ok(());
        }
        let reason = "was made for another mechanism, other parameters, or by another version of this library";
        Err(Error::file("manifest", reason))
    }

    /// The generator of a block's noise: a pure function of key, manifest, block and content.
    ///
    /// # Errors
    /// [`Error::File`] for a block that does not exist, or rows that are not the pinned ones.
    pub fn noise(&self, key: &ReleaseKey, index: usize, content: &Content) -> Result<NoiseRng> {
        let Some(block) = self.inputs.blocks.get(index) else {
            return Err(Error::file("manifest", format!("has no block {index}")));
        };
        if block.content.as_ref().is_some_and(|pinned| *pinned != content.text()) {
            let reason = format!(
                "the rows of block {index} changed since the manifest was made: make a new manifest with a new key, which \
                 spends the budget again"
            );
            return Err(Error::file("input", reason));
        }
        let number = (index as u64).to_le_bytes();
        Ok(key.noise(Purpose::Block, &[self.digest.as_bytes(), &number, content.bytes()]))
    }

    /// Digest of all that is fixed.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }
}
