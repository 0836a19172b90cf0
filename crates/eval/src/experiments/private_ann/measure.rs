//! Every way, every size, every epsilon: what is found, and what was predicted.

use super::kinds::{Onto, Way};
use super::spaces::{RETURNED, Space, Task};
use super::ways::{DELTA, Published, Trial, view};
use crate::error::Result;
use crate::framework::sabotage::{NOISE, Sabotage};
use crate::framework::{Claim, Context, Report};
use crate::metrics::{mean_and_error, mean_precision_recall};
use dp_core::{Adjacency, Budget, L2Sensitivity, calibrate};
use rayon::prelude::*;
use sketch::RowsView;
use sketch::plan::{Asked, RowSearch};
use sketch::projection::project;
use sketch::signs::{FlipRule, SignCodes};
use sketch::vectors::{NoiseKind, PrivateSketch, System};

/// What is protected, and at which epsilons.
pub(super) struct Setting<'a> {
    pub(super) adjacency: Adjacency,
    /// Most rows of one user.
    pub(super) rows: u64,
    pub(super) ways: &'a [Way],
    pub(super) epsilons: &'a [f64],
    /// Independent draws of queries, database, projection and noise.
    pub(super) repetitions: u64,
}

/// How a release is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) asked: Asked,
    pub(super) denoise: bool,
}

pub(super) const SEARCHES: [Search; 4] = [
    Search { asked: Asked::Private, denoise: false },
    Search { asked: Asked::Private, denoise: true },
    Search { asked: Asked::Exact, denoise: false },
    Search { asked: Asked::Exact, denoise: true },
];

/// One way at one size and epsilon, searched in one way: a sample a repetition.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub(super) space: &'static str,
    pub(super) way: Way,
    pub(super) search: Search,
    pub(super) epsilon: f64,
    /// None where no size is chosen.
    pub(super) k: Option<usize>,
    /// Share of the rows returned that are among the true neighbours.
    pub(super) precision: Vec<f64>,
    /// Share of the nearest that are among as many returned.
    pub(super) recall: Vec<f64>,
    /// [`Cell::recall`] as public facts predict it; none of signs.
    pub(super) predicted: Option<f64>,
    /// Of the noise.
    pub(super) scale: f64,
    /// Numbers that a feature enters, after random bins.
    reach: Option<usize>,
    /// What noise did to the numbers, measured, and what it should do; nothing of ways that nobody checks.
    noise: Vec<Noise>,
}

/// What noise did in one release (the mean square that was added to a number, the share of signs that were turned over),
/// and what the rule asks for, worked out apart from the release.
#[derive(Debug, Clone, Copy)]
struct Noise {
    measured: f64,
    asked: f64,
}

impl Cell {
    pub(super) fn p10(&self) -> f64 {
        mean_and_error(&self.precision).0
    }

    pub(super) fn r10(&self) -> f64 {
        mean_and_error(&self.recall).0
    }
}

