//! The profile and its trade-off as charts.

use super::chart::{Axis, Chart, Line};
use dp_core::explain::TradeOff;
use dp_core::{Epsilon, Guarantee, PrivacyProfile, Probability, Profile};

/// Points of the trade-off on one side of its diagonal.
const HALF: usize = 16;
/// Points of the profile.
const POINTS: usize = 80;

/// Both charts, where the profile is known.
pub(super) fn of(guarantee: &Guarantee) -> Option<String> {
    let profile = guarantee.profile()?;
    let best = TradeOff::new(profile).ok()?;
    Some(falling(guarantee, profile) + &alarms(&best))
}

/// Delta against epsilon.
fn falling(guarantee: &Guarantee, profile: &Profile) -> String {
    let (epsilon, stated) = (guarantee.budget().epsilon.get(), guarantee.budget().delta.get());
    let ln_delta = |e: f64| profile.log_delta(Epsilon::new(e).unwrap_or(Epsilon::ZERO)).get();
    let decades = |ln: f64| ln / std::f64::consts::LN_10;
    let deepest = if stated > 0.0 { decades(stated.ln()).floor() - 3.0 } else { -12.0 };
    let deepest = deepest.clamp(-60.0, -3.0);
    let end = 1.6 * epsilon;
    let at = |i: usize| end * i as f64 / POINTS as f64;
    let line = (0..=POINTS).map(|i| (at(i), decades(ln_delta(at(i)))));
    // Below the chart there is nothing to see.
    let line: Vec<(f64, f64)> = line.take_while(|&(_, y)| y >= deepest).collect();
    let stride = (-deepest / 5.0).ceil().max(1.0);
    let mark = |i: u32| {
        let y = -f64::from(i) * stride;
        (y, if i == 0 { "1".to_owned() } else { format!("1e{y}") })
    };
    let marks = (0..=(-deepest / stride) as u32).map(mark).collect();
    let budget = decades(ln_delta(epsilon)).max(deepest);
    Chart {
        title: "The privacy profile",
        says: "Delta on a logarithmic scale falls as epsilon grows; the dot is the epsilon of the budget.",
        x: Axis { label: "epsilon", ends: (0.0, end), marks: quarters(end) },
        y: Axis { label: "delta", ends: (deepest, 0.0), marks },
        lines: vec![Line { name: "delta that is truly given; dot: the budget", dashed: false, through: line }],
        points: vec![(epsilon, budget)],
    }
    .svg()
}

/// Missed against false alarms.
fn alarms(best: &TradeOff) -> String {
    let middle = 0.5 * (1.0 - best.advantage());
    let one_side = (0..=HALF).filter_map(|i| {
        let share = i as f64 / HALF as f64;
        let alpha = middle * share * share;
        Some((alpha, best.missed_alarms(Probability::new(alpha).ok()?)))
    });
    let one_side: Vec<(f64, f64)> = one_side.collect();
    // The curve is its own mirror image.
    let mirrored = one_side.iter().rev().map(|&(a, b)| (b, a));
    let curve = one_side.iter().copied().chain(mirrored).collect();
    Chart {
        title: "What a test can reach",
        says: "Missed alarms fall as false alarms rise; no test lies below the solid curve. A test that sees nothing \
               lies on the dashed diagonal.",
        x: Axis { label: "false alarms", ends: (0.0, 1.0), marks: quarters(1.0) },
        y: Axis { label: "missed alarms, at least", ends: (0.0, 1.0), marks: quarters(1.0) },
        lines: vec![
            Line { name: "the best test there can be", dashed: false, through: curve },
            Line { name: "a test that sees nothing", dashed: true, through: vec![(0.0, 1.0), (1.0, 0.0)] },
        ],
        points: Vec::new(),
    }
    .svg()
}

fn quarters(end: f64) -> Vec<(f64, String)> {
    let mark = |i: u32| {
        let value = end * f64::from(i) / 4.0;
        let digits = if value == 0.0 { 0.0 } else { (2.0 - value.log10()).floor().clamp(0.0, 6.0) };
        let text = format!("{value:.*}", digits as usize);
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        (value, text.to_owned())
    };
    (0..=4).map(mark).collect()
}
