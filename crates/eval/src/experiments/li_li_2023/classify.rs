//! A linear support vector machine on private releases of sparse text, method against method.

use super::projections::Projections;
pub(super) use super::standing::ACCURACY;
use super::standing::Cell;
use crate::data::{Package, SparseRows, grams, packages, read_libsvm_file, shuffle};
use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting, sabotage,
};
use crate::learning::{LinearSvm, SvmOptions};
use dp_core::Budget;
use rayon::prelude::*;
use sketch::RowsView;
use sketch::signs::PackedBits;
use std::sync::OnceLock;

/// Development files against documentation: two groups of archive sections.
const GROUPS: [&[&str]; 2] = [&["libdevel"], &["doc"]];
/// The published name of WEBSPAM (trigrams) in the user's folder.
const WEBSPAM: &str = "webspam_wc_normalized_trigram.svm";
/// Above this many numbers noisy raw data are not made.
const MOST_NUMBERS: usize = 1 << 28;

/// One release of training and test rows, and the machine that is trained on it.
pub(super) struct Trial<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) projections: &'a Projections,
    /// Training rows first, then as many test rows.
    pub(super) rows: RowsView<'a>,
    pub(super) labels: &'a [i32],
    pub(super) k: usize,
    pub(super) budget: Budget,
    /// Names the public randomness of this repetition.
    pub(super) repetition: u64,
    /// Names the noise of this very trial.
    pub(super) noise: String,
}

/// Accuracy on the test rows, and the noise of the release.
pub(super) struct Judged {
    accuracy: f64,
    sigma: f64,
    /// The first released rows, dense.
    pub(super) released: Vec<f64>,
}

/// Released rows that are kept to be looked at.
const KEPT: usize = 400;

impl Trial<'_> {
    /// Trains on the first half of some form of the rows and tests on the others.
    pub(super) fn judge(&self, rows: RowsView<'_>, sigma: f64) -> Result<Judged> {
        let (n, train) = (rows.n(), rows.n() / 2);
        let (x, y) = (rows.slice(0..train), &self.labels[..train]);
        let machine = LinearSvm::fit(x, y, SvmOptions::default())?;
        let accuracy = machine.accuracy(rows.slice(train..n), &self.labels[train..]);
        // A constant answer is right for half of the test rows.
        let accuracy = sabotage::answer(accuracy, 0.5, &self.noise, self.repetition);
        let mut released = Vec::new();
        if self.noise.starts_with("probe") {
            released = vec![0.0; n.min(KEPT) * rows.d()];
            released.chunks_mut(rows.d()).enumerate().for_each(|(i, row)| rows.copy_row(i, row));
        }
        Ok(Judged { accuracy, sigma, released })
    }

    /// As [`Self::judge`] with signs as numbers.
    pub(super) fn judge_signs(&self, signs: &PackedBits, sigma: f64) -> Result<Judged> {
        let (n, k) = (signs.n(), signs.bits());
        let (mut values, mut row) = (Vec::with_capacity(n * k), vec![0.0; k]);
        for i in 0..n {
            signs.signs(i, &mut row);
            values.extend(row.iter().map(|x| *x as f32));
        }
        self.judge(RowsView::f32(n, k, &values)?, sigma)
    }
}

/// What a method's answer depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Neither sketch size nor budget.
    Nothing,
    /// The sketch size only: no privacy.
    Size,
    /// The budget only, and room for all features of all rows.
    BudgetAndRoom,
    /// Both.
    Both,
}

/// A way to hand rows to a machine.
pub(super) struct Method {
    pub(super) label: &'static str,
    pub(super) mechanism: &'static str,
    pub(super) needs: Needs,
    pub(super) judge: fn(&Trial<'_>) -> Result<Judged>,
}

/// The rows themselves.
pub(super) const PLAIN: Method = Method {
    label: "all features, not private",
    mechanism: "the rows as they are, no privacy",
    needs: Needs::Nothing,
    judge: |trial| trial.judge(trial.rows, 0.0),
};

/// The rows of an experiment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// The user's WEBSPAM, or 3-grams of package synopses.
    Given,
    /// 5-grams of package synopses: more than 10^5 columns.
    Wide,
}

impl Text {
    /// Letters of an n-gram.
    fn length(self) -> u32 {
        if self == Self::Wide { 5 } else { 3 }
    }

    /// The n-grams that occur in the synopses of all sections but the two groups: a public vocabulary.
    fn vocabulary(self) -> &'static [bool] {
        static FOUND: [OnceLock<Vec<bool>>; 2] = [OnceLock::new(), OnceLock::new()];
        FOUND[usize::from(self == Self::Wide)].get_or_init(|| {
            let others = packages().iter().filter(|p| !GROUPS.iter().any(|g| in_group(p, g)));
            let others: Vec<_> = others.map(|p| (p, 0)).collect();
            grams(&others, self.length()).columns_in_use()
        })
    }
}

fn in_group(package: &Package, group: &[&str]) -> bool {
    group.contains(&package.section.as_str())
}

