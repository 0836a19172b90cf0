//! Ratings and tags: a Netflix-like matrix, package tags, and MovieLens when present.

use super::matrices::{movie_lens, netflix_like, package_tags};
use super::sweep::{Case, Method, curves, frobenius, of, show, steps};
use crate::error::Result;
use crate::framework::{Axis, Context, Figure, Panel, Report, Study, Table};
use dp_core::{Bound, Budget};
use linalg_dp::low_rank::Setting;
use linalg_dp::low_rank::{c_coherence, mu0_exact};

pub(super) const STUDY: Study = Study {
    id: "hardt-roth-2012/ratings",
    title: "Low-rank approximation of ratings and of package tags",
    reference: "Hardt & Roth 2012, appendix C (Netflix), and our own data",
    run,
};

const RANK: usize = 4;

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let (m, n) = context.pick((200, 5000), (1000, 20_000));
    let netflix = netflix_like(Context::data_seed("netflix", 0), m, n)?;
    let mut matrices = vec![netflix, package_tags()];
    matrices.extend(movie_lens(context)?);
    let epsilons = context.pick(vec![1.0, 4.0, 16.0], vec![0.5, 1.0, 2.0, 4.0, 8.0, 16.0]);
    context.progress.begin(steps(epsilons.len() * matrices.len()));
    let mut panels = Vec::new();
    let mut table = Table::new(
        "matrices",
        "Statistics of the matrices (Netflix: density 0.011, largest row 0.0022 of the entries).",
        &["matrix", "density", "largest row's share", "C", "mu0 (rank 4)", "||A||_F"],
    );
    let mut statistics = Vec::new();
    for (i, matrix) in matrices.iter().enumerate() {
        let view = matrix.view()?;
        let (density, share) = matrix.density()?;
        let coherence = c_coherence(&view)?;
        statistics.push([density, share, coherence / (matrix.m as f64).sqrt()]);
        table.rows.push(vec![
            matrix.name.clone(),
            format!("{density:.4}"),
            format!("{share:.4}"),
            format!("{coherence:.2}"),
            format!("{:.2}", mu0_exact(&view, RANK)?),
            format!("{:.1}", frobenius(matrix)?),
        ]);
        let rows = Bound::new(5.0 * (matrix.n as f64).sqrt())?;
        let setting = Setting::new((matrix.m, matrix.n), RANK, 6, Bound::new(1.0)?, rows)?;
        let cases = epsilons
            .iter()
            .map(|&epsilon| {
                Ok(Case { x: epsilon, matrix, setting, budget: Budget::new(epsilon, 1e-6)? })
            })
            .collect::<Result<Vec<_>>>()?;
        let part = format!("ratings {i}");
        let all = curves(context, &part, &matrix.name, &cases, context.pick(1, 5))?;
        let zero = frobenius(matrix)?;
        let errors = |method| of(&all, method).iter().map(|p| p.y).collect::<Vec<_>>();
        let (best, input) = (errors(Method::BestPfp), errors(Method::InputPerturbation));
        report.claim(
            format!(
                "{}: PFP, shaped and shrunk, is never worse than zero (within 1 per cent)",
                matrix.name
            ),
            best.iter().all(|e| *e <= 1.01 * zero),
            format!("zero {zero:.1}; {}", show(&best)),
        );
        report.claim(
            format!(
                "{}: it is below input perturbation while noise dominates (epsilon up to 1)",
                matrix.name
            ),
            epsilons.iter().zip(best.iter().zip(&input)).all(|(e, (b, i))| *e > 1.0 || b < i),
            format!("input {}", show(&input)),
        );
        panels.push(Panel {
            title: matrix.name.clone(),
            x: Axis::log("epsilon"),
            y: Axis::log("Frobenius error"),
            curves: all,
        });
    }
    let [density, share, coherence] = statistics[0];
    report.claim(
        "the Netflix-like matrix has appendix C's statistics: density within 0.008 and 0.013, no row above half of \
         the columns, C at most half of sqrt m",
        (0.008..0.013).contains(&density) && share < 0.5 && coherence < 0.5,
        format!("density {density:.4}, largest row {share:.4}, C {coherence:.3} sqrt m"),
    );
    report.note(
        "Both matrices are coherent (a few films and tags are far heavier than the rest): once the noise is \
         small, input perturbation overtakes PFP.",
    );
    report.tables.push(table);
    report.figures.push(Figure {
        name: "ratings".into(),
        caption: "Rank 4, k = 10, delta 1e-6; one row (a film or a tag) may shift by 1. Ratings are 1 to 5, tags 0 \
                  or 1."
            .into(),
        panels,
        columns: 2,
    });
    if context.sources.data.is_none() {
        report.note(
            "MovieLens 100k is used when its u.data is in the folder given for further data.",
        );
    }
    Ok(report)
}
