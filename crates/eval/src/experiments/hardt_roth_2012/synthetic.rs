//! Errors against size, sketch size, coherence and epsilon on synthetic matrices.

use super::bounds::{DELTA, RANK, bound_curves, theorem_3_1, theorem_bounds};
use super::distance::frobenius;
use super::matrices::{Matrix, Source, synthetic};
use super::sweep::{
    Case, EXACT_SHRUNK, INPUT, INPUT_PLAIN, OURS, PUBLISHED, PUBLISHED_SHRUNK, Sweep, show, steps,
    sweep,
};
use crate::error::Result;
use crate::framework::sabotage::{self, ANSWERS, Sabotage};
use crate::framework::{Axis, Context, Curve, Figure, Panel, Report, Study};
use dp_core::{Budget, NormBound, Shift};
use faer::Mat;
use linalg_dp::low_rank::{RangeFinder, Setting, mu0_exact};

const REFERENCE: &str = "Hardt & Roth 2012, theorems 3.1, 4.2, 4.7, 6.2 and 6.3 (parameters ours)";

pub(super) const BY_SIZE: Study = Study {
    id: "hardt-roth-2012/size",
    title: "Low-rank error against the number of rows and of columns",
    reference: REFERENCE,
    run: by_size,
};
pub(super) const BY_K: Study = Study {
    id: "hardt-roth-2012/sketch-size",
    title: "Low-rank error against the sketch size k, with the theorems' bounds",
    reference: REFERENCE,
    run: by_k,
};
pub(super) const BY_COHERENCE: Study = Study {
    id: "hardt-roth-2012/coherence",
    title: "Low-rank error against coherence, with the theorems' bounds",
    reference: REFERENCE,
    run: by_coherence,
};
pub(super) const BY_EPSILON: Study = Study {
    id: "hardt-roth-2012/epsilon",
    title: "Low-rank error against epsilon",
    reference: REFERENCE,
    run: by_epsilon,
};

/// Rows are never longer.
fn row_bound() -> Result<NormBound> {
    Ok(NormBound::new(2e4)?)
}

fn setting(shape: (usize, usize), oversampling: usize) -> Result<Setting> {
    Ok(Setting::new(shape, RANK, oversampling, Shift::new(1.0)?, row_bound()?)?)
}

/// What is said first where published and ours are compared.
const FAIR: &str = "Every private method is shown plain and with its singular values shrunk to the known noise by one rule; \
    claims compare shrunk with shrunk. Input perturbation keeps as many components as PFP (k) before it is shrunk.";

/// Evenly spread rank-5 signal of strength 10: the matrix of a repetition.
fn incoherent(
    context: &Context<'_>,
    (m, n): (usize, usize),
    white: f64,
    repetition: u64,
) -> Result<Matrix> {
    let even = RANK as f64 / m as f64;
    let seed = context.data_seed(&format!("matrix {repetition}"), (m * n) as u64);
    synthetic(seed, (m, n, RANK), (10.0, white, even))
}

fn panel(title: &str, x: Axis, curves: Vec<Curve>) -> Panel {
    Panel { title: title.into(), x, y: Axis::log("Frobenius error"), curves }
}

/// Columns where the number of rows varies.
const COLUMNS: usize = 8000;

