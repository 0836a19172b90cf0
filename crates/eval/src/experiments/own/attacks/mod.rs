//! What attackers get out of releases: inside the adjacency beside the exact bound, outside it with no bound at all.

mod settings;

use crate::Table;
use crate::attacks::{Attack, Prior, on_labels, on_links};
use crate::data::{Points, digits, package_embeddings};
use crate::error::Result;
use crate::framework::sabotage::{self, NOISE, Sabotage};
use crate::framework::{
    Axis, Context, Curve, Figure, Origin, Panel, Point, Report, Seeds, Setting as Value, Study,
};
use crate::metrics::mean_and_error;
use dp_core::mechanism::Mechanism;
use dp_core::{Adjacency, Budget, EntryBound, PublicSeed, Release, Shift};
use rayon::prelude::*;
use settings::{DELTA, FAMILIES, Setting, Size};
use sketch::projection::{Family, ProjectionSpec};
use sketch::rows::RowsView;
use sketch::vectors::{NoiseKind, PrivateProjection, PrivateSketch, ProjectionConfig};
use std::sync::Arc;

pub(super) const STUDY: Study = Study {
    id: "own/attacks",
    title: "What attackers learn from releases: beside the exact bound, and where the certificate does not speak",
    reference: "ours; bounds by the trade-off of the exact profile (docs/proofs/trade-off.md)",
    run,
};

/// Failure of all comparisons with bounds together.
const TOGETHER: f64 = 0.001;
/// Public rows of a data set that is attacked.
const PUBLIC: usize = 1000;
/// Rows that are linked.
const LINKED: usize = 500;
/// Numbers of a sketch of digits.
const K: usize = 256;

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    context.progress.begin(3);
    let size = Size { rows: context.pick(800, 2500), releases: context.pick(250, 1000) };
    let all = settings::all(context, &size)?;
    context.progress.step();
    inside(&mut report, &all);
    report.figures.push(bounds_figure(context, &all));
    report.tables.push(table(&all));
    let named = labels(context)?;
    context.progress.step();
    outside(&mut report, &named);
    let linked = links(context)?;
    context.progress.step();
    linked_claims(&mut report, &linked);
    report.figures.push(outside_figure(context, &named, &linked));
    report.note(
        "Guesses between two values are made by the likelihood ratio with everything else known, the truth being one of the two; \
         the bound is that of the guarantee asked for, at equal odds. Guesses of covariances share their noise two by two; \
         they count as fewer by their correlation.",
    );
    report.note(
        "Labels and links are about whole rows, which no certificate of one attribute speaks of. The attacker has 1,000 \
         public rows, with labels, and the public projection.",
    );
    Ok(report)
}

fn inside(report: &mut Report, all: &[Setting]) {
    let each = TOGETHER / all.len() as f64;
    let above: Vec<String> = all
        .iter()
        .filter(|s| s.ratio.chance_under(s.bound) < each)
        .map(|s| format!("{} at {}: {:.4} above {:.4}", s.what, s.epsilon, s.ratio.value, s.bound))
        .collect();
    let worst = all.iter().map(|s| s.ratio.chance_under(s.bound)).fold(1.0, f64::min);
    report
        .claim(
            format!("no attack passes its exact bound in {} settings, at 99.9 % over all of them together", all.len()),
            above.is_empty() && all.len() >= 40,
            if above.is_empty() { format!("least probability {worst:.4}, {each:.1e} needed") } else { above.join("; ") },
        )
        .catches(&[Sabotage::NoNoise, Sabotage::HalfNoise]);
    let best = FAMILIES.map(|family| {
        let of = all.iter().filter(|s| s.family == family);
        of.map(Setting::reached).fold((0.0, 0.0), |best, r| if r.1 > best.1 { r } else { best })
    });
    let shown: Vec<String> = FAMILIES
        .iter()
        .zip(best)
        .map(|(f, (value, low))| format!("{f} {value:.2} (from {low:.2})"))
        .collect();
    report
        .claim(
            "for each family of releases an attack reaches at least half of its bound's advantage, by the lower end of its interval",
            best.iter().all(|&(_, low)| low >= 0.5),
            shown.join(", "),
        )
        .catches(&[Sabotage::DataIgnored]);
    let bits: Vec<&Setting> = all.iter().filter(|s| s.bits.is_some()).collect();
    let chance =
        bits.iter().filter_map(|s| s.bits).map(|b| b.chance_under(0.5)).fold(1.0, f64::min);
    report.claim(
        format!("low bits alone tell nothing: no better than a coin in {} settings, at 99.9 % over all of them together", bits.len()),
        chance >= TOGETHER / bits.len() as f64,
        format!("least probability {chance:.4}"),
    )
    .catches(&[Sabotage::CoarseNoise]);
}

