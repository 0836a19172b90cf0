//! Ways to release rows so that they can be searched.

use super::kinds::{Onto, Way};
use super::spaces::{Images, RETURNED, Space, Task};
use crate::data::Points;
use crate::error::Result;
use crate::framework::{Context, sabotage};
use crate::metrics::lists;
use crate::published::PrivUnit;
use dp_core::noise::NoiseLaw;
use dp_core::{Adjacency, Budget, EntryBound, NormBound, PublicSeed, Release, Shift};
use sketch::RowsView;
use sketch::projection::{Family, Groups, ProjectionSpec, project};
use sketch::search::{HammingIndex, Queries, Score, SketchIndex, UnitIndex};
use sketch::signs::{
    FlipRule, FreshConfig, FreshSigns, NormFloor, PrivateSigns, SignCodes, SignQueries, SignSketch,
};
use sketch::units::{PrivateUnits, UnitQueries, UnitVectors, UnitsConfig};
use sketch::vectors::{
    AveragedProjection, NoiseKind, Posterior, PrivateProjection, PrivateSketch, ProjectionConfig,
};

/// One release to be made and searched.
pub(super) struct Trial<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) space: &'a Space,
    pub(super) task: &'a Task,
    /// Its queries and database, checked for what is no number once for all trials.
    pub(super) views: [RowsView<'a>; 2],
    pub(super) k: usize,
    pub(super) epsilon: f64,
    pub(super) adjacency: Adjacency,
    /// Most rows of one user.
    pub(super) rows: u64,
    pub(super) repetition: u64,
}

/// What is published: the database, and the queries of those who must not show theirs.
pub(super) enum Published {
    Sketch(PrivateSketch, PrivateSketch),
    Grouped(PrivateSketch, PrivateSketch, Groups),
    Units(Box<[Release<UnitVectors>; 2]>, Images),
    /// With the variance of a number of rows of length one.
    Sphere(PrivateSketch, PrivateSketch, f64, Images),
    Signs(Box<[Release<SignCodes>; 2]>),
    /// One release, that many queries first.
    SignsTogether(Release<SignCodes>, usize),
}

pub(super) const DELTA: f64 = 1e-6;
/// Where unit vectors are drawn fast: beyond, those in the cap take milliseconds.
pub(super) const MOST: f64 = 24.0;
/// Largest entry of any row here.
const ENTRY: f64 = 1.0;

pub(super) fn view(points: &Points) -> Result<RowsView<'_>> {
    Ok(RowsView::f64(points.n(), points.d(), points.values())?)
}

