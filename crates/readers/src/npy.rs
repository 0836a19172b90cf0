//! NumPy arrays: n x d in C order.

use crate::block::{Block, Input, RowReader, Values, block_rows};
use crate::error::{DataError, Error, Result};
use crate::options::{EXACT, INEXACT, NOT_FINITE, Numbers, RowsFile};
use crate::source::{Bytes, Meter, NO_ROW, with_first_row};
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar};
use std::io::{ErrorKind, Read};
use std::path::PathBuf;

struct NpyRows {
    bytes: Bytes,
    left: u64,
    d: usize,
    element: Element,
    /// Whether numbers of single precision are used as they lie there: where no map is to make others of them.
    single: bool,
    numbers: Numbers,
    path: PathBuf,
    /// Whole elements as they lie in the file.
    raw: Vec<u8>,
    records: u64,
}

/// Elements read at a time. Their bytes are more than the buffer of the file holds, which is then
/// passed by.
const READ: usize = 1 << 16;
/// Elements decoded and checked at a time, within the first cache.
const DECODED: usize = 1 << 10;

/// Type of an element, in the order of bytes of the file.
#[derive(Clone, Copy)]
struct Element {
    kind: TypeChar,
    bytes: usize,
    big_endian: bool,
}

/// Longest header.
const LONGEST_HEADER: u32 = 1 << 20;

pub(crate) fn open(options: &RowsFile, (mut bytes, meter): (Bytes, Meter)) -> Result<Input> {
    let not_npy = |e: std::io::Error| options.malformed(format!("not an NPY file: {e}"));
    let mut start = [0; 12];
    bytes.read_exact(&mut start).map_err(not_npy)?;
    // From version 2 on four bytes say how long the header is: memory is taken for it at once.
    let declared = u32::from_le_bytes([start[8], start[9], start[10], start[11]]);
    if start[6] >= 2 && declared > LONGEST_HEADER {
        return Err(options.malformed("not an NPY file: its header is longer than 1 MiB"));
    }
    let header = NpyHeader::from_reader(start.as_slice().chain(&mut bytes)).map_err(not_npy)?;
    let &[n, d] = header.shape() else {
        let dimensions = header.shape().len();
        return Err(options.malformed(format!(
            "the array has {dimensions} dimensions; rows need two (numpy: x.reshape(len(x), -1))"
        )));
    };
    if header.order() != Order::C && n > 1 && d > 1 {
        return Err(options.malformed(
            "the array is stored column after column; store it row after row \
             (numpy: numpy.ascontiguousarray)",
        ));
    }
    let element = Element::of(&header).ok_or_else(|| {
        let found = header.dtype().descr();
        options.malformed(format!(
            "elements of type {found} are not numbers this reads; store float32, float64 or integers"
        ))
    })?;
    let d = usize::try_from(d).ok().filter(|&d| d < 1 << 32);
    let d = d.ok_or_else(|| options.malformed("rows are too long"))?;
    let bytes = with_first_row(bytes, d as u128 * element.bytes as u128);
    let bytes = bytes.map_err(|e| Error::io(&options.path, e))?;
    let bytes = bytes.ok_or_else(|| options.malformed(NO_ROW))?;
    let rows = NpyRows {
        bytes,
        left: n,
        d,
        element,
        single: element.is_single() && options.divide == 1.0 && options.preprocess.is_none(),
        numbers: Numbers::of(options),
        path: options.path.clone(),
        raw: vec![0; READ * element.bytes],
        records: 0,
    };
    Ok(Input { rows: Box::new(rows), meter, columns: None, preprocessing: None })
}

impl Element {
    fn of(header: &NpyHeader) -> Option<Self> {
        let DType::Plain(ty) = header.dtype() else { return None };
        let bytes = ty.num_bytes()?;
        let kind = ty.type_char();
        let known = match kind {
            TypeChar::Float => matches!(bytes, 4 | 8),
            TypeChar::Int | TypeChar::Uint => matches!(bytes, 1 | 2 | 4 | 8),
            TypeChar::Bool => bytes == 1,
            _ => false,
        };
        known.then_some(Self { kind, bytes, big_endian: ty.endianness() == Endianness::Big })
    }

    /// Whether it is of single precision.
    fn is_single(self) -> bool {
        matches!((self.kind, self.bytes), (TypeChar::Float, 4))
    }

