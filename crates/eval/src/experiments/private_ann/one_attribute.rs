//! One attribute of one row changes.

use super::kinds::{Onto, Way};
use super::measure::{
    Cell, SEARCHES, Search, Setting, claim_bins, claim_noise, claim_turned, in_hindsight, measure,
    sizes,
};
use super::show::{listed, precision, show};
use super::spaces::{Extent, Space};
use crate::Effort;
use crate::error::Result;
use crate::framework::sabotage::{ANSWERS, Sabotage};
use crate::framework::{Context, Report, Study};
use dp_core::{Adjacency, Shift};
use sketch::signs::FlipRule;
use sketch::vectors::{NoiseKind, System};

pub(super) const STUDY: Study = Study {
    id: "private-ann/one-attribute",
    title: "Private nearest neighbours, one attribute protected: every mechanism of rows",
    reference: "Li and Li 2023 (DP-RP, DP-OPORP, DP-SignOPORP); Geng and Viswanath 2016 (staircase); the comparison is ours",
    run,
};

const WAYS: [Way; 14] = [
    Way::Noise(Onto::Raw, NoiseKind::Gaussian),
    Way::Noise(Onto::Raw, NoiseKind::Laplace),
    Way::Noise(Onto::Raw, NoiseKind::Staircase),
    Way::Open(Onto::Oporp),
    Way::Noise(Onto::Oporp, NoiseKind::Gaussian),
    Way::Noise(Onto::Oporp, NoiseKind::Laplace),
    Way::Noise(Onto::Oporp, NoiseKind::Staircase),
    Way::Fresh,
    Way::Groups,
    Way::Signs(FlipRule::OptimalSmooth),
    Way::Signs(FlipRule::PublishedSmooth),
    Way::FreshSigns,
    Way::Published(System::DpRpG),
    Way::Published(System::DpRpL),
];
const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 3.0];

const RELEASED: Search = SEARCHES[0];
const DENOISED: Search = SEARCHES[1];
const EXACT: Search = SEARCHES[2];

const GAUSSIAN: Way = Way::Noise(Onto::Oporp, NoiseKind::Gaussian);
const LAPLACE: Way = Way::Noise(Onto::Oporp, NoiseKind::Laplace);
const STAIRCASE: Way = Way::Noise(Onto::Oporp, NoiseKind::Staircase);

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let quick = Extent { public: 600, queries: 50, database: 800 };
    let full = |public, database| Extent { public, queries: 60, database };
    // A pixel becomes any other; a number of an embedding changes by four of its deviations.
    let mut spaces = vec![Space::digits(context, context.pick(quick, full(1000, 3000)), false)?];
    if context.effort == Effort::Full {
        spaces.push(Space::embeddings(context, full(2000, 4000))?);
    }
    for (space, sizes) in spaces.iter_mut().zip([&[32, 64, 128, 256][..], &[64, 256]]) {
        space.sizes = context.pick(vec![128], sizes.to_vec());
    }
    context.progress.begin((WAYS.len() * 4) as u64);
    // Those on raw rows take as long as all others together.
    let ways = context.pick(&WAYS[3..], &WAYS[..]);
    let setting = |beta| -> Result<Setting<'_>> {
        Ok(Setting {
            adjacency: Adjacency::Attribute { beta: Shift::new(beta)? },
            rows: 1,
            ways,
            epsilons: &EPSILONS,
            repetitions: 10,
        })
    };
    let mut cells = Vec::new();
    for (space, beta) in spaces.iter().zip([1.0, 0.2]) {
        cells.extend(measure(context, space, &setting(beta)?)?);
    }
    show(context, &mut report, (&spaces, &setting(1.0)?, &cells));
    claims(&cells, context.effort, &mut report);
    claim_bins(&cells, &mut report);
    claim_noise(&cells, (GAUSSIAN, "the exact calibration"), &mut report)
        .catches(&[Sabotage::DataIgnored]);
    let gauss = (Way::Published(System::DpRpG), "the tail bound at the longest row");
    claim_noise(&cells, gauss, &mut report)
        .of("Li and Li 2023, DP-RP")
        .catches(&[Sabotage::PublishedDoubled, Sabotage::DataIgnored]);
    // So much noise that data do not show beside it.
    let laplace = (Way::Published(System::DpRpL), "the longest row");
    claim_noise(&cells, laplace, &mut report)
        .of("Li and Li 2023, DP-RP")
        .catches(&[Sabotage::PublishedDoubled]);
    let optimal =
        (Way::Signs(FlipRule::OptimalSmooth), "e^-((L - 1) epsilon)/(1 + e^epsilon) at level L");
    claim_turned(&cells, optimal, &mut report).catches(&[Sabotage::OptimalAsPublished]);
    let published = (Way::Signs(FlipRule::PublishedSmooth), "1/(1 + e^(L epsilon)) at level L");
    claim_turned(&cells, published, &mut report)
        .of("Li and Li 2023, DP-SignOPORP")
        .catches(&[Sabotage::PublishedDoubled]);
    if context.effort == Effort::Full {
        earlier(&cells, &mut report);
    }
    report.note(
        "One pixel of [0, 1] changes by at most 1, one number of an embedding by at most 0.2. Groups of attributes that move \
         together, and what posterior means know, come from the public rows.",
    );
    Ok(report)
}

