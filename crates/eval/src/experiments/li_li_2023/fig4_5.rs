//! Figures 4 and 5: the probability that some neighbour changes a sign, and N+.

use crate::error::Result;
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Study,
};
use dp_core::numeric::ln_binomial_sf;
use dp_core::{Delta, NormBound, Probability, Shift};
use sketch::signs::changes::{Tail, any_neighbour_gaussian, most_changes, one_pair_gaussian};

pub(super) const FIG4: Study = Study {
    id: "li-li-2023/fig4-change-probability",
    title: "Probability that some neighbour of a row has another sign, against beta/m",
    reference: "Li and Li 2023, section 4.1.1, figure 4, beside the probability for one pair",
    run: fig4,
};

pub(super) const FIG5: Study = Study {
    id: "li-li-2023/fig5-changes",
    title: "N+, the bound on changed signs, against the norm of the data",
    reference: "Li and Li 2023, Proposition 4.5 and figure 5, with the exact quantile added",
    run: fig5,
};

const DIMENSIONS: [usize; 4] = [100, 1_000, 10_000, 100_000];

fn curve(label: String, mechanism: &str, k: Setting, points: Vec<Point>) -> Curve {
    Curve { label, points, origin: Origin { k, ..Origin::formula(mechanism) } }
}

fn fig4(context: &Context<'_>) -> Result<Report> {
    context.progress.begin(DIMENSIONS.len() as u64);
    let m = NormBound::new(1.0)?;
    let ratios: Vec<f64> = (1..=25).map(|i| 0.02 * f64::from(i)).collect();
    let mut curves = Vec::new();
    let mut rising = true;
    let mut below = Vec::new();
    for d in DIMENSIONS {
        let p = ratios.iter().map(|&r| Ok(any_neighbour_gaussian(Shift::new(r)?, m, d).get()));
        let p: Vec<f64> = p.collect::<Result<_>>()?;
        rising &= p.windows(2).all(|w| w[0] < w[1]);
        below.push(p[4]);
        let points = ratios.iter().zip(&p).map(|(&r, &p)| Point::exact(r, p)).collect();
        curves.push(curve(format!("d = {d}"), "P+ of Proposition 4.5", Setting::None, points));
        context.progress.step();
    }
    rising &= below.windows(2).all(|w| w[0] < w[1]);
    let pair = |&r: &f64| Ok(Point::exact(r, one_pair_gaussian(Shift::new(r)?, m).get()));
    let pair = ratios.iter().map(pair).collect::<Result<Vec<_>>>()?;
    let half = pair[24].y;
    let mechanism = "largest angle of one pair over pi";
    curves.push(curve("one pair, any d".into(), mechanism, Setting::None, pair));
    let mut report = Report::default();
    report
        .claim(
            "P+ rises with beta/m and with the dimension",
            rising,
            format!("at beta/m = 0.1: {below:.3?}"),
        )
        .of("figure 4, lemmas 4.2 to 4.4")
        .formula();
    // The integral over the largest of d half-normals, by another program's quadrature.
    let by_hand = [(0.1, 100, 0.216_276), (0.1, 100_000, 0.349_576), (0.5, 1_000, 0.909_974)];
    let mut worst = 0.0f64;
    for (r, d, said) in by_hand {
        worst = worst.max((any_neighbour_gaussian(Shift::new(r)?, m, d).get() / said - 1.0).abs());
    }
    report
        .claim(
            "P+ is 0.216276 and 0.349576 at beta/m = 0.1, d = 100 and 1e5, 0.909974 at 0.5 and 1,000, as integrated apart \
             (within 1e-4)",
            worst < 1e-4,
            format!("largest deviation {worst:.1e}"),
        )
        .of("figure 4, lemmas 4.2 to 4.4, proposition 4.5")
        .formula();
    report
        .claim(
            "with beta/m = 0.1 it is below 0.4 even for large d (here 1e5)",
            below[3] < 0.4,
            format!("{:.4}", below[3]),
        )
        .of("figure 4")
        .formula();
    report
        .claim(
            "one pair changes a sign several times less often (beta/m = 0.5: below 0.17, any d)",
            half < 0.17,
            format!("{half:.4}"),
        )
        .of("ours, beside figure 4")
        .formula();
    report.figures.push(Figure {
        name: "probability".into(),
        caption: "Gaussian projections. Differential privacy speaks of one pair at a time.".into(),
        panels: vec![Panel {
            title: "Pr[another sign]".into(),
            x: Axis::linear("beta / m"),
            y: Axis::linear("probability").between(0.0, 1.0),
            curves,
        }],
        columns: 1,
    });
    Ok(report)
}

