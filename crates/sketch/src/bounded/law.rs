//! A value of `[0, 1]` as one of a few cells, and back. Proof: `docs/proofs/bounded-values.md`.

use crate::distances::ValueRange;
use crate::error::{Error, Result};
use dp_core::Probability;
use dp_core::noise::{Bernoulli, Categorical, KaryResponse, NoiseLaw, NoiseStream};
use dp_core::{Budget, calibrate};

/// Most cells: the number of one is a byte.
const CELLS: u64 = 256;

/// Epsilons for which there are parameters.
const EPSILONS: (f64, f64) = (1.0 / 1024.0, 32.0);

/// How values become cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundedLaw {
    /// Letters and offsets of the least error that any value of the range has at most.
    LeastError,
    /// One bit a value, which errs less where values are mostly at the ends of the range, and more in its middle.
    OneBit,
    /// Values are categories, whole numbers from 0 below this (2 to 256) and nothing else, each answered by a response over all
    /// of them: [`CategoryCounts`](super::CategoryCounts) tells their shares.
    Categories(u64),
}

impl BoundedLaw {
    /// Whether values are categories.
    pub(super) fn is_of_categories(self) -> bool {
        matches!(self, Self::Categories(_))
    }

    /// Letters and offsets, where they do not follow from the budget.
    pub(super) fn shape(self, range: ValueRange) -> Result<Option<(u64, u64)>> {
        match self {
            Self::LeastError => Ok(None),
            Self::OneBit => Ok(Some((2, 1))),
            Self::Categories(c) if !(2..=256).contains(&c) => {
                Err(Error::invalid("categories", c, "[2, 256]"))
            }
            Self::Categories(c) if range.ends() != (0.0, (c - 1) as f64) => {
                let ((low, high), last) = (range.ends(), c - 1);
                let allowed = format!("[0, {last}], the numbers of {c} categories");
                Err(Error::invalid("range", format!("[{low:e}, {high:e}]"), allowed))
            }
            Self::Categories(c) => Ok(Some((c, 1))),
        }
    }
}

/// Letters that are answered by a response, and offsets at which a value is cut into letters. Cell `offset + offsets letter`
/// stands for both.
///
/// A value x is first rounded at random to one of the whole numbers a from 0 to `steps`, of mean `steps x`. At offset r its letter is
/// `ceil((a - r)/offsets)`, so that over all offsets the true cells are the window `a, ..., a + offsets - 1`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CellLaw {
    response: KaryResponse,
    offsets: u64,
    offset: Categorical,
    /// What each cell says of x; unbiased.
    values: Vec<f64>,
    /// What each cell says of `x^2`: unbiased at multiples of `1/steps`, and between them up to [`CellLaw::bend`] too large.
    squares: Vec<f64>,
}

impl CellLaw {
    /// The law with this response at so many offsets.
    pub(super) fn new(response: KaryResponse, offsets: u64) -> Result<Self> {
        let (letters, keep) = (response.alphabet(), response.keep().get());
        let cells = letters.checked_mul(offsets).filter(|cells| (2..=CELLS).contains(cells));
        let Some(cells) = cells else {
            let found = format!("{letters} letters at {offsets} offsets");
            return Err(Error::invalid("cells", found, format!("2 to {CELLS} cells")));
        };
        let (b, l) = (letters as f64, offsets as f64);
        // How much likelier the true letter is than another; E[cell | a] rises by that a step.
        let gain = keep.mul_add(b, -1.0) / (b - 1.0);
        if !(gain > 0.0 && keep < 1.0) {
            return Err(Error::invalid("keep probability", keep, format!("(1/{letters}, 1)")));
        }
        // In each cell, and in each cell of the window besides.
        let (low, more) = ((1.0 - keep) / (b - 1.0) / l, gain / l);
        let ones = |n: f64| 0.5 * n * (n - 1.0);
        let squares = |n: f64| n * (n - 1.0) * (2.0 * n - 1.0) / 6.0;
        let all = cells as f64;
        let first = low * ones(all) + more * ones(l);
        let second = low * squares(all) + more * squares(l);
        let steps = (b - 1.0) * l;
        let value = |s: f64| (s - first) / gain;
        let square = |s: f64| (s * s - second) / gain - (l - 1.0) * value(s);
        let cells = 0..cells;
        Ok(Self {
            response,
            offsets,
            offset: Categorical::new(&vec![1; offsets as usize])?,
            values: cells.clone().map(|s| value(s as f64) / steps).collect(),
            squares: cells.map(|s| square(s as f64) / (steps * steps)).collect(),
        })
    }

