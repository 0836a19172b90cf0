//! Thrift's compact protocol, as far as it takes to know what a Parquet file declares before its decoder believes it.

/// Kinds of fields that are looked into.
pub(crate) const STRUCT: u8 = 12;
pub(crate) const LIST: u8 = 9;
/// Deepest nesting of what is passed over.
const DEPTH: u8 = 16;

/// Reads forward; `None` where the bytes end, or are none that a writer of Parquet writes.
pub(crate) struct Thrift<'a> {
    bytes: &'a [u8],
}

impl<'a> Thrift<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len()
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(first)
    }

    fn natural(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    /// A whole number.
    pub(crate) fn whole(&mut self) -> Option<i64> {
        let value = self.natural()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn pass(&mut self, count: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    /// Hands on number and kind of every field of a struct, whose value `take` reads or [`skip`](Self::skip)s. Their
    /// numbers increase, as every writer's do: none is told twice.
    pub(crate) fn fields(
        &mut self,
        mut take: impl FnMut(&mut Self, i64, u8) -> Option<()>,
    ) -> Option<()> {
        let mut last = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            let id = match head >> 4 {
                0 => self.whole()?,
                step => last + i64::from(step),
            };
            if id <= last || id > i64::from(i16::MAX) {
                return None;
            }
            last = id;
            take(self, id, head & 15)?;
        }
    }

    /// How many elements of which kind follow. Lists of truth values are of other structs than those read here, and
    /// take no bytes where some decoders pass over them: none is read.
    pub(crate) fn list(&mut self) -> Option<(usize, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => usize::try_from(self.natural()?).ok()?,
            count => usize::from(count),
        };
        let fits = count <= self.bytes.len() && (count == 0 || head & 15 > 2);
        fits.then_some((count, head & 15))
    }

    /// Passes over a value.
    pub(crate) fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_within(kind, DEPTH)
    }

    fn skip_within(&mut self, kind: u8, depth: u8) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            1 | 2 => Some(()),
            3 => self.pass(1),
            4..=6 => self.natural().map(drop),
            7 => self.pass(8),
            8 => {
                let length = self.natural()?;
                self.pass(length)
            }
            LIST | 10 => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip_within(kind, depth))
            }
            STRUCT => self.fields(|thrift, _, kind| thrift.skip_within(kind, depth)),
            _ => None,
        }
    }
}