/// How much to measure.
pub(super) struct Plan<'a> {
    /// Name of the figure.
    pub(super) name: &'static str,
    pub(super) text: Text,
    pub(super) methods: &'a [Method],
    pub(super) sizes: &'a [usize],
    pub(super) epsilons: &'a [f64],
    pub(super) delta: f64,
    pub(super) repetitions: u64,
    /// Rows: half for training, half for testing.
    pub(super) rows: usize,
}

/// Package synopses: n/2 rows of either group in random order.
fn synopses(context: &Context<'_>, text: Text, n: usize, repetition: u64) -> SparseRows {
    let mut rng = context.public_seed("rows", repetition).generator(0);
    let mut chosen = Vec::new();
    for (group, label) in GROUPS.iter().zip([1, -1]) {
        let mut members: Vec<_> = packages().iter().filter(|p| in_group(p, group)).collect();
        shuffle(&mut members, &mut rng);
        chosen.extend(members.iter().take(n / 2).map(|&p| (p, label)));
    }
    shuffle(&mut chosen, &mut rng);
    grams(&chosen, text.length()).keep_columns(text.vocabulary())
}

/// The user's WEBSPAM, prepared as in the paper, or package synopses.
fn rows(context: &Context<'_>, text: Text, n: usize, repetition: u64) -> Result<SparseRows> {
    let file = context.sources.data.as_ref().map(|folder| folder.join(WEBSPAM));
    let Some(path) = file.filter(|path| text == Text::Given && path.exists()) else {
        return Ok(synopses(context, text, n, repetition));
    };
    let all = read_libsvm_file(&path, n)?;
    let mut all = all.keep_columns(&all.columns_in_use());
    all.normalise_columns();
    let mut order: Vec<usize> = (0..all.n()).collect();
    shuffle(&mut order, &mut context.public_seed("rows", repetition).generator(0));
    Ok(all.pick(&order))
}

/// Measures every method at every k and epsilon, and draws them.
pub(super) fn measure(
    context: &Context<'_>,
    plan: &Plan<'_>,
    report: &mut Report,
) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for &k in plan.sizes {
        for method in plan.methods {
            for &epsilon in plan.epsilons {
                let (label, samples) = (method.label, Vec::new());
                cells.push(Cell { label, k, measure: ACCURACY, epsilon, samples });
            }
        }
    }
    let place =
        |s: usize, m: usize, e: usize| (s * plan.methods.len() + m) * plan.epsilons.len() + e;
    let mut sigma = vec![f64::NAN; cells.len()];
    context.progress.begin(plan.repetitions * cells.len() as u64);
    let mut data = String::new();
    for repetition in 0..plan.repetitions {
        let sample = rows(context, plan.text, plan.rows, repetition)?;
        let view = sample.view()?;
        let projections = Projections::of(&[view]);
        let share = sample.labels.iter().filter(|&&y| y > 0).count() as f64 / sample.n() as f64;
        data = format!(
            "{}: {} rows, half of them for training, {} features, {:.0} entries a row, {:.0} % \
             of them positive",
            sample.name,
            sample.n(),
            sample.d,
            sample.values.len() as f64 / sample.n() as f64,
            100.0 * share
        );
        let run = |(s, m, e): (usize, usize, usize)| {
            let (k, epsilon, method) = (plan.sizes[s], plan.epsilons[e], &plan.methods[m]);
            let trial = Trial {
                context,
                projections: &projections,
                rows: view,
                labels: &sample.labels,
                k,
                budget: Budget::new(epsilon, plan.delta)?,
                repetition,
                noise: format!("{}, k = {k}, epsilon = {epsilon}", method.label),
            };
            let judged = (method.judge)(&trial)?;
            context.progress.step();
            Ok(((s, m, e), judged))
        };
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for (m, method) in plan.methods.iter().enumerate() {
            let by_size = matches!(method.needs, Needs::Size | Needs::Both);
            let by_budget = matches!(method.needs, Needs::BudgetAndRoom | Needs::Both);
            for s in 0..if by_size { plan.sizes.len() } else { 1 } {
                for e in 0..if by_budget { plan.epsilons.len() } else { 1 } {
                    if method.needs != Needs::BudgetAndRoom {
                        small.push((s, m, e));
                    } else if sample.n() * sample.d <= MOST_NUMBERS {
                        large.push((s, m, e));
                    }
                }
            }
        }
        // One after another: each of them fills the memory.
        let mut judged = large.into_iter().map(run).collect::<Result<Vec<_>>>()?;
        judged.extend(small.into_par_iter().map(run).collect::<Result<Vec<_>>>()?);
        for ((s, m, e), found) in judged {
            let needs = plan.methods[m].needs;
            for to_s in 0..plan.sizes.len() {
                for to_e in 0..plan.epsilons.len() {
                    let size_fits =
                        to_s == s || matches!(needs, Needs::Nothing | Needs::BudgetAndRoom);
                    let budget_fits = to_e == e || matches!(needs, Needs::Nothing | Needs::Size);
                    if size_fits && budget_fits {
                        cells[place(to_s, m, to_e)].samples.push(found.accuracy);
                        sigma[place(to_s, m, to_e)] = found.sigma;
                    }
                }
            }
        }
    }
    report.figures.push(figure(context, plan, &cells, &sigma, &data));
    report.note(
        "Training and test rows are both private and released together; labels are public. The \
         machine minimises hinge losses with C = 1 over the mean squared norm of the released \
         rows (post-processing). Every repetition draws new rows, projection and noise. Error \
         bars: one standard error of the mean over repetitions.",
    );
    Ok(cells)
}

