//! Releases, and what can be asked of them.

use crate::answers::{self, Row, confidence_of, matrix, report, signs_of, told, trust, two};
use crate::error::{Fault, Result};
use crate::held::{Held, output};
use crate::run::work;
use crate::search::{Found, search, search_exact};
use dp_core::release_file::AnyCertificate;
use dp_core::{SquaredNorm, release::Release as Certified};
use linalg_dp::analysis::{self, Moments, Regression};
use linalg_dp::any::{AnyRelease, Values};
use linalg_dp::covariance::PrivateCovariance;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sketch::bounded::CategoryCounts;
use sketch::vectors::{
    PrivateSketch, multi_scale_squared_distance, multi_scale_squared_distance_interval,
};
use std::path::PathBuf;

type Range = (f64, f64);
/// Numbers and their intervals.
type Ranged<T, R> = (T, R);
type Read<'py> = (
    Ranged<f64, Range>,
    Ranged<Vec<f64>, Vec<Range>>,
    Ranged<Vec<f64>, Vec<Range>>,
    Bound<'py, PyAny>,
);
type Components<'py> = (Bound<'py, PyAny>, Vec<f64>, f64, f64, f64);
type Line = (Vec<f64>, Vec<Range>, Option<Ranged<f64, Range>>);

/// A release with its certificate.
#[pyclass(frozen, module = "dps._dps")]
pub(crate) struct Release {
    held: Held,
}

impl Release {
    pub(crate) fn new(held: Held) -> Self {
        Self { held }
    }

    fn any(&self, what: &str) -> Result<&AnyRelease> {
        match &self.held {
            Held::Any(release) => Ok(release),
            _ => Err(self.cannot(what)),
        }
    }

    fn cannot(&self, what: &str) -> Fault {
        Fault::Data(format!("{what} cannot be read from a release of {}", self.kind()))
    }

    fn covariance(&self, what: &str) -> Result<Certified<PrivateCovariance>> {
        match self.any(what)? {
            AnyRelease::Covariance(release) => Ok(release.clone()),
            AnyRelease::Window(release) => Ok(release.clone().map(|w| w.covariance().clone())),
            _ => Err(self.cannot(what)),
        }
    }
}

