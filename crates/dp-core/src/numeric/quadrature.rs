//! Gauss-Legendre panels and expectations over a chi law.

use super::gamma::{deviance, stirling_error};

/// Half of the 16-point Gauss-Legendre rule on [-1, 1]: (node, weight).
pub(crate) const GAUSS: [(f64, f64); 8] = [
    (0.095_012_509_837_637_44, 0.189_450_610_455_068_5),
    (0.281_603_550_779_258_9, 0.182_603_415_044_923_6),
    (0.458_016_777_657_227_4, 0.169_156_519_395_002_54),
    (0.617_876_244_402_643_7, 0.149_595_988_816_576_73),
    (0.755_404_408_355_003, 0.124_628_971_255_533_87),
    (0.865_631_202_387_831_7, 0.095_158_511_682_492_78),
    (0.944_575_023_073_232_6, 0.062_253_523_938_647_89),
    (0.989_400_934_991_649_9, 0.027_152_459_411_754_095),
];

/// Integral of `f` over `[a, b]` by one 16-point panel.
fn panel(a: f64, b: f64, f: &impl Fn(f64) -> f64) -> f64 {
    rule(&GAUSS, 0.5 * (a + b), 0.5 * (b - a), |x| [f(x)])[0]
}

/// Several integrals at once.
fn rule<const M: usize>(
    nodes: &[(f64, f64)],
    centre: f64,
    half: f64,
    f: impl Fn(f64) -> [f64; M],
) -> [f64; M] {
    let mut sums = [0.0; M];
    for &(x, w) in nodes {
        let (right, left) = (f(centre + half * x), f(centre - half * x));
        (0..M).for_each(|i| sums[i] += w * (right[i] + left[i]));
    }
    sums.map(|sum| half * sum)
}

/// Half of the 6-point rule.
const GAUSS_6: [(f64, f64); 3] = [
    (0.238_619_186_083_196_9, 0.467_913_934_572_691_05),
    (0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
    (0.932_469_514_203_152, 0.171_324_492_379_170_36),
];

/// Integrals of `f` over `[centre - half, centre + half]` by 6 points, for a short and smooth piece.
pub(crate) fn panel_6<const M: usize>(
    centre: f64,
    half: f64,
    f: impl Fn(f64) -> [f64; M],
) -> [f64; M] {
    rule(&GAUSS_6, centre, half, f)
}

/// A density on an interval whose logarithm is concave, with second derivative at most -1.
pub(crate) trait LogConcave {
    /// The ends of the interval.
    fn ends(&self) -> (f64, f64);
    /// Where the density is largest.
    fn mode(&self) -> f64;
    /// ln of the density within the interval.
    fn ln_pdf(&self, z: f64) -> f64;
    /// The absolute value of its derivative.
    fn slope(&self, z: f64) -> f64;
}

/// The law of the square root of chi2_k.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chi {
    half: f64,
    constant: f64,
}

impl Chi {
    pub(crate) fn new(k: f64) -> Self {
        let half = 0.5 * k;
        let constant =
            k.ln() - stirling_error(half) - 0.5 * (2.0 * core::f64::consts::PI * half).ln();
        Self { half, constant }
    }

    fn less_one(self) -> f64 {
        2.0 * self.half - 1.0
    }
}

impl LogConcave for Chi {
    fn ends(&self) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    fn mode(&self) -> f64 {
        self.less_one().sqrt()
    }

    fn ln_pdf(&self, z: f64) -> f64 {
        let z = z.max(1e-150);
        self.constant - deviance(self.half, 0.5 * z * z) - z.ln()
    }

    fn slope(&self, z: f64) -> f64 {
        (self.less_one() / z - z).abs()
    }
}

/// Which side of the threshold an expectation runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Above the threshold.
    Above,
    /// Below it.
    Below,
}

/// Twice a gap in the exponent that no longer matters: e^-42.
const NEGLIGIBLE: f64 = 84.0;

/// Widest panel of sixteen points.
const WIDEST: f64 = 2.0;

