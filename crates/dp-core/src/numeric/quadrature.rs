//! Gauss-Legendre panels and expectations over a chi law.

use super::gamma::{deviance, stirling_error};

/// Half of the 16-point Gauss-Legendre rule on [-1, 1]: (node, weight).
const GAUSS: [(f64, f64); 8] = [
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
    rule(&GAUSS, 0.5 * (a + b), 0.5 * (b - a), f)
}

fn rule(nodes: &[(f64, f64)], centre: f64, half: f64, f: &impl Fn(f64) -> f64) -> f64 {
    half * nodes
        .iter()
        .map(|&(x, w)| w * (f(centre + half * x) + f(centre - half * x)))
        .sum::<f64>()
}

/// Half of the 6-point rule.
const GAUSS_6: [(f64, f64); 3] = [
    (0.238_619_186_083_196_9, 0.467_913_934_572_691_05),
    (0.661_209_386_466_264_5, 0.360_761_573_048_138_6),
    (0.932_469_514_203_152, 0.171_324_492_379_170_36),
];

/// Integral of `f` over `[centre - half, centre + half]` by 6 points, for a short and smooth piece.
pub(crate) fn panel_6(centre: f64, half: f64, f: impl Fn(f64) -> f64) -> f64 {
    rule(&GAUSS_6, centre, half, &f)
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

    /// ln of the density at `z > 0`.
    pub(crate) fn ln_pdf(self, z: f64) -> f64 {
        self.constant - deviance(self.half, 0.5 * z * z) - z.ln()
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

/// Sixteen points integrate a unit Gaussian over this width to the last digit.
const WIDEST: f64 = 2.5;

/// `ln E[1 - e^(-w(z))]` over the part of `z = sqrt(chi2_k)` on one side of `from`,
/// where `w` is zero at `from`, grows away from it, and has slope about `rate` there;
/// `graded` is a point where `w` is not smooth, if any.
///
/// The density of z is log-concave with second log-derivative at most -1, whatever
/// `k >= 1`: panels graded from the threshold up to width 2.5 cover it, and nothing
/// is subtracted.
pub(crate) fn ln_chi_expectation(
    k: f64,
    from: f64,
    side: Side,
    rate: f64,
    graded: Option<f64>,
    w: impl Fn(f64) -> f64,
) -> f64 {
    let mode = (k - 1.0).sqrt();
    let sign = if side == Side::Above { 1.0 } else { -1.0 };
    let outside = sign * (from - mode);
    // Distance from the peak within which the density is not negligible.
    let slope = if outside > 0.0 { ((k - 1.0) / from - from).abs() } else { 0.0 };
    let reach = NEGLIGIBLE / (slope + (slope * slope + NEGLIGIBLE).sqrt());
    let peak = if outside > 0.0 { from } else { mode };
    let start = if outside > 0.0 { from } else { mode - sign * (-outside).min(reach) };
    let end = (peak + sign * reach).max(0.0);
    if peak <= 0.0 && side == Side::Below {
        return f64::NEG_INFINITY;
    }
    let chi = Chi::new(k);
    let reference = chi.ln_pdf(peak.max(1e-150));
    // Rounding of z, and of the density's exponent.
    let error = 2e-15 * reference.abs();
    if reach < 1e3 * f64::EPSILON * from {
        // So deep that z no longer resolves the tail: the density integrates to less than e^3 of its peak.
        return reference + 3.0 + error;
    }
    let f = |z: f64| {
        if z <= 0.0 {
            return 0.0;
        }
        (chi.ln_pdf(z) - reference).exp() * -(-w(z).max(0.0)).exp_m1()
    };
    let finest = if start == from { 1.0 / slope.max(rate).max(1.0) } else { WIDEST };
    let mut total = 0.0;
    match graded.filter(|&g| (g - start) * sign > 0.0 && (end - g) * sign > 0.0) {
        Some(g) => {
            let middle = 0.5 * (start + g);
            total += panels(start, middle, finest, &f);
            total += panels(g, middle, 1e-13 * (g - start).abs(), &f);
            total += panels(g, end, finest, &f);
        }
        None => total += panels(start, end, finest, &f),
    }
    reference + total.ln() + error
}

/// Panels from `a` towards `b`, the first of width `first`, each twice the one before.
fn panels(a: f64, b: f64, first: f64, f: &impl Fn(f64) -> f64) -> f64 {
    let length = (b - a).abs();
    let sign = if b >= a { 1.0 } else { -1.0 };
    let (mut at, mut width, mut total) = (0.0, first.max(1e-300), 0.0);
    while at < length {
        let next = (at + width).min(length);
        total += panel(a + sign * at, a + sign * next, f).abs();
        at = next;
        width = (2.0 * width).min(WIDEST);
    }
    total
}
