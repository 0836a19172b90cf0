//! Composition of releases.
