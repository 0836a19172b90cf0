//! Search by cosine over private releases, method against method (section 5.1).

use super::projections::Projections;
use super::standing::Cell;
use crate::baselines::NoisyRawData;
use crate::data::{Points, Split};
use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, sabotage,
};
use crate::metrics::{mean_precision_recall, nearest_by_cosine, nearest_in_release, plain};
use dp_core::{Adjacency, Budget, EntryBound, Release, Shift};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::projection::Family;
use sketch::vectors::{PrivateProjection, PrivateSketch};

/// True neighbours of a query.
const RELEVANT: usize = 50;
/// Length of the answers whose precision is measured, and of those whose recall is.
const RETURNED: (usize, usize) = (10, 100);
/// What is measured.
pub(super) const PRECISION: &str = "precision at 10";
/// See [`PRECISION`].
pub(super) const RECALL: &str = "recall at 100";

/// One release of queries and database, and what is found in it.
pub(super) struct Trial<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) projections: &'a Projections,
    pub(super) split: &'a Split,
    pub(super) k: usize,
    pub(super) budget: Budget,
    /// Names the public randomness of this repetition.
    pub(super) repetition: u64,
    /// Names the noise of this very trial.
    pub(super) noise: String,
}

/// The best rows of the database for every query, by the release alone.
pub(super) struct Found {
    pub(super) answers: Vec<Vec<usize>>,
    pub(super) sigma: f64,
    /// The released database, row-major, where it is to be looked at.
    pub(super) released: Vec<f64>,
}

impl Trial<'_> {
    /// What was released, of a trial that is made to look at it.
    pub(super) fn looked_at(&self, released: impl FnOnce() -> Vec<f64>) -> Vec<f64> {
        if self.noise.starts_with("probe") { released() } else { Vec::new() }
    }
}

/// A way to search privately.
pub(super) struct Method {
    pub(super) label: &'static str,
    pub(super) mechanism: &'static str,
    /// Whether the answer depends on k.
    pub(super) sketches: bool,
    /// Whether it depends on the budget.
    pub(super) private: bool,
    pub(super) search: fn(&Trial<'_>) -> Result<Found>,
}

/// Raw-data-G-OPT.
pub(super) const RAW: Method = Method {
    label: "Raw-data-G-OPT",
    mechanism: "exact Gaussian noise on the raw coordinates, beta = 1",
    sketches: false,
    private: true,
    search: |trial| {
        let one = EntryBound::new(1.0)?;
        let mechanism = NoisyRawData::new(Shift::new(1.0)?, one, sabotage::spent(trial.budget)?)?;
        let mut rng = trial.context.noise(&trial.noise, trial.repetition);
        let mut release = |points: &Points| {
            let seen = sabotage::data(points.values().to_vec());
            mechanism.release(&Points::new("rows", points.d(), seen, None)?, &mut rng)
        };
        let d = trial.split.database.d();
        let queries = plain(release(&trial.split.queries)?, d)?;
        let database = plain(release(&trial.split.database)?, d)?;
        let answers = nearest_in_release(&queries, &database, RETURNED.1)?;
        let released = trial.looked_at(|| database.values().to_vec());
        Ok(Found { answers, sigma: mechanism.sigma().get(), released })
    },
};

/// DP-RP-G-OPT-B.
pub(super) const RADEMACHER: Method = Method {
    label: "DP-RP-G-OPT-B",
    mechanism: "Rademacher projection, exact Gaussian noise, beta = 1",
    sketches: true,
    private: true,
    search: |trial| projected(trial, Family::Rademacher),
};

/// DP-OPORP.
pub(super) const OPORP: Method = Method {
    label: "DP-OPORP",
    mechanism: "OPORP, exact Gaussian noise, beta = 1",
    sketches: true,
    private: true,
    search: |trial| projected(trial, Family::Oporp),
};

pub(super) fn view(points: &Points) -> Result<RowsView<'_>> {
    Ok(RowsView::f64(points.n(), points.d(), points.values())?)
}

/// Projects with a public matrix shared by queries and database, adds exact Gaussian noise
/// for the matrix that was drawn, and searches by the cosine of the noisy sketches.
pub(super) fn projected(trial: &Trial<'_>, family: Family) -> Result<Found> {
    let seed = trial.context.public_seed("projection", trial.repetition);
    let d = trial.split.database.d();
    let family = sabotage::family(family);
    let projection = trial.projections.get(family, (d, trial.k), seed)?;
    let one = EntryBound::new(1.0)?;
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0)? };
    let mechanism =
        PrivateProjection::gaussian(projection, adjacency, one, sabotage::spent(trial.budget)?)?;
    let mut rng = trial.context.noise(&trial.noise, trial.repetition);
    let mut release = |points: &Points| {
        sabotage::with_rows(view(points)?, |rows| Ok(mechanism.release(rows, &mut rng)?))
    };
    let (queries, database) = (release(&trial.split.queries)?, release(&trial.split.database)?);
    found(trial, &queries, &database)
}

