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
    let pages = whole_pages(values);
    if !pages.is_empty() {
        let (from, bytes) = (pages.as_ptr().cast_mut().cast(), size_of_val(pages));
        // Safety: all of it is borrowed here, and this advice changes no value and no access.
        let _ = unsafe { madvise(from, bytes, Advice::LinuxHugepage) };
    }
}

/// Those that fill pages of 2 MiB.
#[cfg(target_os = "linux")]
fn whole_pages(values: &[f64]) -> &[f64] {
    const PAGE: usize = 1 << 21;
    let inside = values.get(values.as_ptr().align_offset(PAGE)..).unwrap_or_default();
    &inside[..inside.len() - inside.len() % (PAGE / size_of::<f64>())]
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

    /// The kernel has noted the wish for all whole pages, of which there are at most one fewer than would fit.
    #[cfg(target_os = "linux")]
    #[test]
    fn large_pages_are_asked_for() {
        let values = zeros(5 << 18);
        let pages = whole_pages(&values);
        assert!([4, 5].contains(&(pages.len() >> 18)) && pages.as_ptr().align_offset(1 << 21) == 0);
        assert!(whole_pages(&values[..3]).is_empty() && whole_pages(&[]).is_empty());
        let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists()
            || mappings.is_empty()
        {
            return println!("NOT RUN: no large pages here, or no list of mappings");
        }
        let at = pages.as_ptr().addr();
        let range = |line: &str| {
            let (from, to) = line.split_once(' ')?.0.split_once('-')?;
            Some(usize::from_str_radix(from, 16).ok()?..usize::from_str_radix(to, 16).ok()?)
        };
        let mut lines = mappings.lines();
        lines.find(|l| range(l).is_some_and(|r| r.contains(&at))).expect("a mapping holds it");
        let flags = lines.find(|l| l.starts_with("VmFlags:")).expect("its flags");
        assert!(flags.split_whitespace().any(|flag| flag == "hg"), "{flags}");
    }
}