impl Trial<'_> {
    /// The same for all ways of one size: they differ in the way alone.
    fn seed(&self) -> PublicSeed {
        let part = format!("projection of {} to {}", self.space.name, self.k);
        self.context.public_seed(&part, self.repetition)
    }

    fn budget(&self, pure: bool, epsilon: f64) -> Result<Budget> {
        Ok(Budget::new(epsilon, if pure { 0.0 } else { DELTA })?)
    }

    /// The projection before the noise.
    pub(super) fn spec(&self, onto: Onto) -> Result<ProjectionSpec> {
        let d = self.space.public.d();
        Ok(match onto {
            Onto::Raw => ProjectionSpec::new(Family::Identity, d, d, PublicSeed::new(0))?,
            Onto::Oporp => self.bins(sabotage::family(Family::Oporp))?,
            Onto::Public => self.space.directions(self.k)?.spec(),
        })
    }

    fn bins(&self, family: Family) -> Result<ProjectionSpec> {
        Ok(ProjectionSpec::new(family, self.space.public.d(), self.k, self.seed())?)
    }

    /// The most numbers that a feature enters, of some features, after random bins.
    pub(super) fn reach(&self) -> Result<usize> {
        let projection = self.spec(Onto::Oporp)?.build();
        let mut row = vec![0.0; self.k];
        let entered = |i| {
            projection.row(i, &mut row);
            row.iter().filter(|x| **x != 0.0).count()
        };
        Ok((0..self.space.public.d().min(32)).map(entered).max().unwrap_or(0))
    }

    /// Queries and database, and what is still to be done to them before the noise: nothing where their images in the public
    /// directions are known, whose own directions are those of the projected rows.
    fn before(&self, onto: Onto) -> Result<(Images, ProjectionSpec)> {
        let projected = &self.task.projected;
        let spec = self.spec(onto)?;
        if onto != Onto::Public {
            return Ok((None, spec));
        }
        let both = projected.get((self.k, 0.0), || {
            let projection = spec.build();
            let image = |rows| {
                let values = project(projection.as_ref(), rows)?;
                Points::new(self.space.name, spec.k(), values, None)
            };
            let [queries, database] = self.views;
            Ok([image(queries)?, image(database)?].into())
        })?;
        Ok((Some(both), ProjectionSpec::new(Family::Identity, self.k, self.k, PublicSeed::new(0))?))
    }

    /// Queries and database, or their images.
    fn seen<'b>(&'b self, images: &'b Images) -> Result<[RowsView<'b>; 2]> {
        Ok(match images.as_deref() {
            Some([queries, database]) => [view(queries)?, view(database)?],
            None => self.views,
        })
    }

    /// Releases queries and database with the same projection.
    pub(super) fn publish(&self, way: Way) -> Result<Published> {
        let part = format!("{} {} {} {}", self.space.name, way.label(), self.k, self.epsilon);
        let mut rng = self.context.noise(&part, self.repetition);
        let [queries, database] = self.views;
        let d = database.d();
        let bound = EntryBound::new(ENTRY)?;
        let budget = |epsilon| self.budget(way.is_pure(), epsilon);
        Ok(match way {
            Way::Open(onto) => {
                let projection = self.spec(onto)?.build();
                let exact = |rows| {
                    sabotage::with_rows(rows, |rows| {
                        Ok(PrivateSketch::exact(projection.as_ref(), rows)?)
                    })
                };
                Published::Sketch(exact(queries)?, exact(database)?)
            }
            Way::Noise(onto, noise) => {
                let projection = match (onto, noise) {
                    // It refuses families where a feature enters several numbers.
                    (Onto::Oporp, NoiseKind::Staircase) => self.bins(Family::Oporp)?.build(),
                    _ => self.spec(onto)?.build(),
                };
                let (adjacency, share) = self.of_user(noise)?;
                let most = if noise == NoiseKind::Staircase { 20.0 } else { 500.0 };
                let budget = sabotage::spent_within(budget(self.epsilon / share)?, most)?;
                let config = ProjectionConfig { projection, adjacency, bound, noise };
                let mechanism = dp_core::mechanism::Mechanism::calibrate(config, budget);
                self.sketches(&mechanism?, &mut rng)?
            }
            Way::Published(system) => {
                let Adjacency::Attribute { beta } = self.adjacency else {
                    return Err(crate::Error::invalid("adjacency", self.adjacency, "attribute"));
                };
                let system = sabotage::system(system);
                let budget = sabotage::published(sabotage::spent(budget(self.epsilon)?)?)?;
                let mechanism = system.mechanism(d, self.k, self.seed(), beta, bound, budget)?;
                self.sketches(&mechanism, &mut rng)?
            }
            Way::Fresh => {
                let mechanism = self.space.fresh.get((self.k, self.epsilon), || {
                    let budget = sabotage::spent(budget(self.epsilon)?)?;
                    Ok(AveragedProjection::gaussian(d, self.k, self.adjacency, bound, budget)?)
                })?;
                let fresh = self.context.fresh_seed(&part, self.repetition);
                // One projection, one release: queries and database together.
                let both = [self.task.queries.values(), self.task.database.values()].concat();
                let rows = RowsView::f64(queries.n() + database.n(), d, &both)?;
                let release =
                    sabotage::with_rows(
                        rows,
                        |rows| Ok(mechanism.release(fresh, rows, &mut rng)?),
                    )?;
                let all = release.payload();
                let (left, right) = all.values().split_at(queries.n() * self.k);
                let cut = |values: &[f64]| {
                    PrivateSketch::new(all.projection(), all.noise().clone(), values.to_vec())
                };
                Published::Sketch(cut(left)?, cut(right)?)
            }
            Way::Units(onto) => {
                // Group privacy: nothing better is proven of them.
                let epsilon = self.epsilon / self.rows as f64;
                let budget = sabotage::spent_within(self.budget(true, epsilon)?, MOST)?;
                let (images, spec) = self.before(onto)?;
                let [queries, database] = self.seen(&images)?;
                let projection = spec.build();
                // Any two rows cost the same.
                let adjacency = Adjacency::AnyInput;
                let config = UnitsConfig { projection, adjacency, lengths: None };
                let mechanism = PrivateUnits::new(config, budget)?;
                let mut release =
                    |rows| sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, &mut rng)?));
                Published::Units(Box::new([release(queries)?, release(database)?]), images)
            }
            Way::Sphere(onto) => {
                let budget = sabotage::spent_within(budget(self.epsilon)?, 64.0)?;
                let (images, spec) = self.before(onto)?;
                let [queries, database] = self.seen(&images)?;
                let (law, projection) = (PrivUnit::new(spec.k(), budget.epsilon), spec.build());
                let mut draw = |rows| {
                    sabotage::with_rows(rows, |rows| {
                        let mut rows = project(projection.as_ref(), rows)?;
                        law.draw(&mut rows, &mut rng)?;
                        Ok(PrivateSketch::new(spec, NoiseLaw::None, rows)?)
                    })
                };
                Published::Sphere(draw(queries)?, draw(database)?, law.variance(), images)
            }
            Way::Signs(rule) => {
                let family = sabotage::family(Family::Oporp);
                let sketch = SignSketch::single(family, d, self.k, self.seed())?;
                let rule = sabotage::rule(rule);
                let mut budget = sabotage::spent(budget(self.epsilon)?)?;
                if rule == FlipRule::PublishedSmooth {
                    budget = sabotage::published(budget)?;
                }
                let mechanism = PrivateSigns::new(sketch, rule, self.adjacency, bound, budget)?;
                let mut release =
                    |rows| sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, &mut rng)?));
                let (queries, database) = (release(queries)?, release(database)?);
                Published::Signs([queries, database].into())
            }
            Way::FreshSigns => {
                let mechanism = self.space.fresh_signs.get((self.k, self.epsilon), || {
                    let least = NormBound::new(0.5 * self.space.square.sqrt())?;
                    let (adjacency, floor) = (self.adjacency, NormFloor::Lifted(least));
                    let config = FreshConfig { d, bits: self.k, floor, bound, adjacency };
                    Ok(FreshSigns::exact(config, sabotage::spent(budget(self.epsilon)?)?)?)
                })?;
                let fresh = self.context.fresh_seed(&part, self.repetition);
                let both = [self.task.queries.values(), self.task.database.values()].concat();
                let rows = RowsView::f64(queries.n() + database.n(), d, &both)?;
                let release =
                    sabotage::with_rows(
                        rows,
                        |rows| Ok(mechanism.release(rows, fresh, &mut rng)?),
                    )?;
                Published::SignsTogether(release, queries.n())
            }
            Way::Groups => {
                let budget = sabotage::spent_within(budget(self.epsilon)?, 20.0)?;
                let made = |projection| {
                    PrivateProjection::staircase(projection, self.adjacency, bound, budget)
                };
                // Those of the noise that epsilon asks for, which is that of raw rows.
                let groups = self.space.groups.get((0, self.epsilon), || {
                    let raw = self.spec(Onto::Raw)?.build();
                    let asked = self.budget(true, self.epsilon)?;
                    let raw = PrivateProjection::staircase(raw, self.adjacency, bound, asked)?;
                    Ok(Groups::of(&self.space.moments, raw.noise().variance())?)
                })?;
                let (left, right) = match self.sketches(&made(groups.spec().build())?, &mut rng)? {
                    Published::Sketch(left, right) => (left, right),
                    _ => unreachable!("sketches"),
                };
                Published::Grouped(left, right, groups)
            }
        })
    }

    fn sketches(
        &self,
        mechanism: &PrivateProjection,
        rng: &mut dp_core::NoiseRng,
    ) -> Result<Published> {
        let mut release =
            |rows| sabotage::with_rows(rows, |rows| Ok(mechanism.release(rows, rng)?));
        let [queries, database] = self.views;
        let (queries, database) = (release(queries)?, release(database)?);
        Ok(Published::Sketch(queries.into_parts().0, database.into_parts().0))
    }

    /// What m rows of a user cost: with Gaussian noise and a realised projection `sqrt(m)` of one row's shift, exactly; otherwise
    /// a share of epsilon for each.
    fn of_user(&self, noise: NoiseKind) -> Result<(Adjacency, f64)> {
        let m = self.rows as f64;
        Ok(match (self.rows, noise, self.adjacency) {
            (1, ..) => (self.adjacency, 1.0),
            (_, NoiseKind::Gaussian, Adjacency::ReplaceRow { bound }) => {
                let l2 = Shift::new((2.0 * bound.get() * m.sqrt()).next_up())?;
                (Adjacency::RowShift { l2 }, 1.0)
            }
            _ => (self.adjacency, m),
        })
    }
}

