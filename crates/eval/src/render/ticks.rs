//! Where an axis has its marks.

use super::origin::number;
use crate::framework::{Axis, Scale};
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use std::ops::Range;

/// An axis fitted to its data: positions are plain values on a linear axis, decimal
/// logarithms on a logarithmic one.
#[derive(Clone)]
pub(super) struct Fitted {
    scale: Scale,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) ticks: Vec<f64>,
}

impl Fitted {
    /// Fits `axis` to the extremes of its values; `None` when nothing can be drawn.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut positions: Vec<f64> = match axis.range {
            Some((low, high)) => vec![position(axis.scale, low)?, position(axis.scale, high)?],
            None => values.filter_map(|v| position(axis.scale, v)).collect(),
        };
        positions.sort_by(f64::total_cmp);
        let (&first, &last) = (positions.first()?, positions.last()?);
        let (mut low, mut high) = (first, last);
        if axis.range.is_none() {
            let pad = if high > low { 0.04 * (high - low) } else { 0.5 * high.abs().max(1.0) };
            (low, high) = (low - pad, high + pad);
            let near_zero = axis.scale == Scale::Linear && first >= 0.0 && first < 0.3 * last;
            low = if near_zero { 0.0 } else { low };
        }
        let ticks = match axis.scale {
            Scale::Linear => linear(low, high),
            Scale::Log => logarithmic(low, high),
        };
        Some(Self { scale: axis.scale, low, high, ticks })
    }

    /// Position of a value on the axis; `None` when it cannot be drawn.
    pub(super) fn position(&self, value: f64) -> Option<f64> {
        position(self.scale, value)
    }

    /// Text of the mark at a position.
    pub(super) fn label(&self, position: f64) -> String {
        match self.scale {
            Scale::Linear => {
                let step = self.ticks.windows(2).map(|w| w[1] - w[0]).fold(f64::MAX, f64::min);
                let position = if position.abs() < 1e-9 * step { 0.0 } else { position };
                number(position)
            }
            Scale::Log => {
                let value = 10f64.powf(position);
                if (-3.01..4.01).contains(&position) {
                    number(value)
                } else {
                    format!("{value:.0e}")
                }
            }
        }
    }
}

impl Ranged for Fitted {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, limit: (i32, i32)) -> i32 {
        let share = (position - self.low) / (self.high - self.low);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

fn position(scale: Scale, value: f64) -> Option<f64> {
    let position = match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
    };
    position.is_finite().then_some(position)
}

fn linear(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|m| m * decade)
        .find(|&s| s >= rough * 0.999)
        .unwrap_or(10.0 * decade);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

fn logarithmic(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.floor() as i64, high.ceil() as i64);
    let inside = |p: &f64| *p >= low - 1e-9 && *p <= high + 1e-9;
    let mantissas: &[f64] = match high - low {
        w if w <= 1.2 => &[1.0, 2.0, 3.0, 5.0, 7.0],
        w if w <= 2.5 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let stride = ((high - low) / 7.0).ceil().max(1.0) as i64;
    (first..=last)
        .filter(|d| d.rem_euclid(stride) == 0)
        .flat_map(|d| mantissas.iter().map(move |m| d as f64 + m.log10()))
        .filter(inside)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, values: &[f64]) -> Vec<String> {
        let fitted = Fitted::new(&axis, values.iter().copied()).unwrap();
        fitted.ticks.iter().map(|&t| fitted.label(t)).collect()
    }

    #[test]
    fn marks_are_round_numbers() {
        let unit = labels(Axis::linear("").between(0.0, 1.0), &[]);
        assert_eq!(unit, ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        let decades = labels(Axis::log(""), &[1e-6, 1.0]);
        assert_eq!(decades, ["1e-6", "1e-5", "1e-4", "0.001", "0.01", "0.1", "1"]);
        let narrow = labels(Axis::log("").between(0.5, 20.0), &[]);
        assert_eq!(narrow, ["0.5", "1", "2", "5", "10", "20"]);
        let deep = labels(Axis::log("").between(1e-300, 1.0), &[]);
        assert!((3..9).contains(&deep.len()), "{deep:?}");
        let negative = labels(Axis::linear(""), &[-3.0, 5.0]);
        assert!(negative.contains(&"0".to_owned()), "{negative:?}");
    }

    #[test]
    fn nothing_to_draw_is_said() {
        assert!(Fitted::new(&Axis::log(""), [0.0, -1.0, f64::NAN].into_iter()).is_none());
        let one = Fitted::new(&Axis::linear(""), [5.0].into_iter()).unwrap();
        assert!(one.low < 5.0 && one.high > 5.0 && !one.ticks.is_empty());
    }
}
