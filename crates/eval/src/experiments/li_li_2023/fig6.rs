//! Figure 6: flip probability against the projected value.

use crate::error::Result;
use crate::framework::sabotage::{self, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Setting, Study,
};
use dp_core::Epsilon;
use sketch::signs::{FlipRule, FlipTable};

pub(super) const STUDY: Study = Study {
    id: "li-li-2023/fig6-flip-probability",
    title: "Probability of turning over a sign against the projected value",
    reference: "Li and Li 2023, section 4.2, figure 6, with the optimal rule added",
    run,
};

const RULES: [(FlipRule, &str); 3] = [
    (FlipRule::RandomizedResponse, "randomised response"),
    (FlipRule::PublishedSmooth, "smooth (published)"),
    (FlipRule::OptimalSmooth, "optimal"),
];
const STEPS: i32 = 6;

fn run(context: &Context<'_>) -> Result<Report> {
    let budgets = [0.1, 0.5, 1.0, 2.0];
    context.progress.begin(budgets.len() as u64);
    let mut panels = Vec::new();
    let (mut never_more, mut tight, mut gain) = (true, 0.0f64, 0.0f64);
    for e in budgets {
        let tables =
            RULES.map(|(rule, _)| FlipTable::for_epsilon(sabotage::rule(rule), Epsilon::new(e)?));
        let [rr, smooth, optimal] = tables.map(|t| t.map_err(crate::error::Error::from));
        let tables = [rr?, smooth?, optimal?];
        for level in 1..=40 {
            let q = [0, 1, 2].map(|i| tables[i].flip(level).get());
            never_more &= q[2] <= q[1] * (1.0 + 1e-12) && q[1] <= q[0] * (1.0 + 1e-12);
            let ratio = q[2] / tables[2].flip(level + 1).get();
            // The last level is held at the floor of 2^-53.
            if tables[2].highest_level() > level + 1 {
                tight = tight.max((ratio.ln() / e - 1.0).abs());
            }
            gain = gain.max((1.0 - 2.0 * q[2]) / (1.0 - 2.0 * q[1]));
        }
        let curves = RULES.iter().zip(&tables).map(|(&(_, label), table)| {
            // Two points a level: the steps are drawn as they are.
            let points = (-STEPS..STEPS)
                .flat_map(|left| {
                    let level = if left < 0 { -left } else { left + 1 } as u32;
                    let q = table.flip(level).get();
                    [left, left + 1].map(|x| Point::exact(f64::from(x), q))
                })
                .collect();
            Curve {
                label: label.into(),
                points,
                origin: Origin { epsilon: Setting::Fixed(e), ..Origin::formula(label) },
            }
        });
        let curves = curves.collect();
        panels.push(Panel {
            title: format!("per-bit epsilon {e}"),
            x: Axis::linear("x / step"),
            y: Axis::linear("flip probability").between(0.0, 0.5),
            curves,
        });
        context.progress.step();
    }
    let mut report = Report::default();
    report
        .claim(
            "optimal <= published smooth <= randomised response at every level",
            never_more,
            "40 levels, four budgets",
        )
        .of("figure 6")
        .formula();
    report.claim(
        "the optimal rule meets the likelihood ratio with equality at every level (within 1e-6)",
        tight < 1e-6,
        format!("largest relative distance {tight:.1e}"),
    ).formula();
    report
        .claim(
            "its signal 1 - 2 flip is up to 1.4 times that of the published rule, or more",
            gain >= 1.4,
            format!("{gain:.3}"),
        )
        .formula();
    // 1/(1 + e), 1/(1 + e^2) and e^-1/(1 + e), by hand.
    let by_hand = [0.268_941_4, 0.119_202_9, 0.098_938_0];
    let mut worst = 0.0f64;
    for ((rule, _), said) in RULES.into_iter().zip(by_hand) {
        let found = FlipTable::for_epsilon(sabotage::rule(rule), Epsilon::new(1.0)?)?.flip(2).get();
        worst = worst.max((found / said - 1.0).abs());
    }
    report
        .claim(
            "at level 2 and epsilon 1 the rules turn with 0.26894, 0.11920 and 0.09894 (within 1e-4)",
            worst < 1e-4,
            format!("largest deviation {worst:.1e}"),
        )
        .of("figure 6")
        .formula()
        .catches(&[Sabotage::OptimalAsPublished]);
    report.figures.push(Figure {
        name: "flips".into(),
        caption: "A value of exactly zero is a fair coin. One step is the largest change that one \
                  attribute can make."
            .into(),
        panels,
        columns: 2,
    });
    Ok(report)
}
