//! Second moments first, then sums of the groups that they make.

use super::moved;
use super::release::{GroupSums, NoisyMoments, groups_of};
use crate::author::AUTHOR;
use crate::covariance::{CONSTANT, OpenGram, RowClip, longer_rows, noise_grid};
use crate::error::{Error, Result};
use crate::products::check_grid;
use core::borrow::BorrowMut;
use core::ops::ControlFlow;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{AdditiveNoise, Grid, NoiseLaw, SymmetricGaussian};
use dp_core::{
    Adjacency, Budget, EntryBound, Epsilon, Guarantee, L2Sensitivity, NoiseRng, NoiseScale,
    NormBound, Probability, Profile, Release, Theorem, calibrate,
};
use sketch::RowsView;
use sketch::projection::Groups;
use sketch::vectors::{PrivateProjection, PrivateSketch};

const NAME: &str = "sums of private groups";
/// Most columns: matrices of d x d numbers are held.
const COLUMNS: usize = 1 << 13;
/// Rows that are looked at together.
const PART: usize = 1 << 12;

/// What [`PrivateGroups`] needs to know beside the budget.
#[derive(Debug, Clone, Copy)]
pub struct GroupsConfig {
    /// Columns.
    pub d: usize,
    /// What may change: one attribute.
    pub adjacency: Adjacency,
    /// Largest absolute value of an entry; a row with a larger one is refused.
    pub bound: EntryBound,
    /// The norm that longer rows are scaled to in the second moments, and there alone: a guess of the length of most rows that
    /// does not come from them, since it is published; the noise of the moments grows with it. Scaling costs accuracy, never privacy.
    pub norm: NormBound,
    /// The share of epsilon that the moments have; delta they have whole.
    pub share: Probability,
}

/// Sums of signed groups of columns, where the groups follow from second moments of the very rows, paid from the same
/// budget: for a search among rows of which one value is protected, where nobody has public rows.
///
/// First `sum [x, c] [x, c]^T` is released with symmetric Gaussian noise; from it follow groups of columns that move
/// together and what rows are guessed by ([`GroupSums::moments`]). Then every row's sums of these groups are released
/// with staircase noise.
///
/// # Privacy
/// One value moves the moments by the root of `max t^2 max(2 C^2 - t^2/2, 2 C^2 + 2 a^2 - 4 a t + t^2)` at most, in
/// Frobenius norm, whatever a row's length; then one sum by beta, whatever the groups are. A Gaussian step and a pure one compose
/// exactly, the second chosen by the output of the first. **The moments spend delta**: the whole release is not pure, although its
/// sums alone would be.
///
/// The rows must be the same in both passes.
///
/// # References
/// `docs/proofs/signed-groups.md`, theorems 2 and 3. Staircase: Geng and Viswanath 2016.
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, NoiseRng, NormBound, Probability, Shift};
/// use linalg_dp::groups::{GroupsConfig, PrivateGroups};
/// use sketch::RowsView;
///
/// // 4096 rows of six numbers, of which three at a time are one: all pairs of two factors, each once.
/// let number = |i: usize| (if i % 6 < 3 { i / 6 % 64 } else { i / 384 }) as f64 / 63.0;
/// let rows: Vec<f64> = (0..4096 * 6).map(number).collect();
/// let config = GroupsConfig {
///     d: 6,
///     adjacency: Adjacency::Attribute { beta: Shift::new(1.0)? },
///     bound: EntryBound::new(1.0)?,
///     norm: NormBound::new(2.0)?,
///     share: Probability::new(0.25)?,
/// };
/// let mechanism = PrivateGroups::calibrate(config, Budget::new(2.0, 1e-6)?)?;
/// let release = mechanism.release(RowsView::f64(4096, 6, &rows)?, &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().sums().projection().groups().unwrap().signed(), [1, 1, 1, 2, 2, 2]);
/// # Ok::<(), linalg_dp::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PrivateGroups {
    config: GroupsConfig,
    clip: RowClip,
    noise: SymmetricGaussian,
    sigma: NoiseScale,
    grid: Grid,
    /// What the sums may spend.
    rest: Budget,
    /// Of a sum's noise.
    variance: f64,
    guarantee: Guarantee,
}

/// What one value moves moments by, from public facts: columns, bounds of an entry and of a row, the constant, the grid.
pub(crate) fn moved_under(
    adjacency: Adjacency,
    (d, entry, norm): (usize, EntryBound, NormBound),
    constant: f64,
    grid: Grid,
) -> Result<L2Sensitivity> {
    let clip = RowClip::new(d, norm)?.followed_by(constant)?;
    moved_on((beta_of(adjacency)?, entry.get(), norm.get()), &clip, grid)
}

/// What one value moves moments by, on this grid.
fn moved_on(
    (beta, entry, norm): (f64, f64, f64),
    clip: &RowClip,
    grid: Grid,
) -> Result<L2Sensitivity> {
    let moved = moved::paid(beta, entry, norm, clip)?;
    if grid.exponent() == 2 * clip.exponent() {
        return Ok(moved);
    }
    Ok(grid.inflate_l2(moved, clip.columns() * clip.columns(), 0.0)?)
}

