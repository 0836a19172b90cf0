//! Rows and sets on their way to a release: of a whole file, or of a block.

use super::common::{Progress, check_input, check_rereadable, each_block, progress};
use crate::error::{Error, Result, shown};
use crate::input::{InputOptions, ItemOptions};
use dp_core::parts::{Content, ContentHash, ReleaseKey};
use dp_core::release_file::RowIds;
use readers::{Block, Input, Limits};
use sketch::RowsView;
use sketch::sets::{ItemSet, SetNeighbours};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Where rows or sets come from.
pub(crate) enum Source<'a> {
    /// Rows of numbers; the file is open already.
    Rows {
        options: &'a InputOptions,
        open: RefCell<Option<Input>>,
        limits: Limits,
        read: Cell<usize>,
    },
    /// Sets of items.
    Sets { options: &'a ItemOptions, neighbours: Option<SetNeighbours> },
}

/// Some rows or sets.
pub(crate) enum Batch<'a> {
    Rows(RowsView<'a>),
    Sets(&'a [ItemSet]),
}

type Take<'t> = &'t mut dyn FnMut(Batch<'_>) -> Result<()>;

impl<'a> Source<'a> {
    pub(crate) fn rows(options: &'a InputOptions, open: Input, limits: Limits) -> Self {
        Self::Rows { options, open: RefCell::new(Some(open)), limits, read: Cell::new(0) }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Rows { options, .. } => &options.input,
            Self::Sets { options, .. } => &options.input,
        }
    }

    /// What its rows are called, once they are read.
    pub(super) fn ids(&self) -> Option<Arc<Mutex<RowIds>>> {
        match self {
            Self::Rows { options, .. } => options.ids(),
            Self::Sets { options, .. } => options.ids(),
        }
    }

    /// Refuses what does not go with parts.
    pub(super) fn check_parts(&self) -> Result<()> {
        let more = match self {
            Self::Rows { options, .. } => !options.more.is_empty(),
            Self::Sets { options, .. } => !options.more.is_empty() || options.keeps_ids(),
        };
        if more || self.ids().is_some() {
            return Err(Error::usage(
                "a release in parts reads one file and keeps no ids: leave --keep-id out, and put the files together first",
            ));
        }
        check_rereadable(self.path(), "a release in parts")
    }

    /// Reads everything against its limits without keeping it.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Rows { options, limits, read, .. } => {
                read.set(check_input(options, limits)?);
                Ok(())
            }
            Self::Sets { options, .. } => {
                for path in [&options.input].into_iter().chain(&options.more) {
                    check_rereadable(path, "a dry run")?;
                }
                self.each(&mut |_| Ok(()))
            }
        }
    }

    /// How many rows the last reading of a whole file of rows found.
    pub(super) fn rows_read(&self) -> usize {
        match self {
            Self::Rows { read, .. } => read.get(),
            Self::Sets { .. } => 0,
        }
    }

    /// Hands everything on, in batches.
    fn each(&self, take: Take<'_>) -> Result<()> {
        match self {
            Self::Rows { options, open, limits, read } => {
                let input = match open.borrow_mut().take() {
                    Some(input) => input,
                    None => options.open()?,
                };
                let d = input.rows.d();
                let take = |block: &Block| take(Batch::Rows(block.view(d)?));
                read.set(each_block(input, limits.clone(), take)?);
                options.check_ids()
            }
            Self::Sets { options, neighbours } => {
                let mut bar = None;
                options.each(|path, before, sets, meter| {
                    if let Some(neighbours) = neighbours {
                        let named = |e| Error::from(e).after(before).in_file(path);
                        neighbours.check(sets).map_err(named)?;
                    }
                    take(Batch::Sets(sets))?;
                    if before == 0 {
                        bar = Some(progress(meter));
                    }
                    bar.iter().for_each(Progress::show);
                    Ok(())
                })
            }
        }
    }

    /// Reads block after block: `size` says how many rows the next one has, nothing where none is expected. Those that are
    /// `wanted` go to `take`.
    pub(super) fn blocks(
        &self,
        size: impl Fn(usize) -> Option<u64>,
        wanted: impl Fn(usize) -> bool,
        mut take: impl FnMut(usize, &Held) -> Result<()>,
    ) -> Result<()> {
        let (mut index, mut rows, mut held) = (0, 0, Held::default());
        self.each(&mut |batch| {
            let mut done = 0;
            while done < batch.len() {
                let size = size(index).ok_or_else(|| self.changed())?;
                let left = usize::try_from(size - rows).unwrap_or(usize::MAX);
                let end = batch.len().min(done.saturating_add(left));
                if wanted(index) {
                    held.add(&batch, done..end);
                }
                rows += (end - done) as u64;
                done = end;
                if rows == size {
                    if wanted(index) {
                        take(index, &held)?;
                        held.clear();
                    }
                    (index, rows) = (index + 1, 0);
                }
            }
            Ok(())
        })?;
        if rows > 0 && wanted(index) {
            take(index, &held)?;
        }
        Ok(())
    }

    pub(super) fn changed(&self) -> Error {
        Error::Refused(format!(
            "{} holds other rows than when the manifest was made: make a new one, which spends the budget again",
            shown(self.path())
        ))
    }
}