impl Published {
    /// Variance of the noise of a number when rows have length one on average; none of signs.
    pub(super) fn variance(&self, space: &Space) -> Option<f64> {
        match self {
            Self::Sketch(_, database) | Self::Grouped(_, database, _) => {
                Some(database.noise_variance() / space.square)
            }
            Self::Units(both, _) => Some(both[1].payload().mean().powi(-2)),
            Self::Sphere(_, _, variance, _) => Some(*variance),
            Self::Signs(..) | Self::SignsTogether(..) => None,
        }
    }

    /// How often a number was published as it was, or how large its noise is.
    pub(super) fn scale(&self) -> f64 {
        let law = |law: &NoiseLaw| law.moments().map_or(f64::NAN, |m| m[0].sqrt());
        let kept = |signs: &Release<SignCodes>| match *signs.payload().noise() {
            NoiseLaw::BitFlip { keep } => keep.get(),
            _ => f64::NAN,
        };
        match self {
            Self::Sketch(_, database) | Self::Grouped(_, database, _) => law(database.noise()),
            Self::Units(both, _) => 1.0 / both[1].payload().mean(),
            Self::Sphere(_, _, variance, _) => variance.sqrt(),
            Self::Signs(both) => kept(&both[1]),
            Self::SignsTogether(signs, _) => kept(signs),
        }
    }

