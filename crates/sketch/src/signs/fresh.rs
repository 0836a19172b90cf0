//! Signs of a fresh projection: guarantees averaged over it.

use super::bits::PackedBits;
use super::changes::{
    Tail, any_neighbour_gaussian, any_neighbour_rademacher, most_changes, one_pair_gaussian,
    one_pair_lifted,
};
use super::codes::{SignCodes, SignSketch};
use super::flip::{FlipRule, FlipTable};
use super::mechanism::{Flips, attribute};
use super::pairs::predict_share;
use super::stream::{OpenSigns, SignSource, release_all};
use crate::author::AUTHOR;
use crate::error::{Error, Result};
use crate::projection::Family;
use crate::rows::{Incoming, NORM_SLACK, RowsView};
use core::ops::ControlFlow;
use dp_core::certificate::{PublicValue, Statement};
use dp_core::mechanism::{Mechanism, Prediction, Progress, author};
use dp_core::noise::{GeneratorKind, NoiseLaw};
use dp_core::profile::CoordinateProfile;
use dp_core::{
    Adjacency, Budget, EntryBound, Epsilon, FreshSeed, Guarantee, NoiseRng, NormBound, Probability,
    Profile, Release, SeedOrigin, Shift, Theorem, calibrate,
};

/// How rows come to have a norm of at least m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NormFloor {
    /// The caller promises it of every possible row; a row below is refused, which reveals it.
    Promised(NormBound),
    /// A constant attribute m is appended to every row, so that nothing need be promised;
    /// angles are then those of the rows (u, m).
    Lifted(NormBound),
}

impl NormFloor {
    /// The least norm m.
    #[must_use]
    pub fn least(self) -> NormBound {
        match self {
            Self::Promised(m) | Self::Lifted(m) => m,
        }
    }
}

/// Shape and data bounds of [`FreshSigns`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FreshConfig {
    /// Features of a row.
    pub d: usize,
    /// Signs of a row.
    pub bits: usize,
    /// The least norm of a row.
    pub floor: NormFloor,
    /// Largest absolute value of an attribute.
    pub bound: EntryBound,
    /// The adjacency: `Attribute`, `RowShift` or `ReplaceRow`; under the last a promised norm hides nothing of the angle, a lift does.
    pub adjacency: Adjacency,
}

/// Randomised response on the signs of a projection drawn at release (DP-SignRP-RR).
///
/// # Privacy
/// [`FreshSigns::exact`]: for one adjacent pair of rows of norm at least m, the number of
/// signs that differ under a fresh Gaussian projection is binomial, and the profile is the
/// binomial mixture of responses, exactly (proof page `docs/proofs/sign-flips.md`,
/// theorem 4). Rademacher projections have no such law, and none is offered for them: use
/// [`super::PrivateSigns`], which needs no norm.
/// [`FreshSigns::published`]: N+ of Proposition 4.5 as in the paper.
///
/// # References
/// Li and Li 2023, algorithm 6 and Proposition 4.5; Goemans and Williamson 1995 (the angle law).
///
/// ```
/// use dp_core::{Adjacency, Budget, EntryBound, FreshSeed, NoiseRng, NormBound, Shift};
/// use sketch::RowsView;
/// use sketch::signs::{FreshConfig, FreshSigns, NormFloor};
///
/// let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
/// // One attribute may move by 0.5; every row is promised a norm of at least 0.6.
/// let (bound, floor) = (EntryBound::new(1.0)?, NormFloor::Promised(NormBound::new(0.6)?));
/// let adjacency = Adjacency::Attribute { beta: Shift::new(0.5)? };
/// let config = FreshConfig { d: 4, bits: 4, floor, bound, adjacency };
/// let signs = FreshSigns::exact(config, Budget::new(2.0, 1e-6)?)?;
/// let release = signs.release(rows, FreshSeed::draw()?, &mut NoiseRng::from_os()?)?;
/// assert_eq!(release.payload().bits().bits(), 4);
/// # Ok::<(), sketch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FreshSigns {
    config: FreshConfig,
    family: Family,
    table: FlipTable,
    guarantee: Guarantee,
}