/// An upper bound on `ln E[1 - e^(-w)]` over the part of the law on one side of `from`.
///
/// `w(s, left)` is zero at `from`, grows with the distance s from it, and has slope about `rate` there. `certain` is a distance at which it
/// becomes infinite, if any: there it is not smooth. `left` is what is left of that distance, without cancellation.
///
/// As the density's logarithm bends by at least one, panels graded from the threshold up to width 2 cover it, and
/// nothing is subtracted. Proof for [`Chi`]: `docs/proofs/chi-expectations.md`.
pub(crate) fn ln_expectation(
    law: &impl LogConcave,
    from: f64,
    side: Side,
    rate: f64,
    certain: Option<f64>,
    w: impl Fn(f64, f64) -> f64,
) -> f64 {
    let (mode, (least, most)) = (law.mode(), law.ends());
    let sign = if side == Side::Above { 1.0 } else { -1.0 };
    let outside = sign * (from - mode);
    // Distance from the peak within which the density is not negligible.
    let slope = if outside > 0.0 { law.slope(from) } else { 0.0 };
    let reach = NEGLIGIBLE / (slope + (slope * slope + NEGLIGIBLE).sqrt());
    let peak = if outside > 0.0 { from } else { mode };
    if side == Side::Below && from <= least || side == Side::Above && from >= most {
        return f64::NEG_INFINITY;
    }
    let reference = law.ln_pdf(peak);
    // Rounding of z where the density is steep, and of the density's exponent.
    let error =
        4.0 * f64::EPSILON * (peak.abs() + reach) * (2.0 * slope + 28.0) + 4e-15 * reference.abs();
    if reach < 1e3 * f64::EPSILON * from.abs() {
        // So deep that z no longer resolves the tail: the density integrates to less than e^3 of its peak.
        return reference + 3.0 + 4e-15 * reference.abs();
    }
    let smooth = 1.0 / slope.max(1.0);
    let finest = smooth.min(1.0 / rate);
    // Where the density is negligible next to the threshold, from further on: by a panel at least.
    let far = -outside - reach;
    let (start, origin) = if far > finest { (far, mode - sign * reach) } else { (0.0, from) };
    let edge = if side == Side::Above { most } else { least };
    let end = ((-outside).max(0.0) + reach).min(sign * (edge - from));
    let f = |z: f64, s: f64, left: f64| {
        if z <= least || z >= most {
            return 0.0;
        }
        (law.ln_pdf(z) - reference).exp() * -(-w(s, left).max(0.0)).exp_m1()
    };
    let near = |s: f64| origin + sign * (s - start);
    let mut total = 0.0;
    match certain.filter(|&c| c > start && c < 2.0 * end - start) {
        Some(c) => {
            let middle = start.max(0.5 * c);
            // What is left at the end, if that comes first.
            let short = (c - end).max(0.0);
            let at = near(c);
            let before = |r: f64| f(origin + sign * r, start + r, c - (start + r));
            total += panels(middle - start, finest.max(start), &before);
            let after = |r: f64| f(at - sign * (short + r), c - (short + r), short + r);
            total += panels(c - middle - short, short.max(1e-17 * c), &after);
            total += panels(end - c, smooth, &|r| f(at + sign * r, c + r, -r));
        }
        None => {
            let c = certain.unwrap_or(f64::INFINITY);
            let whole = |r: f64| f(origin + sign * r, start + r, c - (start + r));
            total += panels(end - start, finest.max(start), &whole);
        }
    }
    reference + total.ln() + error
}

/// [`ln_expectation`] of the root of chi2_k: the first panel ends well before the origin, too.
pub(crate) fn ln_chi_expectation(
    k: f64,
    from: f64,
    side: Side,
    rate: f64,
    certain: Option<f64>,
    w: impl Fn(f64, f64) -> f64,
) -> f64 {
    ln_expectation(&Chi::new(k), from, side, rate.max(4.0 / from), certain, w)
}

/// Panels over `[0, length]`, the first of width `first`, each twice the one before.
fn panels(length: f64, first: f64, f: &impl Fn(f64) -> f64) -> f64 {
    let (mut at, mut width, mut total) = (0.0, first.clamp(1e-300, WIDEST), 0.0);
    while at < length {
        let next = (at + width).min(length);
        total += panel(at, next, f);
        at = next;
        width = (2.0 * width).min(WIDEST);
    }
    total
}
