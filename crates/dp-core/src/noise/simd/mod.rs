//! Wide instructions: with `wide` the only unsafe code of this crate.
//!
//! # Safety argument
//! The only `unsafe` here is (a) calling a `#[target_feature]` function, done right after
//! `is_x86_feature_detected!` reported every feature it enables; (b) unaligned vector loads and
//! stores, always of one array that a safe reference covers; and what `rounded` names (its tests also
//! read and clear the processor's floating-point flags).
#![allow(unsafe_code)]

pub(super) mod keystream;
pub(super) mod rounded;
