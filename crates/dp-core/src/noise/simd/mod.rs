//! Wide instructions: the only unsafe code of this crate.
//!
//! # Safety argument
//! The only `unsafe` here is (a) calling a `#[target_feature]` function, done right after
//! `is_x86_feature_detected!` reported every feature it enables; (b) unaligned vector loads and
//! stores, always of one array that a safe reference covers; and what `rounded` names (its tests also
//! read and clear the processor's floating-point flags).
#![allow(unsafe_code)]

pub(super) mod keystream;
pub(super) mod rounded;

/// Runs `work`, compiled for wider vectors where the processor has them: the same operations in the same order.
#[inline]
pub(super) fn widest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            return unsafe { wide(work) };
        }
    }
    work()
}
