//! The two laws that are drawn by the kernel.

/// Which law the magnitude has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// `Pr[|Z| > y] = erfc(y / sqrt 2)`.
    Gaussian,
    /// `Pr[|Z| > y] = exp(-y)`.
    Laplace,
}
