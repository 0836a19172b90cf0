//! Reading: every line is checked, and the ledger made again from all of them.

use super::lines::{
    BEGINNING, FORMAT, Header, Id, LONGEST, MAGIC, MARK, Mark, Payment, Replaced, Step, chained,
};
use crate::accounting::{Cost, Entry, Ledger, Part};
use crate::disk::{Folder, Identity, Stamp};
use crate::error::{Error, Result};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

/// How far a payment has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The release may be complete under a hidden name; nobody has seen it.
    Reserved,
    /// Paid; the release may have its name.
    Committed(Option<Identity>),
    /// Paid, and nothing is left to do.
    Closed,
    /// Taken back; a hidden file may be left.
    Voided,
    /// Taken back, and nothing is left to do.
    Gone,
}

/// A payment of a ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
    pub(super) id: Id,
    pub(super) time: Option<u64>,
    pub(super) certificate: Option<String>,
    pub(super) payload: Option<String>,
    pub(super) path: Option<String>,
    /// Nothing where nothing is left to do: a ledger is held once for every line.
    pub(super) held: Option<Box<Held>>,
    pub(super) stage: Stage,
    pub(super) recorded: bool,
}

/// By what the folder of a reservation and the file that it replaces are known again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Held {
    pub(super) replaces: Option<Stamp>,
    pub(super) folder: Option<Folder>,
}

impl Charge {
    /// What is kept of a line.
    pub(super) fn of<C>(word: &str, payment: Payment<C>) -> Self {
        let Payment { certificate, folder, id, path, payload, replaces, time, .. } = payment;
        let replaces = replaces.and_then(Replaced::stamp);
        let held = path.is_some().then(|| Box::new(Held { replaces, folder }));
        let stage = if path.is_some() { Stage::Reserved } else { Stage::Closed };
        let recorded = word == "record";
        Self { id, time, certificate, payload, path, held, stage, recorded }
    }

    /// Its number, drawn at random.
    #[must_use]
    pub fn id(&self) -> &str {
        self.id.text()
    }

    /// When it was entered: seconds since 1970; not known of what an older layout held.
    #[must_use]
    pub fn time(&self) -> Option<u64> {
        self.time
    }

    /// Digest of the release's certificate, where one was named.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Hash of the release's payload, where one was named.
    #[must_use]
    pub fn payload(&self) -> Option<&str> {
        self.payload.as_deref()
    }

    /// Whether it was entered after it had happened: the ledger was not asked beforehand.
    #[must_use]
    pub(crate) fn is_recorded(&self) -> bool {
        self.recorded
    }

    /// Whether a release was interrupted here, and the next command has to finish it or to take it back.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Reserved | Stage::Committed(_))
    }

    /// Whether it was not taken back.
    pub(super) fn counts(&self) -> bool {
        !matches!(self.stage, Stage::Voided | Stage::Gone)
    }
}

/// A file that was read to its end.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) header: Header,
    pub(super) marks: [Option<Mark>; 2],
    pub(super) lines: u64,
    pub(super) head: String,
    /// Bytes up to the end of the last whole line.
    pub(super) end: u64,
    /// Bytes after it: a line that was never finished.
    pub(super) torn: u64,
    pub(super) charges: Vec<Charge>,
    /// Label, cost and part of each charge.
    what: Vec<(String, usize, Option<Box<Part>>)>,
    costs: Vec<Arc<Cost>>,
}

#[derive(Default)]
struct Replay {
    header: Option<Header>,
    charges: Vec<Charge>,
    what: Vec<(String, usize, Option<Box<Part>>)>,
    places: HashMap<Id, usize>,
    costs: Vec<Arc<Cost>>,
    known: HashMap<String, usize>,
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|e| crate::text::json_fault(&e))
}

/// What a line says.
enum Line<'a> {
    Beginning(Header),
    Payment(&'a str, Payment<&'a RawValue>),
    Step(&'a str, Step),
}