/// Added to the probability that a sign differs, for signs that floating-point error may
/// flip; checked against the projection that was drawn.
const ARITHMETIC: f64 = 1e-6;

impl FreshSigns {
    /// The most informative response whose exact mixture profile meets the budget.
    ///
    /// # Errors
    /// Another adjacency; a calibration that fails.
    pub fn exact(config: FreshConfig, budget: Budget) -> Result<Self> {
        let probability = config.one_pair()?;
        let keep = calibrate::binomial_mixture_rr(budget, config.bits as u64, probability)?;
        let profile = config.mixture(probability, keep);
        let guarantee = AUTHOR.proven(config.adjacency, budget, profile, Theorem::SignsFresh)?;
        let table = FlipTable::new(FlipRule::RandomizedResponse, keep)?;
        Ok(Self { config, family: Family::Gaussian, table, guarantee })
    }

    /// DP-SignRP-RR as published: per-bit budget epsilon / N+ (Li & Li 2023, algorithm 6).
    ///
    /// For a Gaussian projection the certificate states the exact profile of these flips,
    /// and a budget they miss is an error. For a Rademacher projection no profile is known.
    ///
    /// # Errors
    /// A family other than these two; an adjacency other than `Attribute`; delta of zero;
    /// a budget that the exact profile contradicts.
    pub fn published(
        config: FreshConfig,
        family: Family,
        tail: Tail,
        budget: Budget,
    ) -> Result<Self> {
        let (beta, m) = (attribute(config.adjacency)?, config.floor.least());
        let (p, profile_of, caveat) = match family {
            Family::Gaussian => {
                let pair = config.one_pair()?;
                let of = move |keep| Some(config.mixture(pair, keep));
                let p = any_neighbour_gaussian(beta, m, config.features());
                (p, Box::new(of) as Box<dyn Fn(Probability) -> Option<Profile>>, GAUSSIAN_CAVEAT)
            }
            Family::Rademacher => {
                let p = any_neighbour_rademacher(beta, m);
                (p, Box::new(|_| None) as Box<dyn Fn(_) -> _>, RADEMACHER_CAVEAT)
            }
            _ => {
                let allowed = "Gaussian or Rademacher, for the published bound on changes";
                return Err(Error::invalid("family", format!("{family:?}"), allowed));
            }
        };
        let changes = most_changes(config.bits, p, budget.delta, tail)?;
        let per_bit = Epsilon::new(budget.epsilon.get() / changes as f64)?;
        let table = FlipTable::for_epsilon(FlipRule::RandomizedResponse, per_bit)?;
        let guarantee = AUTHOR.published(
            config.adjacency,
            budget,
            profile_of(table.keep()),
            "DP-SignRP-RR with N+",
            "Li & Li 2023, algorithm 6 and Proposition 4.5",
            caveat,
        )?;
        Ok(Self { config, family, table, guarantee })
    }

    /// The flip probabilities.
    #[must_use]
    pub fn flips(&self) -> &FlipTable {
        &self.table
    }

    /// The guarantee every release of this mechanism carries.
    #[must_use]
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Draws the projection from the seed and releases the signs of n rows under it. The
    /// guarantee averages over the seed: it holds for this one release.
    ///
    /// # Errors
    /// [`Error::Shape`] for rows of another d, [`Error::OutOfRange`] or
    /// [`Error::NormTooSmall`] for rows outside the declared bounds (which the refusal
    /// reveals), or bounds so far apart that floating point cannot tell the signs.
    pub fn release(
        &self,
        rows: RowsView<'_>,
        seed: FreshSeed,
        rng: &mut NoiseRng,
    ) -> Result<Release<SignCodes>> {
        Mechanism::release(self, (rows, seed), rng)
    }

