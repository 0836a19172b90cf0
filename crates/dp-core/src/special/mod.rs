//! Special functions in the log domain.