#[pymethods]
impl Release {
    /// Reads a file; every part is checked, and what the guarantee rests on is computed again.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, accept: Vec<String>, long: bool) -> Result<Self> {
        let trust = trust(&accept, long)?;
        work(py, || {
            let (_, release) = AnyRelease::load(&path)?;
            release.verify_use(&trust)?;
            Ok(Self::new(release.into()))
        })
    }

    /// As `open` from the bytes of a file.
    #[staticmethod]
    fn decode(py: Python<'_>, bytes: &[u8], accept: Vec<String>, long: bool) -> Result<Self> {
        let trust = trust(&accept, long)?;
        work(py, || {
            let (_, release) = AnyRelease::decode(bytes)?;
            release.verify_use(&trust)?;
            Ok(Self::new(release.into()))
        })
    }

    /// The bytes of a file.
    fn encode(&self, py: Python<'_>) -> Result<Vec<u8>> {
        work(py, || self.held.encode())
    }

    /// Writes a file, all or nothing.
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool) -> Result<()> {
        self.any("a file")?;
        work(py, || self.held.write(output(&path, replace)?))
    }

    /// What it holds.
    fn kind(&self) -> &'static str {
        match &self.held {
            Held::Any(release) => match **release {
                AnyRelease::Sketch(_) => "vectors",
                AnyRelease::Units(_) => "unit vectors",
                AnyRelease::Bounded(_) => "bounded values",
                AnyRelease::Signs(_) => "signs",
                AnyRelease::IndividualSigns(_) => "signs under individual differential privacy",
                AnyRelease::PlainSigns(_) => "signs without a guarantee",
                AnyRelease::Symbols(_) => "set signatures",
                AnyRelease::NoisyBits(_) => "noisy MinHash bits",
                AnyRelease::Counts(_) => "counts of groups",
                AnyRelease::PlainSignatures(_) => "set signatures without a guarantee",
                AnyRelease::Covariance(_) => "covariance",
                AnyRelease::LowRank(_) => "low-rank approximation",
                AnyRelease::Range(_) => "range sketch",
                AnyRelease::Window(_) => "window covariance",
                AnyRelease::Regression(_) => "regression",
                AnyRelease::Groups(_) => "sums of private groups",
                _ => "other",
            },
            Held::Numbers(_) => "numbers",
            Held::Directions(_) => "directions",
            Held::Factors(_) => "low-rank factors",
            Held::Distances(_) => "distances",
            Held::Bits(_) => "bits",
            Held::Scales(_) => "vectors of several scales",
        }
    }

    /// What its rows are called, where that was published with it.
    fn ids(&self) -> Option<Vec<&str>> {
        let Held::Any(release) = &self.held else { return None };
        let ids = release.ids()?;
        Some((0..ids.rows()).filter_map(|row| ids.get(row)).collect())
    }

    /// The certificate as JSON.
    fn certificate(&self) -> String {
        match &self.held {
            Held::Any(release) => release.certificate().to_json(),
            Held::Numbers(r) => r.certificate().to_json(),
            Held::Directions(r) => r.certificate().to_json(),
            Held::Factors(r) => r.certificate().to_json(),
            Held::Distances(r) => r.certificate().to_json(),
            Held::Bits(r) => r.certificate().to_json(),
            Held::Scales(r) => r.certificate().to_json(),
        }
    }

    /// Computes again what the certificate states; what is taken at the writer's word is named.
    fn verify(&self, py: Python<'_>, accept: Vec<String>, long: bool) -> Result<(String, String)> {
        let trust = trust(&accept, long)?;
        let certificate = match &self.held {
            Held::Any(release) => return Ok(report(work(py, || release.verify(&trust))?)),
            Held::Numbers(r) => r.certificate(),
            Held::Directions(r) => r.certificate(),
            Held::Factors(r) => r.certificate(),
            Held::Distances(r) => r.certificate(),
            Held::Bits(r) => r.certificate(),
            Held::Scales(r) => r.certificate(),
        };
        work(py, || {
            certificate.verify_consistency()?;
            trust.check(&AnyCertificate::from(certificate.clone()))?;
            Ok(("not checked: the certificate alone is at hand".into(), "not checked".into()))
        })
    }

    /// The published numbers.
    fn to_numpy<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let any = match &self.held {
            Held::Any(release) => release,
            Held::Numbers(r) => return Ok(PyArray1::from_slice(py, r.payload()).into_any()),
            Held::Directions(r) => return matrix(py, r.payload().directions()),
            Held::Factors(r) => {
                return matrix(py, work(py, || r.payload().expand()).as_ref());
            }
            Held::Distances(r) => {
                return Ok(PyArray1::from_slice(py, r.payload().values()).into_any());
            }
            Held::Scales(r) => {
                let scales = r.payload();
                let n = scales.first().map_or(0, PrivateSketch::n);
                let mut out = Vec::new();
                for row in 0..n {
                    for scale in scales {
                        out.extend_from_slice(scale.row(row)?);
                    }
                }
                return two(n, PyArray1::from_vec(py, out));
            }
            Held::Bits(r) => {
                let bits = r.payload();
                let (n, d) = (bits.n(), bits.d());
                let mut out = Vec::with_capacity(n * d);
                for row in 0..n {
                    let words = bits.row(row)?;
                    out.extend((0..d).map(|j| (words[j / 64] >> (j % 64) & 1) as u8));
                }
                return two(n, PyArray1::from_vec(py, out));
            }
        };
        if let AnyRelease::Regression(r) = &**any {
            return Ok(PyArray1::from_slice(py, r.payload().coefficients()).into_any());
        }
        match any.values() {
            Some(Values::Reals(width, values)) => {
                let rows = values.len().checked_div(width).unwrap_or(0);
                two(rows, PyArray1::from_vec(py, values.into_owned()))
            }
            Some(Values::Symbols(width, symbols)) => {
                let rows = symbols.len().checked_div(width).unwrap_or(0);
                two(rows, PyArray1::from_slice(py, symbols))
            }
            Some(Values::Signs(bits)) => {
                let sign = |row| move |bit| if bits.get(row, bit) { 1i8 } else { -1 };
                let signs = (0..bits.n()).flat_map(|row| (0..bits.bits()).map(sign(row)));
                two(bits.n(), PyArray1::from_vec(py, signs.collect()))
            }
            _ => Err(self.cannot("an array")),
        }
    }

    /// How NumPy reads the numbers where they are, for as long as it holds this object; of projected rows alone.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let Held::Any(release) = &self.held else {
            return Err(PyAttributeError::new_err("no rows of numbers lie here"));
        };
        let AnyRelease::Sketch(release) = &**release else {
            return Err(PyAttributeError::new_err("no rows of numbers lie here"));
        };
        let sketch = release.payload();
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (sketch.n(), sketch.k()))?;
        let order = if cfg!(target_endian = "little") { "<f8" } else { ">f8" };
        interface.set_item("typestr", order)?;
        // Read only: what is released does not change.
        interface.set_item("data", (sketch.values().as_ptr().expose_provenance(), true))?;
        Ok(interface)
    }

    /// Signs as packed bytes, eight a byte, the first in the lowest bit.
    fn packed<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let codes =
            signs_of(self.any("packed signs")?).ok_or_else(|| self.cannot("packed signs"))?;
        let (bits, width) = (codes.bits(), codes.bits().bits().div_ceil(8));
        let mut out = Vec::with_capacity(bits.n() * width);
        for row in 0..bits.n() {
            let bytes = bits.row(row).iter().flat_map(|word| word.to_le_bytes());
            out.extend(bytes.take(width));
        }
        two(bits.n(), PyArray1::from_vec(py, out))
    }

    /// Factors L (n x k) and C (k x d) of a low-rank release, singular values shrunk or not.
    fn factors<'py>(
        &self,
        py: Python<'py>,
        shrunk: bool,
    ) -> Result<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let factors = match &self.held {
            Held::Factors(r) if !shrunk => r.payload().clone(),
            Held::Any(release) => match &**release {
                AnyRelease::LowRank(r) if shrunk => work(py, || r.payload().shrunk())?,
                AnyRelease::LowRank(r) => r.payload().factors().clone(),
                _ => return Err(self.cannot("factors")),
            },
            _ => return Err(self.cannot("factors")),
        };
        Ok((matrix(py, factors.left())?, matrix(py, factors.coefficients())?))
    }

    /// Estimates of what two rows have in common: measure, value, standard error, low, high.
    #[pyo3(signature = (i, j, other=None, measure=None, confidence=0.95))]
    fn distance(
        &self,
        i: usize,
        j: usize,
        other: Option<&Self>,
        measure: Option<&str>,
        confidence: f64,
    ) -> Result<Vec<Row>> {
        let level = confidence_of(confidence)?;
        let what = "the distance of two rows";
        let other_held = other.map(|other| &other.held);
        let Some(rows) = answers::between(&self.held, other_held, (i, j), measure, level)? else {
            return Err(self.cannot(what));
        };
        if rows.is_empty() {
            return Err(self.cannot(measure.unwrap_or(what)));
        }
        Ok(rows)
    }

    /// A squared distance from all scales, weighted for the distance that is expected.
    fn scales_distance(&self, i: usize, j: usize, expected: f64, confidence: f64) -> Result<Row> {
        let Held::Scales(release) = &self.held else {
            return Err(self.cannot("a distance from several scales"));
        };
        let (expected, level) = (SquaredNorm::new(expected)?, confidence_of(confidence)?);
        let mut rows = Vec::new();
        let estimate = multi_scale_squared_distance(release, i, j, expected);
        let interval = multi_scale_squared_distance_interval(release, i, j, expected, level);
        told(&mut rows, "squared distance", Some("squared distance"), estimate, interval)?;
        rows.pop().ok_or_else(|| self.cannot("a distance"))
    }

    /// The best rows for each query: their numbers and their scores.
    #[pyo3(signature = (top, queries=None, rows=None, score="cosine"))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        top: usize,
        queries: Option<&Self>,
        rows: Option<PyReadonlyArray1<'py, u64>>,
        score: &str,
    ) -> Result<Found<'py>> {
        let items = self.any("a search")?;
        let asked = queries.map(|queries| queries.any("a search")).transpose()?;
        let places = |rows: PyReadonlyArray1<'_, u64>| -> Vec<usize> {
            // Beyond what a machine can count is beyond every release.
            rows.as_array().iter().map(|&row| usize::try_from(row).unwrap_or(usize::MAX)).collect()
        };
        search(py, (items, asked), (top, rows.map(places)), score)?
            .ok_or_else(|| self.cannot("a search"))
    }

    /// The same for rows (as `dps._rows.prepared` returns them) or sets that were never released.
    fn search_exact<'py>(
        &self,
        py: Python<'py>,
        top: usize,
        asked: &Bound<'py, PyAny>,
        score: &str,
    ) -> Result<Found<'py>> {
        let (items, what) = (self.any("a search")?, "a search by rows that were never released");
        search_exact(py, items, (top, asked), score)?.ok_or_else(|| self.cannot(what))
    }

    /// Directions (d x k), explained values, their total, and, of a covariance, two bounds of error.
    fn pca<'py>(
        &self,
        py: Python<'py>,
        k: usize,
        center: bool,
        failure: f64,
    ) -> Result<Components<'py>> {
        let release = self.covariance("principal components")?;
        let failure = confidence_of(failure)?;
        let of = if center { analysis::pca_centred } else { analysis::pca };
        let (found, bounds) = work(py, || -> Result<_> {
            let found = of(&release, k)?;
            // Each range holds the eigenvalue that its explained value stands for.
            let ranges = found.payload().explained_ranges(failure)?;
            let off = |((low, high), value): (&(f64, f64), &f64)| (high - value).max(value - low);
            let values = found.payload().explained();
            let error = ranges.iter().zip(values).map(off).fold(0.0, f64::max);
            let bounds = (error, found.payload().subspace_error(failure)?);
            Ok((found, bounds))
        })?;
        let found = found.payload();
        let directions = matrix(py, found.directions())?;
        Ok((directions, found.explained().to_vec(), found.total(), bounds.0, bounds.1))
    }

    /// Of every category of a column: its share, the standard error and an interval.
    fn shares(
        &self,
        py: Python<'_>,
        column: usize,
        failure: f64,
    ) -> Result<Vec<(f64, f64, Range)>> {
        let AnyRelease::Bounded(release) = self.any("shares")? else {
            return Err(self.cannot("shares"));
        };
        let confidence = confidence_of(1.0 - failure)?;
        work(py, || {
            let counts = CategoryCounts::of(release.payload(), column)?;
            let share = |category| -> Result<_> {
                let told = counts.share(category)?;
                let interval = counts.share_interval(category, confidence)?;
                Ok((told.value, told.standard_error, (interval.low, interval.high)))
            };
            (0..counts.categories()).map(share).collect()
        })
    }

    /// Rows, means and deviations, each with its interval, and the correlations.
    fn moments<'py>(&self, py: Python<'py>, failure: f64) -> Result<Read<'py>> {
        let release = self.covariance("moments")?;
        let failure = confidence_of(failure)?;
        let (rows, means, deviations, correlations) = work(py, || -> Result<_> {
            let moments = Moments::of(&release)?;
            let rows = (moments.rows(), moments.rows_range(failure)?);
            let means = (moments.means(), moments.mean_ranges(failure)?);
            let deviations = (moments.deviations(), moments.deviation_ranges(failure)?);
            Ok((rows, means, deviations, moments.correlations()))
        })?;
        Ok((rows, means, deviations, matrix(py, correlations.as_ref())?))
    }

    /// Coefficients of one column on all others with their intervals, and the intercept with its own where sums were
    /// released; of a released regression its own.
    #[pyo3(signature = (target, failure))]
    fn regression(&self, py: Python<'_>, target: Option<usize>, failure: f64) -> Result<Line> {
        if let (Held::Any(held), None) = (&self.held, target)
            && let AnyRelease::Regression(release) = &**held
        {
            let (found, failure) = (release.payload(), confidence_of(failure)?);
            let intercept = found.intercept().zip(found.intercept_range(failure)?);
            return Ok((found.coefficients().to_vec(), found.ranges(failure)?, intercept));
        }
        let target = target.ok_or_else(|| Fault::Data("a regression needs its target".into()))?;
        let release = self.covariance("a regression")?;
        let failure = confidence_of(failure)?;
        work(py, || {
            let found = match release.payload().sums() {
                Some(_) => Regression::centred(&Moments::of(&release)?, target),
                None => Regression::of(release.payload(), target),
            }?;
            let intercept = found.intercept().zip(found.intercept_range(failure)?);
            Ok((found.coefficients().to_vec(), found.ranges(failure)?, intercept))
        })
    }

    /// z such that a covariance is within z of the exact one in spectral norm, except with probability `failure`.
    fn spectral_error(&self, py: Python<'_>, failure: f64) -> Result<f64> {
        let release = self.covariance("a spectral error")?;
        let failure = confidence_of(failure)?;
        Ok(work(py, || release.payload().spectral_error(failure))?)
    }

    /// A covariance with its negative eigenvalues set to zero.
    fn positive<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let release = self.covariance("a positive matrix")?;
        matrix(py, work(py, || release.payload().positive())?.as_ref())
    }

    /// Numbers of a row, and the variance of the noise in each of them.
    fn noise(&self) -> Result<(usize, f64)> {
        match self.any("noise to subtract")? {
            AnyRelease::Sketch(r) => Ok((r.payload().k(), r.payload().noise_variance())),
            _ => Err(self.cannot("noise to subtract")),
        }
    }

    /// First row and end of a window.
    fn span(&self) -> Result<(u64, u64)> {
        match self.any("the rows of a window")? {
            AnyRelease::Window(r) => Ok((r.payload().span().first_row, r.payload().span().end_row)),
            _ => Err(self.cannot("the rows of a window")),
        }
    }
}