    /// As [`FreshSigns::release`] for rows that come in portions.
    ///
    /// # Errors
    /// Bounds so far apart that floating point cannot tell the signs.
    pub fn open<'m, 'r>(
        &'m self,
        seed: FreshSeed,
        rng: &'r mut NoiseRng,
    ) -> Result<OpenSigns<'m, 'r>> {
        Ok(OpenSigns::of(Box::new(self.draw(seed)?), rng))
    }

    fn draw(&self, seed: FreshSeed) -> Result<Drawn<'_>> {
        let config = &self.config;
        let origin = seed.origin();
        let seed = seed.publish();
        let sketch = SignSketch::single(self.family, config.features(), config.bits, seed)?;
        self.check_arithmetic(&sketch)?;
        let flips = Flips::new(self.table.clone(), &vec![1.0; config.bits])?;
        Ok(Drawn { mechanism: self, sketch, flips, origin })
    }

    /// A value closer to zero than its floating-point error may have either sign; for
    /// N(0, |u|^2/k) that has probability at most `error sqrt(2k/pi) / m`, for two rows twice.
    fn check_arithmetic(&self, sketch: &SignSketch) -> Result<()> {
        let error = sketch.parts()[0].output_range(self.config.largest()).error;
        let k = self.config.bits as f64;
        let slack = 2.0 * error * (k * core::f64::consts::FRAC_2_PI).sqrt();
        let m = self.config.floor.least();
        if slack <= ARITHMETIC * m.get() {
            Ok(())
        } else {
            let allowed = format!("at least {:e} for this data bound", slack / ARITHMETIC);
            Err(Error::invalid("least norm", m, allowed))
        }
    }
}

impl author::Sealed for FreshSigns {
    const SEAL: author::Seal<Self> = AUTHOR.seal();
}

impl Mechanism for FreshSigns {
    type Config = FreshConfig;
    /// Rows, and a seed that was drawn after they were fixed.
    type Input<'a> = (RowsView<'a>, FreshSeed);
    type Output = Release<SignCodes>;
    type Facts = ();
    type Error = Error;

    fn calibrate(config: FreshConfig, budget: Budget) -> Result<Self> {
        Self::exact(config, budget)
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn predict(&self, (): ()) -> Result<Prediction> {
        let flips = NoiseLaw::BitFlip { keep: self.table.keep() };
        predict_share(&flips, self.config.bits)
    }

    fn release_watched(
        &self,
        (rows, seed): (RowsView<'_>, FreshSeed),
        rng: &mut NoiseRng,
        hook: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Release<SignCodes>> {
        release_all(&self.draw(seed)?, rows, rng, hook)
    }
}

/// The mechanism for the projection of one seed; it must release once.
struct Drawn<'m> {
    mechanism: &'m FreshSigns,
    sketch: SignSketch,
    flips: Flips,
    origin: SeedOrigin,
}

impl SignSource for Drawn<'_> {
    fn d(&self) -> usize {
        self.mechanism.config.d
    }

    fn sketch(&self) -> &SignSketch {
        &self.sketch
    }

    fn check<'a>(&self, rows: Incoming<'a>) -> Result<RowsView<'a>> {
        self.mechanism.config.check(rows)
    }

    fn flip(&self, rows: Incoming<'_>, rng: &mut NoiseRng) -> Result<PackedBits> {
        let (sketch, flips) = (&self.sketch, &self.flips);
        match self.mechanism.config.floor {
            NormFloor::Promised(_) => flips.release(sketch, rows, rng, |rows| self.check(rows)),
            NormFloor::Lifted(m) => lifted(self.check(rows)?, m, |rows| {
                flips.release(sketch, rows.into(), rng, |rows| rows.check())
            }),
        }
    }

    fn certify(&self, bits: PackedBits, generator: GeneratorKind) -> Result<Release<SignCodes>> {
        let (config, sketch) = (&self.mechanism.config, &self.sketch);
        let noise = self.flips.law()?;
        let name = "signs of a fresh projection";
        let mut statement = sketch.statement(name, bits.n(), noise.clone(), generator);
        statement.public.insert(SeedOrigin::KEY.into(), self.origin.name().into());
        statement.public.insert("least norm".into(), config.floor.least().get().into());
        let lift = matches!(config.floor, NormFloor::Lifted(_));
        statement.public.insert(LIFTED.into(), u64::from(lift).into());
        let certificate = AUTHOR.certificate(statement, self.mechanism.guarantee.clone());
        Ok(Release::certified(SignCodes::new(sketch.specs(), noise, bits), certificate))
    }
}