impl<'a> Line<'a> {
    fn parse(text: &'a [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(text).map_err(|e| e.to_string())?;
        let (word, body) = text.split_once(' ').ok_or("no word")?;
        Ok(match word {
            "ledger" => Self::Beginning(parsed(body)?),
            "spend" | "record" | "reserve" => Self::Payment(word, parsed(body)?),
            "commit" | "void" | "close" => Self::Step(word, parsed(body)?),
            _ => return Err(format!("{word:?} is not known")),
        })
    }
}

impl Replay {
    fn apply(&mut self, line: Line) -> Result<(), String> {
        match (line, &self.header) {
            (Line::Beginning(header), None) => self.header = Some(header),
            (Line::Payment(word, payment), Some(_)) => self.pay(word, payment)?,
            (Line::Step(word, step), Some(_)) => self.step(word, step)?,
            _ => return Err("a beginning in the wrong place".into()),
        }
        Ok(())
    }

    fn pay(&mut self, word: &str, mut payment: Payment<&RawValue>) -> Result<(), String> {
        if (word == "reserve") != payment.path.is_some() {
            return Err("a path belongs to a reservation".into());
        }
        // Equal guarantees are written alike, and read once.
        let cost = match self.known.get(payment.cost.get()) {
            Some(&place) => place,
            None => {
                let cost = payment.cost.get();
                self.costs.push(Arc::new(parsed(cost)?));
                self.known.insert(cost.to_owned(), self.costs.len() - 1);
                self.costs.len() - 1
            }
        };
        if self.places.insert(payment.id, self.charges.len()).is_some() {
            return Err("a release that is there already".into());
        }
        self.what.push((std::mem::take(&mut payment.label), cost, payment.part.take()));
        self.charges.push(Charge::of(word, payment));
        Ok(())
    }

    fn step(&mut self, word: &str, Step { file, id }: Step) -> Result<(), String> {
        let place = self.places.get(&id).ok_or("a release that is not there")?;
        let charge = &mut self.charges[*place];
        charge.stage = match (word, charge.stage) {
            ("commit", Stage::Reserved) => Stage::Committed(file),
            ("void", Stage::Reserved | Stage::Committed(_)) => Stage::Voided,
            ("close", Stage::Committed(_)) => Stage::Closed,
            ("close", Stage::Voided) => Stage::Gone,
            _ => return Err(format!("{word} in the wrong place")),
        };
        if word == "close" {
            charge.held = None;
        }
        Ok(())
    }
}

