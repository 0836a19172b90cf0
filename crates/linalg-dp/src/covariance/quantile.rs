//! The bound of rows chosen from the data, paid for.

use super::clip::{LEAST_ANSWERABLE, RowClip, answerable, norm_of, unit_change};
use super::gaussian::{Choice, GaussianCovariance};
use super::mechanism::{CovarianceMechanism, CovarianceStream};
use super::release::PrivateCovariance;
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::products::check_grid;
use crate::sizes::Sizes;
use core::borrow::BorrowMut;
use core::ops::ControlFlow;
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{AdditiveNoise, GaussianNoise, Grid};
use dp_core::profile::GaussianStep;
use dp_core::{
    Adjacency, Budget, Guarantee, L2Sensitivity, NoiseRng, NoiseScale, Probability, Release,
    SquaredNorm, calibrate,
};

const NAME: &str = "covariance of a chosen bound";
/// The share of mu squared that counts of norms have: a tenth of mu.
const COUNTS: f64 = 0.01;
/// Most candidates: sixteen octaves.
const CANDIDATES: usize = 64;
/// The least bound of rows.
const LEAST: f64 = 3.872_591_914_849_318e-121;

/// What [`QuantileCovariance`] needs to know beside the budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileConfig {
    /// Length d of a row.
    pub dim: usize,
    /// What is protected. Its bound is the largest candidate: it may lie far above the rows.
    pub adjacency: Adjacency,
    /// The share of rows that are to lie within the bound, from .5 to .999. Where nothing speaks for another: .9.
    pub within: Probability,
    /// Whether sums are released too, as by [`GaussianCovariance::calibrate_moments`]: with a bound from `2^-100` to `2^100`, and no
    /// candidate below.
    pub means: bool,
}

/// A symmetric Gaussian covariance whose bound is a quantile of the rows' norms, found with a tenth of the budget: for
/// whoever does not know how long rows are.
///
/// Norms are counted between 64 public candidates, `B 2^(-i/4)`; Gaussian noise is added to the counts; the bound is the
/// least candidate beyond which, say the noisy counts and a standard deviation of theirs, lie no more rows than asked
/// for: B itself where the noise could hide all. Then [`GaussianCovariance`] of rows scaled to that bound.
///
/// # Privacy
/// A row moves one count (two where it stays), then the covariance by what the chosen bound says, at a scale in
/// proportion: two Gaussian mechanisms whose mu are fixed beforehand, a tenth and .995 of the whole. They compose
/// exactly, under adaptive choice. One certificate states both, and the bound.
///
/// # References
/// Proof: `docs/proofs/covariance.md`, chosen bounds.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Probability};
/// use linalg_dp::covariance::{QuantileConfig, QuantileCovariance};
///
/// // Nobody knows how long rows are: not longer than a million.
/// let adjacency = Adjacency::ReplaceRow { bound: NormBound::new(1e6)? };
/// let config =
///     QuantileConfig { dim: 2, adjacency, within: Probability::new(0.9)?, means: false };
/// let mechanism = QuantileCovariance::calibrate(config, Budget::new(1.0, 1e-6)?)?;
/// let rows = [60.0, 80.0].repeat(100_000);
/// let release = mechanism.release(&rows, &mut NoiseRng::from_os()?)?;
/// assert!((release.payload().unbiased()[(0, 0)] / 3600.0e5 - 1.0).abs() < 0.01);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct QuantileCovariance {
    /// One for each candidate.
    candidates: Vec<GaussianCovariance>,
    sizes: Sizes,
    counts: GaussianNoise,
    within: f64,
}

/// The l2 norm that the rows of a unit move counts of norms by.
pub(crate) fn moved_counts(adjacency: Adjacency) -> f64 {
    let one = match adjacency.each() {
        Adjacency::AddRemoveRow { .. } => 1.0,
        // A row that stays is counted at two places.
        _ => core::f64::consts::SQRT_2,
    };
    // All rows of a user may be at one place.
    one * adjacency.rows() as f64
}

impl QuantileCovariance {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0, an adjacency that does not protect rows, or a dimension, a bound or a share outside its
    /// range.
    pub fn calibrate(config: QuantileConfig, budget: Budget) -> Result<Self> {
        let QuantileConfig { dim, adjacency, within, means } = config;
        let within = within.get();
        if !(0.5..=0.999).contains(&within) {
            return Err(Error::invalid("share of rows within the bound", within, "[.5, .999]"));
        }
        let (bound, ..) = unit_change(adjacency, NAME)?;
        let whole = 1.0 / calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get();
        // A hair less, for the roundings of the scales.
        let mu = |share: f64| whole * share.sqrt() * (1.0 - 1e-12);
        let moved = moved_counts(adjacency);
        let sigma = NoiseScale::new(moved / mu(COUNTS))?;
        // Counts are multiples of it.
        let grid = Grid::new((sigma.get().log2().floor() as i32 - 30).min(0))?;
        check_grid(sigma, grid)?;
        let counts = AUTHOR.gaussian(sigma, grid)?;
        let step = GaussianStep { sensitivity: L2Sensitivity::new(moved)?, sigma, times: 1 };
        let choice = Choice { step, law: counts.law(), share: within };
        let least = if means { LEAST_ANSWERABLE } else { LEAST };
        if means {
            answerable("bound", bound.get())?;
        }
        let sizes = Sizes::new(bound.get(), CANDIDATES, least);
        let of = |threshold: &f64| {
            let clip = RowClip::new(dim, dp_core::NormBound::new(*threshold)?)?;
            let clip = if means { clip.followed_by(clip.constant_for_means())? } else { clip };
            let clip = clip.check_room()?;
            GaussianCovariance::after(choice.clone(), clip, mu(1.0 - COUNTS), adjacency, budget)
        };
        let candidates = sizes.thresholds().iter().map(of).collect::<Result<Vec<_>>>()?;
        Ok(Self { candidates, sizes, counts, within })
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        self.largest().guarantee()
    }