    /// So many letters at so many offsets, or those of the least variance that any value can have at most: where the budget is
    /// for so many responses.
    pub(super) fn calibrate(
        budget: Budget,
        responses: u64,
        shape: Option<(u64, u64)>,
    ) -> Result<Self> {
        let epsilon = budget.epsilon.get() / responses as f64;
        if !(EPSILONS.0..=EPSILONS.1).contains(&epsilon) {
            return Err(Error::invalid("epsilon of bounded values", epsilon, "[2^-10, 32]"));
        }
        let (letters, offsets) = shape.map_or_else(|| Self::best(epsilon), Ok)?;
        let keep = calibrate::kary_response(budget, responses, letters)?;
        Self::new(KaryResponse::new(letters, keep)?, offsets)
    }

    pub(super) fn best(epsilon: f64) -> Result<(u64, u64)> {
        let mut best = (f64::INFINITY, (2, 1));
        for letters in 2..=CELLS {
            let keep = 1.0 / (1.0 + (letters - 1) as f64 * (-epsilon).exp());
            let response = KaryResponse::new(letters, Probability::new(keep)?)?;
            for offsets in 1..=CELLS / letters {
                let variance = Self::new(response, offsets)?.variance();
                if variance < best.0 {
                    best = (variance, (letters, offsets));
                }
            }
        }
        Ok(best.1)
    }

    /// The law of the response, for certificates.
    pub(super) fn noise(&self) -> NoiseLaw {
        self.response.law()
    }

    /// Probability of the true letter.
    pub(super) fn keep(&self) -> f64 {
        self.response.keep().get()
    }

    pub(super) fn offsets(&self) -> u64 {
        self.offsets
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn squares(&self) -> &[f64] {
        &self.squares
    }

    fn steps(&self) -> u64 {
        (self.response.alphabet() - 1) * self.offsets
    }

    /// How much larger than `x^2` the mean of [`CellLaw::squares`] is at most: never smaller.
    pub(super) fn bend(&self) -> f64 {
        let steps = self.steps() as f64;
        0.25 / (steps * steps)
    }

    /// The largest variance of [`CellLaw::values`].
    pub(super) fn variance(&self) -> f64 {
        self.largest_variance(&self.values)
    }

    /// The largest variance, over all x, of a function of the cell.
    pub(super) fn largest_variance(&self, of: &[f64]) -> f64 {
        let (letters, l) = (self.response.alphabet() as f64, self.offsets as usize);
        let keep = self.response.keep().get();
        let low = (1.0 - keep) / (letters - 1.0) / l as f64;
        let more = keep / l as f64 - low;
        // Moments about the middle of the range of values: nothing cancels.
        let (least, most) = ends(of);
        let about = |v: &f64| v - 0.5 * (least + most);
        let moment = |power: i32| {
            let powers: Vec<f64> = of.iter().map(|v| about(v).powi(power)).collect();
            let all: f64 = powers.iter().sum();
            let mean = |window: &[f64]| low * all + more * window.iter().sum::<f64>();
            powers.windows(l).map(mean).collect::<Vec<_>>()
        };
        let (means, squares) = (moment(1), moment(2));
        // Between two steps both moments are linear, so the variance is concave: largest at an end or where it is level.
        let between = |((m, n), (p, q)): ((f64, f64), (f64, f64))| {
            let at = |f: f64| p + f * (q - p) - (m + f * (n - m)).powi(2);
            let level = ((q - p) / (2.0 * (n - m)) - m) / (n - m);
            let level = if level.is_finite() { level.clamp(0.0, 1.0) } else { 0.0 };
            at(0.0).max(at(1.0)).max(at(level))
        };
        let pairs = |v: &[f64]| v.windows(2).map(|w| (w[0], w[1])).collect::<Vec<_>>();
        pairs(&means).into_iter().zip(pairs(&squares)).map(between).fold(0.0, f64::max)
    }

    /// A cell for a value in `[0, 1]`.
    pub(super) fn draw(&self, stream: &mut NoiseStream, x: f64) -> u8 {
        let at = x * self.steps() as f64;
        let (below, rest) = (at.floor(), at - at.floor());
        let up = Probability::new(rest).is_ok_and(|p| Bernoulli::new(p).sample(stream));
        self.draw_step(stream, below as u64 + u64::from(up))
    }

    /// A cell for a value on a step: nothing is rounded.
    pub(super) fn draw_step(&self, stream: &mut NoiseStream, step: u64) -> u8 {
        let offset = self.offset.sample(stream) as u64;
        let letter = (step + self.offsets - 1 - offset) / self.offsets;
        (offset + self.offsets * self.response.respond(stream, letter)) as u8
    }
}

/// The least and the largest number.
pub(super) fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_core::NoiseRng;