/// The best attacks beside their bounds.
fn table(all: &[Setting]) -> Table {
    let mut table = Table::new(
        "inside",
        "Right guesses between two values that the adjacency sets against each other, at equal odds; with everything else known. \
         Interval: 95 %.",
        &["release", "epsilon", "right guesses", "interval", "at most", "share of the advantage"],
    );
    for s in all {
        table.row([
            s.what.clone(),
            s.epsilon.to_string(),
            format!("{:.3}", s.ratio.value),
            format!("{:.3} to {:.3}", s.ratio.low, s.ratio.high),
            format!("{:.3}", s.bound),
            format!("{:.2}", s.reached().0),
        ]);
    }
    table
}

fn bounds_figure(context: &Context<'_>, all: &[Setting]) -> Figure {
    let panel = |family: &&'static str| {
        let mut names: Vec<&str> = Vec::new();
        for s in all.iter().filter(|s| s.family == *family) {
            if !names.contains(&s.what.as_str()) {
                names.push(&s.what);
            }
        }
        let curves = names.into_iter().flat_map(|name| {
            let of: Vec<&Setting> = all.iter().filter(|s| s.what == name).collect();
            let origin = |mechanism: String| Origin {
                epsilon: Value::AxisX,
                seeds: Seeds::Derived(context.seed),
                data: name.rsplit(", ").next().unwrap_or(name).into(),
                ..Origin::formula(mechanism)
            };
            let point = |s: &&Setting| {
                let error = (s.ratio.value * (1.0 - s.ratio.value) / s.ratio.of).sqrt();
                Point { x: s.epsilon, y: s.ratio.value, error: Some(error) }
            };
            let measured = Curve {
                label: name.into(),
                points: of.iter().map(point).collect(),
                origin: Origin { repetitions: of[0].ratio.of as usize, ..origin(name.into()) },
            };
            let label = format!("at most: {name}");
            let bound = Curve {
                points: of.iter().map(|s| Point::exact(s.epsilon, s.bound)).collect(),
                origin: Origin { seeds: Seeds::None, ..origin(label.clone()) },
                label,
            };
            [measured, bound]
        });
        Panel {
            title: (*family).into(),
            x: Axis::log("epsilon"),
            y: Axis::linear("right guesses").between(0.45, 1.0),
            curves: curves.collect(),
        }
    };
    Figure {
        name: "inside".into(),
        caption: "Right guesses between two values inside the adjacency, and the exact bound on them (a coin: 0.5).".into(),
        panels: FAMILIES.iter().map(panel).collect(),
        columns: 2,
    }
}

/// What was guessed over some releases of equal parameters.
struct Guessed {
    label: String,
    noise: NoiseKind,
    epsilon: f64,
    found: Vec<f64>,
    without: f64,
    clean: f64,
}

impl Guessed {
    fn mean(&self) -> f64 {
        mean_and_error(&self.found).0
    }
}

