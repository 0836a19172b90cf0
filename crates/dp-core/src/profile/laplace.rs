//! The Laplace mechanism. Proof: `docs/proofs/laplace.md`.

/// ln(1 - e^((eps - mu)/2)), mu an ulp or two larger than given.
pub(super) fn ln_laplace(mu: f64, epsilon: f64) -> f64 {
    let mu = mu * (1.0 + 4.0 * f64::EPSILON);
    if epsilon >= mu {
        f64::NEG_INFINITY
    } else {
        crate::numeric::ln_one_minus_exp(0.5 * (epsilon - mu)) + 1e-14
    }
}