impl Batch<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.n(),
            Self::Sets(sets) => sets.len(),
        }
    }
}

/// A block in memory.
#[derive(Default)]
pub(crate) struct Held {
    d: usize,
    values: Vec<f64>,
    sets: Vec<ItemSet>,
}

impl Held {
    fn add(&mut self, batch: &Batch<'_>, range: std::ops::Range<usize>) {
        match batch {
            Batch::Rows(rows) => {
                self.d = rows.d();
                for row in range {
                    let from = self.values.len();
                    self.values.resize(from + self.d, 0.0);
                    rows.copy_row(row, &mut self.values[from..]);
                }
            }
            Batch::Sets(sets) => self.sets.extend_from_slice(&sets[range]),
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.sets.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.sets.len() + self.values.len().checked_div(self.d).unwrap_or(0)
    }

    pub(super) fn content(&self, key: &ReleaseKey, index: usize) -> Content {
        let hash = ContentHash::new(key, index);
        if self.sets.is_empty() {
            hash.rows(self.len(), self.d, &self.values)
        } else {
            hash.sets(self.len(), self.sets.iter().map(ItemSet::items))
        }
    }

    fn each(&self, take: Take<'_>) -> Result<()> {
        if self.sets.is_empty() {
            take(Batch::Rows(RowsView::f64(self.len(), self.d, &self.values)?))
        } else {
            take(Batch::Sets(&self.sets))
        }
    }
}

/// What one release is made of: a whole file, a block, or nothing.
pub(crate) enum Feed<'a> {
    Whole(&'a Source<'a>),
    Block(&'a Held),
    Nothing,
}

impl Feed<'_> {
    fn each(&self, take: Take<'_>) -> Result<()> {
        match self {
            Self::Whole(source) => source.each(take),
            Self::Block(held) => held.each(take),
            Self::Nothing => Ok(()),
        }
    }

    /// Hands its rows on.
    pub(crate) fn rows(&self, mut take: impl FnMut(RowsView<'_>) -> Result<()>) -> Result<()> {
        self.each(&mut |batch| match batch {
            Batch::Rows(rows) => take(rows),
            Batch::Sets(_) => Ok(()),
        })
    }

    /// Hands its sets on.
    pub(crate) fn sets(&self, mut take: impl FnMut(&[ItemSet]) -> Result<()>) -> Result<()> {
        self.each(&mut |batch| match batch {
            Batch::Sets(sets) => take(sets),
            Batch::Rows(_) => Ok(()),
        })
    }
}

impl Source<'_> {
    /// Rows of about 32 MiB.
    pub(super) fn block_rows(&self) -> u64 {
        match self {
            Self::Rows { open, .. } => {
                let d = open.borrow().as_ref().map_or(1, |input| input.rows.d());
                ((1u64 << 22) / d.max(1) as u64).clamp(1, 1 << 16)
            }
            Self::Sets { .. } => 1 << 14,
        }
    }
}