/// Measures all ways in one space.
pub(super) fn measure(
    context: &Context<'_>,
    space: &Space,
    setting: &Setting<'_>,
) -> Result<Vec<Cell>> {
    let tasks = (0..setting.repetitions).map(|r| space.task(context, r));
    let tasks: Vec<Task> = tasks.collect::<Result<_>>()?;
    let views = tasks.iter().map(|t| Ok([view(&t.queries)?, view(&t.database)?]));
    let views: Vec<_> = views.collect::<Result<_>>()?;
    let (mut cells, mut known) = (Vec::new(), Vec::new());
    for &way in setting.ways {
        let sizes: &[usize] = if way.sized() { &space.sizes } else { &[0] };
        for &k in sizes.iter().filter(|k| way.takes(space.public.d(), **k)) {
            let trial = |r: usize, epsilon| Trial {
                context,
                space,
                task: &tasks[r],
                views: views[r],
                k,
                epsilon,
                adjacency: setting.adjacency,
                rows: setting.rows,
                repetition: r as u64,
            };
            let facts = facts(&trial(0, 1.0), way, &mut known)?;
            let bins = way.onto() == Some(Onto::Oporp);
            let reach = if bins { Some(trial(0, 1.0).reach()?) } else { None };
            // What carries no noise is the same at every epsilon.
            let open = matches!(way, Way::Open(_));
            let apart = if open { &setting.epsilons[..1] } else { setting.epsilons };
            for &epsilon in apart {
                let one = |r| searched(&trial(r, epsilon), way, (facts, reach));
                let all: Vec<Vec<Cell>> =
                    (0..tasks.len()).into_par_iter().map(one).collect::<Result<_>>()?;
                let mut all = all.into_iter();
                let mut first = all.next().unwrap_or_default();
                for (into, more) in all.flat_map(|more| more.into_iter().enumerate()) {
                    first[into].precision.extend(more.precision);
                    first[into].recall.extend(more.recall);
                    first[into].noise.extend(more.noise);
                }
                let others = if open { &setting.epsilons[1..] } else { &[] };
                for &epsilon in others {
                    cells.extend(first.iter().map(|cell| Cell { epsilon, ..cell.clone() }));
                }
                cells.extend(first);
            }
            context.progress.step();
        }
    }
    Ok(cells)
}

/// One release, searched in every way that it can be.
fn searched(
    trial: &Trial<'_>,
    way: Way,
    (facts, reach): (Option<Facts>, Option<usize>),
) -> Result<Vec<Cell>> {
    let published = trial.publish(way)?;
    let nearest: Vec<Vec<usize>> =
        trial.task.truth.iter().map(|t| t[..RETURNED.min(t.len())].to_vec()).collect();
    let noise = noise(trial, way, &published)?;
    let mut cells = Vec::new();
    let [released, exact] = published.answers(trial, false)?;
    let [released_denoised, exact_denoised] = match way {
        // There is no noise to take out.
        Way::Open(_) => [released.clone(), exact.clone()],
        _ => published.answers(trial, true)?,
    };
    let answers = [released, released_denoised, exact, exact_denoised];
    for (search, found) in SEARCHES.into_iter().zip(answers) {
        let Some(found) = found else { continue };
        let (precision, _) = mean_precision_recall(&found, &trial.task.truth, RETURNED);
        let (_, recall) = mean_precision_recall(&found, &nearest, RETURNED);
        let predicted = match (facts, published.variance(trial.space)) {
            (Some((facts, k)), Some(variance)) => Some(facts.recall(k, variance, search.asked)?),
            _ => None,
        };
        cells.push(Cell {
            space: trial.space.name,
            way,
            search,
            epsilon: trial.epsilon,
            k: way.sized().then_some(trial.k),
            precision: vec![precision],
            recall: vec![recall],
            predicted,
            scale: published.scale(),
            reach,
            noise: noise.into_iter().collect(),
        });
    }
    Ok(cells)
}