/// Searches one release for the rows of another.
pub(super) fn found(
    trial: &Trial<'_>,
    queries: &Release<PrivateSketch>,
    database: &Release<PrivateSketch>,
) -> Result<Found> {
    let (queries, database) = (queries.payload(), database.payload());
    let sigma = database.noise_variance().sqrt();
    let answers = nearest_in_release(queries, database, RETURNED.1)?;
    let released = trial.looked_at(|| database.values().to_vec());
    Ok(Found { answers, sigma, released })
}

/// For every epsilon, one sample a repetition.
pub(super) type Samples = Vec<Vec<f64>>;

/// Measured precision and recall of one method at one k.
pub(super) struct Series {
    pub(super) label: &'static str,
    pub(super) k: usize,
    pub(super) precision: Samples,
    pub(super) recall: Samples,
    sigma: Vec<f64>,
    mechanism: &'static str,
}

/// How much to measure.
pub(super) struct Plan<'a> {
    pub(super) methods: &'a [Method],
    pub(super) sizes: &'a [usize],
    pub(super) epsilons: &'a [f64],
    pub(super) delta: f64,
    pub(super) repetitions: u64,
    pub(super) queries: usize,
    pub(super) database: Option<usize>,
}

impl<'a> Plan<'a> {
    /// Searches among digits, or a user's images: `quick` queries and rows at most in the quick run, else 300 queries in
    /// all other rows.
    pub(super) fn images(
        context: &Context<'_>,
        points: &Points,
        (methods, epsilons): (&'a [Method], &'a [f64]),
        quick: (usize, usize),
    ) -> Self {
        let queries = context.pick(quick.0, 300).min(points.n() / 2);
        let rest = points.n() - queries;
        Self {
            methods,
            sizes: &[256, 512],
            epsilons,
            delta: 1e-6,
            repetitions: 10,
            queries,
            database: Some(context.pick(quick.1.min(rest), rest)),
        }
    }
}

impl Plan<'_> {
    /// Method and k of the series in this place.
    fn at(&self, place: usize) -> (&Method, usize) {
        (&self.methods[place % self.methods.len()], self.sizes[place / self.methods.len()])
    }

    /// Whether this epsilon is measured there: what does not depend on k, or on the budget, is measured once.
    fn is_measured(&self, e: usize, place: usize) -> bool {
        let method = self.at(place).0;
        (method.sketches || place < self.methods.len()) && (method.private || e == 0)
    }
}

/// Measures every method at every k and epsilon, and draws them.
pub(super) fn measure(
    context: &Context<'_>,
    points: &Points,
    plan: &Plan<'_>,
    report: &mut Report,
) -> Result<Vec<Series>> {
    let mut series = Vec::new();
    for &k in plan.sizes {
        for method in plan.methods {
            let empty = vec![Vec::new(); plan.epsilons.len()];
            series.push(Series {
                label: method.label,
                k,
                precision: empty.clone(),
                recall: empty,
                sigma: vec![0.0; plan.epsilons.len()],
                mechanism: method.mechanism,
            });
        }
    }
    let searches = (0..plan.epsilons.len() * series.len())
        .filter(|at| plan.is_measured(at / series.len(), at % series.len()));
    context.progress.begin(plan.repetitions * searches.count() as u64);
    let mut shape = (0, 0);
    for repetition in 0..plan.repetitions {
        let seed = context.public_seed("split", repetition);
        let split = points.split(plan.queries, plan.database, seed)?;
        shape = (split.queries.n(), split.database.n());
        let projections = Projections::of(&[view(&split.queries)?, view(&split.database)?]);
        let d = points.d();
        let truth =
            nearest_by_cosine(split.queries.values(), split.database.values(), d, RELEVANT)?;
        let cells = (0..plan.epsilons.len())
            .flat_map(|e| (0..series.len()).map(move |place| (e, place)))
            .filter(|(e, place)| plan.is_measured(*e, *place));
        let run = |(e, place): (usize, usize)| -> Result<_> {
            let (method, k) = plan.at(place);
            let epsilon = plan.epsilons[e];
            let budget = Budget::new(epsilon, plan.delta)?;
            let noise = format!("{}, k = {k}, epsilon = {epsilon}", method.label);
            let trial = Trial {
                context,
                projections: &projections,
                split: &split,
                k,
                budget,
                repetition,
                noise,
            };
            let found = (method.search)(&trial)?;
            let answers = sabotage::answers(found.answers, split.database.n());
            let of = |r| mean_precision_recall(&answers, &truth, r);
            context.progress.step();
            Ok((e, place, [of(RETURNED.0).0, of(RETURNED.1).1, found.sigma]))
        };
        let found: Vec<_> =
            cells.collect::<Vec<_>>().into_par_iter().map(run).collect::<Result<_>>()?;
        for (e, place, sample) in found {
            series[place].add(e, sample);
        }
        for (place, m) in (0..series.len()).map(|place| (place, place % plan.methods.len())) {
            for e in (0..plan.epsilons.len()).filter(|e| !plan.is_measured(*e, place)) {
                let from = if plan.methods[m].sketches { place } else { m };
                let at = if plan.methods[m].private { e } else { 0 };
                let known = series[from].last(at);
                series[place].add(e, known);
            }
        }
    }
    let data = format!("{}: {} queries, {} in the database", points.name(), shape.0, shape.1);
    report.figures.push(figure(context, plan, &series, &data));
    report.note(format!(
        "Queries and database are disjoint and both private; a query's relevant rows are its \
         {RELEVANT} nearest by exact cosine. Precision is that of the first {}, recall that of the \
         first {} rows returned. Every repetition draws a new split, projection and noise. Error \
         bars: one standard error of the mean over repetitions.",
        RETURNED.0, RETURNED.1
    ));
    Ok(series)
}

