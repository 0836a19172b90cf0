//! Data of the regression tests.

use crate::support::Draws;

/// `x` Gaussian of mean square norm one, eigenvalues equal or 1/i, clipped to norm 1; signal of variance .06, noise of
/// standard deviation .2, `y` clipped to [-1, 1].
pub(crate) fn spectrum(n: usize, p: usize, power: f64, draws: &mut Draws) -> Vec<f64> {
    let law: Vec<f64> = (1..=p).map(|i| (i as f64).powf(-power)).collect();
    let total: f64 = law.iter().sum();
    let theta: Vec<f64> = (0..p).map(|_| draws.normal()).collect();
    let signal: f64 = law.iter().zip(&theta).map(|(l, t)| l / total * t * t).sum();
    let factor = (0.06 / signal).sqrt();
    let mut rows = Vec::with_capacity(n * (p + 1));
    for _ in 0..n {
        let x: Vec<f64> = law.iter().map(|l| (l / total).sqrt() * draws.normal()).collect();
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt().max(1.0);
        let y: f64 = x.iter().zip(&theta).map(|(x, t)| x / norm * t * factor).sum();
        rows.extend(x.iter().map(|v| v / norm));
        rows.push((y + 0.2 * draws.normal()).clamp(-1.0, 1.0));
    }
    rows
}
