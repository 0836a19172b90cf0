//! Parquet files by hand: one column of whole numbers of 32 bits, and whatever else a forger declares.

/// Thrift's compact protocol.
#[derive(Default)]
struct Out(Vec<u8>);

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Out {
    fn natural(&mut self, mut n: u64) {
        while n >= 128 {
            self.0.push(n as u8 | 128);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// The head of a field, so many numbers after the last.
    fn field(&mut self, step: u8, kind: u8) {
        self.0.push(step << 4 | kind);
    }

    fn whole(&mut self, step: u8, kind: u8, n: u64) {
        self.field(step, kind);
        self.natural(n << 1);
    }

    fn name(&mut self, step: u8, name: &str) {
        self.field(step, BINARY);
        self.natural(name.len() as u64);
        self.0.extend(name.as_bytes());
    }

    fn list(&mut self, step: u8, kind: u8, count: usize) {
        self.field(step, LIST);
        self.0.push(15 << 4 | kind);
        self.natural(count as u64);
    }

    fn stop(&mut self) {
        self.0.push(0);
    }
}

/// A page, and what its header says of it.
pub(crate) struct Page {
    pub(crate) dictionary: bool,
    pub(crate) values: u64,
    pub(crate) unpacked: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Page {
    pub(crate) fn data(bytes: &[u8]) -> Self {
        Self { dictionary: false, values: 4, unpacked: bytes.len() as u64, bytes: bytes.to_vec() }
    }

    fn write(&self, out: &mut Out) {
        out.whole(1, I32, if self.dictionary { 2 } else { 0 });
        out.whole(1, I32, self.unpacked);
        out.whole(1, I32, self.bytes.len() as u64);
        out.field(if self.dictionary { 4 } else { 2 }, STRUCT);
        out.whole(1, I32, self.values);
        out.whole(1, I32, 0);
        if !self.dictionary {
            out.whole(1, I32, 3);
            out.whole(1, I32, 3);
        }
        out.stop();
        out.stop();
        out.0.extend(&self.bytes);
    }
}

/// A file of four rows.
pub(crate) struct File {
    pub(crate) codec: u64,
    pub(crate) pages: Vec<Page>,
    /// Groups of columns within each other, around the column.
    pub(crate) nested: usize,
    /// Columns in all: the others are the first one under another name.
    pub(crate) columns: usize,
    /// Row groups without rows before the one that holds them.
    pub(crate) empty_groups: usize,
    /// What ends the footer.
    pub(crate) rest: Vec<u8>,
}

impl File {
    pub(crate) fn new() -> Self {
        Self { codec: 0, pages: Vec::new(), nested: 0, columns: 1, empty_groups: 0, rest: vec![0] }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Out(b"PAR1".to_vec());
        self.pages.iter().for_each(|page| page.write(&mut out));
        let pages = out.0.len() as u64 - 4;
        out.whole(1, I32, 1);
        out.list(1, STRUCT, self.nested + 1 + self.columns);
        for i in 0..=self.nested {
            out.name(4, "x");
            out.whole(1, I32, if i == self.nested { self.columns as u64 } else { 1 });
            out.stop();
        }
        for i in 0..self.columns {
            out.whole(1, I32, 1);
            out.whole(2, I32, 0);
            out.name(1, &format!("x{i}"));
            out.stop();
        }
        out.whole(1, I64, 4);
        out.list(1, STRUCT, self.empty_groups + 1);
        for _ in 0..self.empty_groups {
            out.list(1, STRUCT, 0);
            out.whole(1, I64, 0);
            out.whole(1, I64, 0);
            out.stop();
        }
        out.list(1, STRUCT, self.columns);
        (0..self.columns).for_each(|i| self.chunk(&mut out, pages, &format!("x{i}")));
        out.whole(1, I64, pages);
        out.whole(1, I64, 4);
        out.stop();
        out.0.extend(&self.rest);
        let length = out.0.len() as u64 - 4 - pages;
        out.0.extend((length as u32).to_le_bytes());
        out.0.extend(b"PAR1");
        out.0
    }

    fn chunk(&self, out: &mut Out, pages: u64, name: &str) {
        out.whole(2, I64, 4);
        out.field(1, STRUCT);
        out.whole(1, I32, 1);
        out.list(1, I32, 1);
        out.natural(0);
        out.list(1, BINARY, 1);
        out.natural(name.len() as u64);
        out.0.extend(name.as_bytes());
        out.whole(1, I32, self.codec);
        out.whole(1, I64, 4);
        out.whole(1, I64, pages);
        out.whole(1, I64, pages);
        out.whole(2, I64, 4);
        out.stop();
        out.stop();
    }
}
