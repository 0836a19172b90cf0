//! One row shifts by a quarter of its length.

use super::measure::{SEARCHES, Search, Setting, claim_bins, claim_noise, measure};
use super::show::{chosen, lead, listed, precision, show};
use super::spaces::{Extent, Space};
use super::ways::{Onto, Way};
use crate::Effort;
use crate::error::Result;
use crate::framework::sabotage::{ANSWERS, Sabotage};
use crate::framework::{Context, Report, Study};
use dp_core::{Adjacency, Shift};
use sketch::vectors::NoiseKind;

pub(super) const STUDY: Study = Study {
    id: "private-ann/row-shift",
    title: "Private nearest neighbours, one row shifts by a quarter of its length",
    reference: "Kenthapadi et al. 2013 (fresh projections); Asi et al. 2023 (ProjUnit); the comparison is ours",
    run,
};

const WAYS: [Way; 9] = [
    Way::Open(Onto::Public),
    Way::Noise(Onto::Raw, NoiseKind::Gaussian),
    Way::Noise(Onto::Raw, NoiseKind::Laplace),
    Way::Noise(Onto::Oporp, NoiseKind::Gaussian),
    Way::Noise(Onto::Public, NoiseKind::Gaussian),
    Way::Noise(Onto::Public, NoiseKind::Laplace),
    Way::Fresh,
    Way::Units(Onto::Oporp),
    Way::Units(Onto::Public),
];
const EPSILONS: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
const SHIFT: f64 = 0.25;
const EXACT: Search = SEARCHES[2];

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let quick = Extent { public: 600, queries: 50, database: 1000 };
    let full = |public, database| Extent { public, queries: 60, database };
    let mut spaces = vec![Space::embeddings(context, context.pick(quick, full(2000, 7500)))?];
    if context.effort == Effort::Full {
        spaces.push(Space::digits(context, full(1000, 3000), true)?);
    }
    for space in &mut spaces {
        space.sizes = context.pick(vec![32], vec![16, 64]);
    }
    let setting = Setting {
        adjacency: Adjacency::RowShift { l2: Shift::new(SHIFT)? },
        rows: 1,
        ways: &WAYS,
        epsilons: &EPSILONS,
        repetitions: 10,
    };
    context.progress.begin((WAYS.len() * 2 * spaces.len()) as u64);
    let mut cells = Vec::new();
    for space in &spaces {
        cells.extend(measure(context, space, &setting)?);
    }
    show(context, &mut report, (&spaces, &setting, &cells));
    claim_bins(&cells, &mut report);
    let raw = Way::Noise(Onto::Raw, NoiseKind::Gaussian);
    claim_noise(&cells, (raw, "the exact calibration"), &mut report)
        .catches(&[Sabotage::DataIgnored]);
    let gauss = Way::Noise(Onto::Public, NoiseKind::Gaussian);
    let of = |way| precision(&cells, "embeddings", (way, EXACT), &[2.0, 4.0]);
    let (ours, units) = (of(gauss), of(Way::Units(Onto::Public)));
    report
        .claim(
            "what protects a quarter of a row's length needs less noise than what protects the row: at epsilon 4 Gaussian noise \
             finds at least 0.05 more than unit vectors, whose price is the same (public directions, exact queries)",
            ours[1] - units[1] >= 0.05,
            format!("{} against {} at epsilon 2 and 4", listed(ours.clone()), listed(units.clone())),
        )
        .catches(&ANSWERS)
        .fails_because(
            "projected rows are shorter than one and keep the noise of the shift, while unit vectors are of the projected row's \
             direction: the lead is there and smaller",
            ours[1] - units[1] >= -0.02,
        );
    let pairs = chosen(&cells, "embeddings", (Way::Fresh, EXACT), &EPSILONS);
    let realised = Way::Noise(Onto::Oporp, NoiseKind::Gaussian);
    let realised = chosen(&cells, "embeddings", (realised, EXACT), &EPSILONS);
    let leads: Vec<f64> = pairs.iter().zip(&realised).map(|(a, b)| lead(a, b).0).collect();
    report
        .claim(
            "a Gaussian projection that is used once is nowhere more than 0.02 behind random bins with noise for the very \
             projection, and 0.02 ahead at epsilon 4 (exact queries)",
            leads.iter().all(|l| *l >= -0.02) && leads[3] >= 0.02,
            listed(leads),
        )
        .catches(&[Sabotage::ConstantAnswers, Sabotage::DataIgnored]);
    let low = precision(&cells, "embeddings", (gauss, SEARCHES[0]), &[0.5]);
    let chance = spaces[0].chance();
    report
        .claim(
            format!("at epsilon 0.5 released queries find next to nothing: precision within 0.06 of chance, {chance:.3}"),
            low.iter().all(|p| (p - chance).abs() < 0.06),
            listed(low),
        )
        .catches(&[Sabotage::NoNoise]);
    Ok(report)
}
