//! Keyed digests of what a block holds.

use super::key::{Keyed, Purpose, ReleaseKey, extend};
use crate::certificate::hex;
use hmac::Mac;

/// Takes in the rows of a block.
pub struct ContentHash {
    keyed: Keyed,
}

impl ContentHash {
    /// Begins with block `index` of a release.
    #[must_use]
    pub fn new(key: &ReleaseKey, index: usize) -> Self {
        let mut keyed = key.begin(Purpose::Content);
        extend(&mut keyed, &(index as u64).to_le_bytes());
        Self { keyed }
    }

    /// Adds n rows of d numbers.
    #[must_use]
    pub fn rows(mut self, n: usize, d: usize, values: &[f64]) -> Content {
        self.shape(b"rows", n, d);
        let mut bytes = [0; 4096];
        for part in values.chunks(bytes.len() / 8) {
            let (places, _) = bytes.as_chunks_mut();
            places.iter_mut().zip(part).for_each(|(place, value)| *place = value.to_le_bytes());
            self.keyed.update(&bytes[..8 * part.len()]);
        }
        self.finish()
    }

    /// Adds n sets of items.
    #[must_use]
    pub fn sets<'a>(mut self, n: usize, sets: impl Iterator<Item = &'a [u64]>) -> Content {
        self.shape(b"sets", n, 0);
        for set in sets {
            self.keyed.update(&(set.len() as u64).to_le_bytes());
            set.iter().for_each(|item| self.keyed.update(&item.to_le_bytes()));
        }
        self.finish()
    }

    fn shape(&mut self, what: &[u8; 4], n: usize, d: usize) {
        self.keyed.update(what);
        self.keyed.update(&(n as u64).to_le_bytes());
        self.keyed.update(&(d as u64).to_le_bytes());
    }

    fn finish(self) -> Content {
        Content(self.keyed.finalize().into_bytes().into())
    }
}

/// The keyed digest of a block's content: nobody without the key learns from it which rows they were. It stands in manifests
/// and parts, which only their owner reads, all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content([u8; 32]);

impl Content {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn text(&self) -> String {
        hex(&self.0)
    }
}
