//! PrivUnit as published: on the sphere, over the real numbers.

use crate::error::Result;
use dp_core::noise::{AdditiveNoise, Grid};
use dp_core::{Epsilon, NoiseRng, NoiseScale, authority};
use rand_core::Rng;
use std::f64::consts::{FRAC_PI_2, PI};

/// The law of PrivUnit (Bhowmick et al. 2018): with probability p uniform on the cap `<v, u> >= threshold` of the unit sphere in
/// k dimensions, else uniform on the rest, u the private unit vector; p and threshold as Asi, Feldman and Talwar 2022 choose
/// them.
///
/// **Not proven**: floating point throughout, tabulated, with the low bits that show the input. For
/// comparisons only; what the library releases is the Gaussian form, exactly rounded.
pub(crate) struct PrivUnit {
    k: usize,
    inside: f64,
    /// The expected length of a draw along its direction.
    mean: f64,
    /// The first cell of the cap.
    cut: usize,
    /// The probability of the cells from each on, by latitude.
    above: Vec<f64>,
}

/// Cells of latitude.
const CELLS: usize = 1 << 14;

/// The sine of a latitude given in cells from the pole opposite.
fn height(cells: f64) -> f64 {
    (cells * PI / CELLS as f64 - FRAC_PI_2).sin()
}

impl PrivUnit {
    /// The law of the largest mean along u in k >= 2 dimensions, among thresholds on the table.
    pub(crate) fn new(k: usize, epsilon: Epsilon) -> Self {
        let middle = |cell: usize| height(cell as f64 + 0.5);
        let share = |cell| (1.0 - middle(cell) * middle(cell)).powf(0.5 * k as f64 - 1.0);
        let (mut above, mut first) = (vec![0.0; CELLS + 1], vec![0.0; CELLS + 1]);
        for cell in (0..CELLS).rev() {
            above[cell] = above[cell + 1] + share(cell);
            first[cell] = first[cell + 1] + share(cell) * middle(cell);
        }
        let (total, odds) = (above[0], epsilon.get().exp());
        above.iter_mut().chain(&mut first).for_each(|x| *x /= total);
        let mean = |cut: usize| first[cut] * (odds - 1.0) / (1.0 + (odds - 1.0) * above[cut]);
        let cut = (CELLS / 2..CELLS).max_by(|a, b| mean(*a).total_cmp(&mean(*b)));
        let cut = cut.unwrap_or(CELLS / 2);
        let inside = odds * above[cut] / (1.0 + (odds - 1.0) * above[cut]);
        Self { k, inside, mean: mean(cut), cut, above }
    }

    /// Variance a number of a draw over its expected length along its direction.
    pub(crate) fn variance(&self) -> f64 {
        (self.mean.powi(-2) - 1.0) / self.k as f64
    }

    /// Every row of k numbers replaced by a draw around its direction; rows of zeros point along the first axis.
    ///
    /// # Errors
    /// None for finite rows.
    pub(crate) fn draw(&self, rows: &mut [f64], rng: &mut NoiseRng) -> Result<()> {
        let mut stream = rng.stream();
        let mut uniform = || ((stream.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let noise = authority!().gaussian(NoiseScale::new(1.0)?, Grid::new(-30)?)?;
        let mut normals = vec![0.0; rows.len()];
        noise.add_to(rng, &mut normals)?;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for (u, g) in rows.chunks_exact_mut(self.k).zip(normals.chunks_exact_mut(self.k)) {
            let norm = dot(u, u).sqrt();
            if norm > 0.0 {
                u.iter_mut().for_each(|u| *u /= norm);
            } else {
                u[0] = 1.0;
            }
            let t = self.along(uniform(), uniform());
            let along = dot(u, g);
            g.iter_mut().zip(&*u).for_each(|(g, u)| *g -= along * u);
            let across = (1.0 - t * t).max(0.0).sqrt() / dot(g, g).sqrt();
            u.iter_mut().zip(&*g).for_each(|(u, g)| *u = t * *u + across * g);
        }
        Ok(())
    }

    /// The part along u, from two numbers in (0, 1).
    fn along(&self, side: f64, place: f64) -> f64 {
        if side < self.inside {
            self.above_is(place * self.above[self.cut])
        } else {
            -self.above_is(place * (1.0 - self.above[self.cut]))
        }
    }

    /// The height that a uniform point of the sphere is above with this probability.
    fn above_is(&self, probability: f64) -> f64 {
        let next = self.above.partition_point(|a| *a > probability).clamp(1, CELLS);
        let (high, low) = (self.above[next - 1], self.above[next]);
        height((next - 1) as f64 + ((high - probability) / (high - low)).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(k: usize, epsilon: f64) -> PrivUnit {
        PrivUnit::new(k, Epsilon::new(epsilon).unwrap())
    }

    /// scipy's incomplete beta function, the best of 20,001 thresholds.
    #[test]
    fn means_are_those_of_another_program() {
        for (k, epsilon, mean) in [
            (3, 1.0, 0.244_918_662),
            (16, 4.0, 0.370_845_593),
            (16, 16.0, 0.857_266_833),
            (64, 8.0, 0.334_225_013),
            (128, 12.0, 0.321_469_654),
            (384, 16.0, 0.229_795_132),
        ] {
            let found = law(k, epsilon).mean;
            assert!((found / mean - 1.0).abs() < 1e-3, "{k} {epsilon}: {found} {mean}");
        }
    }

    #[test]
    fn the_two_densities_differ_by_epsilon() {
        for (k, epsilon) in [(2, 1.0), (16, 8.0), (384, 16.0)] {
            let law = law(k, epsilon);
            let (p, q) = (law.inside, law.above[law.cut]);
            let lost = (p / (1.0 - p)).ln() + ((1.0 - q) / q).ln();
            assert!((lost - epsilon).abs() < 1e-9, "{lost}");
        }
    }

    /// Six standard errors: false alarms below 1e-8.
    #[test]
    fn draws_are_of_length_one_and_lean_as_told() {
        let n = 20_000;
        for (k, epsilon) in [(2, 2.0), (5, 0.5), (16, 8.0), (64, 16.0)] {
            let law = law(k, epsilon);
            let mut rows: Vec<f64> = (0..n * k).map(|i| [3.0, -4.0][i % k % 2]).collect();
            let u: Vec<f64> = (0..k).map(|i| [3.0, -4.0][i % 2]).collect();
            let norm = u.iter().map(|u| u * u).sum::<f64>().sqrt();
            law.draw(&mut rows, &mut NoiseRng::deterministic_not_private(5)).unwrap();
            let (mut sum, mut square, mut inside) = (0.0, 0.0, 0);
            for row in rows.chunks(k) {
                assert!((row.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-9);
                let t = row.iter().zip(&u).map(|(v, u)| v * u).sum::<f64>() / norm;
                (sum, square) = (sum + t, square + t * t);
                inside += usize::from(t >= height(law.cut as f64));
            }
            let mean = sum / n as f64;
            let error = ((square / n as f64 - mean * mean) / n as f64).sqrt();
            assert!((mean - law.mean).abs() < 6.0 * error, "{k}: {mean} {}", law.mean);
            let error = (law.inside * (1.0 - law.inside) / n as f64).sqrt();
            assert!((inside as f64 / n as f64 - law.inside).abs() < 6.0 * error + 1e-9);
        }
    }
}
