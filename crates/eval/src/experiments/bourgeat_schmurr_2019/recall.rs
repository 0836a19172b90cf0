//! Figures 7.5 to 7.7: approximate recall, 20 true neighbours among 100 returned.

use super::sweep::{
    ALPHA, Facts, LENGTH, Method, RETURNED, TRUE, Task, at_most, data_sets, origin, planned,
    release,
};
use crate::Table;
use crate::error::Result;
use crate::framework::sabotage::{ANSWERS, NOISE, Sabotage};
use crate::framework::{Axis, Context, Curve, Figure, Panel, Point, Report, Study};
use crate::metrics::mean_and_error;
use rayon::prelude::*;

pub(super) const STUDY: Study = Study {
    id: "bourgeat-schmurr-2019/fig7-5-to-7-7-recall",
    title: "Recall of private set similarity search against epsilon, published mechanisms and ours",
    reference: "Bourgeat and Schmurr 2019, section 7.2.2, figures 7.5, 7.6 and 7.7",
    run,
};

/// The recall at which epsilons are compared.
const LEVEL: f64 = 0.25;

/// One method's recall over its epsilons.
struct Series {
    label: String,
    delta: f64,
    epsilons: Vec<f64>,
    recalls: Vec<Vec<f64>>,
    noise: Vec<f64>,
}

impl Series {
    fn new(label: String, delta: f64) -> Self {
        Self { label, delta, epsilons: vec![], recalls: vec![], noise: vec![] }
    }

    /// Measures at one more epsilon.
    fn add(
        &mut self,
        context: &Context<'_>,
        task: &Task<'_>,
        (epsilon, method): (f64, Method),
        repetitions: usize,
    ) -> Result<()> {
        let one = |r| {
            let released = release(context, task, method, epsilon, r)?;
            Ok((released.recall(task)?, released.noise()))
        };
        let samples: Result<Vec<(f64, f64)>> =
            (0..repetitions as u64).into_par_iter().map(one).collect();
        let samples = samples?;
        self.epsilons.push(epsilon);
        self.noise.push(samples[0].1);
        self.recalls.push(samples.into_iter().map(|s| s.0).collect());
        context.progress.step();
        Ok(())
    }

    fn mean(&self, i: usize) -> f64 {
        mean_and_error(&self.recalls[i]).0
    }

    /// Mean and standard error at an epsilon.
    fn with_error(&self, epsilon: f64) -> (f64, f64) {
        let i = self.epsilons.iter().position(|&e| e == epsilon);
        let (mean, error) = i.map_or((f64::NAN, None), |i| mean_and_error(&self.recalls[i]));
        (mean, error.unwrap_or(0.0))
    }

    fn at(&self, epsilon: f64) -> f64 {
        self.with_error(epsilon).0
    }

    /// Epsilon at a recall, by linear interpolation of the logarithm; `None` when it is not reached.
    fn reaches(&self, level: f64) -> Option<f64> {
        let i = (0..self.epsilons.len()).find(|&i| self.mean(i) >= level)?;
        if i == 0 {
            return Some(self.epsilons[0]);
        }
        let (a, b) = (self.mean(i - 1), self.mean(i));
        let share = (level - a) / (b - a);
        Some(self.epsilons[i - 1] * (self.epsilons[i] / self.epsilons[i - 1]).powf(share))
    }

    fn curve(&self, context: &Context<'_>, task: &Task<'_>, repetitions: usize) -> Curve {
        let point = |(&x, samples): (&f64, &Vec<f64>)| Point::mean(x, samples);
        Curve {
            label: self.label.clone(),
            points: self.epsilons.iter().zip(&self.recalls).map(point).collect(),
            origin: origin(
                context,
                task,
                self.label.clone(),
                self.delta,
                self.noise.clone(),
                repetitions,
            ),
        }
    }
}

fn series(
    context: &Context<'_>,
    task: &Task<'_>,
    label: String,
    delta: f64,
    methods: &[(f64, Method)],
    repetitions: usize,
) -> Result<Series> {
    let mut found = Series::new(label, delta);
    for &at in methods {
        found.add(context, task, at, repetitions)?;
    }
    Ok(found)
}