fn released(
    context: &Context<'_>,
    (rows, k, beta): (&Points, usize, f64),
    (noise, epsilon): (NoiseKind, f64),
    (part, repetition): (&str, u64),
) -> Result<Release<PrivateSketch>> {
    let delta = if noise == NoiseKind::Gaussian { DELTA } else { 0.0 };
    let budget = sabotage::spent(Budget::new(epsilon, delta)?)?;
    let seed = context.public_seed(part, repetition);
    let config = ProjectionConfig {
        projection: ProjectionSpec::new(Family::Oporp, rows.d(), k, seed)?.build(),
        adjacency: Adjacency::Attribute { beta: Shift::new(beta)? },
        bound: EntryBound::new(1.0)?,
        noise,
    };
    let mechanism = PrivateProjection::calibrate(config, budget)?;
    let mut rng = context.noise(&format!("{part} {noise} {epsilon}"), repetition);
    let view = RowsView::f64(rows.n(), rows.d(), rows.values())?;
    sabotage::with_rows(view, |rows| Ok(mechanism.release(rows, &mut rng)?))
}

/// Laplace noise and the Gaussian one of [`DELTA`].
const LAWS: [NoiseKind; 2] = [NoiseKind::Laplace, NoiseKind::Gaussian];

/// Epsilons of what lies outside the adjacency, and releases at each.
fn series(context: &Context<'_>) -> (&'static [f64], u64) {
    (context.pick(&[1.0, 3.0], &[0.5, 1.0, 2.0, 3.0, 5.0, 8.0]), 10)
}

/// Of releases at every epsilon the share that is found, with the last attack.
fn repeated(
    (label, noise): (&str, NoiseKind),
    (epsilons, repetitions): (&[f64], u64),
    attack: impl Fn(f64, u64) -> Result<Attack> + Sync,
) -> Result<Vec<Guessed>> {
    let at = |&epsilon: &f64| {
        let all = (0..repetitions).into_par_iter().map(|r| attack(epsilon, r));
        let all: Vec<Attack> = all.collect::<Result<_>>()?;
        let (without, clean) = (all[0].without, all[0].clean);
        let found = all.iter().map(|attack| attack.release.value).collect();
        Ok(Guessed { label: label.to_owned(), noise, epsilon, found, without, clean })
    };
    epsilons.iter().map(at).collect()
}