    fn law(letters: u64, offsets: u64, keep: f64) -> CellLaw {
        let keep = Probability::new(keep).unwrap();
        CellLaw::new(KaryResponse::new(letters, keep).unwrap(), offsets).unwrap()
    }

    /// The probability of every cell at a step, from the definition: every offset, every answer.
    fn written_out(law: &CellLaw, step: u64) -> Vec<f64> {
        let (letters, keep) = (law.response.alphabet(), law.response.keep().get());
        let mut cells = vec![0.0; law.values.len()];
        for offset in 0..law.offsets {
            // The least letter whose cell at this offset is not below the step.
            let letter = (0..letters).find(|l| offset + law.offsets * l >= step).unwrap();
            for answer in 0..letters {
                let p = if answer == letter { keep } else { (1.0 - keep) / (letters - 1) as f64 };
                cells[(offset + law.offsets * answer) as usize] += p / law.offsets as f64;
            }
        }
        cells
    }

    const LAWS: [(u64, u64, f64); 8] = [
        (2, 1, 0.73),
        (2, 128, 0.6),
        (3, 1, 0.5),
        (3, 3, 0.909),
        (5, 6, 0.97),
        (16, 16, 0.2),
        (256, 1, 0.9),
        (2, 1, 0.500_000_1),
    ];

    #[test]
    fn cells_are_unbiased_for_values_and_at_steps_for_squares() {
        for (letters, offsets, keep) in LAWS {
            let law = law(letters, offsets, keep);
            let steps = law.steps();
            for step in [0, 1, steps / 2, steps - 1, steps] {
                let cells = written_out(&law, step);
                let mean = |of: &[f64]| cells.iter().zip(of).map(|(p, v)| p * v).sum::<f64>();
                let (x, room) = (step as f64 / steps as f64, 1e-9 * law.values[0].abs().max(1.0));
                assert!((mean(&law.values) - x).abs() < room, "{letters} {offsets} {step}");
                assert!((mean(&law.squares) - x * x).abs() < room, "{letters} {offsets} {step}");
            }
        }
    }

    /// Any two steps, any cell: the ratio is that of the response, whatever the offset. The rounding between steps is a mixture.
    #[test]
    fn no_cell_tells_more_than_the_response() {
        for (letters, offsets, keep) in LAWS {
            let law = law(letters, offsets, keep);
            let most = keep * (letters - 1) as f64 / (1.0 - keep);
            let all: Vec<_> = (0..=law.steps()).map(|step| written_out(&law, step)).collect();
            for cell in 0..law.values.len() {
                let (low, high) = ends(&all.iter().map(|law| law[cell]).collect::<Vec<_>>());
                assert!(high <= low * most * (1.0 + 1e-12), "{letters} {offsets} {cell}");
            }
        }
    }