fn by_size(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let repetitions = 10;
    let rows = context.pick(vec![50, 100, 200], vec![50, 100, 200, 400, 800]);
    let columns = context.pick(vec![1000, 4000, 16_000], vec![1000, 4000, 16_000, 64_000]);
    context.progress.begin(steps(rows.len() + columns.len()));
    let budget = Budget::new(1.0, DELTA)?;
    let series = |shapes: Vec<(usize, usize, f64)>, part: &str| -> Result<Sweep> {
        let draws: Vec<_> =
            shapes.iter().map(|&(m, n, _)| move |i| incoherent(context, (m, n), 0.0, i)).collect();
        let cases = draws
            .iter()
            .zip(&shapes)
            .map(|(draw, &(m, n, x))| {
                Ok(Case { x, source: Source::Drawn(draw), setting: setting((m, n), 12)?, budget })
            })
            .collect::<Result<Vec<_>>>()?;
        let data = "synthetic, rank 5, entries 10, incoherent; a matrix a repetition";
        sweep(context, part, data, &cases, repetitions, row_bound()?)
    };
    let by_m = series(rows.iter().map(|&m| (m, COLUMNS, m as f64)).collect(), "rows")?;
    let by_n = series(columns.iter().map(|&n| (100, n, n as f64)).collect(), "columns")?;
    let gain = by_m.ratios(INPUT, OURS);
    let far = rows.iter().filter(|&&m| 40 * m <= COLUMNS).count();
    report
        .claim(
            "the gain over input perturbation grows with the number of rows (theorem 6.3, while n is far larger): \
             at the last m at least 1.05 times that at the first",
            gain[gain.len() - 1] > 1.05 * gain[0],
            format!("input / ours at m = {rows:?}: {}", show(&gain)),
        )
        .of("theorem 6.3")
        .fails_because(
            "with n fixed the term sqrt(k m) of the theorem, which the range finder pays, outweighs from some m on \
             what a flatter basis saves (three quarters of the first gain stay); the quick sizes stop before that",
            gain[gain.len() - 1] > 0.75 * gain[0],
        );
    report
        .claim(
            "the same while n is at least 40 m (restated after the first form had failed; fresh matrices each seed)",
            gain[far - 1] > 1.05 * gain[0],
            format!("input / ours at m = {:?}: {}", &rows[..far], show(&gain[..far])),
        )
        .of("theorem 6.3")
        .catches(&[Sabotage::ConstantAnswers, Sabotage::SolverConstant]);
    let gain = by_n.ratios(INPUT, OURS);
    report
        .claim(
            "for many more columns than rows PFP beats input perturbation by 1.5 or more, both shrunk",
            gain[gain.len() - 1] > 1.5,
            format!("input / ours at n = {columns:?}: {}", show(&gain)),
        )
        .of("theorems 1.1 and 1.2, informal forms of 6.2 and 6.3: o(sqrt(k n)) error for m = o(n)")
        .catches(&[Sabotage::ConstantAnswers, Sabotage::SolverConstant]);
    let zeros = by_n.zeros();
    let published = by_n.means(PUBLISHED);
    report
        .claim(
            "the published PFP as it stands is better than releasing zero",
            published.iter().zip(&zeros).all(|(p, z)| p < z),
            format!("published {}; zero {}", show(&published), show(&zeros)),
        )
        .of("theorems 6.2 and 6.3")
        .fails_because(
            "its constants are tail bounds of tail bounds: noise above the signal at all these sizes, up to 15 times",
            published.iter().zip(&zeros).all(|(p, z)| *p < 15.0 * z),
        );
    by_n.claim_levels(&mut report, "by columns", 0.0, |_| true);
    report.note(FAIR);
    report.figures.push(Figure {
        name: "size".into(),
        caption: "Rank 5, k = 17, epsilon 1, delta 1e-6. Left: 8,000 columns. Right: 100 rows."
            .into(),
        panels: vec![
            panel("by rows", Axis::log("rows m"), by_m.curves()),
            panel("by columns", Axis::log("columns n"), by_n.curves()),
        ],
        columns: 2,
    });
    Ok(report)
}

/// `||A - W W^T A||_F` of the private range finder, averaged.
fn range_errors(context: &Context<'_>, case: &Case<'_>, repetitions: usize) -> Result<f64> {
    let finder = RangeFinder::calibrate(case.setting, sabotage::spent(case.budget)?)?;
    let mut sum = 0.0;
    for i in 0..repetitions as u64 {
        let matrix = case.source.matrix(i)?;
        let (view, total) = (matrix.view()?, frobenius(&matrix)?.powi(2));
        let mut rng = context.noise("range finder", i);
        let seed = context.fresh_seed("range finder", i);
        let release = sabotage::with_rows(view, |a| Ok(finder.release(&a, seed, &mut rng)?))?;
        let basis = || Mat::from_fn(matrix.m, case.setting.k(), |i, l| f64::from(u8::from(i == l)));
        let w = sabotage::solved(|| Ok(release.payload().basis()?), basis)?;
        let mut captured = 0.0;
        for l in 0..w.ncols() {
            let mut image = vec![0.0; matrix.n];
            for row in 0..matrix.m {
                view.for_each_entry(row, |j, x| image[j] += w[(row, l)] * x);
            }
            captured += image.iter().map(|x| x * x).sum::<f64>();
        }
        sum += (total - captured).max(0.0).sqrt();
    }
    Ok(sum / repetitions as f64)
}