fn figure(
    context: &Context<'_>,
    plan: &Plan<'_>,
    cells: &[Cell],
    sigma: &[f64],
    data: &str,
) -> Figure {
    let width = plan.epsilons.len();
    let panel = |(s, &k): (usize, &usize)| {
        let curve = |(m, method): (usize, &Method)| {
            let at = (s * plan.methods.len() + m) * width;
            let mine = &cells[at..at + width];
            let measured = mine.iter().all(|c| !c.samples.is_empty());
            let private = matches!(method.needs, Needs::BudgetAndRoom | Needs::Both);
            let sized = matches!(method.needs, Needs::Size | Needs::Both);
            measured.then(|| Curve {
                label: method.label.into(),
                points: mine.iter().map(|c| Point::mean(c.epsilon, &c.samples)).collect(),
                origin: Origin {
                    mechanism: method.mechanism.into(),
                    k: if sized { Setting::Fixed(k as f64) } else { Setting::None },
                    epsilon: if private { Setting::AxisX } else { Setting::None },
                    delta: if private { Setting::Fixed(plan.delta) } else { Setting::None },
                    sigma: Setting::PerPoint(sigma[at..at + width].to_vec()),
                    seeds: Seeds::Derived(context.seed),
                    data: data.into(),
                    repetitions: plan.repetitions as usize,
                },
            })
        };
        Panel {
            title: format!("k = {k}"),
            x: Axis::log("epsilon"),
            y: Axis::linear(ACCURACY).between(0.4, 1.0),
            curves: plan.methods.iter().enumerate().filter_map(curve).collect(),
        }
    };
    Figure {
        name: plan.name.into(),
        caption: format!(
            "Accuracy of a linear support vector machine that sees private releases only. {data}; \
             delta = {:e} where it is not zero, {} repetitions.",
            plan.delta, plan.repetitions
        ),
        panels: plan.sizes.iter().enumerate().map(panel).collect(),
        columns: 2,
    }
}

/// Mean accuracy of a method at one k and epsilon.
///
/// # Panics
/// When it was not measured.
pub(super) fn accuracy(cells: &[Cell], method: &Method, k: usize, epsilon: f64) -> f64 {
    let mine = |c: &&Cell| c.label == method.label && c.k == k && c.epsilon == epsilon;
    let samples = &cells.iter().find(mine).expect("a place of the plan").samples;
    assert!(!samples.is_empty(), "{} was not measured", method.label);
    crate::metrics::mean_and_error(samples).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Sources;

    #[test]
    fn a_users_webspam_is_read_and_prepared() {
        let folder = tempfile::tempdir().unwrap();
        // Features 2, 5 and 9 are in use; their largest values are 4, 2 and 8.
        let text = "+1 2:4 9:2\n-1 5:1\n-1 5:2 9:8\n+1 2:1\n-1 3:7\n";
        std::fs::write(folder.path().join(WEBSPAM), text).unwrap();
        let sources = Sources { data: Some(folder.path().into()), ..Sources::default() };
        let context = Context { sources, ..Context::quick() };
        let rows = rows(&context, Text::Given, 4, 0).unwrap();
        assert_eq!((rows.n(), rows.d, rows.labels.iter().sum::<i32>()), (4, 3, 0));
        let mut found: Vec<(i32, Vec<(u32, f64)>)> = (0..4)
            .map(|i| {
                let range = rows.offsets[i]..rows.offsets[i + 1];
                let entry = |at| (rows.columns[at], rows.values[at]);
                (rows.labels[i], range.map(entry).collect())
            })
            .collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let expected = [
            (-1, vec![(1, 0.5)]),
            (-1, vec![(1, 1.0), (2, 1.0)]),
            (1, vec![(0, 0.25)]),
            (1, vec![(0, 1.0), (2, 0.25)]),
        ];
        assert_eq!(found, expected);
        // Without the file: package synopses, two balanced groups, a sparse public vocabulary.
        let rows = super::rows(&Context::quick(), Text::Given, 100, 0).unwrap();
        assert_eq!((rows.n(), rows.labels.iter().sum::<i32>()), (100, 0));
        assert!((5_000..19_683).contains(&rows.d), "{}", rows.d);
        let wide = super::rows(&Context::quick(), Text::Wide, 100, 0).unwrap();
        assert_eq!((wide.d, wide.n()), (122_038, 100));
        assert_ne!(rows.labels[..50].iter().sum::<i32>().abs(), 50, "in random order");
    }
}
