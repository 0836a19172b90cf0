//! Safe code that is compiled again for wider instructions.
//!
//! # Safety argument
//! The only `unsafe` here calls a `#[target_feature]` function, right after `is_x86_feature_detected!` reported every feature
//! that it enables.
#![allow(unsafe_code)]

/// Safe code that is compiled again for wider vectors.
pub(super) trait Work {
    /// What it returns.
    type Output;

    /// Does it. Each implementation is `inline(always)`: what is called by itself keeps the narrow instructions.
    fn run(self) -> Self::Output;
}

/// Runs `work` with wider vectors where the processor has them: the same operations in the same order.
#[inline]
pub(super) fn widest<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<W: Work>(work: W) -> W::Output {
            work.run()
        }
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw")]
        fn widest<W: Work>(work: W) -> W::Output {
            work.run()
        }
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bw")
        {
            // SAFETY: the features were just detected.
            return unsafe { widest(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the feature was just detected.
            return unsafe { wide(work) };
        }
    }
    work.run()
}
