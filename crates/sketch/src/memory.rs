//! Room for many numbers.

/// Zeros. On Linux many of them lie in large pages, which the kernel clears when they are first written to: each
/// first write into a small one costs more than the noise of the numbers in it.
pub(crate) fn zeros(len: usize) -> Vec<f64> {
    let values = vec![0.0; len];
    #[cfg(target_os = "linux")]
    ask_for_large_pages(&values);
    values
}

/// A wish: that it is not granted costs time only.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "the advice is about pages, which the kernel knows by address")]
fn ask_for_large_pages(values: &[f64]) {
    use rustix::mm::{Advice, madvise};
    const LARGE: usize = 1 << 21;
    let bytes = size_of_val(values);
    let from = values.as_ptr().cast_mut().cast::<u8>();
    let before = from.align_offset(LARGE);
    let whole = bytes.saturating_sub(before) / LARGE * LARGE;
    if whole > 0 {
        // Safety: all of it lies within the vector, and this advice changes no value and no access.
        let _ = unsafe { madvise(from.wrapping_add(before).cast(), whole, Advice::LinuxHugepage) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of every length around whole large pages, and each can be written to.
    #[test]
    fn all_are_zero() {
        for len in [0, 1, (1 << 18) - 1, 1 << 18, 1 << 19, (5 << 18) + 3] {
            let mut values = zeros(len);
            assert!(values.len() == len && values.iter().all(|v| v.to_bits() == 0), "{len}");
            values.fill(1.0);
            assert_eq!(values.iter().sum::<f64>(), len as f64);
        }
    }
}