fn claims(cells: &[Cell], effort: Effort, report: &mut Report) {
    let of = |way, search, epsilons: &[f64]| precision(cells, "digits", (way, search), epsilons);
    let middle = [1.0, 2.0, 3.0];
    let ahead = |ours: &[f64], theirs: &[f64], more: f64| {
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| a - b >= more)
    };
    let against =
        |ours: Vec<f64>, theirs: Vec<f64>| format!("{} against {}", listed(ours), listed(theirs));
    let (laplace, gauss) = (of(LAPLACE, RELEASED, &middle), of(GAUSSIAN, RELEASED, &middle));
    report
        .claim(
            "digits: Laplace noise finds at least 0.1 more than Gaussian noise at epsilon 1, 2 and 3 (random bins, released queries)",
            ahead(&laplace, &gauss, 0.1),
            against(laplace, gauss),
        )
        .catches(&ANSWERS)
        .catches(&[Sabotage::NoNoise]);
    let (stairs, laplace) = (of(STAIRCASE, RELEASED, &middle), of(LAPLACE, RELEASED, &middle));
    report
        .claim(
            "digits: staircase noise is nowhere more than 0.02 behind Laplace noise, and 0.02 ahead at epsilon 3",
            ahead(&stairs, &laplace, -0.02) && ahead(&stairs[2..], &laplace[2..], 0.02),
            against(stairs, laplace),
        )
        .catches(&ANSWERS);
    let low = [0.5, 1.0, 2.0];
    let (groups, stairs) = (of(Way::Groups, DENOISED, &low), of(STAIRCASE, RELEASED, &low));
    report
        .claim(
            "digits: groups that public rows suggest, ranked by posterior means, find at least 0.1 more than random bins at \
             epsilon 0.5, 1 and 2",
            ahead(&groups, &stairs, 0.1),
            against(groups, stairs),
        )
        .catches(&ANSWERS);
    let (exact, released) = (of(LAPLACE, EXACT, &[1.0]), of(LAPLACE, RELEASED, &[1.0]));
    report
        .claim(
            "digits: queries that are not released find at least 0.1 more at epsilon 1 (Laplace noise)",
            ahead(&exact, &released, 0.1),
            against(exact, released),
        )
        .catches(&ANSWERS)
        .catches(&[Sabotage::NoNoise]);
    let signs = Way::Signs(FlipRule::OptimalSmooth);
    let (exact, released) = (of(signs, EXACT, &[2.0, 3.0]), of(signs, RELEASED, &[2.0, 3.0]));
    report
        .claim(
            "digits: signs of optimal smooth flips give queries that are not released at least 0.1 more at epsilon 2 and 3",
            ahead(&exact, &released, 0.1),
            against(exact, released),
        )
        .catches(&ANSWERS);
    let (denoised, plain) = (of(LAPLACE, DENOISED, &low), of(LAPLACE, RELEASED, &low));
    let finds = |lost: f64| {
        ahead(&denoised[1..], &plain[1..], 0.03) && ahead(&denoised[..1], &plain[..1], -lost)
    };
    let (nothing, little) = (finds(0.02), finds(0.04));
    let denoising = report
        .claim(
            "digits: denoising finds more at epsilon 1 and 2, by 0.03 at least, and loses nothing at 0.5 beyond 0.02",
            nothing,
            against(denoised, plain),
        )
        .catches(&ANSWERS);
    if effort == Effort::Quick {
        denoising.fails_because(
            "seen on the seventh seed: among 800 rows in the place of 3,000 denoising loses some 0.013 at epsilon 0.5, more \
             than 0.02 on some draws (at most 0.04; at 1 and 2 as claimed)",
            little,
        );
    }
    let gauss = of(GAUSSIAN, RELEASED, &[0.5]);
    report
        .claim(
            "digits: at epsilon 0.5 Gaussian noise in random bins finds less than one in ten",
            gauss.iter().all(|p| *p < 0.1),
            listed(gauss),
        )
        .catches(&[Sabotage::NoNoise]);
}

/// Name, way, queries, budgets, and what was found there.
type Earlier<'a> = (&'a str, Way, Search, &'a [f64], &'a [f64]);

/// Numbers that an earlier, separate implementation found, two draws each.
fn earlier(cells: &[Cell], report: &mut Report) {
    let settings: [Earlier<'_>; 5] = [
        ("Gaussian", GAUSSIAN, RELEASED, &[1.0, 2.0, 3.0], &[0.033, 0.085, 0.168]),
        ("Laplace", LAPLACE, RELEASED, &[1.0, 2.0, 3.0], &[0.252, 0.630, 0.841]),
        ("staircase", STAIRCASE, RELEASED, &[1.0, 2.0, 3.0], &[0.270, 0.689, 0.902]),
        ("Laplace, exact queries", LAPLACE, EXACT, &[0.5, 1.0, 2.0], &[0.157, 0.424, 0.749]),
        ("public groups", Way::Groups, DENOISED, &EPSILONS, &[0.474, 0.744, 0.959, 0.988]),
    ];
    for (name, way, search, epsilons, numbers) in settings {
        let found: Vec<f64> = epsilons
            .iter()
            .filter_map(|&e| Some(in_hindsight(&sizes(cells, ("digits", way, search, e)))?.p10()))
            .collect();
        let off = found.iter().zip(numbers).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let more = found.iter().zip(numbers).all(|(a, b)| (-0.04..0.12).contains(&(a - b)));
        report
            .claim(
                format!(
                    "digits, {name}: precision within 0.04 of the earlier {}",
                    listed(numbers.iter().copied())
                ),
                off <= 0.04 && found.len() == numbers.len(),
                listed(found),
            )
            .catches(&[Sabotage::NoNoise])
            .fails_because(
                match way {
                    Way::Groups => {
                        "the earlier choice was among ten numbers of groups, 400 at epsilon 1; 323, which is among those \
                         tried here, finds .06 more in either program"
                    }
                    _ => {
                        "the earlier search was among 4,000 rows in 256 bins, the others' and this one are among 3,000 and take \
                         the best of four sizes, which finds more"
                    }
                },
                (search == EXACT || way == Way::Groups) && more,
            );
    }
}