const GAUSSIAN_CAVEAT: &str = "N+ bounds, outside probability delta, the changes over all \
    neighbours at once; the profile stated is that of one pair";
const RADEMACHER_CAVEAT: &str = "P+ = 2 Phi(beta/m) - 1 is a normal approximation, and too small \
    for sparse rows: five equal nonzeros of norm 1 and beta 0.5 give 0.625 against 0.383";

impl FreshConfig {
    fn features(&self) -> usize {
        self.d + usize::from(matches!(self.floor, NormFloor::Lifted(_)))
    }

    /// Largest absolute value of an attribute of the rows that are projected.
    fn largest(&self) -> EntryBound {
        match self.floor {
            NormFloor::Lifted(m) if m.of_entries() > self.bound => m.of_entries(),
            _ => self.bound,
        }
    }

    /// Refuses rows beyond what was declared.
    fn check<'a>(&self, rows: Incoming<'a>) -> Result<RowsView<'a>> {
        let rows = rows.check_bound(self.bound)?;
        if let Adjacency::ReplaceRow { bound } = self.adjacency {
            rows.check_norms(bound)?;
        }
        if let NormFloor::Promised(floor) = self.floor {
            check_floor(rows, floor)?;
        }
        Ok(rows)
    }

    pub(crate) fn one_pair(&self) -> Result<Probability> {
        let beta = match self.adjacency {
            Adjacency::Attribute { beta } => beta,
            Adjacency::RowShift { l2 } => l2,
            Adjacency::ReplaceRow { bound } => {
                Shift::new(2.0 * bound.get() * (1.0 + 2.0 * NORM_SLACK))?
            }
            other => {
                let allowed = "attribute, row shift or replaced row, for fresh signs";
                return Err(Error::invalid("adjacency", other, allowed));
            }
        };
        let angle = match self.floor {
            // The check of the floor adds up d squares in floating point.
            NormFloor::Promised(m) => {
                let slack = 1.0 - (self.d as f64 + 4.0) * f64::EPSILON;
                one_pair_gaussian(beta, NormBound::new(m.get() * slack)?)
            }
            NormFloor::Lifted(m) => one_pair_lifted(beta, m),
        }
        .get();
        Ok(Probability::new((angle + ARITHMETIC).min(1.0))?)
    }

    fn mixture(&self, probability: Probability, keep: Probability) -> Profile {
        let coordinate = CoordinateProfile::RandomizedResponse { keep };
        Profile::BinomialMixture { trials: self.bits as u64, probability, coordinate }
    }
}

/// Refuses rows whose norm is below the floor.
fn check_floor(rows: RowsView<'_>, floor: NormBound) -> Result<()> {
    match (0..rows.n()).find(|&row| rows.norm_is_below(row, floor.get())) {
        Some(row) => Err(Error::NormTooSmall { row, floor }),
        None => Ok(()),
    }
}

/// Appends the constant m to every row.
fn lifted(
    rows: RowsView<'_>,
    m: NormBound,
    release: impl FnOnce(RowsView<'_>) -> Result<PackedBits>,
) -> Result<PackedBits> {
    let (n, d) = (rows.n(), rows.d());
    let mut values = vec![m.get(); n * (d + 1)];
    for (row, out) in values.chunks_exact_mut(d + 1).enumerate() {
        rows.copy_row(row, &mut out[..d]);
    }
    release(RowsView::f64(n, d + 1, &values)?)
}

/// The name under which releases state whether a constant was appended to every row.
const LIFTED: &str = "lifted";

/// Whether one was.
pub(super) fn is_lifted(statement: &Statement) -> bool {
    statement.public.get(LIFTED) == Some(&PublicValue::from(1u64))
}
