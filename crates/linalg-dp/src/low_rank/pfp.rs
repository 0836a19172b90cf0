//! Private find and project (PFP), with one exact composed profile.

use super::code::{Spread, with_equal_rows};
use super::coherence::largest_row_norm;
use super::project::{PrivateLowRank, ProjectionStep};
use super::range::{Range, RangeNoise};
use super::setting::Setting;
use crate::author::AUTHOR;
use crate::dense;
use crate::error::{Error, Result};
use core::ops::ControlFlow;
use dp_core::certificate::Statement;
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{AdditiveNoise, NoiseLaw};
use dp_core::{Budget, FreshSeed, Guarantee, L2Sensitivity, NoiseRng, Release, Theorem, calibrate};
use faer::{Mat, MatRef};
use sketch::rows::RowsView;

/// Which directions of the released sketch become the basis W.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Kept {
    /// All k, as published.
    All,
    /// The leading `rank` left singular vectors of the sketch.
    Rank,
    /// Those whose estimated energy in A exceeds what their coefficients' noise will cost
    /// (at least one): the default. Read from the released sketch, so it costs no budget.
    #[default]
    Worthwhile,
}

/// How the budget is split between the two steps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Split {
    /// Both steps have equal privacy parameters: `mu` of the projection is that of the range
    /// finder at the mean of its chi-square.
    Even,
    /// The most for the projection whose predicted error is within 1 per cent of the least: the default. A
    /// prediction for rows of equal weight; heavy rows ask for more, by up to 4 per cent of the error.
    #[default]
    LeastError,
}

/// Free choices of [`Pfp`]; none of them reads the data.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PfpOptions {
    /// Which directions become the basis.
    pub kept: Kept,
    /// Spread of the projection's noise.
    pub spread: Spread,
    /// Split of the budget.
    pub split: Split,
    /// Pruning of W's entries.
    pub pruning: Pruning,
}

/// Zeroing of large entries of W before the projection (the paper's step 2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Pruning {
    /// No pruning (the paper's choice for small mu0): the default.
    #[default]
    None,
    /// Entries of absolute value above the threshold become zero.
    Above(f64),
}

impl Pruning {
    pub(super) fn apply(self, mut w: Mat<f64>) -> Result<Mat<f64>> {
        let Self::Above(alpha) = self else { return Ok(w) };
        if alpha.is_nan() || alpha <= 0.0 {
            return Err(Error::invalid("pruning threshold", alpha, "(0, inf)"));
        }
        for column in w.col_iter_mut() {
            for x in column.iter_mut() {
                if x.abs() > alpha {
                    *x = 0.0;
                }
            }
        }
        Ok(w)
    }
}

/// Private find and project: range finder, basis, projection.
///
/// # Privacy
/// `RowShift`, one guarantee for both steps: a chi mixture of Gaussians (the fresh sketch)
/// followed by a Gaussian step of fixed mu, whose noise is scaled to the basis that came
/// out. Composition of the two is exact.
///
/// # References
/// Hardt & Roth 2012, Figure 4. Proof: `docs/proofs/pfp.md`.
///
/// # Deviations
/// One composed profile instead of two halves; noise by row norms instead of by columns'
/// largest entries, and another encoder than `W^T` where that is quieter ([`Spread`]); directions chosen from the
/// sketch; shrinkage ([`PrivateLowRank::shrunk`]).
///
/// ```
/// use dp_core::{Budget, FreshSeed, NoiseRng, NormBound, Shift};
/// use linalg_dp::low_rank::{Pfp, PfpOptions, Setting};
/// use sketch::rows::RowsView;
///
/// let (m, n) = (20, 50);
/// let data: Vec<f64> = (0..m * n).map(|i| (i % n) as f64 * 4.0).collect();
/// let a = RowsView::f64(m, n, &data)?;
/// // One row may shift by norm 1; rows longer than 1000 are scaled to it.
/// let setting = Setting::new((m, n), 1, 3, Shift::new(1.0)?, NormBound::new(1000.0)?)?;
/// let budget = Budget::new(1.0, 1e-6)?;
/// let mechanism = Pfp::calibrate(setting, budget, PfpOptions::default())?;
/// let release = mechanism.release(&a, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
/// let shrunk = release.payload().shrunk()?;
/// assert!(shrunk.distance(&a)? < 0.5 * (data.iter().map(|x| x * x).sum::<f64>()).sqrt());
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pfp {
    setting: Setting,
    options: PfpOptions,
    noise: RangeNoise,
    later_mu: f64,
    guarantee: Guarantee,
}