/// The variance of noise that groups are chosen for: that of sums of all columns, than which no others are larger.
pub(crate) fn planned_variance(
    d: usize,
    adjacency: Adjacency,
    bound: EntryBound,
    rest: Budget,
) -> Result<f64> {
    let spec = Groups::new(&vec![1; d])?.spec();
    Ok(PrivateProjection::staircase(spec.build(), adjacency, bound, rest)?.noise().variance())
}

/// Beta, where one attribute may change.
fn beta_of(adjacency: Adjacency) -> Result<f64> {
    match adjacency {
        Adjacency::Attribute { beta } => Ok(beta.get()),
        other => Err(Error::NotProven {
            mechanism: NAME,
            adjacency: other.to_string(),
            instead: "private groups protect one attribute; whole rows need groups from public rows, or unit vectors",
        }),
    }
}

impl PrivateGroups {
    /// The least noise for the budget.
    ///
    /// # Errors
    /// A budget with delta = 0, another adjacency than one attribute, more than 2^13 columns, a share outside (0, 1), or one that
    /// leaves the sums an epsilon outside `[1/32, 20]`.
    pub fn calibrate(config: GroupsConfig, budget: Budget) -> Result<Self> {
        let GroupsConfig { d, adjacency, bound, share, .. } = config;
        let beta = beta_of(adjacency)?;
        if !(1..=COLUMNS).contains(&d) {
            return Err(Error::invalid("columns of private groups", d, "[1, 2^13]"));
        }
        if !(share.get() > 0.0 && share.get() < 1.0) {
            return Err(Error::invalid("share of the moments", share, "(0, 1)"));
        }
        // No row is longer than this.
        let longest = bound.get() * (d as f64).sqrt();
        let norm = NormBound::new(config.norm.get().min(longest))?;
        let config = GroupsConfig { norm, ..config };
        let rest = Budget::new(budget.epsilon.get() * (1.0 - share.get()), 0.0)?;
        // All that the sums can refuse is refused before the moments are paid.
        let variance = planned_variance(d, adjacency, bound, rest)?;
        let clip = RowClip::new(d, norm)?;
        let clip = clip.followed_by(clip.constant_for_means())?;
        let at = (beta, bound.get(), norm.get());
        let least = |moved| calibrate::gaussian_and_pure(budget, moved, rest.epsilon);
        let grid = noise_grid(&clip, least(moved::paid(at.0, at.1, at.2, &clip)?)?)?;
        let moved = moved_on(at, &clip, grid)?;
        let sigma = least(moved)?;
        check_grid(sigma, grid)?;
        let noise = AUTHOR.symmetric(clip.columns(), sigma, grid)?;
        let profile = Profile::GaussianAndPure { sensitivity: moved, sigma, epsilon: rest.epsilon };
        let guarantee = AUTHOR.proven(adjacency, budget, profile, Theorem::PrivateGroups)?;
        Ok(Self { config, clip, noise, sigma, grid, rest, variance, guarantee })
    }

    /// What one release promises.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The epsilon of the sums alone.
    #[must_use]
    pub fn epsilon_of_sums(&self) -> Epsilon {
        self.rest.epsilon
    }

    /// Standard deviation of the noise of a second moment with itself.
    #[must_use]
    pub fn sigma(&self) -> NoiseScale {
        self.sigma
    }

    /// The first of two passes over the rows.
    pub fn moments<R: BorrowMut<NoiseRng>>(&self, rng: R) -> MomentStream<'_, R> {
        MomentStream { mechanism: self, gram: OpenGram::new(self.clip), rows: 0, rng }
    }

    /// Releases n rows.
    ///
    /// # Errors
    /// As [`MomentStream`] and [`SumStream`].
    pub fn release(&self, rows: RowsView<'_>, rng: &mut NoiseRng) -> Result<Release<GroupSums>> {
        Mechanism::release(self, rows, rng)
    }
}

/// The first pass of a [`PrivateGroups`]: rows whose second moments are summed. The same rows must follow in the second.
///
/// Private: neither printable nor serialisable.
pub struct MomentStream<'m, R = NoiseRng> {
    mechanism: &'m PrivateGroups,
    gram: OpenGram,
    rows: usize,
    rng: R,
}