fn by_k(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let repetitions = 10;
    let oversampling = context.pick(vec![2, 4, 8, 16], vec![2, 3, 4, 6, 8, 12, 16, 24, 32]);
    context.progress.begin(steps(oversampling.len()));
    let (m, n) = (100, context.pick(4000, 10_000));
    // Every case and method looks at the same ones.
    let drawn = (0..repetitions as u64).map(|i| incoherent(context, (m, n), 0.5, i));
    let drawn = drawn.collect::<Result<Vec<_>>>()?;
    let draw = |i: u64| Ok(drawn[i as usize].clone());
    let budget = Budget::new(1.0, DELTA)?;
    let cases = oversampling
        .iter()
        .map(|&p| {
            let setting = setting((m, n), p)?;
            Ok(Case { x: setting.k() as f64, source: Source::Drawn(&draw), setting, budget })
        })
        .collect::<Result<Vec<_>>>()?;
    let data = format!("{}; a matrix a repetition", draw(0)?.name);
    let found = sweep(context, "sketch size", &data, &cases, repetitions, row_bound()?)?;
    let bounds = bound_curves(&cases)?;
    let ranges =
        cases.iter().map(|c| range_errors(context, c, repetitions)).collect::<Result<Vec<_>>>()?;
    let bound: Vec<f64> = bounds[1].points.iter().map(|p| p.y).collect();
    report
        .claim(
            "theorem 4.2 bounds the error of the private range finder at every k, and by no more than 3",
            ranges.iter().zip(&bound).all(|(e, b)| e <= b && 3.0 * e >= *b),
            format!("measured {} against {}", show(&ranges), show(&bound)),
        )
        .of("theorem 4.2")
        .catches(&[Sabotage::SolverConstant]);
    theorem_3_1(context, &mut report, &cases, repetitions)?;
    theorem_bounds(&mut report, &found, &bounds);
    let best = found.means(OURS);
    let from = |least: usize| {
        let some = best.iter().zip(&oversampling).filter(move |(_, p)| **p >= least);
        let (low, high) =
            some.fold((f64::INFINITY, 0.0f64), |(a, b), (&e, _)| (a.min(e), b.max(e)));
        high / low
    };
    report
        .claim(
            "shaped and shrunk, PFP hardly depends on the oversampling from p = 4 on (within 25 per cent)",
            from(4) < 1.25,
            format!("largest over least {:.3}; errors {}", from(4), show(&best)),
        )
        .of("ours, beside theorem 6.3")
        .fails_because(
            "on a spectrum with a tail more columns still find signal at p = 4 to 8 (within 60 per cent)",
            from(4) < 1.6,
        );
    report.claim(
        "the same from p = 8 on (restated after the first form had failed; fresh matrices each seed)",
        from(8) < 1.25,
        format!("largest over least {:.3}", from(8)),
    )
    .of("ours, beside theorem 6.3");
    let published = found.means(PUBLISHED);
    report
        .claim(
            "the error of the published PFP grows with k",
            published.windows(2).all(|w| w[1] > w[0]),
            show(&published),
        )
        .of("theorem 4.7: alpha k log(k/delta) sqrt n / epsilon")
        .catches(&[Sabotage::ConstantAnswers, Sabotage::SolverConstant]);
    let tail = 0.5 * ((m - RANK) as f64 * (n - RANK) as f64).sqrt();
    found.claim_levels(&mut report, "by sketch size", tail, |_| true);
    report.note(FAIR);
    let mut all = found.curves();
    all.extend(bounds);
    report.figures.push(Figure {
        name: "sketch-size".into(),
        caption: "100 rows, rank 5 plus noise of deviation 0.5, epsilon 1, delta 1e-6. The theorems' hidden \
                  constants are taken as 1."
            .into(),
        panels: vec![panel("by sketch size", Axis::linear("sketch size k"), all)],
        columns: 1,
    });
    report.note("Theorems 4.7, 6.2 and 6.3 are stated up to constants: their curves show slopes, not levels.");
    Ok(report)
}

fn by_coherence(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let repetitions = 10;
    let (m, n) = (100, context.pick(4000, 20_000));
    let shares =
        context.pick(vec![0.05, 0.3, 0.7, 1.0], vec![0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0]);
    context.progress.begin(steps(shares.len()));
    let budget = Budget::new(1.0, DELTA)?;
    let draws: Vec<_> = shares
        .iter()
        .map(|&share| {
            move |i: u64| {
                let seed = context.data_seed("coherent matrix", i);
                synthetic(seed, (m, n, RANK), (10.0, 0.0, share))
            }
        })
        .collect();
    let cases = draws
        .iter()
        .map(|draw| {
            // That of the first matrix.
            let x = mu0_exact(&draw(0)?.view()?, RANK)?;
            Ok(Case { x, source: Source::Drawn(draw), setting: setting((m, n), 6)?, budget })
        })
        .collect::<Result<Vec<_>>>()?;
    let data = "synthetic, rank 5, entries 10; a matrix a repetition";
    let found = sweep(context, "coherence", data, &cases, repetitions, row_bound()?)?;
    let gain = found.ratios(INPUT, OURS);
    report
        .claim(
            "PFP beats input perturbation on incoherent data by 1.4 or more, both shrunk, and its gain is gone (below \
             1.1) when r rows hold everything",
            gain[0] > 1.4 && gain[gain.len() - 1] < 1.1,
            format!("input / ours: {}", show(&gain)),
        )
        .of("theorem 6.3: coherence mu0")
        .catches(&[Sabotage::ConstantAnswers, Sabotage::SolverConstant]);
    let input = found.means(INPUT_PLAIN);
    let spread = input.iter().copied().fold(0.0, f64::max)
        / input.iter().copied().fold(f64::INFINITY, f64::min);
    report
        .claim(
            "input perturbation does not notice coherence (within 10 per cent)",
            spread < 1.1,
            format!("largest / least {spread:.3}"),
        )
        .of("section 1: randomised response")
        .catches(&[Sabotage::RandomAnswers]);
    found.claim_levels(&mut report, "by coherence", 0.0, |_| true);
    report.note(FAIR);
    let mut all = found.curves();
    all.extend(bound_curves(&cases)?);
    report.figures.push(Figure {
        name: "coherence".into(),
        caption: format!(
            "{m} x {n} of rank 5; a growing share of the signal sits in 5 rows. Epsilon 1, delta 1e-6, k = 11. \
             The theorems' hidden constants are taken as 1."
        ),
        panels: vec![panel("by coherence", Axis::log("coherence mu0"), all)],
        columns: 1,
    });
    Ok(report)
}

