//! Real vectors with a name, and their split into queries and database.

use crate::error::{Error, Result};
use dp_core::PublicSeed;
use rand_core::Rng;
use readers::{Block, FileFormat, Input, RowsFile};
use std::path::Path;

static DIGITS: &[u8] = include_bytes!("../../data/mnist5k-images-idx3-ubyte.gz");
static DIGIT_LABELS: &[u8] = include_bytes!("../../data/mnist5k-labels-idx1-ubyte.gz");

/// `n` vectors in `d` dimensions, row-major, perhaps labelled.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    name: String,
    n: usize,
    d: usize,
    values: Vec<f64>,
    labels: Option<Vec<u8>>,
}

/// Two disjoint parts of one data set.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// What is searched for.
    pub queries: Points,
    /// What is searched.
    pub database: Points,
}

/// Brings items into a random order (Fisher and Yates).
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut impl Rng) {
    for i in (1..items.len()).rev() {
        let j = (u128::from(rng.next_u64()) * (i as u128 + 1)) >> 64;
        items.swap(i, j as usize);
    }
}

impl Points {
    /// Wraps row-major values.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when `d` is zero, the length is not a multiple of `d`,
    /// a value is not finite, or there is not one label a row.
    pub fn new(
        name: impl Into<String>,
        d: usize,
        values: Vec<f64>,
        labels: Option<Vec<u8>>,
    ) -> Result<Self> {
        if d == 0 || !values.len().is_multiple_of(d) {
            let allowed = format!("a positive divisor of the {} values", values.len());
            return Err(Error::invalid("d", d, allowed));
        }
        let n = values.len() / d;
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::invalid("value", format!("#{i}"), "finite"));
        }
        if let Some(labels) = &labels
            && labels.len() != n
        {
            return Err(Error::invalid("labels", labels.len(), format!("one a row: {n}")));
        }
        Ok(Self { name: name.into(), n, d, values, labels })
    }

    /// What the report calls the data set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of vectors.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of coordinates.
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }

    /// All values, row-major, `n * d`.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Vector `i`.
    ///
    /// # Panics
    /// When `i >= n`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.d..(i + 1) * self.d]
    }

    /// Labels, one a row, where the data set has them.
    #[must_use]
    pub fn labels(&self) -> Option<&[u8]> {
        self.labels.as_deref()
    }

    /// The rows named by `rows`, in that order.
    ///
    /// # Panics
    /// When a row does not exist.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut values = Vec::with_capacity(rows.len() * self.d);
        rows.iter().for_each(|&i| values.extend_from_slice(self.row(i)));
        Self {
            name: self.name.clone(),
            n: rows.len(),
            d: self.d,
            values,
            labels: self.labels.as_ref().map(|l| rows.iter().map(|&i| l[i]).collect()),
        }
    }

    /// Images of half the side: means of four pixels.
    ///
    /// # Panics
    /// Unless the images are square and of an even side.
    #[cfg(feature = "experiments")]
    pub(crate) fn halved(&self) -> Self {
        let side = self.d.isqrt();
        assert!(side * side == self.d && side.is_multiple_of(2), "{} pixels", self.d);
        let half = side / 2;
        let mean = |image: &[f64], at: usize| {
            let corner = 2 * (at / half) * side + 2 * (at % half);
            let four = [corner, corner + 1, corner + side, corner + side + 1];
            0.25 * four.iter().map(|i| image[*i]).sum::<f64>()
        };
        let images = self.values.chunks(self.d);
        let values = images.flat_map(|image| (0..half * half).map(move |at| mean(image, at)));
        Self {
            name: format!("{}, {half} x {half}", self.name),
            n: self.n,
            d: half * half,
            values: values.collect(),
            labels: self.labels.clone(),
        }
    }

    /// Shuffles the rows with a public seed and cuts off `queries` rows and then
    /// `database` rows (all the others for `None`); no row is in both.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when there are not that many rows, or either part is empty.
    pub fn split(
        &self,
        queries: usize,
        database: Option<usize>,
        seed: PublicSeed,
    ) -> Result<Split> {
        if queries == 0 || queries >= self.n {
            return Err(Error::invalid("queries", queries, format!("in [1, {})", self.n)));
        }
        let left = self.n - queries;
        let database = database.unwrap_or(left);
        if database == 0 || database > left {
            return Err(Error::invalid("database", database, format!("in [1, {left}]")));
        }
        let mut order: Vec<usize> = (0..self.n).collect();
        shuffle(&mut order, &mut seed.generator(0));
        Ok(Split {
            queries: self.select(&order[..queries]),
            database: self.select(&order[queries..queries + database]),
        })
    }
}