    /// The first of these elements that is a whole number and is rounded as `f64`.
    fn inexact(self, bytes: &[u8]) -> Option<usize> {
        if self.bytes != 8 {
            return None;
        }
        let big = self.big_endian;
        let number =
            |b: &[u8; 8]| if big { u64::from_be_bytes(*b) } else { u64::from_le_bytes(*b) };
        let mut elements = bytes.as_chunks().0.iter().map(number);
        match self.kind {
            TypeChar::Int => elements.position(|v| v.cast_signed().unsigned_abs() > EXACT),
            TypeChar::Uint => elements.position(|v| v > EXACT),
            _ => None,
        }
    }

    /// Adds the numbers behind whole elements of single precision.
    fn decode_single(self, bytes: &[u8], out: &mut Vec<f32>) {
        let elements = bytes.as_chunks().0.iter();
        if self.big_endian {
            out.extend(elements.map(|b| f32::from_be_bytes(*b)));
        } else {
            out.extend(elements.map(|b| f32::from_le_bytes(*b)));
        }
    }

    /// Adds the numbers behind whole elements.
    fn decode(self, bytes: &[u8], out: &mut Vec<f64>) {
        macro_rules! numbers {
            ($type:ty) => {{
                let (elements, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
                if self.big_endian {
                    out.extend(elements.iter().map(|b| <$type>::from_be_bytes(*b) as f64));
                } else {
                    out.extend(elements.iter().map(|b| <$type>::from_le_bytes(*b) as f64));
                }
            }};
        }
        match (self.kind, self.bytes) {
            (TypeChar::Float, 8) => numbers!(f64),
            (TypeChar::Float, _) => numbers!(f32),
            (TypeChar::Int, 1) => numbers!(i8),
            (TypeChar::Int, 2) => numbers!(i16),
            (TypeChar::Int, 4) => numbers!(i32),
            (TypeChar::Int, _) => numbers!(i64),
            (TypeChar::Uint, 2) => numbers!(u16),
            (TypeChar::Uint, 4) => numbers!(u32),
            (TypeChar::Uint, 8) => numbers!(u64),
            _ => numbers!(u8),
        }
    }
}

impl NpyRows {
    /// Reads, decodes and checks so many elements.
    fn read<T>(
        &mut self,
        mut left: usize,
        mut values: Vec<T>,
        decode: impl Fn(Element, &[u8], &mut Vec<T>),
        check: impl Fn(Numbers, &mut [T]) -> Result<(), (usize, &'static str)>,
    ) -> Result<Vec<T>> {
        while left > 0 {
            let count = left.min(READ);
            let raw = &mut self.raw[..count * self.element.bytes];
            self.bytes.read_exact(raw).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => {
                    DataError::of(&self.path, "the file ends before its last row").into()
                }
                _ => Error::io(&self.path, e),
            })?;
            for part in raw.chunks(DECODED * self.element.bytes) {
                let from = values.len();
                let refused = |at: usize, rule: &str| DataError {
                    file: self.path.clone(),
                    column: Some(format!("column {}", (from + at) % self.d + 1)),
                    rule: rule.into(),
                    record: Some(self.records + ((from + at) / self.d) as u64 + 1),
                };
                if let Some(at) = self.element.inexact(part) {
                    return Err(refused(at, INEXACT).into());
                }
                decode(self.element, part, &mut values);
                check(self.numbers, &mut values[from..])
                    .map_err(|(at, _)| refused(at, NOT_FINITE))?;
            }
            left -= count;
        }
        Ok(values)
    }
}

impl RowReader for NpyRows {
    fn d(&self) -> usize {
        self.d
    }

    fn next(&mut self, used: Block) -> Result<Option<Block>> {
        // As many bytes whatever the precision.
        let rows = block_rows(self.d) << u32::from(self.single);
        let n = (rows as u64).min(self.left) as usize;
        if n == 0 {
            return match self.bytes.fill_buf().map_err(|e| Error::io(&self.path, e))? {
                [] => Ok(None),
                _ => Err(DataError::of(&self.path, "bytes follow the array's last element").into()),
            };
        }
        let count = n * self.d;
        let values = if self.single {
            let check =
                |numbers: Numbers, all: &mut [f32]| numbers.refuse_others(all, |v| v as f32);
            Values::Single(self.read(count, used.into_single(), Element::decode_single, check)?)
        } else {
            Values::Dense(self.read(
                count,
                used.into_memory(),
                Element::decode,
                Numbers::all_finite,
            )?)
        };
        self.left -= n as u64;
        self.records += n as u64;
        Ok(Some(Block { n, values }))
    }
}