/// Which neighbours a certificate speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protects {
    /// One item of a set.
    OneItem,
    /// The whole set: any two sets are neighbours.
    Set,
}

impl Protects {
    fn name(self) -> &'static str {
        if self == Self::OneItem { "one item" } else { "any two sets" }
    }
}

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let count = context.pick(2000, usize::MAX);
    let data = data_sets(context, &mut report)?.into_iter().map(|sets| at_most(sets, count));
    let data: Vec<_> = data.collect();
    let repetitions = 10;
    context.progress.begin(data.len() as u64 * 150);
    let mut table = Table::new(
        "epsilon-at-recall",
        "Epsilon at which each mechanism finds a quarter of the 20 true neighbours among 100 returned. Only rows of equal \
         protection compare. Published mechanisms at the thesis's length 100 and at the best of a grid of shapes, chosen by \
         this very table (an oracle's help that ours, planned from public facts, does not have).",
        &["data", "protects", "mechanism", "delta", "epsilon at recall 0.25"],
    );
    let mut panels: [Vec<Panel>; 5] = Default::default();
    for sets in &data {
        let task = Task::new(sets, context.pick(40, 200));
        let all = curves(context, &task, repetitions)?;
        for (protects, s) in all.rows() {
            let reached = s.reaches(LEVEL).map_or_else(
                || format!("not up to {}", s.epsilons[s.epsilons.len() - 1]),
                |e| format!("{e:.2}"),
            );
            table.row([
                sets.name.clone(),
                protects.name().into(),
                s.label.clone(),
                format!("{:.1e}", s.delta),
                reached,
            ]);
        }
        let panel = |series: &[&Series]| Panel {
            title: sets.name.clone(),
            x: Axis::log("epsilon"),
            y: Axis::linear("recall").between(0.0, 1.0),
            curves: series.iter().map(|s| s.curve(context, &task, repetitions)).collect(),
        };
        panels[0].push(panel(&all.bucket.iter().collect::<Vec<_>>()));
        panels[1].push(panel(&all.noisy.iter().collect::<Vec<_>>()));
        panels[2].push(panel(&[&all.bucket[0], &all.bucket[1], &all.noisy[0], most(&all.noisy)]));
        let item: Vec<&Series> =
            [&all.noisy[1], &all.noisy_best].into_iter().chain(&all.ours_item).collect();
        panels[3].push(panel(&item));
        panels[4].push(panel(&[&all.bucket[0], &all.bucket_best, &all.ours_set]));
        claims(&mut report, &task, &all);
    }
    let captions = [
        ("fig7-5", "Bucket PrivMin (any two sets protected)."),
        ("fig7-6", "Noisy Secure MinHash, K = 1 (one item protected): the claimed delta."),
        (
            "fig7-7",
            "Both published mechanisms as the thesis compares them: their certificates protect different things.",
        ),
        ("one-item", "One item protected: published and ours."),
        ("any-two-sets", "Any two sets protected: published and ours."),
    ];
    for ((name, caption), panels) in captions.into_iter().zip(panels) {
        let caption = format!(
            "{caption} Signature length {LENGTH} unless named, {TRUE} true neighbours among {RETURNED} returned."
        );
        let columns = panels.len().min(2);
        report.figures.push(Figure { name: name.into(), caption, panels, columns });
    }
    report.tables.push(table);
    report.note(
        "Neighbouring sets differ in one item (alpha = 1, as in figure 6.1) where one item is protected. Our bins have delta \
         = 0 and allow hash functions known in advance; the mixtures and the noisy bits need fresh ones.",
    );
    report.note(
        "Our shapes and rankings are planned for sets of 40 items, neighbours of similarity 0.5 and others of 0.02: round \
         numbers fixed before any set was read. The row marked oracle uses the private data's own, for the difference.",
    );
    Ok(report)
}

struct Curves {
    /// The thesis's settings, B = 2, 3, and 4 in a full run.
    bucket: Vec<Series>,
    /// The best of a grid.
    bucket_best: Series,
    /// The thesis's settings, delta rising; a quick run has the ends and 1e-4.
    noisy: Vec<Series>,
    noisy_best: Series,
    /// Flips, plain bins, planned, planned by an oracle.
    ours_item: Vec<Series>,
    ours_set: Series,
}