/// The embedded sample: 5,000 MNIST digits, 500 of each class, pixels in `[0, 1]`.
///
/// # Panics
/// Never, unless the embedded files were damaged: their contents are tested.
#[must_use]
pub fn digits() -> Points {
    let images = pixels("embedded digits".as_ref()).open_from(DIGITS);
    let labels = classes("embedded labels".as_ref()).open_from(DIGIT_LABELS);
    let labels = labels.expect("embedded labels are well formed");
    let images = images.expect("embedded digits are well formed");
    from_images("MNIST sample (5,000 digits)", images, Some(labels))
        .expect("embedded digits and labels belong together")
}

/// A user's own images (and labels): IDX files, plain or gzip; pixels become `[0, 1]`.
///
/// # Errors
/// [`Error::File`] or [`Error::Malformed`] naming the file.
pub fn images(path: &Path, labels: Option<&Path>) -> Result<Points> {
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let labels = labels.map(|path| classes(path).open()).transpose()?;
    from_images(&name, pixels(path).open()?, labels)
}

fn classes(path: &Path) -> RowsFile {
    RowsFile { format: Some(FileFormat::Idx), ..RowsFile::new(path) }
}

pub(super) fn pixels(path: &Path) -> RowsFile {
    RowsFile { divide: 255.0, ..classes(path) }
}

/// All numbers of an input.
pub(super) fn numbers(mut input: Input) -> Result<Vec<f64>> {
    let (mut all, d) = (Vec::new(), input.rows.d());
    while let Some(block) = input.rows.next(Block::default())? {
        all.extend_from_slice(&block.dense(d));
    }
    Ok(all)
}

fn from_images(name: &str, images: Input, labels: Option<Input>) -> Result<Points> {
    let bad = |reason: String| Error::malformed(format!("IDX file {name}"), reason);
    let d = images.rows.d();
    let values = numbers(images)?;
    if values.is_empty() || d < 2 {
        return Err(bad(format!("{} numbers, {d} in a row, are not images", values.len())));
    }
    let n = values.len() / d;
    let labels = labels.map(|labels| {
        let of = labels.rows.d();
        let labels: Vec<u8> = numbers(labels)?.iter().map(|&label| label as u8).collect();
        match of {
            1 if labels.len() == n => Ok(labels),
            _ => Err(bad(format!("{} labels of {of} numbers for {n} images", labels.len() / of))),
        }
    });
    Points::new(name, d, values, labels.transpose()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_digits_are_whole() {
        let points = digits();
        assert_eq!((points.n(), points.d()), (5000, 784));
        let labels = points.labels().unwrap();
        for class in 0..10 {
            assert_eq!(labels.iter().filter(|&&l| l == class).count(), 500);
        }
        assert!(points.values().iter().all(|v| (0.0..=1.0).contains(v)));
        // The mean pixel of MNIST is 0.1307 (its well-known normalisation constant).
        let mean = points.values().iter().sum::<f64>() / points.values().len() as f64;
        assert!((mean - 0.1307).abs() < 0.003, "{mean}");
    }

    #[test]
    fn split_is_disjoint_and_follows_the_seed() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let points = Points::new("t", 1, values, None).unwrap();
        let split = points.split(20, None, PublicSeed::new(1)).unwrap();
        let mut all: Vec<f64> = [split.queries.values(), split.database.values()].concat().to_vec();
        all.sort_by(f64::total_cmp);
        assert_eq!(all, points.values());
        assert_eq!(split, points.split(20, None, PublicSeed::new(1)).unwrap());
        assert_ne!(split, points.split(20, None, PublicSeed::new(2)).unwrap());
        assert_eq!(points.split(20, Some(30), PublicSeed::new(1)).unwrap().database.n(), 30);
    }

    #[test]
    fn bad_shapes_are_named() {
        let text = |e: Error| e.to_string();
        assert!(text(Points::new("t", 0, vec![1.0], None).unwrap_err()).starts_with("d = 0"));
        assert!(text(Points::new("t", 2, vec![1.0], None).unwrap_err()).starts_with("d = 2"));
        let nan = Points::new("t", 1, vec![1.0, f64::NAN], None).unwrap_err();
        assert_eq!(text(nan), "value = #1 is not allowed: must be finite");
        let labels = Points::new("t", 1, vec![1.0], Some(vec![])).unwrap_err();
        assert!(text(labels).starts_with("labels = 0"));
        let points = Points::new("t", 1, vec![1.0, 2.0], None).unwrap();
        let seed = PublicSeed::new(0);
        assert!(text(points.split(2, None, seed).unwrap_err()).starts_with("queries = 2"));
        assert!(text(points.split(1, Some(2), seed).unwrap_err()).starts_with("database = 2"));
        let idx = |bytes: &'static [u8]| classes("f".as_ref()).open_from(bytes).unwrap();
        let three = || idx(&[0, 0, 8, 1, 0, 0, 0, 3, 7, 7, 7]);
        assert!(text(from_images("f", three(), None).unwrap_err()).contains("not images"));
        let two = idx(&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4]);
        let refused = from_images("f", two, Some(three())).unwrap_err();
        assert!(text(refused).contains("3 labels of 1 numbers for 2 images"));
    }
}