impl<'m, R: BorrowMut<NoiseRng>> MomentStream<'m, R> {
    /// Adds rows.
    ///
    /// # Errors
    /// Rows of another number of columns, or with an entry above the bound; those of the call then count as not pushed.
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
        let GroupsConfig { d, bound, .. } = self.mechanism.config;
        if rows.d() != d {
            return Err(Error::shape("rows", rows.d(), d));
        }
        rows.check_bound(bound)?;
        let mut values = vec![0.0; rows.n() * d];
        values.chunks_exact_mut(d).enumerate().for_each(|(i, row)| rows.copy_row(i, row));
        self.gram.push(&values)?;
        self.rows += rows.n();
        Ok(())
    }

    /// Adds the noise of the moments and makes groups from them: the budget is spent from here on.
    ///
    /// # Errors
    /// No rows.
    pub fn choose(mut self) -> Result<SumStream<'m, R>> {
        if self.rows == 0 {
            return Err(Error::invalid("rows of a release", 0, "at least one"));
        }
        let mechanism = self.mechanism;
        let columns = mechanism.clip.columns();
        let mut noise = vec![0.0; columns * columns];
        mechanism.noise.fill(self.rng.borrow_mut(), &mut noise);
        let all = self.gram.sum().release(mechanism.grid.exponent(), &noise);
        let below = all.chunks(columns).enumerate();
        let triangle = below.flat_map(|(i, row)| &row[..=i]).copied().collect();
        let unit = 2f64.powi(mechanism.clip.exponent());
        let constant = f64::from(mechanism.clip.constant_units()) * unit;
        let moments = NoisyMoments { constant, sigma: mechanism.sigma, triangle };
        let groups = groups_of(&moments, self.rows, mechanism.variance)?;
        let GroupsConfig { adjacency, bound, .. } = mechanism.config;
        let sums =
            PrivateProjection::staircase(groups.spec().build(), adjacency, bound, mechanism.rest)?;
        let (rows, rng) = (self.rows, self.rng);
        Ok(SumStream { mechanism, moments, sums, values: Vec::new(), rows, rng })
    }
}

/// The second pass of a [`PrivateGroups`]: rows whose sums of groups are released.
pub struct SumStream<'m, R = NoiseRng> {
    mechanism: &'m PrivateGroups,
    moments: NoisyMoments,
    sums: PrivateProjection,
    /// With their noise.
    values: Vec<f64>,
    rows: usize,
    rng: R,
}

impl<R: BorrowMut<NoiseRng>> SumStream<'_, R> {
    /// Adds rows.
    ///
    /// # Errors
    /// As [`MomentStream::push`]; more rows than before.
    pub fn push(&mut self, rows: RowsView<'_>) -> Result<()> {
        let k = self.sums.projection().spec().k();
        if self.values.len() / k + rows.n() > self.rows {
            return Err(self.other_rows());
        }
        let release = self.sums.release(rows, self.rng.borrow_mut())?;
        self.values.extend_from_slice(release.payload().values());
        Ok(())
    }

    fn other_rows(&self) -> Error {
        let found = "another number".to_owned();
        let expected = format!("the {} rows of the first pass", self.rows);
        Error::Shape { what: "the second pass", found, expected }
    }

    /// Publishes moments and sums.
    ///
    /// # Errors
    /// Fewer rows than before.
    pub fn finish(mut self) -> Result<Release<GroupSums>> {
        let (mechanism, spec) = (self.mechanism, self.sums.projection().spec());
        if self.values.len() != self.rows * spec.k() {
            return Err(self.other_rows());
        }
        let law = self.sums.noise().law();
        let mut public: PublicParameters = spec.public_parameters();
        public.extend([
            longer_rows(),
            ("n".to_owned(), self.rows.into()),
            ("largest entry".to_owned(), mechanism.config.bound.get().into()),
            ("row_bound".to_owned(), mechanism.config.norm.get().into()),
            (CONSTANT.to_owned(), self.moments.constant.into()),
        ]);
        let statement = Statement {
            mechanism: NAME.to_owned(),
            noise: NoiseLaw::Several { laws: vec![mechanism.noise.law(), law.clone()] },
            generator: self.rng.borrow_mut().kind(),
            public,
        };
        let certificate = AUTHOR.certificate(statement, mechanism.guarantee.clone());
        let sums = PrivateSketch::new(spec, law, self.values)?;
        Ok(Release::certified(GroupSums::new(sums, self.moments), certificate))
    }
}

impl author::Sealed for PrivateGroups {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for PrivateGroups {
    type Config = GroupsConfig;
    type Input<'a> = RowsView<'a>;
    type Output = Release<GroupSums>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: GroupsConfig, budget: Budget) -> Result<Self> {
        Self::calibrate(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        self.guarantee()
    }

    /// Of a sum: what groups there will be, and how near rows come by them, follows from no public fact.
    fn predict(&self, (): ()) -> Result<Prediction> {
        Ok(Prediction::new("one sum of a group", self.variance.sqrt()))
    }

    fn release_watched(
        &self,
        rows: RowsView<'_>,
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<GroupSums>> {
        let parts = rows.n().div_ceil(PART);
        let part = |i: usize| rows.slice(i * PART..rows.n().min((i + 1) * PART));
        let total = 2 * parts as u64;
        let mut moments = self.moments(rng);
        for i in 0..parts {
            Progress::new(i as u64, total).ask(hook)?;
            moments.push(part(i))?;
        }
        let mut sums = moments.choose()?;
        for i in 0..parts {
            Progress::new((parts + i) as u64, total).ask(hook)?;
            sums.push(part(i))?;
        }
        sums.finish()
    }
}