    /// The best rows of the database for every query, released and exact; none where there is no such search.
    pub(super) fn answers(&self, trial: &Trial<'_>, denoise: bool) -> Result<[Option<Answers>; 2]> {
        let own = match self {
            Self::Units(_, images) | Self::Sphere(.., images) => trial.seen(images)?[0],
            _ => trial.views[0],
        };
        let n = trial.task.database.n();
        let found = |released, exact| {
            let sabotaged = |found| sabotage::answers(found, n);
            [Some(sabotaged(released)), Some(sabotaged(exact))]
        };
        Ok(match self {
            // An eigenvalue problem of this size.
            _ if denoise && self.width() > trial.context.pick(128, 256) => [None, None],
            Self::Sphere(..) if denoise => [None, None],
            Self::Sketch(queries, database) | Self::Sphere(queries, database, ..) => {
                let exact = PrivateSketch::exact(database.projection().build().as_ref(), own)?;
                let both = [Queries::all(queries), Queries::all(&exact)];
                let [released, exact]: [Result<Answers>; 2] = if denoise {
                    let index = SketchIndex::denoised(database, Score::Cosine)?;
                    both.map(|queries| Ok(lists(&index.top_k(&queries, RETURNED)?)))
                } else {
                    let index = SketchIndex::rounded(database, Score::Cosine)?;
                    both.map(|queries| Ok(lists(&index.top_k(&queries, RETURNED)?)))
                };
                found(released?, exact?)
            }
            // Posterior means are denoised already.
            Self::Grouped(..) if !denoise => [None, None],
            Self::Grouped(queries, database, groups) => {
                let posterior = Posterior::new(*groups, &trial.space.moments)?;
                let index = SketchIndex::posterior(database, &posterior, Score::Cosine)?;
                let exact = PrivateSketch::exact(groups.spec().build().as_ref(), own)?;
                let of = |queries: &PrivateSketch| -> Result<Answers> {
                    Ok(lists(&index.top_k(&Queries::all(queries), RETURNED)?))
                };
                found(of(queries)?, of(&exact)?)
            }
            Self::Units(both, _) => {
                let [queries, database] = &**both;
                let (queries, database) = (queries.payload(), database.payload());
                let index = if denoise {
                    UnitIndex::denoised(database, Score::Cosine)?
                } else {
                    UnitIndex::new(database, Score::Cosine)?
                };
                let all: Vec<usize> = (0..queries.n()).collect();
                let of = |sought: UnitQueries<'_>| -> Result<Answers> {
                    Ok(lists(&index.top_k(&sought, RETURNED)?))
                };
                let released = of(UnitQueries::released(queries, &all)?)?;
                found(released, of(UnitQueries::exact(database, own)?)?)
            }
            _ if denoise => [None, None],
            Self::Signs(both) => {
                let [queries, database] = &**both;
                let index = HammingIndex::new(database.payload())?;
                let queries = Queries::all(queries.payload());
                let released = lists(&index.top_k(&queries, RETURNED)?);
                let exact = SignQueries::exact(database, own)?;
                found(released, lists(&index.top_k_exact(&exact, RETURNED)?))
            }
            Self::SignsTogether(all, first) => {
                let rows: Vec<usize> = (0..*first).collect();
                let count = RETURNED + first;
                let index = HammingIndex::new(all.payload())?;
                let queries = Queries::rows(all.payload(), &rows)?;
                let released = lists(&index.top_k(&queries, count)?);
                let exact = SignQueries::exact(all, own)?;
                let exact = lists(&index.top_k_exact(&exact, count)?);
                let others = |list: Vec<usize>| {
                    let others = list.into_iter().filter(|row| row >= first);
                    others.map(|row| row - first).take(RETURNED).collect()
                };
                let [released, exact] =
                    [released, exact].map(|lists| lists.into_iter().map(others).collect());
                found(released, exact)
            }
        })
    }

    /// Numbers of a released row.
    fn width(&self) -> usize {
        match self {
            Self::Sketch(_, database) | Self::Sphere(_, database, ..) => database.k(),
            Self::Units(both, _) => both[1].payload().width(),
            Self::Grouped(..) | Self::Signs(..) | Self::SignsTogether(..) => 0,
        }
    }
}

/// One list a query.
pub(super) type Answers = Vec<Vec<usize>>;
