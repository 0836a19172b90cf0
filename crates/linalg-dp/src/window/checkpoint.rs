//! The journal of a stream: written before a block's noise is used, read to resume.

use super::blocks::Kept;
use super::config::{BlockNoise, Schedule, StreamConfig};
use super::histogram::Checkpoint;
use super::stream::{Engine, PrivateStream};
use super::sums::Running;
use super::tree::{Filling, Node};
use crate::covariance::CovarianceNoise;
use crate::error::{Error, Result};
use dp_core::Guarantee;
use dp_core::atomic_file::{self, Access};
use dp_core::certificate::Statement;
use dp_core::noise::GeneratorKind;
use faer::Mat;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// Magic of a journal file, with its format version.
const MAGIC: &[u8; 8] = b"DPWINDW2";

/// What a journal holds. JSON inside, so that the config and guarantee stay readable.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Journal {
    config: StreamConfig,
    guarantee: Guarantee,
    blocks_closed: u64,
    generator: Option<GeneratorKind>,
    state: State,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Blocks {
        described: Option<(Statement, CovarianceNoise, f64)>,
        matrices: Vec<(u64, Vec<f64>)>,
        /// Of a histogram of Gaussian blocks: the sums as released, a checkpoint each.
        plain: Vec<(u64, Vec<f64>)>,
    },
    Tree {
        open: Vec<Vec<i128>>,
        nodes: Vec<Node>,
        #[serde(default)]
        sketches: Vec<Vec<f64>>,
    },
    Factorised {
        total: Vec<i128>,
        blocks: Vec<Vec<i128>>,
        decayed: Vec<f64>,
        exact: Vec<Vec<f64>>,
        noisy: Vec<Vec<f64>>,
    },
}

impl State {
    /// Checks that the sums of a stream are there before memory for them is taken.
    fn check_size(&self, config: &StreamConfig) -> Result<()> {
        let sums = match self {
            Self::Blocks { .. } => return Ok(()),
            Self::Tree { open, .. } => match config.schedule {
                // Its sketches are empty before their first row.
                Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { .. } } => return Ok(()),
                _ => open.first().map(Vec::len),
            },
            Self::Factorised { total, decayed, .. } => Some(total.len().max(decayed.len())),
        };
        if config.dim.checked_mul(config.dim) == sums {
            Ok(())
        } else {
            Err(Error::corrupt("its sums have another shape"))
        }
    }
}

/// A journal file that no other stream can open.
pub(super) struct OpenJournal {
    path: PathBuf,
    /// Held as long as the stream lives; the system gives it back when the process ends.
    _lock: File,
}

impl OpenJournal {
    /// Locks `PATH.lock`. That file stays: one who opened it before its removal would hold another
    /// file's lock.
    fn lock(path: &Path) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(PathBuf::from(name))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::Unusable {
                what: "journal",
                reason: "another stream holds it, and both would draw noise for the same block; \
                         end that stream first",
            }),
            Err(TryLockError::Error(e)) => Err(failed(e)),
        }
    }
}

fn failed(e: std::io::Error) -> Error {
    Error::Io { what: "journal", reason: e.to_string() }
}

impl PrivateStream {
    /// As [`PrivateStream::new`], with a journal: at every block end the state is written to `path`
    /// (a temporary file, flushed, then renamed, then its folder flushed) **before** the block can
    /// be released. `PATH.lock` is locked as long as the stream lives.
    ///
    /// Under `Tree`, `Factorised` and `Decayed` the file holds exact sums of the data: it is as
    /// secret as the data, and on Unix readable by its owner only. Under `Block` it holds
    /// released matrices only.
    ///
    /// # Errors
    /// As [`PrivateStream::new`]; [`Error::Io`] when the file exists already or cannot be written;
    /// [`Error::Unusable`] while another stream holds it.
    pub fn with_journal(config: StreamConfig, path: &Path) -> Result<Self> {
        let mut stream = Self::new(config)?;
        let journal = OpenJournal::lock(path)?;
        if path.exists() {
            return Err(Error::Io {
                what: "journal",
                reason: "the file exists: resume from it".into(),
            });
        }
        stream.journal = Some(journal);
        stream.write_journal()?;
        Ok(stream)
    }

