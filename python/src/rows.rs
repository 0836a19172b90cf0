//! Rows and sets from Python, as the libraries read them. What is no plain array was made one by `dps._rows`.

use crate::error::{Fault, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float64Array, OffsetSizeTrait, RecordBatch, RecordBatchReader};
use arrow_schema::DataType;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{
    PyException, PyImportError, PyKeyboardInterrupt, PyMemoryError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyInt, PyString, PyTuple};
use pyo3_arrow::input::AnyRecordBatch;
use rayon::prelude::*;
use sketch::RowsView;
use sketch::rows::{CsrView, Incoming, Storage};
use sketch::sets::ItemSet;
use std::sync::Arc;

/// Rows as they came, borrowed from Python.
pub(crate) enum Rows<'py> {
    F64(PyReadonlyArray2<'py, f64>),
    F32(PyReadonlyArray2<'py, f32>),
    U8(PyReadonlyArray2<'py, u8>),
    Csr(Csr<'py>),
    /// And how many rows are expected, where that is known without work.
    Batches(AnyRecordBatch, usize),
}

pub(crate) struct Csr<'py> {
    shape: (usize, usize),
    offsets: PyReadonlyArray1<'py, usize>,
    columns: PyReadonlyArray1<'py, u32>,
    values: PyReadonlyArray1<'py, f64>,
}

/// Rows without Python, for work that other threads of Python do not wait for.
pub(crate) enum Source<'a> {
    View(RowsView<'a>),
    Batches(Box<dyn RecordBatchReader + Send>, usize),
}

fn slice_error(_: impl core::fmt::Debug) -> Fault {
    Fault::Data("rows must be an aligned array in C order".into())
}

impl<'py> Rows<'py> {
    /// What `dps._rows.prepared` returned: an array, a tuple of CSR's parts, or a producer of Arrow batches.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> Result<Self> {
        if let Ok(array) = object.extract() {
            return Ok(Self::F64(array));
        }
        if let Ok(array) = object.extract() {
            return Ok(Self::F32(array));
        }
        if let Ok(array) = object.extract() {
            return Ok(Self::U8(array));
        }
        if object.is_instance_of::<PyTuple>() {
            let (n, d, offsets, columns, values) = object.extract()?;
            return Ok(Self::Csr(Csr { shape: (n, d), offsets, columns, values }));
        }
        let batches = object.extract::<AnyRecordBatch>();
        let batches = batches.map_err(|error| unread(object.py(), error))?;
        Ok(Self::Batches(batches, expected(object).unwrap_or(0)))
    }

    /// A view, where rows lie in one piece.
    pub(crate) fn source<'a>(self, held: &'a mut Option<Self>) -> Result<Source<'a>> {
        if let Self::Batches(batches, expected) = self {
            return Ok(Source::Batches(batches.into_reader()?, expected));
        }
        let view = held.insert(self).view()?;
        if view.n() == 0 { Err(nothing()) } else { Ok(Source::View(view)) }
    }

    fn view(&self) -> Result<RowsView<'_>> {
        Ok(match self {
            Self::F64(a) => {
                let [n, d] = [a.shape()[0], a.shape()[1]];
                RowsView::f64(n, d, a.as_slice().map_err(slice_error)?)?
            }
            Self::F32(a) => {
                let [n, d] = [a.shape()[0], a.shape()[1]];
                RowsView::f32(n, d, a.as_slice().map_err(slice_error)?)?
            }
            Self::U8(a) => {
                let [n, d] = [a.shape()[0], a.shape()[1]];
                RowsView::u8(n, d, a.as_slice().map_err(slice_error)?)?
            }
            Self::Csr(csr) => {
                let (n, d) = csr.shape;
                let view = CsrView {
                    offsets: csr.offsets.as_slice().map_err(slice_error)?,
                    columns: csr.columns.as_slice().map_err(slice_error)?,
                    values: csr.values.as_slice().map_err(slice_error)?,
                };
                RowsView::csr(n, d, view)?
            }
            Self::Batches(..) => return Err(Fault::Data("batches are no array".into())),
        })
    }
}

/// A stream that fails; Ctrl-C while Python makes a batch comes as its words, which are not repeated: they may quote values.
fn broken(words: &str) -> Fault {
    if words.contains("KeyboardInterrupt") {
        return PyKeyboardInterrupt::new_err(()).into();
    }
    Fault::Data(
        "the Arrow stream broke off: its producer failed; read it once by itself to see why".into(),
    )
}