/// Reads a ledger; `name` is what errors call it.
pub(super) fn read(from: impl Read, name: &str) -> Result<Contents> {
    let mut from = BufReader::with_capacity(BLOCK, from);
    let bad = |reason: String| Error::Ledger {
        path: name.to_owned(),
        reason: format!("not a valid ledger: {reason}"),
    };
    let failed = |e: std::io::Error| Error::io(name, &e);
    let mut beginning = Vec::new();
    from.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning).map_err(failed)?;
    if !beginning.starts_with(MAGIC) || beginning.len() < BEGINNING {
        return Err(bad("it does not begin as one".into()));
    }
    let marks = [0, 1].map(|i| Mark::parse(&beginning[MAGIC.len() + i * MARK..][..MARK]));
    let Some(most) = marks.iter().flatten().map(|mark| mark.lines).max() else {
        return Err(bad("both marks at its beginning are damaged".into()));
    };
    let mut replay = Replay::default();
    let (mut lines, mut head, mut end, mut torn) = (0, Vec::new(), BEGINNING as u64, 0);
    let mut block = Vec::new();
    loop {
        let ends = next(&mut from, &mut block).map_err(failed)?;
        if ends.is_empty() {
            break;
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let these: Vec<&[u8]> = starts.zip(&ends).map(|(from, &to)| &block[from..to]).collect();
        // Each follows the one before it as that one states its own hash, which is checked as well.
        let read = (0..these.len()).into_par_iter().with_min_len(64).map(|i| {
            let before = if i == 0 { Some(&*head) } else { these[i - 1].get(..HASH) };
            Some(Line::parse(checked(these[i], before?)?))
        });
        for (i, line) in read.collect::<Vec<_>>().into_iter().enumerate() {
            match line {
                Some(line) => line
                    .and_then(|line| replay.apply(line))
                    .map_err(|e| bad(format!("line {}: {e}", lines + 1)))?,
                // What was begun and never finished stands at the end, after all that was on the disk.
                None if lines >= most
                    && i + 1 == these.len()
                    && from.fill_buf().map_err(failed)?.is_empty() =>
                {
                    torn = these[i].len() as u64;
                    break;
                }
                None => {
                    let reason =
                        "does not have the hash it should: it, or one before it, was altered";
                    return Err(bad(format!("line {} {reason}", lines + 1)));
                }
            }
            (lines, end) = (lines + 1, end + these[i].len() as u64);
            let hash = &these[i][..HASH];
            if marks.iter().flatten().any(|m| m.lines == lines && m.head.as_bytes() != hash) {
                return Err(bad(format!("line {lines} is not the one that was marked")));
            }
            head.clear();
            head.extend_from_slice(hash);
        }
    }
    if lines < most {
        return Err(bad(format!("{} lines are missing at its end", most - lines)));
    }
    let Replay { header, charges, what, costs, .. } = replay;
    let header = header.ok_or_else(|| bad("it has no first line".into()))?;
    if header.format != FORMAT {
        return Err(bad(format!("format {} is not {}", header.format, FORMAT)));
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    Ok(Contents { header, marks, lines, head, end, torn, charges, what, costs })
}

/// Reads so many bytes of whole lines at a time, and at most so many lines: what a line says takes more than an empty one.
const BLOCK: usize = 1 << 20;
const LINES: usize = 1 << 12;
/// Length of the hash that a line begins with.
const HASH: usize = 64;

/// The next lines, and where each ends; none at the end of the file.
fn next(from: &mut impl BufRead, block: &mut Vec<u8>) -> std::io::Result<Vec<usize>> {
    block.clear();
    let mut ends = Vec::new();
    while ends.len() < LINES
        && block.len() < BLOCK
        && from.take(LONGEST).read_until(b'\n', block)? > 0
    {
        ends.push(block.len());
    }
    Ok(ends)
}

/// The text of a line, if it is whole and follows the one of this hash.
fn checked<'a>(line: &'a [u8], before: &[u8]) -> Option<&'a [u8]> {
    let (hash, text) = line.strip_suffix(b"\n")?.split_at_checked(HASH)?;
    let text = text.strip_prefix(b" ")?;
    (chained(before, text).as_bytes() == hash).then_some(text)
}

impl Contents {
    /// The ledger of all payments that were not taken back. It takes their labels: it is made once, when nothing is
    /// left to recover.
    pub(super) fn ledger(&mut self) -> Result<Ledger> {
        let mut ledger = Ledger::empty(self.header.adjacency, self.header.filter);
        let mut groups = vec![None; self.costs.len()];
        for (charge, (label, cost, part)) in self.charges.iter().zip(std::mem::take(&mut self.what))
        {
            if charge.counts() {
                part.as_ref().map_or(Ok(()), |part| part.check(self.header.adjacency))?;
                let entry = Entry::new(label, self.costs[cost].clone(), part);
                groups[cost] = Some(ledger.push_to(entry, groups[cost]));
            }
        }
        // Each takes as long as its profile: some milliseconds where that is a composition.
        let paid = self.costs.par_iter().zip(groups).filter(|(_, group)| group.is_some());
        paid.map(|(cost, _)| cost.check()).collect::<Result<Vec<_>>>()?;
        ledger.check_runs()?;
        Ok(ledger)
    }
}