fn fig5(context: &Context<'_>) -> Result<Report> {
    let (d, delta, beta) = (1_000, Delta::new(1e-6)?, Shift::new(1.0)?);
    let sizes = [256, 512, 1024];
    context.progress.begin(sizes.len() as u64);
    let norms: Vec<f64> = (0..=16).map(|i| 2f64.powf(0.5 * f64::from(i))).collect();
    let mut panels = Vec::new();
    let (mut falls, mut tighter, mut sound) = (true, true, true);
    for k in sizes {
        let (mut chernoff, mut exact, mut pair) = (Vec::new(), Vec::new(), Vec::new());
        for &m in &norms {
            let m = NormBound::new(m)?;
            let p = any_neighbour_gaussian(beta, m, d);
            let most = |p: Probability, tail| most_changes(k, p, delta, tail);
            let (c, q) = (most(p, Tail::Chernoff)?, most(p, Tail::Quantile)?);
            tighter &= q <= c;
            let exceeded =
                |n: u64| n < k as u64 && ln_binomial_sf(k as u64, p.get(), n) > delta.ln().get();
            sound &= !exceeded(c) && !exceeded(q) && (q == 1 || exceeded(q - 1));
            chernoff.push(Point::exact(m.get(), c as f64));
            exact.push(Point::exact(m.get(), q as f64));
            let one = most(one_pair_gaussian(beta, m), Tail::Quantile)?;
            pair.push(Point::exact(m.get(), one as f64));
        }
        falls &= chernoff.windows(2).all(|w| w[1].y <= w[0].y);
        let size = Setting::Fixed(k as f64);
        panels.push(Panel {
            title: format!("k = {k}"),
            x: Axis::log("norm m"),
            y: Axis::linear("signs").between(0.0, k as f64),
            curves: vec![
                curve("N+, Chernoff (published)".into(), "Proposition 4.5", size.clone(), chernoff),
                curve("N+, exact quantile".into(), "quantile of Bin(k, P+)", size.clone(), exact),
                curve("one pair, exact quantile".into(), "quantile of Bin(k, q)", size, pair),
            ],
        });
        context.progress.step();
    }
    let mut report = Report::default();
    report
        .claim("N+ shrinks as the norm grows", falls, format!("{} norms", norms.len()))
        .of("figure 5")
        .formula();
    // Binomial tails summed apart: P+ = 0.169971 at beta/m = 1/16, d = 1000.
    let mut said = true;
    let mut found = Vec::new();
    for (k, chernoff, quantile) in [(256, 86, 74), (1024, 251, 233)] {
        let p = any_neighbour_gaussian(beta, NormBound::new(16.0)?, d);
        let most = [Tail::Chernoff, Tail::Quantile].map(|tail| most_changes(k, p, delta, tail));
        let [c, q] = most;
        let (c, q) = (c?, q?);
        said &= (c, q) == (chernoff, quantile);
        found.push(format!("{c} and {q} of {k}"));
    }
    report
        .claim(
            "at norm 16 N+ is 86 of 256 signs and 251 of 1,024, the exact quantile 74 and 233, as worked out apart",
            said,
            found.join("; "),
        )
        .of("figure 5, proposition 4.5")
        .formula();
    report
        .claim(
            "the exact quantile is nowhere above the Chernoff bound",
            tighter,
            format!("{} pairs", norms.len() * sizes.len()),
        )
        .of("ours, beside figure 5")
        .formula();
    report
        .claim(
            "both keep the tail of Bin(k, P+) below delta, and the quantile is the least that does",
            sound,
            "binomial tails recomputed",
        )
        .of("proposition 4.5")
        .formula();
    report.figures.push(Figure {
        name: "changes".into(),
        caption: format!("Gaussian projections, d = {d}, beta = 1, delta = 1e-6."),
        panels,
        columns: 3,
    });
    Ok(report)
}
