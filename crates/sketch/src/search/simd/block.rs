//! What a scan reads and writes.

/// One word of eight consecutive codes.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(in crate::search) struct Lane(pub(in crate::search) [u64; 8]);

/// Codes that share one [`Lane`].
pub(in crate::search) const LANES: usize = 8;
/// Most codes in one call of [`Kernel::scan`].
pub(in crate::search) const BLOCK: usize = 512;

/// The items of a block that one query accepts: index and distance.
pub(in crate::search) struct Hits {
    len: usize,
    items: [(u32, u32); BLOCK],
}

impl Hits {
    pub(in crate::search) const fn new() -> Self {
        Self { len: 0, items: [(0, 0); BLOCK] }
    }

    pub(in crate::search) fn clear(&mut self) {
        self.len = 0;
    }

    pub(in crate::search) fn items(&self) -> &[(u32, u32)] {
        &self.items[..self.len]
    }

    #[inline]
    pub(super) fn push(&mut self, index: u32, distance: u32) {
        self.items[self.len] = (index, distance);
        self.len += 1;
    }

    /// Pushes the lanes whose bit in `mask` is set.
    #[cfg_attr(target_arch = "x86_64", cold)]
    #[inline(never)]
    pub(super) fn push_masked(&mut self, first: u32, mut mask: u32, distances: &[u64; LANES]) {
        while mask != 0 {
            let lane = mask.trailing_zeros();
            self.push(first + lane, distances[lane as usize] as u32);
            mask &= mask - 1;
        }
    }
}

/// Words of a code: known when compiled, or that of the query.
#[inline(always)]
pub(super) const fn width_of<const W: usize>(query: &[u64]) -> usize {
    if W == 0 { query.len() } else { W }
}
