//! The text of a ledger's file: marks and lines.

use crate::accounting::{Cost, Filter, Part};
use crate::adjacency::Adjacency;
use crate::certificate::{canonical, hex};
use crate::disk::{Folder, Identity, Stamp, random_id};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Version of the file's layout.
pub const FORMAT: u32 = 3;
/// First line of the file.
pub(super) const MAGIC: &[u8] = b"dps-ledger 3\n";
/// Length of a mark, with its line end.
pub(super) const MARK: usize = 104;
/// Bytes before the first line.
pub(super) const BEGINNING: usize = MAGIC.len() + 2 * MARK;
/// Most bytes of a line.
pub(super) const LONGEST: u64 = 1 << 20;

/// How many lines were on the disk, and the last one's hash: a file that is shorter was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) lines: u64,
    pub(super) head: String,
}

impl Mark {
    /// Always [`MARK`] bytes.
    pub(super) fn text(&self) -> String {
        let said = format!("mark {:016x} {}", self.lines, self.head);
        let check = hex(&Sha256::digest(&said)[..8]);
        format!("{said} {check}\n")
    }

    /// A mark that is whole.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let [_, lines, head, _] = text.split(' ').collect::<Vec<_>>()[..] else { return None };
        let mark = Self { lines: u64::from_str_radix(lines, 16).ok()?, head: head.to_owned() };
        (mark.text() == text).then_some(mark)
    }
}

/// The hash of a line: of the one before it and of its own text.
pub(super) fn chained(before: impl AsRef<[u8]>, text: &[u8]) -> String {
    hex(&Sha256::new().chain_update(before).chain_update(text).finalize())
}

/// A line as it is written, and its hash; refused where no reader would take it.
pub(super) fn line(before: &str, word: &str, body: &impl Serialize) -> Result<(String, String)> {
    let text = format!("{word} {}", canonical(body));
    let head = chained(before, text.as_bytes());
    let line = format!("{head} {text}\n");
    if line.len() as u64 > LONGEST {
        let value = format!("a text in a line of {} bytes", line.len());
        let allowed = format!(
            "lines of at most {LONGEST} bytes, which a ledger consists of: use a shorter label (or \
             reason, path, or name of the data)"
        );
        return Err(Error::invalid("label", value, allowed));
    }
    Ok((line, head))
}

/// What the first line says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) adjacency: Adjacency,
    /// Hash of the file of an older layout that this one came from.
    pub(super) converted: Option<String>,
    pub(super) data: String,
    pub(super) filter: Option<Filter>,
    pub(super) format: u32,
    /// Drawn at random: two ledgers that begin alike have other hashes.
    pub(super) id: String,
    pub(super) time: u64,
}

/// The number of a payment: 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "&str", into = "String")]
pub(super) struct Id([u8; 32]);

impl Id {
    pub(super) fn random() -> std::io::Result<Self> {
        Self::try_from(&*random_id()?).map_err(std::io::Error::other)
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl TryFrom<&str> for Id {
    type Error = &'static str;
    fn try_from(text: &str) -> std::result::Result<Self, Self::Error> {
        let digits: Option<[u8; 32]> = text.as_bytes().try_into().ok();
        let digits = digits.filter(|d| d.iter().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f')));
        digits.map(Self).ok_or("a number that is not one of 32 hexadecimal digits")
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.text().to_owned()
    }
}

/// A payment: `spend`, `record` or `reserve`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payment<C> {
    pub(super) certificate: Option<String>,
    pub(super) cost: C,
    /// The folder of a reserved release; older lines do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<Folder>,
    pub(super) id: Id,
    pub(super) label: String,
    /// Not there where the release is of all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) part: Option<Box<Part>>,
    /// Where a reserved release will be.
    pub(super) path: Option<String>,
    pub(super) payload: Option<String>,
    /// The file that it may take the place of.
    pub(super) replaces: Option<Replaced>,
    /// Seconds since 1970; not known of what an older layout held.
    pub(super) time: Option<u64>,
}

/// A file that a release may take the place of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Replaced {
    Seen(Stamp),
    /// An older line, which says too little to know the file again: it is left where it is.
    Older(Identity),
}

impl Replaced {
    pub(super) fn stamp(self) -> Option<Stamp> {
        if let Self::Seen(stamp) = self { Some(stamp) } else { None }
    }
}

/// What becomes of a reservation: `commit`, `void` or `close`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    /// Of a commit: the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<Identity>,
    pub(super) id: Id,
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs())
}

/// Errors of a file, by name.
pub(super) fn in_file(path: &Path) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::io(path.display(), &error)
}

/// The bytes of a new ledger.
pub(super) fn new_ledger<'a>(
    header: &Header,
    payments: impl Iterator<Item = Payment<&'a Cost>>,
) -> Result<Vec<u8>> {
    let (mut text, mut head) = line("", "ledger", header)?;
    let mut lines = 1;
    for payment in payments {
        let (next, hash) = line(&head, "record", &payment)?;
        text += &next;
        (head, lines) = (hash, lines + 1);
    }
    let mark = Mark { lines, head }.text();
    Ok([MAGIC, mark.as_bytes(), mark.as_bytes(), text.as_bytes()].concat())
}
