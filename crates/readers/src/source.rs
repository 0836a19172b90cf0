//! Bytes of a file, gzip or not, counted on the way.

use crate::error::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far reading has come: bytes of the file, or rows.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    done: Arc<AtomicU64>,
    /// How many there are in all, where that is known.
    pub total: Option<u64>,
}

impl Meter {
    #[cfg(any(feature = "arrow", feature = "parquet"))]
    pub(crate) fn of_rows(total: Option<u64>) -> Self {
        Self { done: Arc::default(), total }
    }

    pub(crate) fn add(&self, count: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// How many are read.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

struct Counted<R> {
    source: R,
    meter: Meter,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let read = self.source.read(out)?;
        self.meter.add(read as u64);
        Ok(read)
    }
}

/// How a frame of zstd begins.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Longest window of zstd, as a power of two: so much is held of what was unpacked, whatever a frame declares.
const WINDOW: u32 = 25;

/// Frames of zstd, unpacked as they are read.
struct Zstd<B: BufRead>(zstd::Decoder<'static, B>);

impl<B: BufRead> Zstd<B> {
    fn new(bytes: B) -> std::io::Result<Self> {
        let mut frames = zstd::Decoder::with_buffer(bytes)?;
        frames.window_log_max(WINDOW)?;
        Ok(Self(frames))
    }
}

impl<B: BufRead> Read for Zstd<B> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(out).map_err(|e| {
            let most = 1 << (WINDOW - 20);
            let words = format!(
                "it begins as zstd does, and: {e}; frames of a window of at most {most} MiB are read, which zstd makes without \
                 --long and below --ultra -21"
            );
            std::io::Error::new(e.kind(), words)
        })
    }
}

/// The name of a file in small letters, without what says that it is compressed.
pub(crate) fn name_of(path: &Path) -> String {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let bare = [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end));
    bare.unwrap_or(&name).to_owned()
}

/// Bytes that readers of text and of flat binary files take.
pub(crate) type Bytes = Box<dyn BufRead + Send>;

const BUFFER: usize = 1 << 18;
/// Longest line: a few bytes of gzip may stand for a line without end.
pub(crate) const LONGEST_LINE: usize = 1 << 23;

/// What is said of a longer one.
pub(crate) fn line_too_long(most: usize) -> std::io::Error {
    let most = most >> 20;
    std::io::Error::other(format!(
        "a line is longer than {most} MiB: is this a text file of that format?"
    ))
}

/// As [`BufRead::read_line`], of at most so many bytes.
pub(crate) fn read_line(
    bytes: &mut Bytes,
    line: &mut String,
    most: usize,
) -> std::io::Result<usize> {
    let read = bytes.by_ref().take(most as u64 + 1).read_line(line)?;
    if read > most { Err(line_too_long(most)) } else { Ok(read) }
}

/// Whether a path can be read once only: standard input, a pipe, a device.
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// What the first bytes of a file say it is, and how it is read, where that is no text.
pub(crate) fn foreign(start: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 6] = [
        (b"\x93NUMPY", "an NPY array: say `format` npy"),
        (b"PAR1", "a Parquet file: say `format` parquet, or name it so"),
        (b"ARROW1", "an Arrow file: say `format` arrow, or name it so"),
        (&dp_core::release_file::MAGIC, "a release of dps, not data"),
        (b"PK\x03\x04", "a zip archive (npz, xlsx): unpack it first"),
        (&[0, 0, 8], "an IDX file: say `format` idx"),
    ];
    KNOWN.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, what)| what)
}

/// Bytes that begin with a row of so many, where the row is long; `None` where they end within it. What is made for a
/// row, before any is read, follows from its length: a header alone is not believed.
pub(crate) fn with_first_row(mut bytes: Bytes, length: u128) -> std::io::Result<Option<Bytes>> {
    let Some(length) = u64::try_from(length).ok().filter(|&length| length > BUFFER as u64) else {
        return Ok((length <= BUFFER as u128).then_some(bytes));
    };
    let mut row = Vec::new();
    let found = bytes.by_ref().take(length).read_to_end(&mut row)?;
    let all = std::io::Cursor::new(row).chain(bytes);
    Ok((found as u64 == length).then(|| Box::new(all) as Bytes))
}

/// What is said where it is not there.
pub(crate) const NO_ROW: &str = "its header declares rows that are longer than all it holds";

/// Opens a file (`-`: standard input); gzip and zstd are recognised by their first bytes.
pub(crate) fn open(path: &Path) -> Result<(Bytes, Meter)> {
    let failed = |e| Error::io(path, e);
    let (source, total): (Box<dyn Read + Send>, _) = if path.as_os_str() == "-" {
        (Box::new(std::io::stdin()), None)
    } else {
        let file = File::open(path).map_err(failed)?;
        let total = file.metadata().map_err(failed)?.len();
        (Box::new(file), Some(total))
    };
    counted(source, total).map_err(failed)
}

/// Bytes with their meter; gzip and zstd are recognised by their first bytes.
pub(crate) fn counted(
    source: Box<dyn Read + Send>,
    total: Option<u64>,
) -> std::io::Result<(Bytes, Meter)> {
    let meter = Meter { done: Arc::default(), total };
    let counted = Counted { source, meter: meter.clone() };
    let mut bytes = BufReader::with_capacity(BUFFER, counted);
    let start = bytes.fill_buf()?;
    let bytes: Bytes = if start.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(bytes)))
    } else if start.starts_with(&ZSTD) {
        Box::new(BufReader::with_capacity(BUFFER, Zstd::new(bytes)?))
    } else {
        Box::new(bytes)
    };
    Ok((bytes, meter))
}
