//! A user with several rows, each of which may become any other.

use super::kinds::{Onto, Way};
use super::measure::{SEARCHES, Search, Setting, claim_bins, measure};
use super::show::{listed, precision, show};
use super::spaces::{Extent, Space};
use crate::error::Result;
use crate::framework::sabotage::{ANSWERS, Sabotage};
use crate::framework::{Context, Report, Study};
use dp_core::{Adjacency, Budget, L2Sensitivity, NormBound, calibrate};
use sketch::vectors::NoiseKind;

pub(super) const STUDY: Study = Study {
    id: "private-ann/users",
    title: "Private nearest neighbours, users of five rows: noise by the exact factor of the group",
    reference: "ours; group privacy for unit vectors, sqrt(m) for Gaussian noise with a realised projection",
    run,
};

const WAYS: [Way; 6] = [
    Way::Open(Onto::Public),
    Way::Noise(Onto::Raw, NoiseKind::Gaussian),
    Way::Noise(Onto::Public, NoiseKind::Gaussian),
    Way::Noise(Onto::Public, NoiseKind::Laplace),
    Way::Units(Onto::Oporp),
    Way::Units(Onto::Public),
];
const EPSILONS: [f64; 4] = [8.0, 16.0, 32.0, 64.0];
const ROWS: u64 = 5;
const EXACT: Search = SEARCHES[2];

fn run(context: &Context<'_>) -> Result<Report> {
    let mut report = Report::default();
    let quick = Extent { public: 600, queries: 50, database: 1000 };
    let full = Extent { public: 2000, queries: 60, database: 7500 };
    let mut spaces = [Space::embeddings(context, context.pick(quick, full))?];
    spaces[0].sizes = context.pick(vec![32], vec![16, 32, 64]);
    let setting = Setting {
        adjacency: Adjacency::ReplaceRow { bound: NormBound::new(1.0)? },
        rows: ROWS,
        ways: &WAYS,
        epsilons: &EPSILONS,
        repetitions: 10,
    };
    context.progress.begin((WAYS.len() * 2) as u64);
    let cells = measure(context, &spaces[0], &setting)?;
    show(context, &mut report, (&spaces, &setting, &cells));
    claim_bins(&cells, &mut report);
    let of = |way, epsilons: &[f64]| precision(&cells, "embeddings", (way, EXACT), epsilons);
    let strong = [32.0, 64.0];
    let (ours, theirs) = (
        of(Way::Units(Onto::Public), &strong),
        of(Way::Noise(Onto::Public, NoiseKind::Gaussian), &strong),
    );
    report
        .claim(
            "unit vectors, which pay five times epsilon, still find more than Gaussian noise, which pays sqrt 5: 0.02 more at \
             epsilon 32, 0.05 more at 64 (public directions, exact queries)",
            ours.iter().zip(&theirs).zip([0.02, 0.05]).all(|((a, b), more)| a - b >= more),
            format!("{} against {}", listed(ours.iter().copied()), listed(theirs.iter().copied())),
        )
        .catches(&ANSWERS);
    let least = of(Way::Units(Onto::Public), &[8.0]);
    let chance = spaces[0].chance();
    report
        .claim(
            format!("at epsilon 8 a user's rows are hidden: precision within 0.06 of chance, {chance:.3}"),
            least.iter().all(|p| (p - chance).abs() < 0.06),
            listed(least),
        )
        .catches(&[Sabotage::NoNoise]);
    // The scale of one row's noise at the same budget, apart from the release.
    let raw = Way::Noise(Onto::Raw, NoiseKind::Gaussian);
    let mut off = 0.0f64;
    for cell in cells.iter().filter(|c| c.way == raw && c.search == EXACT) {
        let one = calibrate::gaussian(Budget::new(cell.epsilon, 1e-6)?, L2Sensitivity::new(2.0)?)?;
        off = off.max((cell.scale / one.get() / (ROWS as f64).sqrt() - 1.0).abs());
    }
    report
        .claim(
            "five rows of a user cost sqrt 5 times the Gaussian noise of one, to 0.1 %: rows that move by vectors of norm 2 \
             each move the whole release by 2 sqrt 5",
            off < 1e-3,
            format!("off by {off:.1e}"),
        )
        .catches(&[Sabotage::NoNoise, Sabotage::HalfNoise, Sabotage::DoubleNoise]);
    Ok(report)
}