fn by_epsilon(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let repetitions = 10;
    let epsilons = context.pick(vec![0.1, 0.3, 1.0, 3.0], vec![0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]);
    context.progress.begin(steps(epsilons.len()));
    let shape = (150, context.pick(5000, 20_000));
    let draw = |i| incoherent(context, shape, 0.0, i);
    let cases = epsilons
        .iter()
        .map(|&epsilon| {
            let budget = Budget::new(epsilon, DELTA)?;
            let source = Source::Drawn(&draw);
            Ok(Case { x: epsilon, source, setting: setting(shape, 6)?, budget })
        })
        .collect::<Result<Vec<_>>>()?;
    let data = format!("{}; a matrix a repetition", draw(0)?.name);
    let found = sweep(context, "epsilon", &data, &cases, repetitions, row_bound()?)?;
    let exact = found.ratios(EXACT_SHRUNK, OURS);
    report
        .claim(
            "shape and choice of directions lower the exact PFP's error at every epsilon by 1.1 or more, both shrunk",
            exact.iter().all(|r| *r > 1.1),
            format!("exact / shaped: {}", show(&exact)),
        )
        .of("ours, beside figure 4")
        .fails_because(
            "this form allows no standard error to a ratio of means: where it is near 1.2, as at the smallest epsilons, \
             a few repetitions are below 1.1 on some seeds (never below 1)",
            exact.iter().all(|r| *r > 1.0),
        );
    let product = exact.iter().product::<f64>().powf(1.0 / exact.len() as f64);
    let behind = found.behind(OURS, EXACT_SHRUNK);
    report.claim(
        "the same by 1.1 or more in the geometric mean over the epsilons, and at none behind by more than three standard \
         errors (restated after the first form had failed on a seed; fresh matrices each seed)",
        product > 1.1 && behind < 3.0,
        format!("geometric mean {product:.3}; {behind:.1} standard errors behind where it is worst"),
    )
    .of("ours, beside figure 4")
    .catches(&[Sabotage::ConstantAnswers, Sabotage::SolverConstant]);
    let (zero, best) = (found.zeros()[0], found.means(OURS));
    let last = best.len() - 1;
    report
        .claim(
            "shrunk, PFP is never worse than releasing zero (within 1 per cent), and better than a tenth of it at the \
             largest epsilon",
            best.iter().all(|e| *e <= 1.01 * zero) && best[last] < 0.1 * zero,
            format!("zero {zero:.0}; {}", show(&best)),
        )
        .of("ours, beside figure 4")
        .catches(&ANSWERS)
        .catches(&[Sabotage::SolverConstant]);
    let published = found.ratios(PUBLISHED_SHRUNK, EXACT_SHRUNK);
    let stated: Vec<f64> = published.into_iter().filter(|r| r.is_finite()).collect();
    report
        .claim(
            "shrunk, the published constants are still behind the exact ones by 1.5 or more up to epsilon 1",
            !stated.is_empty() && stated.iter().all(|r| *r > 1.5),
            format!("published / exact, both shrunk: {}", show(&stated)),
        )
        .of("figures 2 to 4")
        .catches(&[Sabotage::ConstantAnswers, Sabotage::SolverConstant]);
    // The weakest budget hides some of the signal.
    found.claim_levels(&mut report, "by epsilon", 0.0, |i| epsilons[i] >= 1.0);
    report.note(FAIR);
    let all = found.curves();
    report.figures.push(Figure {
        name: "epsilon".into(),
        caption: "150 rows, rank 5, incoherent, k = 11, delta 1e-6. The published rule is stated up to epsilon 1."
            .into(),
        panels: vec![panel("by epsilon", Axis::log("epsilon"), all)],
        columns: 1,
    });
    Ok(report)
}