impl Pfp {
    /// The least noise for the budget at the options chosen.
    ///
    /// # Errors
    /// A budget with delta = 0; a pruning threshold that is not positive.
    pub fn calibrate(setting: Setting, budget: Budget, options: PfpOptions) -> Result<Self> {
        options.pruning.apply(Mat::zeros(0, 0))?;
        let whole = whole_mu(budget)?;
        let share = match options.split {
            Split::Even => core::f64::consts::FRAC_1_SQRT_2,
            Split::LeastError => best_share(&setting, budget, options, whole)?,
        };
        let later_mu = share * whole;
        let noise = RangeNoise::calibrate(&setting, budget, later_mu)?;
        let profile = noise.profile(&setting, later_mu)?;
        let guarantee =
            AUTHOR.proven(setting.adjacency(), budget, profile, Theorem::FindAndProject)?;
        Ok(Self { setting, options, noise, later_mu, guarantee })
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Standard deviation rho of the range finder's noise, in the paper's units.
    #[must_use]
    pub fn rho(&self) -> f64 {
        self.noise.sigma.get() * (self.setting.k() as f64).sqrt()
    }

    /// Gaussian parameter mu of the projection step.
    #[must_use]
    pub fn projection_mu(&self) -> f64 {
        self.later_mu
    }

    /// The error predicted for data of exact rank `rank` and typical coherence
    /// (Frobenius norm; see `docs/proofs/pfp.md`).
    #[must_use]
    pub fn predicted_error(&self) -> f64 {
        predicted_square(&self.setting, self.options, self.rho(), self.later_mu).sqrt()
    }

    /// Releases the approximation.
    ///
    /// # Errors
    /// [`Error::Shape`] unless A is m x n; [`Error::NotFinite`]; [`Error::Numerical`].
    pub fn release(
        &self,
        a: &RowsView<'_>,
        seed: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<PrivateLowRank>> {
        let setting = &self.setting;
        let range = self.noise.release(setting, a, seed, rng)?;
        let (directions, missed) = self.basis(&range)?;
        let Self { later_mu, options, .. } = *self;
        // Of a pruned W nobody knows what it misses.
        let missed = (options.pruning == Pruning::None).then_some(missed.as_slice());
        let basis = options.pruning.apply(directions)?;
        let step = ProjectionStep::new(setting, basis.as_ref(), later_mu, options.spread, missed)?;
        let statement = Statement {
            mechanism: "private find and project (exact)".into(),
            noise: NoiseLaw::Several { laws: vec![self.noise.law()?.law(), step.law()] },
            generator: rng.kind(),
            public: range.public(setting),
        };
        let payload = step.release(setting, a, Some(range), rng)?;
        Ok(Release::certified(payload, AUTHOR.certificate(statement, self.guarantee.clone())))
    }

    /// The basis, and about the energy of each row of A outside it.
    fn basis(&self, range: &Range) -> Result<(Mat<f64>, Vec<f64>)> {
        let (u, s) = range.spectrum()?;
        let count = match self.options.kept {
            Kept::All => s.len(),
            Kept::Rank => self.setting.rank(),
            Kept::Worthwhile => {
                // The largest count whose every direction pays for itself.
                let energies = range.energies(&s);
                let pays = |&count: &usize| {
                    energies[count - 1] > self.cost_of_a_direction(u.get(.., ..count))
                };
                (1..=s.len()).rev().find(pays).unwrap_or(1)
            }
        };
        let (k, noise) = (s.len(), range.sigma().get().powi(2));
        // What the range finder's noise hides, by theory, and what the sketch shows outside beyond its noise.
        let hidden = noise * (k * count) as f64 / (k.max(count + 2) - count - 1) as f64;
        let missed = |i: usize| {
            let shown: f64 = (count..k).map(|l| (u[(i, l)] * s[l]).powi(2)).sum();
            let inside = u.row(i).get(..count).squared_norm_l2();
            hidden + (shown - (k - count) as f64 * noise * (1.0 - inside)).max(0.0)
        };
        Ok((u.get(.., ..count).to_owned(), (0..self.setting.m()).map(missed).collect()))
    }

    /// About the squared error that the noise on one of these directions' coefficients makes.
    fn cost_of_a_direction(&self, w: MatRef<'_, f64>) -> f64 {
        let (n, count) = (self.setting.n() as f64, w.ncols());
        let heaviest = largest_row_norm(w).powi(2);
        let equal = match self.options.spread {
            Spread::Isotropic | Spread::LeastTrace => heaviest,
            // Decoded by (V^T W)^-1, V being W with equal rows: before its noise is shaped.
            Spread::EqualRows | Spread::LeastError => {
                let both = dense::product(with_equal_rows(w).transpose(), w);
                let inverse = dense::solve_definite(
                    both.as_ref(),
                    Mat::<f64>::identity(count, count).as_ref(),
                );
                inverse.map_or(heaviest, |x| x.squared_norm_l2() / count as f64)
            }
        };
        n * heaviest.min(equal) * (self.setting.shift() / self.later_mu).powi(2)
    }
}

/// The Gaussian parameter of the whole budget.
fn whole_mu(budget: Budget) -> Result<f64> {
    Ok(1.0 / calibrate::gaussian(budget, L2Sensitivity::new(1.0)?)?.get())
}

/// Squared error predicted for k' columns kept: `rho^2 (m - k') r / (p - 1)` for the missed range of a matrix of exact
/// rank r, and `n k' h^2 D^2 / mu^2` for the projection's noise: h is the largest row norm of
/// k' random orthonormal columns, or with equal rows `sqrt(k'/m) / (1 - 1/(4 k'))`, the inverse of what equal rows
/// make of such columns.
fn predicted_square(setting: &Setting, options: PfpOptions, rho: f64, mu: f64) -> f64 {
    let (m, n) = (setting.m() as f64, setting.n() as f64);
    let (r, k) = (setting.rank() as f64, setting.k() as f64);
    let columns = if options.kept == Kept::All { k } else { r };
    let missed = rho * rho * (m - columns) * r / (setting.oversampling() as f64 - 1.0);
    let h = match options.spread {
        Spread::Isotropic | Spread::LeastTrace => columns.sqrt() + (2.0 * m.ln()).sqrt(),
        Spread::EqualRows | Spread::LeastError => columns.sqrt() / (1.0 - 0.25 / columns),
    };
    let h = (h / m.sqrt()).min(1.0);
    missed + n * columns * (h * setting.shift() / mu).powi(2)
}

/// What [`Split::LeastError`] may lose, of the predicted squared error: 1 per cent of the error.
const SPLIT_SLACK: f64 = 1.02;

/// The share of the whole mu that the projection gets: the largest whose predicted error is within the slack of
/// the least, which golden section finds.
fn best_share(setting: &Setting, budget: Budget, options: PfpOptions, whole: f64) -> Result<f64> {
    let cost = |share: f64| -> Result<f64> {
        let mu = share * whole;
        // The slack for arithmetic is far below what the choice is worth.
        let shift = L2Sensitivity::new(setting.shift())?;
        let rho = calibrate::chi_mixture_gaussian(budget, setting.k() as u64, shift, mu)?.get();
        Ok(predicted_square(setting, options, rho, mu))
    };
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = (0.02, 0.995);
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_a, mut at_b) = (cost(a)?, cost(b)?);
    while high - low > 0.02 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - golden * (high - low);
            at_a = cost(a)?;
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + golden * (high - low);
            at_b = cost(b)?;
        }
    }
    let most = SPLIT_SLACK * at_a.min(at_b);
    let (mut low, mut high) = (0.5 * (low + high), 0.995);
    while high - low > 2e-3 {
        let middle = 0.5 * (low + high);
        *if cost(middle)? <= most { &mut low } else { &mut high } = middle;
    }
    Ok(low)
}

impl author::Sealed for Pfp {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for Pfp {
    type Config = (Setting, PfpOptions);
    type Input<'a> = (RowsView<'a>, FreshSeed);
    type Output = Release<PrivateLowRank>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: Self::Config, budget: Budget) -> Result<Self> {
        let (setting, options) = config;
        Self::calibrate(setting, budget, options)
    }

    fn guarantee(&self) -> &Guarantee {
        Self::guarantee(self)
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        let of = "a matrix of exact rank and typical coherence, in Frobenius norm";
        Ok(Prediction::new(of, self.predicted_error()))
    }

    fn release_watched(
        &self,
        input: Self::Input<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Self::Output> {
        Progress::new(0, 1).ask(hook)?;
        let (a, seed) = input;
        self.release(&a, seed, rng)
    }
}
