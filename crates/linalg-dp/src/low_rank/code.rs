//! What A is multiplied by before noise is added, and how that is decoded.

use super::coherence::largest_row_norm;
use super::shape::{ShapeTarget, isotropic_shape, optimal_shape};
use crate::dense;
use crate::error::Result;
use faer::{Mat, MatRef};

/// What A is multiplied by before noise is added: a public M, and how `M A` is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Spread {
    /// `M = W^T`: the same noise in every direction, at W's largest row norm.
    Isotropic,
    /// `M = T^-1 W^T`: the noise of least trace that hides every row (an optimal design), decoded by `W T`.
    LeastTrace,
    /// As `LeastTrace` for W with its rows scaled to norm one, decoded by `W (M W)^-1`: less noise, and what W
    /// misses of A leaks into the decoded part.
    EqualRows,
    /// The one of both with the least predicted error: the default. What W misses is estimated from the range
    /// sketch; without one (a projection on its own) it is `LeastTrace`.
    #[default]
    LeastError,
}

/// `M A + sigma Z` is released and decoded as `L (M A + sigma Z)`; both are functions of a public W.
pub(super) struct Code {
    /// M^T, m x k.
    pub(super) encoder: Mat<f64>,
    /// L, m x k.
    pub(super) decoder: Mat<f64>,
}

impl Code {
    /// The code of a spread; of several, the one with the least predicted error.
    ///
    /// `noise` is `(n, D / mu)`; `missed` about the energy of each row of A outside the range of W.
    pub(super) fn choose(
        w: MatRef<'_, f64>,
        spread: Spread,
        noise: (f64, f64),
        missed: Option<&[f64]>,
    ) -> Result<Self> {
        match (spread, missed) {
            (Spread::Isotropic, _) => {
                let shape = isotropic_shape(w)?;
                Ok(Self::shaped(w, shape.root(), shape.inverse_root()))
            }
            (Spread::LeastTrace, _) | (Spread::LeastError, None) => Self::least_trace(w),
            (Spread::EqualRows, _) => Self::equal_rows(w),
            (Spread::LeastError, Some(missed)) => {
                let plain = Self::least_trace(w)?;
                // Rows of W of one direction only, say, leave nothing to decode by.
                let Ok(equal) = Self::equal_rows(w) else { return Ok(plain) };
                let less = equal.predicted_square(w, noise, missed)
                    < plain.predicted_square(w, noise, missed);
                Ok(if less { equal } else { plain })
            }
        }
    }

    fn shaped(w: MatRef<'_, f64>, root: MatRef<'_, f64>, inverse: MatRef<'_, f64>) -> Self {
        Self { encoder: dense::product(w, inverse), decoder: dense::product(w, root) }
    }

    fn least_trace(w: MatRef<'_, f64>) -> Result<Self> {
        let shape = optimal_shape(w, ShapeTarget::default())?;
        Ok(Self::shaped(w, shape.root(), shape.inverse_root()))
    }

    /// With `V = D W` of rows of norm one, `M = T^-1 V^T` and `L = W (M W)^-1 = W (V^T W)^-1 T`.
    fn equal_rows(w: MatRef<'_, f64>) -> Result<Self> {
        let equal = with_equal_rows(w);
        let shape = optimal_shape(equal.as_ref(), ShapeTarget::default())?;
        let both = dense::product(equal.transpose(), w);
        let decoder = dense::solve_definite(both.as_ref(), shape.root())?;
        Ok(Self {
            encoder: dense::product(equal.as_ref(), shape.inverse_root()),
            decoder: dense::product(w, decoder.as_ref()),
        })
    }