impl Curves {
    fn rows(&self) -> impl Iterator<Item = (Protects, &Series)> {
        let item = self.noisy.iter().chain([&self.noisy_best]).chain(&self.ours_item);
        let set = self.bucket.iter().chain([&self.bucket_best, &self.ours_set]);
        item.map(|s| (Protects::OneItem, s)).chain(set.map(|s| (Protects::Set, s)))
    }
}

/// The series of the largest delta, which is the last.
fn most(noisy: &[Series]) -> &Series {
    &noisy[noisy.len() - 1]
}

/// Epsilon at the level, or nothing below it.
fn reach(s: &Series) -> f64 {
    s.reaches(LEVEL).unwrap_or(f64::INFINITY)
}

fn curves(context: &Context<'_>, task: &Task<'_>, repetitions: usize) -> Result<Curves> {
    let one = |method: Method, epsilons: &[f64], repetitions: usize| {
        let methods: Vec<_> = epsilons.iter().map(|&e| (e, method)).collect();
        series(context, task, method.label(), method.delta(), &methods, repetitions)
    };
    // The best of a grid, by one repetition each; then measured like the others.
    let best = |grid: Vec<Method>, epsilons: &[f64], what: &str| -> Result<Series> {
        let mut found: Option<(f64, Method)> = None;
        for method in grid {
            let least = found.map_or(f64::INFINITY, |(least, _)| least);
            let mut tried = Series::new(method.label(), method.delta());
            for &epsilon in epsilons {
                tried.add(context, task, (epsilon, method), 1)?;
                // Reached here, or beyond here, which is no less than the least so far.
                if reach(&tried) < f64::INFINITY || epsilon >= least {
                    break;
                }
            }
            let at = reach(&tried);
            if found.is_none_or(|(least, _)| at < least) {
                found = Some((at, method));
            }
        }
        let method = found.expect("a grid is not empty").1;
        let series = one(method, epsilons, repetitions)?;
        Ok(Series { label: format!("{}, {what}", series.label), ..series })
    };
    let wide =
        context.pick(&[16.0, 32.0, 64.0, 100.0, 200.0][..], &[8.0, 16.0, 32.0, 64.0, 100.0, 200.0]);
    let bucket = context
        .pick(&[2, 3][..], &[2, 3, 4])
        .iter()
        .map(|&buckets| one(Method::Bucket { positions: LENGTH, buckets }, wide, repetitions))
        .collect::<Result<_>>()?;
    let shapes = context.pick(
        vec![(10, 4), (20, 2), (20, 4), (20, 8), (50, 2), (50, 4)],
        vec![
            (10, 2),
            (10, 4),
            (10, 8),
            (20, 2),
            (20, 3),
            (20, 4),
            (20, 8),
            (30, 4),
            (50, 2),
            (50, 3),
            (50, 4),
            (100, 3),
        ],
    );
    let grid =
        shapes.iter().map(|&(positions, buckets)| Method::Bucket { positions, buckets }).collect();
    let bucket_best = best(grid, wide, "best of a grid")?;
    let grid = shapes
        .iter()
        .map(|&(bins, values)| Method::Bins {
            bins,
            values,
            alpha: bins as u64,
            facts: Facts::Public,
        })
        .collect();
    let ours_set = best(grid, wide, "best of a grid")?;
    let middle =
        context.pick(&[4.0, 8.0, 16.0, 32.0, 64.0][..], &[2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
    let plain = |positions, concatenation, delta| Method::Noisy { positions, concatenation, delta };
    let noisy = context
        .pick(&[5.6e-6, 1e-4, 5.1e-3][..], &[5.6e-6, 1e-4, 5.6e-4, 5.1e-3])
        .iter()
        .map(|&delta| one(plain(LENGTH, 1, delta), middle, repetitions))
        .collect::<Result<Vec<_>>>()?;
    let grid = context
        .pick(vec![20, 50, 200], vec![20, 50, 100, 200, 400])
        .into_iter()
        .flat_map(|l| [plain(l, 1, 1e-4), plain(l, 2, 1e-4)])
        .collect();
    let noisy_best = best(grid, middle, "best of a grid")?;
    let low = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let flips = Method::Mixture { positions: LENGTH, concatenation: 1, alphabet: 2, delta: 1e-4 };
    let bins = Method::Bins { bins: LENGTH, values: 2, alpha: ALPHA, facts: Facts::Public };
    let mut ours_item = vec![one(flips, middle, repetitions)?, one(bins, &low, repetitions)?];
    for (facts, label) in [
        (Facts::Public, "ours: planned from public facts, delta=0"),
        (Facts::Oracle, "ours: planned by an oracle, delta=0"),
    ] {
        let plans: Result<Vec<(f64, Method)>> =
            low.par_iter().map(|&e| Ok((e, planned(task, e, 0.0, facts)?))).collect();
        ours_item.push(series(context, task, label.to_owned(), 0.0, &plans?, repetitions)?);
    }
    Ok(Curves { bucket, bucket_best, noisy, noisy_best, ours_item, ours_set })
}

fn claims(report: &mut Report, task: &Task<'_>, all: &Curves) {
    let name = &task.data.name;
    let chance = RETURNED as f64 / (task.data.sets.len() - 1) as f64;
    let same = all.bucket[0].at(200.0);
    let half = all.noisy[1].reaches(same).unwrap_or(f64::INFINITY);
    report
        .claim(
            format!("{name}: Noisy Secure MinHash needs at most half the budget of Bucket PrivMin for its recall at 200"),
            half <= 100.0 && same > 2.0 * chance,
            format!("recall {same:.3}: epsilon {half:.1} against 200; the two protect different things"),
        )
        .of("figure 7.7, section 7.2.2: half the privacy budget, the same recall")
        .catches(&[Sabotage::DataIgnored]);
    let (two, e2) = all.bucket[0].with_error(200.0);
    let (three, e3) = all.bucket[1].with_error(200.0);
    report
        .claim(
            format!("{name}: up to epsilon 200 two buckets find at least as much as three (at 200, two standard errors)"),
            two >= three - 2.0 * e2.hypot(e3),
            format!("{two:.4} +- {e2:.4} against {three:.4} +- {e3:.4}"),
        )
        .of("figure 7.5 and section 7.2.2: the output probability trumps the reduction in random noise")
        .fails_because(
            "on the package sets, and mostly on drawn ones, three buckets find more at epsilon 200 (by up to 0.1); at 64, where \
             the ordering was judged before, both are near chance",
            three < two + 0.1,
        );
    let spread = most(&all.noisy).at(32.0) - all.noisy[0].at(32.0);
    report
        .claim(
            format!(
                "{name}: delta from 5.6e-6 to 5.1e-3 moves recall at epsilon 32 by less than 0.2"
            ),
            spread.abs() < 0.2,
            format!("{spread:+.3}"),
        )
        .of("figure 7.6");
    let (noisy, best) = (reach(&all.noisy[1]), reach(&all.noisy_best));
    // Where the sets are too little alike for a quarter: what noisy bits find at the largest epsilon.
    let least = all.noisy[1].epsilons.len() - 1;
    let (largest, level) = (all.noisy[1].epsilons[least], LEVEL.min(all.noisy[1].mean(least)));
    let at_level = |s: &Series| s.reaches(level).unwrap_or(f64::INFINITY);
    let (flips, same) = (at_level(&all.ours_item[0]), at_level(&all.noisy[1]));
    report
        .claim(
            format!(
                "{name}, one item protected: bit flips with the exact mixture reach recall 0.25 (or that of the published \
                 noisy bits at epsilon {largest}, where it is less) at 0.7 of the published epsilon or less, at equal length"
            ),
            flips.is_finite() && flips <= 0.7 * same && level > 1.5 * chance,
            format!("recall {level:.3}: {flips:.2} against {same:.2}"),
        )
        .of("ours, beside figure 7.6")
        .catches(&[Sabotage::DataIgnored]);
    let planned = reach(&all.ours_item[2]);
    report
        .claim(
            format!(
                "{name}, one item protected: bins planned from public facts, delta 0, reach recall 0.25 at a quarter of the \
                 published epsilon or less, the published at its best shape (or at {largest}, the largest tried, where \
                 it does not reach it)"
            ),
            planned.is_finite() && planned <= 0.25 * best.min(largest),
            format!("{planned:.2} against {best:.2} ({})", all.noisy_best.label),
        )
        .of("ours, beside figure 7.6")
        .catches(&ANSWERS[2..]);
    let (bucket, bins) = (reach(&all.bucket_best), reach(&all.ours_set));
    report
        .claim(
            format!("{name}, any two sets protected: our bins reach it at a smaller epsilon than Bucket PrivMin, both at their best"),
            bins < bucket,
            format!(
                "{bins:.1} ({}) against {bucket:.1} ({})",
                all.ours_set.label, all.bucket_best.label
            ),
        )
        .of("ours, beside figure 7.5");
    report.notes.push(format!(
        "{name}: where any two sets are protected, ours at its best needs epsilon {bins:.1} and the published Bucket PrivMin at \
         its best {bucket:.1}; where one item is, ours needs {planned:.2} and Noisy Secure MinHash {best:.1} at its best, \
         {noisy:.1} at length 100."
    ));
    let loss = (0..all.ours_item[2].epsilons.len())
        .map(|i| all.ours_item[2].mean(i) - all.ours_item[3].mean(i))
        .fold(f64::INFINITY, f64::min);
    let (near, far) = task.near_and_far();
    let claim = report.claim(
        format!("{name}: planning from public facts costs at most 0.15 of recall against an oracle's plan"),
        loss > -0.15,
        format!(
            "{loss:+.3} at its worst; neighbours are alike by {near:.2}, others by {far:.3}, the mean set has {:.0} items",
            task.data.mean_size()
        ),
    )
    .of("ours, beside figure 7.7");
    if name.starts_with("Ratings") {
        claim.fails_because(
            "the round numbers (40 items, neighbours alike by 0.5, others by 0.02) are far from these sets, and the plan \
             with them (it costs up to 0.35)",
            loss > -0.35,
        );
    }
    let top = all.ours_item[2].at(32.0);
    report
        .claim(
            format!("{name}: at epsilon 32 planned bins find more than half of the true neighbours (chance {chance:.3})"),
            top > 0.5,
            format!("{top:.3}"),
        )
        .catches(&ANSWERS);
    let low = all.ours_item[1].at(0.5);
    report
        .claim(
            format!("{name}: bins of two values at epsilon 0.5 find less than a tenth (chance {chance:.3})"),
            low < 0.1,
            format!("{low:.3}"),
        )
        .catches(&[Sabotage::NoNoise]);
    // Keep probabilities by hand: k-ary response at epsilon / L, and 3 symbols at epsilon.
    let keep = |s: &Series, epsilon: f64| {
        let i = s.epsilons.iter().position(|&e| e == epsilon);
        i.map_or(f64::NAN, |i| s.noise[i])
    };
    let bucket = (keep(&all.bucket[0], 200.0), 2f64.exp() / (2f64.exp() + 1.0));
    let bins = (keep(&all.ours_item[1], 2.0), 2f64.exp() / (2f64.exp() + 2.0));
    let noise = (keep(&all.noisy[1], 32.0), {
        let expected = LENGTH as f64 * 0.5 / task.min_size as f64;
        expected * (1.0 + (3.0 * 1e4f64.ln() / expected).sqrt()) / 32.0
    });
    let off = [bucket, bins, noise].map(|(found, said)| (found / said - 1.0).abs());
    report
        .claim(
            format!(
                "{name}: the responses and the Laplace scale in use are e^x/(e^x + B - 1) at x = epsilon/L (Bucket), at x = \
                 epsilon over 3 symbols (bins), and equation 6.12 over epsilon (noisy bits), to 1e-6"
            ),
            off.iter().all(|o| *o < 1e-6),
            format!("deviations {off:?}"),
        )
        .of("sections 5.2 and 6.2")
        .catches(&NOISE)
        .catches(&[Sabotage::PublishedDoubled]);
}