    /// There is always a candidate, the bound of the adjacency.
    fn largest(&self) -> &GaussianCovariance {
        &self.candidates[self.candidates.len() - 1]
    }

    /// The first of two passes over the rows.
    pub fn norms<R: BorrowMut<NoiseRng>>(&self, rng: R) -> NormStream<'_, R> {
        NormStream { mechanism: self, counts: vec![0; self.candidates.len() + 1], rng }
    }

    /// Releases the covariance of `rows` (row-major, n x d).
    ///
    /// # Errors
    /// As [`NormStream`] and [`CovarianceStream`].
    pub fn release(&self, rows: &[f64], rng: &mut NoiseRng) -> Result<Release<PrivateCovariance>> {
        Mechanism::release(self, rows, rng)
    }
}

/// The first pass of a [`QuantileCovariance`]: rows whose norms are counted. The same rows must follow in the second.
///
/// Private: neither printable nor serialisable.
///
/// ```
/// use dp_core::{Adjacency, Budget, NoiseRng, NormBound, Probability};
/// use linalg_dp::covariance::{QuantileConfig, QuantileCovariance};
///
/// let adjacency = Adjacency::AddRemoveRow { bound: NormBound::new(1e3)? };
/// let config = QuantileConfig { dim: 2, adjacency, within: Probability::new(0.9)?, means: true };
/// let mechanism = QuantileCovariance::calibrate(config, Budget::new(1.0, 1e-6)?)?;
/// let mut norms = mechanism.norms(NoiseRng::from_os()?);
/// norms.push(&[0.6, 0.8, 0.1, 0.2])?;
/// let mut rows = norms.choose();
/// rows.push(&[0.6, 0.8, 0.1, 0.2])?;
/// assert_eq!(rows.finish()?.payload().dim(), 2);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
pub struct NormStream<'m, R = NoiseRng> {
    mechanism: &'m QuantileCovariance,
    counts: Vec<u64>,
    rng: R,
}

impl<'m, R: BorrowMut<NoiseRng>> NormStream<'m, R> {
    /// Counts the norms of rows (row-major, any number).
    ///
    /// # Errors
    /// As [`CovarianceStream::push`].
    pub fn push(&mut self, rows: &[f64]) -> Result<()> {
        let dim = self.mechanism.largest().dim();
        if !rows.len().is_multiple_of(dim) {
            let expected = format!("a multiple of d = {dim}");
            return Err(Error::shape("row block", format!("{} values", rows.len()), expected));
        }
        if rows.iter().any(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: "a row" });
        }
        let more = self.mechanism.sizes.counts(rows.chunks(dim).map(norm_of));
        self.counts.iter_mut().zip(more).for_each(|(all, more)| *all += more);
        Ok(())
    }

    /// Chooses the bound, which nobody is told before the release, and begins the second pass.
    #[must_use]
    pub fn choose(mut self) -> CovarianceStream<'m, R> {
        let QuantileCovariance { candidates, sizes, counts, within } = self.mechanism;
        let mut noise = vec![0.0; self.counts.len()];
        counts.fill(self.rng.borrow_mut(), &mut noise);
        let noisy: Vec<f64> = self.counts.iter().zip(&noise).map(|(c, n)| *c as f64 + n).collect();
        let chosen = sizes.quantile(&noisy, *within, counts.sigma().get());
        CovarianceStream::new(&candidates[chosen], self.rng)
    }
}

impl author::Sealed for QuantileCovariance {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for QuantileCovariance {
    type Config = QuantileConfig;
    /// Rows, row-major, n x d.
    type Input<'a> = &'a [f64];
    type Output = Release<PrivateCovariance>;
    /// The squared norm of all rows, which the noise does not depend on.
    type Facts = SquaredNorm;
    type Error = Error;

    fn calibrate(config: QuantileConfig, budget: Budget) -> Result<Self> {
        Self::calibrate(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        Self::guarantee(self)
    }

    /// The most that it can be: where the bound of the adjacency is chosen.
    fn predict(&self, trace: SquaredNorm) -> Result<Prediction> {
        self.largest().predict(trace)
    }

    fn release_watched(
        &self,
        rows: &[f64],
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output> {
        Progress::new(0, 2).ask(hook)?;
        let mut norms = self.norms(rng);
        norms.push(rows)?;
        Progress::new(1, 2).ask(hook)?;
        let mut stream = norms.choose();
        stream.push(rows)?;
        stream.finish()
    }
}