/// What a producer raises before its first batch, which may quote values too.
fn unread(py: Python<'_>, error: PyErr) -> Fault {
    let passes = !error.is_instance_of::<PyException>(py)
        || error.is_instance_of::<PyMemoryError>(py)
        || error.is_instance_of::<PyImportError>(py);
    if passes { error.into() } else { broken("") }
}

/// The rows of a table that lies in memory; other producers may have to run to count theirs.
fn expected(object: &Bound<'_, PyAny>) -> Option<usize> {
    if let Ok(rows) = object.getattr("num_rows") {
        return rows.extract().ok();
    }
    object.hasattr("__dataframe__").ok().filter(|&frame| frame).and_then(|_| object.len().ok())
}

/// No budget is spent where there is no data.
pub(crate) fn nothing() -> Fault {
    Fault::Data("there is no row: nothing was released".into())
}

/// Rows that are handed on at a time.
const PART: usize = 8192;

/// Numbers that are laid row after row at a time: 16 MiB.
const NUMBERS: usize = 1 << 21;

/// Rows that are written together.
const STRIP: usize = 64;

/// Rows part by part.
fn each_part(
    rows: Incoming<'_>,
    asked: &mut dyn FnMut(usize) -> Result<()>,
    take: &mut dyn FnMut(Incoming<'_>) -> Result<()>,
) -> Result<()> {
    for first in (0..rows.n()).step_by(PART) {
        asked(first)?;
        let part = rows.slice(first..rows.n().min(first + PART));
        take(part).map_err(|e| e.offset_row(first))?;
    }
    Ok(())
}

/// Refuses rows of another d.
pub(crate) fn check_width(rows: &Incoming<'_>, d: usize) -> Result<()> {
    if rows.d() == d {
        return Ok(());
    }
    let what = "the number of features";
    Err(sketch::Error::Shape { what, expected: d, found: rows.d() }.into())
}

impl Source<'_> {
    /// Rows, as far as they are known before.
    pub(crate) fn expected(&self) -> usize {
        match self {
            Self::View(view) => view.n(),
            Self::Batches(_, expected) => *expected,
        }
    }

    /// Hands every part to `take`; `asked` is asked before each, with the rows done and all, where known.
    pub(crate) fn each(
        self,
        asked: &mut dyn FnMut(usize, usize) -> Result<()>,
        take: &mut dyn FnMut(Incoming<'_>) -> Result<()>,
    ) -> Result<usize> {
        match self {
            Self::View(view) => {
                each_part(view.into(), &mut |done| asked(done, view.n()), take)?;
                Ok(view.n())
            }
            Self::Batches(batches, _) => {
                let (mut done, mut d) = (0, None);
                for batch in batches {
                    let batch = batch.map_err(|e| broken(&e.to_string()))?;
                    asked(done, 0)?;
                    with_batch(&batch, &mut |rows| {
                        check_width(&rows, *d.get_or_insert(rows.d()))?;
                        each_part(rows, &mut |first| asked(done + first, 0), take)
                    })
                    .map_err(|e| e.offset_row(done))?;
                    done += batch.num_rows();
                }
                if done == 0 { Err(nothing()) } else { Ok(done) }
            }
        }
    }

    /// All rows in one piece.
    pub(crate) fn whole<T>(
        self,
        asked: &mut dyn FnMut(usize, usize) -> Result<()>,
        take: impl FnOnce(RowsView<'_>) -> Result<T>,
    ) -> Result<T> {
        let source = match self {
            Self::View(view) => return take(view),
            source => source,
        };
        let (mut values, mut d) = (Vec::new(), 0);
        let n = source.each(asked, &mut |rows| {
            d = rows.d();
            append(&rows.check()?, &mut values);
            Ok(())
        })?;
        take(RowsView::f64(n, d, &values)?)
    }
}

/// Appends rows as `f64`, row after row.
pub(crate) fn append(rows: &RowsView<'_>, values: &mut Vec<f64>) {
    let (n, d) = (rows.n(), rows.d());
    let first = values.len();
    values.resize(first + n * d, 0.0);
    values[first..].par_chunks_mut(STRIP * d).enumerate().for_each(|(strip, out)| {
        rows.copy_block(strip * STRIP, 0, d, out);
    });
}

/// Rows as slices of `f64`, row after row: where they lie, or through `room`.
pub(crate) fn each_slice(
    rows: &RowsView<'_>,
    room: &mut Vec<f64>,
    take: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<()> {
    if let Storage::F64(values) = rows.storage() {
        return take(values);
    }
    let part = (NUMBERS / rows.d()).max(STRIP);
    for first in (0..rows.n()).step_by(part) {
        room.clear();
        append(&rows.slice(first..rows.n().min(first + part)), room);
        take(room)?;
    }
    Ok(())
}

fn refuse_nulls(column: &dyn Array) -> Result<()> {
    match column.logical_null_count() {
        0 => Ok(()),
        _ => Err(Fault::Data("a column has missing values: fill them before the release".into())),
    }
}

/// Rows of one batch, where they lie: a column of lists of equal length, or one column of numbers a feature.
fn with_batch(batch: &RecordBatch, take: &mut dyn FnMut(Incoming<'_>) -> Result<()>) -> Result<()> {
    let n = batch.num_rows();
    if n == 0 {
        return Ok(());
    }
    for column in batch.columns() {
        refuse_nulls(column.as_ref())?;
    }
    if let [column] = batch.columns()
        && let Some((values, d)) = of_lists(column)?
    {
        refuse_nulls(values.as_ref())?;
        return match values.data_type() {
            DataType::Float64 => {
                take(RowsView::f64(n, d, values.as_primitive::<Float64Type>().values())?.into())
            }
            DataType::Float32 => {
                take(RowsView::f32(n, d, values.as_primitive::<Float32Type>().values())?.into())
            }
            _ => {
                let values = numbers(&values, batch.schema_ref().field(0).name())?;
                take(RowsView::f64(n, d, values.as_primitive::<Float64Type>().values())?.into())
            }
        };
    }
    let columns = batch.columns().iter().zip(batch.schema_ref().fields());
    let columns =
        columns.map(|(column, field)| numbers(column, field.name())).collect::<Result<Vec<_>>>()?;
    let columns: Vec<&[f64]> =
        columns.iter().map(|c| c.as_primitive::<Float64Type>().values().as_ref()).collect();
    if columns.is_empty() {
        return Err(Fault::Data("a table without a column holds no rows".into()));
    }
    take(Incoming::columns(n, &columns)?)
}

/// Up to here every whole number is a `f64`.
const EXACT: u64 = 1 << 53;

/// Refuses whole numbers that are rounded as `f64`, as `dps._rows` does of arrays.
fn exact<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    name: &str,
    size: impl Fn(T::Native) -> u64,
) -> Result<()> {
    if column.as_primitive::<T>().values().iter().any(|&x| size(x) > EXACT) {
        return Err(Fault::Data(format!(
            "column {name:?}: whole numbers beyond 2^53 are not exact as float64: scale them first"
        )));
    }
    Ok(())
}

/// A column, which lacks no value, as `f64`.
fn numbers(column: &ArrayRef, name: &str) -> Result<ArrayRef> {
    use DataType as T;
    Ok(match column.data_type() {
        T::Float64 => column.clone(),
        T::Float32 => widened::<Float32Type>(column, f64::from),
        T::Float16 => widened::<Float16Type>(column, f64::from),
        T::Int8 => widened::<Int8Type>(column, f64::from),
        T::Int16 => widened::<Int16Type>(column, f64::from),
        T::Int32 => widened::<Int32Type>(column, f64::from),
        T::Int64 => {
            exact::<Int64Type>(column, name, i64::unsigned_abs)?;
            widened::<Int64Type>(column, |x| x as f64)
        }
        T::UInt8 => widened::<UInt8Type>(column, f64::from),
        T::UInt16 => widened::<UInt16Type>(column, f64::from),
        T::UInt32 => widened::<UInt32Type>(column, f64::from),
        T::UInt64 => {
            exact::<UInt64Type>(column, name, |x| x)?;
            widened::<UInt64Type>(column, |x| x as f64)
        }
        T::Boolean => {
            let bits = column.as_boolean().values().iter();
            Arc::new(Float64Array::from_iter_values(bits.map(f64::from)))
        }
        other => {
            return Err(Fault::Data(format!(
                "a column of type {other} holds no numbers: leave it out, or make numbers of it"
            )));
        }
    })
}

fn widened<T: ArrowPrimitiveType>(column: &ArrayRef, wide: impl Fn(T::Native) -> f64) -> ArrayRef {
    Arc::new(column.as_primitive::<T>().unary::<_, Float64Type>(wide))
}

/// Values and length of lists that are all of one length.
fn of_lists(column: &ArrayRef) -> Result<Option<(ArrayRef, usize)>> {
    if let Some(lists) = column.as_fixed_size_list_opt() {
        let d = lists.value_length() as usize;
        let first = lists.value_offset(0) as usize;
        return Ok(Some((lists.values().slice(first, lists.len() * d), d)));
    }
    if column.as_list_opt::<i32>().is_some() {
        return equal_lists::<i32>(column).map(Some);
    }
    if column.as_list_opt::<i64>().is_some() {
        return equal_lists::<i64>(column).map(Some);
    }
    Ok(None)
}

fn equal_lists<O: OffsetSizeTrait>(column: &ArrayRef) -> Result<(ArrayRef, usize)> {
    let lists = column.as_list::<O>();
    let offsets: Vec<usize> = lists.value_offsets().iter().map(|o| o.as_usize()).collect();
    let d = offsets[1] - offsets[0];
    if offsets.windows(2).any(|w| w[1] - w[0] != d) {
        return Err(Fault::Data("lists of different lengths are no rows".into()));
    }
    Ok((lists.values().slice(offsets[0], lists.len() * d), d))
}

/// Sets: an iterable of iterables of words or of whole numbers.
pub(crate) fn sets(object: &Bound<'_, PyAny>) -> Result<Vec<ItemSet>> {
    let mut sets = Vec::new();
    let mut kind = None;
    for (at, set) in object.try_iter()?.enumerate() {
        sets.push(one_set(&set?, at, &mut kind)?);
    }
    Ok(sets)
}

/// One set; words and numbers are never mixed, as the word `7` and the number 7 are different items.
fn one_set(set: &Bound<'_, PyAny>, at: usize, kind: &mut Option<bool>) -> Result<ItemSet> {
    let whole_thing = [
        (set.is_instance_of::<PyString>(), "a str", "split it first"),
        (set.is_instance_of::<PyBytes>(), "bytes", "split it first"),
        (set.is_instance_of::<PyByteArray>(), "a bytearray", "split it first"),
        (set.is_instance_of::<PyDict>(), "a dict", "say which of its values are the items"),
    ];
    if let Some((_, what, way)) = whole_thing.into_iter().find(|(is, ..)| *is) {
        let why = format!("set {at} is {what}: a set is an iterable of items; {way}");
        return Err(PyTypeError::new_err(why).into());
    }
    let (mut words, mut numbers) = (Vec::new(), Vec::new());
    for item in set.try_iter()? {
        let item = item?;
        if let Ok(word) = item.cast::<PyString>() {
            // Its own words would repeat the item.
            let word = word.to_cow().map_err(|_| {
                Fault::Data(format!("an item of set {at} is no text of Unicode characters"))
            })?;
            words.push(word.into_owned());
        } else if !item.is_instance_of::<PyBool>()
            && let Some(number) = whole(&item)
        {
            numbers.push(number);
        } else {
            return Err(PyTypeError::new_err(format!(
                "an item of set {at} is neither a str nor a whole number in [0, 2^64)"
            ))
            .into());
        }
    }
    let of_words = !words.is_empty();
    if (of_words && !numbers.is_empty())
        || (of_words || !numbers.is_empty()) && *kind.get_or_insert(of_words) != of_words
    {
        return Err(PyValueError::new_err(
            "items are words in one place and numbers in another: they would never agree",
        )
        .into());
    }
    Ok(if of_words {
        ItemSet::from_words(words.iter().map(String::as_str))?
    } else {
        ItemSet::new(numbers)?
    })
}

/// A whole number of Python or NumPy.
fn whole(item: &Bound<'_, PyAny>) -> Option<u64> {
    if item.is_instance_of::<PyInt>() {
        return item.extract().ok();
    }
    // Through `__index__`, which floats do not have.
    item.hasattr("__index__").ok().filter(|&has| has).and_then(|_| item.extract().ok())
}