    /// Against every x of a fine grid.
    #[test]
    fn the_largest_variance_is_reached_and_never_passed() {
        for (letters, offsets, keep) in LAWS {
            let law = law(letters, offsets, keep);
            let all: Vec<_> = (0..=law.steps()).map(|step| written_out(&law, step)).collect();
            for of in [&law.values, &law.squares] {
                let mean = |i: usize, square: bool| {
                    let f = |v: f64| if square { v * v } else { v };
                    all[i].iter().zip(of).map(|(p, v)| p * f(*v)).sum::<f64>()
                };
                let mut found = 0f64;
                for i in 0..all.len() - 1 {
                    let [m, n, p, q] =
                        [mean(i, false), mean(i + 1, false), mean(i, true), mean(i + 1, true)];
                    for f in (0..=200).map(|f| f64::from(f) / 200.0) {
                        found = found.max(p + f * (q - p) - (m + f * (n - m)).powi(2));
                    }
                }
                let stated = law.largest_variance(of);
                assert!(found <= stated * (1.0 + 1e-6), "{letters} {offsets}: {found} {stated}");
                assert!(found >= stated * (1.0 - 1e-3), "{letters} {offsets}: {found} {stated}");
            }
        }
    }

    /// The sampler against the law that is written out: chi-square of all cells, at a step and between two.
    #[test]
    fn draws_have_the_law() {
        for (letters, offsets, keep) in [(2, 1, 0.73), (3, 3, 0.7), (5, 6, 0.8)] {
            let law = law(letters, offsets, keep);
            let steps = law.steps() as f64;
            for at in [0.0, 1.0, steps, 0.25 * steps, 0.7] {
                let (below, rest) = (at.floor(), at - at.floor());
                let [a, b] = [below, at.ceil()].map(|step| written_out(&law, step as u64));
                let expected = a.iter().zip(&b).map(|(a, b)| (1.0 - rest) * a + rest * b);
                let mut stream = NoiseRng::deterministic_not_private(22).stream();
                let (n, mut counts) = (200_000, vec![0u32; law.values.len()]);
                (0..n).for_each(|_| counts[usize::from(law.draw(&mut stream, at / steps))] += 1);
                let chi: f64 = counts
                    .iter()
                    .zip(expected)
                    .map(|(&c, p)| (f64::from(c) - p * f64::from(n)).powi(2) / (p * f64::from(n)))
                    .sum();
                // Wilson and Hilferty: above this once in a million.
                let k = counts.len() as f64 - 1.0;
                let most = k * (1.0 - 2.0 / (9.0 * k) + 4.75 * (2.0 / (9.0 * k)).sqrt()).powi(3);
                assert!(chi < most, "{letters} {offsets} {at}: {chi} of {k}");
            }
        }
    }

    /// Numbers of a search by another program over all letters and offsets, where the law was written out.
    #[test]
    fn the_best_law_is_found() {
        for (epsilon, shape, variance) in [
            (0.5, (2, 1), 4.167_698),
            (1.0, (2, 1), 1.170_674),
            (2.0, (3, 1), 0.249_980),
            (3.0, (3, 3), 0.094_729),
            (5.0, (5, 5), 0.018_287),
        ] {
            assert_eq!(CellLaw::best(epsilon).unwrap(), shape, "{epsilon}");
            let law = CellLaw::calibrate(Budget::new(epsilon, 0.0).unwrap(), 1, None).unwrap();
            assert!((law.variance() - variance).abs() < 1e-6, "{epsilon}: {}", law.variance());
        }
        for epsilon in [1e-3, 1e-2, 10.0, 20.0, 32.0] {
            let law = CellLaw::calibrate(Budget::new(epsilon, 0.0).unwrap(), 1, None).unwrap();
            assert!(law.variance().is_finite() && law.variance() > 0.0, "{epsilon}");
        }
        for epsilon in [1e-4, 33.0] {
            assert!(
                CellLaw::calibrate(Budget::new(epsilon, 0.0).unwrap(), 1, Some((2, 1))).is_err()
            );
        }
    }
}