impl Series {
    /// Adds precision, recall and noise scale of a repetition.
    fn add(&mut self, e: usize, [precision, recall, sigma]: [f64; 3]) {
        self.precision[e].push(precision);
        self.recall[e].push(recall);
        self.sigma[e] = sigma;
    }

    /// Those that were added last.
    fn last(&self, e: usize) -> [f64; 3] {
        let last = |samples: &Samples| samples[e].last().copied().unwrap_or(f64::NAN);
        [last(&self.precision), last(&self.recall), self.sigma[e]]
    }

    /// One cell an epsilon and measure, precision first.
    pub(super) fn cells(&self, epsilons: &[f64]) -> Vec<Cell> {
        let measures = [(PRECISION, &self.precision), (RECALL, &self.recall)];
        let of = |(measure, samples): (&'static str, &Samples)| {
            let cell = |(&epsilon, samples): (&f64, &Vec<f64>)| {
                let (label, k, samples) = (self.label, self.k, samples.clone());
                Cell { label, k, measure, epsilon, samples }
            };
            epsilons.iter().zip(samples).map(cell).collect::<Vec<_>>()
        };
        measures.into_iter().flat_map(of).collect()
    }

    /// Mean and standard error at every epsilon, precision first, then recall.
    pub(super) fn means(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.precision.iter().chain(&self.recall).map(|samples| {
            let (mean, error) = crate::metrics::mean_and_error(samples);
            (mean, error.unwrap_or(0.0))
        })
    }
}

type Of = fn(&Series) -> &Samples;

fn figure(context: &Context<'_>, plan: &Plan<'_>, series: &[Series], data: &str) -> Figure {
    let mut panels = Vec::new();
    for &k in plan.sizes {
        let metrics: [(&str, Of); 2] = [(PRECISION, |s| &s.precision), (RECALL, |s| &s.recall)];
        for (name, of) in metrics {
            let curves = series.iter().filter(|s| s.k == k).map(|s| {
                let sketches = plan.methods.iter().any(|m| m.label == s.label && m.sketches);
                Curve {
                    label: s.label.into(),
                    points: plan
                        .epsilons
                        .iter()
                        .zip(of(s))
                        .map(|(&epsilon, samples)| Point::mean(epsilon, samples))
                        .collect(),
                    origin: Origin {
                        mechanism: s.mechanism.into(),
                        k: if sketches { Setting::Fixed(k as f64) } else { Setting::None },
                        epsilon: Setting::AxisX,
                        delta: Setting::Fixed(plan.delta),
                        sigma: Setting::PerPoint(s.sigma.clone()),
                        seeds: Seeds::Derived(context.seed),
                        data: data.into(),
                        repetitions: plan.repetitions as usize,
                    },
                }
            });
            panels.push(Panel {
                title: format!("{name}, k = {k}"),
                x: Axis::log("epsilon"),
                y: Axis::linear(name).between(0.0, 1.0),
                curves: curves.collect(),
            });
        }
    }
    let caption = format!(
        "Search for the {RELEVANT} nearest neighbours by cosine in private releases. {data}; \
         delta = {:e}, {} repetitions.",
        plan.delta, plan.repetitions
    );
    Figure { name: "retrieval".into(), caption, panels, columns: 2 }
}
