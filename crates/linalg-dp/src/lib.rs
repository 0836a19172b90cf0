//! Private low-rank approximation, covariance and sliding-window matrix analysis.