/// The digit of an image, from its sketch.
fn labels(context: &Context<'_>) -> Result<Vec<Guessed>> {
    let (all, rows) = (digits(), context.pick(400, 4000));
    let mut found = Vec::new();
    let (epsilons, repetitions) = series(context);
    // What the public rows of a repetition tell serves all of its releases.
    let parts = (0..repetitions).map(|repetition| {
        let seed = context.data_seed("public rows", repetition);
        let parts = all.split(PUBLIC, Some(rows), PublicSeed::new(seed))?;
        let prior = Arc::new(Prior::new(&parts.queries)?);
        Ok((parts, prior))
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    for noise in LAWS {
        found.extend(repeated(
            ("digit", noise),
            (epsilons, repetitions),
            |epsilon, repetition| {
                let (parts, prior) = &parts[repetition as usize];
                let of = (&parts.database, K, 1.0);
                let release = released(context, of, (noise, epsilon), ("labels", repetition))?;
                on_labels(&release, &parts.database, (&parts.queries, prior))
            },
        )?);
    }
    Ok(found)
}

/// Rows that are linked over two days, each with its own projection and noise.
fn links(context: &Context<'_>) -> Result<Vec<Guessed>> {
    let noise = NoiseKind::Laplace;
    let mut found = Vec::new();
    for (name, data, k, beta) in
        [("digits", digits(), K, 1.0), ("embeddings", package_embeddings(), 128, 0.1)]
    {
        found.extend(repeated((name, noise), series(context), |epsilon, repetition| {
            let seed = context.data_seed("linked rows", repetition);
            let parts = data.split(PUBLIC, Some(LINKED), PublicSeed::new(seed))?;
            let day = |day: &str| {
                let part = format!("{name}, {day} day");
                released(context, (&parts.database, k, beta), (noise, epsilon), (&part, repetition))
            };
            let (first, second) = (day("first")?, day("second")?);
            Ok(on_links(&first, &second, &parts.database, &parts.queries)?.remove(0))
        })?);
    }
    Ok(found)
}

fn outside(report: &mut Report, named: &[Guessed]) {
    // `tools/reference/attack_digits.py`: NumPy, 4,000 digits under attack, 1,000 public ones.
    let known = [
        (NoiseKind::Laplace, 1.0, 0.61),
        (NoiseKind::Laplace, 3.0, 0.87),
        (NoiseKind::Gaussian, 1.0, 0.19),
        (NoiseKind::Gaussian, 3.0, 0.57),
    ];
    let at = |noise, epsilon| {
        let found = named.iter().find(|g| g.noise == noise && g.epsilon == epsilon);
        found.map_or(f64::NAN, Guessed::mean)
    };
    let found = known.map(|(noise, epsilon, known)| (at(noise, epsilon), known));
    let shown = found.map(|(found, known)| format!("{found:.3} ({known})")).join(", ");
    let clean = named[0].clean;
    report
        .claim(
            "the digit of an image, one pixel protected, is named as often as an independent program found, within 3 points: 61 and \
             87 % (Laplace, epsilon 1 and 3), 19 and 57 % (Gaussian), 89 % of clean images",
            found.iter().all(|(found, known)| (found - known).abs() < 0.03) && (clean - 0.89).abs() < 0.03,
            format!("{shown}, clean {clean:.3}"),
        )
        .catches(&NOISE)
        .catches(&[Sabotage::DataIgnored]);
}

fn linked_claims(report: &mut Report, linked: &[Guessed]) {
    let of = |label: &str, epsilon: f64| {
        let found = linked.iter().find(|g| g.label == label && g.epsilon == epsilon);
        found.map_or(f64::NAN, Guessed::mean)
    };
    let found = [of("digits", 1.0), of("digits", 3.0)];
    report
        .claim(
            "one value at epsilon 3 does not hide who is who: at least half of 500 digits are linked over two releases of the same rows \
             (a guess: 0.2 %), and fewer at epsilon 1",
            found[1] >= 0.5 && found[0] < found[1],
            format!("{:.3} and {:.3} at epsilon 1 and 3; embeddings {:.3} and {:.3}",
                found[0], found[1], of("embeddings", 1.0), of("embeddings", 3.0)),
        )
        .catches(&[Sabotage::DataIgnored]);
}

fn outside_figure(context: &Context<'_>, named: &[Guessed], linked: &[Guessed]) -> Figure {
    let curves = |of: &[Guessed], label: &dyn Fn(&Guessed) -> String| {
        let mut labels: Vec<String> = of.iter().map(label).collect();
        labels.dedup();
        let curve = |name: &String| {
            let of: Vec<&Guessed> = of.iter().filter(|g| label(g) == *name).collect();
            Curve {
                label: name.clone(),
                points: of.iter().map(|g| Point::mean(g.epsilon, &g.found)).collect(),
                origin: Origin {
                    k: Value::None,
                    epsilon: Value::AxisX,
                    seeds: Seeds::Derived(context.seed),
                    data: name.clone(),
                    repetitions: of[0].found.len(),
                    ..Origin::formula(format!("OPORP, {} noise, one attribute", of[0].noise))
                },
            }
        };
        let mut curves: Vec<Curve> = labels.iter().map(curve).collect();
        for (name, value) in [("no release", of[0].without), ("clean data", of[0].clean)] {
            let points = of.iter().filter(|g| label(g) == labels[0]);
            curves.push(Curve {
                label: name.into(),
                points: points.map(|g| Point::exact(g.epsilon, value)).collect(),
                origin: Origin { epsilon: Value::AxisX, ..Origin::formula(name) },
            });
        }
        curves
    };
    let panel = |title: &str, y: &str, curves: Vec<Curve>| Panel {
        title: title.into(),
        x: Axis::log("epsilon"),
        y: Axis::linear(y).between(0.0, 1.0),
        curves,
    };
    let by_law = |g: &Guessed| format!("{} of digits, {} noise", g.label, g.noise);
    let by_data = |g: &Guessed| format!("{}, {} noise", g.label, g.noise);
    Figure {
        name: "outside".into(),
        caption: "What a certificate of one attribute does not speak of: the digit of an image, and which rows of two releases are of \
                  the same image or text."
            .into(),
        panels: vec![
            panel("labels", "right guesses", curves(named, &by_law)),
            panel("links", "right links", curves(linked, &by_data)),
        ],
        columns: 2,
    }
}