/// What the noise of a release did, where the rule that it follows is written down here too.
fn noise(trial: &Trial<'_>, way: Way, published: &Published) -> Result<Option<Noise>> {
    let rows = trial.views[1];
    let epsilon = trial.epsilon;
    let (noisy, deviation) = match (published, way, trial.adjacency) {
        (Published::Signs(both), Way::Signs(rule), Adjacency::Attribute { beta }) => {
            return turned(both[1].payload(), rows, |x| {
                let level = (x.abs() / beta.get()).ceil();
                match rule {
                    FlipRule::OptimalSmooth => {
                        (-(level - 1.0) * epsilon).exp() / (1.0 + epsilon.exp())
                    }
                    _ => 1.0 / (1.0 + (level * epsilon).exp()),
                }
            })
            .map(Some);
        }
        // Dense projections take long: a deviation over three has a standard error of .2 % already.
        (Published::Sketch(..), Way::Published(_), _) if trial.repetition > 2 => return Ok(None),
        (Published::Sketch(_, noisy), Way::Published(system), Adjacency::Attribute { beta }) => {
            // A feature enters all numbers: the longest row of the projection is what one moves.
            let longest = |norm: fn(&[f64]) -> f64| -> f64 {
                let projection = noisy.projection().build();
                let mut row = vec![0.0; noisy.k()];
                let of = |i| {
                    projection.row(i, &mut row);
                    norm(&row)
                };
                beta.get() * (0..trial.space.public.d()).map(of).fold(0.0, f64::max)
            };
            let l1 = |row: &[f64]| row.iter().map(|x| x.abs()).sum();
            let l2 = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
            let deviation = match system {
                System::DpRpG => {
                    longest(l2) * (2.0 * (epsilon - (2.0 * DELTA).ln())).sqrt() / epsilon
                }
                System::DpRpL => longest(l1) * 2f64.sqrt() / epsilon,
                _ => return Ok(None),
            };
            (noisy, deviation)
        }
        (Published::Sketch(_, noisy), Way::Noise(onto, NoiseKind::Gaussian), adjacency) => {
            let moved = match (onto, adjacency) {
                (Onto::Raw | Onto::Oporp, Adjacency::Attribute { beta }) => beta.get(),
                (Onto::Raw, Adjacency::RowShift { l2 }) => l2.get(),
                _ => return Ok(None),
            };
            let l2 = L2Sensitivity::new(moved)?;
            (noisy, calibrate::gaussian(Budget::new(epsilon, DELTA)?, l2)?.get())
        }
        _ => return Ok(None),
    };
    Ok(Some(Noise { measured: added(noisy, rows)?, asked: deviation.powi(2) }))
}

/// The mean square of what was added to the numbers of a release of these rows.
pub(super) fn added(noisy: &PrivateSketch, rows: RowsView<'_>) -> Result<f64> {
    let exact = PrivateSketch::exact(noisy.projection().build().as_ref(), rows)?;
    let pairs = noisy.values().iter().zip(exact.values());
    let sum: f64 = pairs.map(|(a, b)| (a - b).powi(2)).sum();
    Ok(sum / exact.values().len() as f64)
}

/// The share of signs that were turned over, of numbers that are not zero, and the mean of their probabilities.
fn turned(signs: &SignCodes, rows: RowsView<'_>, flip: impl Fn(f64) -> f64) -> Result<Noise> {
    let projection = signs.projections()[0].build();
    let values = project(projection.as_ref(), rows)?;
    let (mut measured, mut asked, mut count) = (0.0, 0.0, 0.0);
    for (row, values) in values.chunks_exact(signs.bits().bits()).enumerate() {
        for (bit, &x) in values.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            measured += f64::from(u8::from(signs.bits().get(row, bit) != (x > 0.0)));
            asked += flip(x);
            count += 1.0;
        }
    }
    Ok(Noise { measured: measured / count, asked: asked / count })
}

/// All noise of a way: the measured mean and the one that is asked for, a pair a setting.
fn noises(cells: &[Cell], way: Way) -> Vec<(f64, f64)> {
    let mean = |cell: &Cell, of: fn(&Noise) -> f64| {
        mean_and_error(&cell.noise.iter().map(of).collect::<Vec<_>>()).0
    };
    let cells = cells.iter().filter(|c| c.way == way && c.search == SEARCHES[0]);
    cells.map(|c| (mean(c, |n| n.measured), mean(c, |n| n.asked))).collect()
}

/// Claims that noise is what the rule of a way asks for.
pub(super) fn claim_noise<'r>(
    cells: &[Cell],
    (way, rule): (Way, &str),
    report: &'r mut Report,
) -> &'r mut Claim {
    let all = noises(cells, way);
    let off = all.iter().map(|(m, a)| ((m / a).sqrt() - 1.0).abs()).fold(0.0, f64::max);
    report
        .claim(
            format!(
                "{}: what was added to the numbers has the deviation that {rule} asks for, within 1 % (measured)",
                way.label()
            ),
            off < 0.01 && !all.is_empty(),
            format!("off by at most {off:.4} in {} settings", all.len()),
        )
        .catches(&NOISE)
}

