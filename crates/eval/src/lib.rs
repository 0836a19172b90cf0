//! Data sets, metrics, the experiments of the papers, and the privacy audit.
