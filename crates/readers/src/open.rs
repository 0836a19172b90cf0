//! From a format to its reader.

#[cfg(any(feature = "arrow", feature = "parquet"))]
use crate::columnar;
use crate::error::{Error, Result};
#[cfg(any(feature = "arrow", feature = "parquet"))]
use crate::guarded::guarded;
use crate::options::{FileFormat, Missing, NO_COLUMN, RowsFile};
use crate::{block::Input, csv, idx, mapped, npy, source, svmlight};
use std::io::Read;

impl RowsFile {
    /// Opens the file and reads as much of it as says how long a row is.
    ///
    /// # Errors
    /// A file that cannot be read or is not of its format, options that do not belong to the format, no
    /// column to use, an identifier among the columns, a format that was not built in.
    pub fn open(&self) -> Result<Input> {
        self.begun().open_with(None)
    }

    /// As [`RowsFile::open`] for bytes that come from elsewhere, as from memory; messages call them by
    /// `path`. Parquet and Arrow files (not streams) are read from their end and need a file.
    ///
    /// # Errors
    /// As [`RowsFile::open`].
    pub fn open_from(&self, source: impl Read + Send + 'static) -> Result<Input> {
        self.begun().open_with(Some(Box::new(source)))
    }

    /// For a reading of its own.
    pub(crate) fn begun(&self) -> Self {
        self.ids.iter().for_each(|of| *of.ids() = Default::default());
        Self { users: self.users.as_ref().map(crate::Users::begun), ..self.clone() }
    }

    pub(crate) fn open_with(&self, given: Option<Box<dyn Read + Send>>) -> Result<Input> {
        if !(self.divide.is_finite() && self.divide > 0.0) {
            return Err(Error::options("`divide` takes a positive number"));
        }
        let format = match self.format {
            Some(format) => format,
            None if self.path.as_os_str() == "-" => FileFormat::Csv,
            None => FileFormat::of(&self.path)?,
        };
        self.only(format)?;
        #[cfg(any(feature = "arrow", feature = "parquet"))]
        let named = given.is_none();
        let source = || match given {
            Some(source) => source::counted(source, None).map_err(|e| Error::io(&self.path, e)),
            None => source::open(&self.path),
        };
        let input = match format {
            FileFormat::Csv => csv::open(self, source()?)?,
            FileFormat::Npy => npy::open(self, source()?)?,
            #[cfg(feature = "parquet")]
            FileFormat::Parquet if !named => {
                return Err(Error::options(
                    "a Parquet file is read from its end: save it to a file",
                ));
            }
            #[cfg(feature = "parquet")]
            FileFormat::Parquet => guarded(&self.path, || columnar::open_parquet(self))?,
            #[cfg(feature = "arrow")]
            FileFormat::Arrow if !named => {
                guarded(&self.path, || columnar::open_arrow_stream(self, source()?))?
            }
            #[cfg(feature = "arrow")]
            FileFormat::Arrow => guarded(&self.path, || columnar::open_arrow(self))?,
            FileFormat::Svmlight => svmlight::open(self, source()?)?,
            FileFormat::Idx => idx::open(self, source()?)?,
            #[cfg(not(all(feature = "arrow", feature = "parquet")))]
            absent => {
                return Err(Error::options(format!(
                    "this program was built without {absent} files"
                )));
            }
        };
        if input.rows.d() == 0 {
            return Err(self.malformed(NO_COLUMN));
        }
        match &self.preprocess {
            Some(rules) => mapped::mapped(input, rules, self, format),
            None => Ok(input),
        }
    }

    /// Refuses options that mean nothing in a format.
    fn only(&self, format: FileFormat) -> Result<()> {
        use FileFormat as F;
        let check = |option: &str, given: bool, formats: &[F], why: &str| {
            if given && !formats.contains(&format) {
                let text = format!("{option} has no effect: {format} files {why}; leave it out");
                return Err(Error::options(text));
            }
            Ok(())
        };
        let text = "are not text with a first line of names and a delimiter";
        check("`delimiter`", self.delimiter.is_some(), &[F::Csv], text)?;
        check("`header` true", self.header == Some(true), &[F::Csv], text)?;
        check("`header` false", self.header == Some(false), &[F::Csv], text)?;
        let tables = [F::Csv, F::Parquet, F::Arrow];
        check("`columns`", !self.columns.is_empty(), &tables, "have no columns to choose from")?;
        check("`keep`", !self.keep.is_empty(), &tables, "have no names of columns")?;
        check("`leave_out`", !self.leave_out.is_empty(), &tables, "have no columns to leave out")?;
        let why = "have no column that says whose a row is: save them as CSV, Parquet or Arrow";
        check("`users`", self.users.is_some(), &tables, why)?;
        let why = "have no column of names: save them as CSV, Parquet or Arrow";
        check("`keep_id`", self.ids.is_some(), &tables, why)?;
        let missing = self.missing == Missing::Zero;
        check("`missing` zero", missing, &tables, "cannot mark a value as missing")?;
        let width = "say themselves how long a row is";
        check("`features`", self.features.is_some(), &[F::Svmlight], width)
    }
}