/// Claims that signs are turned over as the rule of a way asks for. A quick run sees a million signs, whose share has a
/// standard error of at most .0005.
pub(super) fn claim_turned<'r>(
    cells: &[Cell],
    (way, rule): (Way, &str),
    report: &'r mut Report,
) -> &'r mut Claim {
    let all = noises(cells, way);
    let off = all.iter().map(|(m, a)| (m - a).abs()).fold(0.0, f64::max);
    report
        .claim(
            format!(
                "{}: the share of signs turned over is that of {rule}, within .002 (measured)",
                way.label()
            ),
            off < 0.002 && !all.is_empty(),
            format!("off by at most {off:.4} in {} settings", all.len()),
        )
        .catches(&NOISE)
        .catches(&[Sabotage::DataIgnored])
}

/// What public rows say of a search, and the numbers of a released row.
type Facts = (RowSearch, usize);

/// Those after the projection of a way; none of signs and posterior means, whose scores are no cosines of noisy numbers.
fn facts(
    trial: &Trial<'_>,
    way: Way,
    known: &mut Vec<(Onto, usize, Facts)>,
) -> Result<Option<Facts>> {
    let onto = match way {
        Way::Fresh | Way::Published(_) => Onto::Oporp,
        Way::Signs(_) => return Ok(None),
        _ => match way.onto() {
            Some(onto) => onto,
            None => return Ok(None),
        },
    };
    if let Some((.., facts)) = known.iter().find(|(o, k, _)| (*o, *k) == (onto, trial.k)) {
        return Ok(Some(*facts));
    }
    let (spec, rows) = (trial.spec(onto)?, view(&trial.space.public)?);
    let extent = (trial.task.database.n(), RETURNED);
    let found = RowSearch::of_sample(rows, spec.build().as_ref(), RETURNED, extent)?;
    known.push((onto, trial.k, (found, spec.k())));
    Ok(Some((found, spec.k())))
}

/// Claims that random bins are what was measured as such.
pub(super) fn claim_bins(cells: &[Cell], report: &mut Report) {
    let most = cells.iter().filter_map(|c| c.reach).max();
    report
        .claim(
            "after random bins every feature is in one number, at every size",
            most == Some(1),
            format!("at most {}", most.unwrap_or(0)),
        )
        .of("Li and Li 2023, OPORP")
        .catches(&[Sabotage::OtherFamily]);
}

/// The cells of one way and search at an epsilon.
pub(super) fn sizes<'c>(
    cells: &'c [Cell],
    (space, way, search, epsilon): (&str, Way, Search, f64),
) -> Vec<&'c Cell> {
    let here = |c: &&Cell| (c.space, c.way, c.search, c.epsilon) == (space, way, search, epsilon);
    cells.iter().filter(here).collect()
}

/// The size that public facts choose: of the largest predicted recall; of ways without a prediction the largest.
pub(super) fn by_rule<'c>(sizes: &[&'c Cell]) -> Option<&'c Cell> {
    let key = |c: &Cell| (c.predicted.unwrap_or(0.0), c.k.unwrap_or(0));
    sizes.iter().copied().max_by(|a, b| {
        let ((p, k), (q, l)) = (key(a), key(b));
        p.total_cmp(&q).then(k.cmp(&l))
    })
}

/// The size that finds most, which nobody knows who has not looked.
pub(super) fn in_hindsight<'c>(sizes: &[&'c Cell]) -> Option<&'c Cell> {
    sizes.iter().copied().max_by(|a, b| a.p10().total_cmp(&b.p10()))
}