    /// `n ||L||^2 (h D / mu)^2`, h the largest norm of a column of M, and `sum_i missed_i ||(L M - W W^T)_i||^2`.
    fn predicted_square(&self, w: MatRef<'_, f64>, (n, noise): (f64, f64), missed: &[f64]) -> f64 {
        let sigma = noise * largest_row_norm(self.encoder.as_ref());
        // W has orthonormal columns: W^T L M - W^T, m x k when transposed.
        let image = dense::product(w.transpose(), self.decoder.as_ref());
        let mut leak = dense::product(self.encoder.as_ref(), image.transpose());
        leak -= w;
        let leaked = |(i, energy): (usize, &f64)| energy * leak.row(i).squared_norm_l2();
        let bias: f64 = missed.iter().enumerate().map(leaked).sum();
        n * self.decoder.squared_norm_l2() * sigma * sigma + bias
    }
}

/// W with every row scaled to norm one; zero rows stay.
pub(super) fn with_equal_rows(w: MatRef<'_, f64>) -> Mat<f64> {
    let norms: Vec<f64> = w.row_iter().map(|row| row.norm_l2()).collect();
    let scaled = |i: usize, l: usize| if norms[i] > 0.0 { w[(i, l)] / norms[i] } else { 0.0 };
    Mat::from_fn(w.nrows(), w.ncols(), scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basis(m: usize, k: usize, heavy: f64) -> Mat<f64> {
        let noise = |i: usize| ((i * 48271 + 11) % 65537) as f64 / 32768.5 - 1.0;
        let rows = Mat::from_fn(m, k, |i, l| noise(i * k + l) * if i < k { heavy } else { 1.0 });
        dense::orthonormal_basis(rows.as_ref()).unwrap()
    }

    fn noise_of(code: &Code) -> f64 {
        code.decoder.norm_l2() * largest_row_norm(code.encoder.as_ref())
    }

    /// Both decode what lies in the range of W exactly; equal rows with less noise.
    #[test]
    fn both_codes_decode_the_range_and_equal_rows_are_quieter() {
        for heavy in [1.0, 20.0, 300.0] {
            let w = basis(200, 5, heavy);
            let codes = [Code::least_trace(w.as_ref()), Code::equal_rows(w.as_ref())];
            let codes = codes.map(|code| code.unwrap());
            for code in &codes {
                let mut image = dense::product(
                    code.decoder.as_ref(),
                    dense::product(code.encoder.transpose(), w.as_ref()).as_ref(),
                );
                image -= &w;
                assert!(image.norm_max() < 1e-7, "{heavy}: {}", image.norm_max());
            }
            let [plain, equal] = codes.map(|code| noise_of(&code));
            assert!(plain > equal, "{heavy}: {plain} {equal}");
        }
    }

    /// What W misses decides: with much of it in the light rows, plain projection is chosen.
    #[test]
    fn the_choice_follows_what_is_missed() {
        let w = basis(200, 5, 20.0);
        let choose = |missed: f64| {
            let missed = vec![missed; 200];
            Code::choose(w.as_ref(), Spread::LeastError, (1000.0, 1.0), Some(&missed)).unwrap()
        };
        let [plain, equal] = [Code::least_trace(w.as_ref()), Code::equal_rows(w.as_ref())];
        assert_eq!(noise_of(&choose(0.0)), noise_of(&equal.unwrap()));
        assert_eq!(noise_of(&choose(1e9)), noise_of(&plain.unwrap()));
    }

    #[test]
    fn rows_of_norm_zero_and_subnormal_rows_are_refused_or_left_out() {
        let mut w = basis(20, 2, 1.0);
        w.row_mut(3).fill(0.0);
        let equal = with_equal_rows(w.as_ref());
        assert_eq!(equal.row(3).norm_l2(), 0.0);
        assert!((equal.row(4).norm_l2() - 1.0).abs() < 1e-12);
        let rank_one = Mat::from_fn(20, 3, |i, _| 1.0 + i as f64);
        let missed = vec![0.0; 20];
        let code = Code::choose(rank_one.as_ref(), Spread::LeastError, (10.0, 1.0), Some(&missed));
        assert!(largest_row_norm(code.unwrap().encoder.as_ref()) <= 1.0);
    }
}
