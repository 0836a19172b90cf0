//! How the curves of a figure were made, and numbers as they are printed.

use crate::framework::{Curve, Point, Seeds, Setting};

/// A number as short as it reads well.
pub(super) fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let size = x.abs();
    if !(1e-3..1e6).contains(&size) {
        return format!("{x:.3e}").replace(".000e", "e");
    }
    let digits = (4 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

impl Setting {
    /// The value at one point, where there is one.
    pub(super) fn at(&self, index: usize, point: &Point) -> Option<f64> {
        match self {
            Self::None => None,
            Self::Fixed(value) => Some(*value),
            Self::AxisX => Some(point.x),
            Self::AxisY => Some(point.y),
            Self::PerPoint(values) => values.get(index).copied(),
        }
    }

    /// All values of a curve, without repetition of equal neighbours.
    pub(super) fn describe(&self, points: &[Point]) -> String {
        let mut values: Vec<String> =
            points.iter().enumerate().filter_map(|(i, p)| self.at(i, p)).map(number).collect();
        values.dedup();
        match values.len() {
            0 => "-".into(),
            1..=12 => values.join(", "),
            n => format!("{} to {} ({n} values)", values[0], values[n - 1]),
        }
    }
}

impl core::fmt::Display for Seeds {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Derived(seed) => write!(f, "derived from {seed}"),
        }
    }
}

/// Heads of the table that states how the curves of a figure were made.
pub(super) const ORIGIN_HEADS: [&str; 10] = [
    "panel",
    "curve",
    "mechanism",
    "k",
    "epsilon",
    "delta",
    "sigma",
    "seeds",
    "data",
    "repetitions",
];

/// One row of that table.
pub(super) fn origin_row(panel: &str, curve: &Curve) -> [String; 10] {
    let origin = &curve.origin;
    let of = |setting: &Setting| setting.describe(&curve.points);
    [
        panel.into(),
        curve.label.clone(),
        origin.mechanism.clone(),
        of(&origin.k),
        of(&origin.epsilon),
        of(&origin.delta),
        of(&origin.sigma),
        origin.seeds.to_string(),
        origin.data.clone(),
        origin.repetitions.to_string(),
    ]
}