    /// Takes a stream up where its journal ends. Feed the rows from
    /// [`PrivateStream::next_row`] on again: closed blocks keep the noise they were given, and the
    /// guarantee is the one of the first day.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be read; [`Error::Corrupt`] when it is truncated,
    /// altered, of another version, or does not fit this library's calibration;
    /// [`Error::Unusable`] while another stream, of this process or another, holds it.
    pub fn resume(path: &Path) -> Result<Self> {
        // A link must lead every stream to one file and one lock.
        let path = path.canonicalize().map_err(failed)?;
        let held = OpenJournal::lock(&path)?;
        let mut stream = Self::from_journal(&std::fs::read(&path).map_err(failed)?)?;
        stream.journal = Some(held);
        Ok(stream)
    }

    /// As [`PrivateStream::resume`] for the bytes of a journal; the stream writes none itself, and
    /// nothing keeps two from drawing noise for one block: to look at, not to go on. Arbitrary bytes
    /// give an error, never a panic.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn from_journal(bytes: &[u8]) -> Result<Self> {
        let journal: Journal = decode(bytes)?;
        journal.state.check_size(&journal.config)?;
        if journal.blocks_closed.checked_mul(journal.config.block).is_none() {
            return Err(Error::corrupt("it has closed more blocks than can be counted"));
        }
        let mut stream = Self::new(journal.config)?;
        if *stream.guarantee() != journal.guarantee {
            return Err(Error::corrupt("its guarantee is not what its configuration gives"));
        }
        stream.blocks_closed = journal.blocks_closed;
        stream.generator = journal.generator;
        stream.restore(journal.state)?;
        Ok(stream)
    }

    pub(super) fn write_journal(&self) -> Result<()> {
        let Some(open) = &self.journal else { return Ok(()) };
        let journal = Journal {
            config: self.config,
            guarantee: self.guarantee().clone(),
            blocks_closed: self.blocks_closed,
            generator: self.generator,
            state: self.snapshot(),
        };
        atomic_file::write(&open.path, &encode(&journal)?, Access::Owner)
            .map_err(|e| Error::Io { what: "journal", reason: e.to_string() })
    }

    fn snapshot(&self) -> State {
        let d = self.config.dim;
        match &self.engine {
            Engine::Blocks(blocks) => {
                let described = blocks.described.clone();
                let flat = |(i, m): (u64, &Mat<f64>)| (i, flat(m, d));
                let (matrices, plain) = match &blocks.kept {
                    Kept::Blocks(kept) => {
                        (kept.iter().map(|(i, m)| flat((*i, m))).collect(), Vec::new())
                    }
                    Kept::Histogram { histogram, plain } => (
                        histogram
                            .checkpoints()
                            .iter()
                            .map(|c| flat((c.start, &c.matrix)))
                            .collect(),
                        plain.iter().map(|(i, m)| flat((*i, m))).collect(),
                    ),
                };
                State::Blocks { described, matrices, plain }
            }
            Engine::Tree(tree) => State::Tree {
                open: match &tree.filling {
                    Filling::Sums { levels, .. } => {
                        levels.iter().map(|g| g.totals().to_vec()).collect()
                    }
                    Filling::Sketches(_) => Vec::new(),
                },
                nodes: tree.nodes.clone(),
                sketches: tree.open_sketches(),
            },
            Engine::Factorised { sums, .. } => {
                let (total, blocks, decayed) = match &sums.running {
                    Running::Sliding { total, blocks } => (
                        total.totals().to_vec(),
                        blocks.iter().map(|g| g.totals().to_vec()).collect(),
                        Vec::new(),
                    ),
                    Running::Decayed { total, .. } => (Vec::new(), Vec::new(), total.clone()),
                };
                State::Factorised {
                    total,
                    blocks,
                    decayed,
                    exact: sums.exact.iter().cloned().collect(),
                    noisy: sums.noisy.iter().cloned().collect(),
                }
            }
        }
    }

    fn restore(&mut self, state: State) -> Result<()> {
        let d = self.config.dim;
        let closed = self.blocks_closed;
        let first = closed.saturating_sub(self.config.window_blocks()?);
        match (&mut self.engine, state) {
            (Engine::Blocks(blocks), State::Blocks { described, matrices, plain: sums }) => {
                blocks.described = described;
                let load = |matrices: Vec<(u64, Vec<f64>)>| -> Result<Vec<(u64, Mat<f64>)>> {
                    matrices.into_iter().map(|(i, values)| Ok((i, unflat(&values, d)?))).collect()
                };
                let (loaded, sums) = (load(matrices)?, load(sums)?);
                if loaded.iter().any(|(i, _)| *i >= closed) {
                    return Err(Error::corrupt("a block lies in the future"));
                }
                let starts =
                    |of: &[(u64, Mat<f64>)]| of.iter().map(|(i, _)| *i).collect::<Vec<_>>();
                let expected = if blocks.keeps_plain_sums() { starts(&loaded) } else { Vec::new() };
                if starts(&sums) != expected {
                    return Err(Error::corrupt("its sums are not those of its checkpoints"));
                }
                match &mut blocks.kept {
                    Kept::Blocks(kept) => *kept = loaded.into(),
                    Kept::Histogram { histogram, plain } => {
                        *plain = sums;
                        let checkpoints = loaded
                            .into_iter()
                            .map(|(start, matrix)| Checkpoint { start, matrix })
                            .collect();
                        histogram.restore(checkpoints, closed.checked_sub(1));
                    }
                }
            }
            (Engine::Tree(tree), State::Tree { open, nodes, sketches }) => {
                let levels = match &mut tree.filling {
                    Filling::Sums { levels, .. } => levels.as_mut_slice(),
                    Filling::Sketches(_) => &mut [],
                };
                if open.len() != levels.len() || nodes.iter().any(|n| n.values.len() != d * d) {
                    return Err(Error::corrupt("its tree has another shape"));
                }
                for (gram, totals) in levels.iter_mut().zip(open) {
                    gram.set_totals(totals)?;
                }
                let inside = |n: &Node| {
                    let end = n.index.checked_add(1).zip(1u64.checked_shl(n.level));
                    end.and_then(|(i, width)| i.checked_mul(width)).is_some_and(|e| e <= closed)
                };
                if !nodes.iter().all(inside) {
                    return Err(Error::corrupt("a node lies in the future"));
                }
                tree.nodes = nodes;
                if tree.cover(first, closed).is_none() {
                    return Err(Error::corrupt("a block of the window is in no node"));
                }
                tree.restore_sketches(sketches)?;
            }
            (
                Engine::Factorised { sums, open },
                State::Factorised { total, blocks, decayed, exact, noisy },
            ) => {
                if exact.iter().chain(&noisy).any(|v| v.len() != d * d) {
                    return Err(Error::corrupt("its sums have another shape"));
                }
                match &mut sums.running {
                    Running::Sliding { total: running, blocks: kept } => {
                        running.set_totals(total)?;
                        for totals in blocks {
                            let mut gram = open.empty_like();
                            gram.set_totals(totals)?;
                            kept.push_back(gram);
                        }
                    }
                    Running::Decayed { total: running, .. } => {
                        if decayed.len() != d * d {
                            return Err(Error::corrupt("its sums have another shape"));
                        }
                        *running = decayed;
                    }
                }
                sums.exact = exact.into();
                sums.noisy = noisy.into();
            }
            _ => return Err(Error::corrupt("its state belongs to another schedule")),
        }
        Ok(())
    }
}

/// Magic, SHA-256 of the rest, JSON.
fn encode(journal: &Journal) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(journal).map_err(Error::corrupt)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(Sha256::digest(&text));
    bytes.extend(text);
    Ok(bytes)
}

fn decode(bytes: &[u8]) -> Result<Journal> {
    let rest =
        bytes.strip_prefix(MAGIC).ok_or_else(|| Error::corrupt("not a journal of this version"))?;
    let (digest, text) =
        rest.split_at_checked(32).ok_or_else(|| Error::corrupt("the file is truncated"))?;
    if Sha256::digest(text).as_slice() != digest {
        return Err(Error::corrupt("its checksum does not match: truncated or altered"));
    }
    serde_json::from_slice(text).map_err(Error::corrupt)
}

fn flat(m: &Mat<f64>, d: usize) -> Vec<f64> {
    (0..d * d).map(|e| m[(e / d, e % d)]).collect()
}

fn unflat(values: &[f64], d: usize) -> Result<Mat<f64>> {
    if values.len() == d * d {
        Ok(Mat::from_fn(d, d, |i, j| values[i * d + j]))
    } else {
        Err(Error::corrupt("a matrix has another size"))
    }
}
