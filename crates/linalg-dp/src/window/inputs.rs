//! Which rows the closed blocks of a journalled stream were made of: one keyed digest a block.

use crate::error::{Error, Result};
use dp_core::NoiseRng;
use rand_core::Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Bytes of a digest: enough that other rows do not share it.
const DIGEST: usize = 16;

/// A key of this stream's own, and what became of every block's rows under it. As secret as the data: whoever has key
/// and digests can ask whether rows are those of a block.
pub(super) struct Inputs {
    key: [u8; 32],
    closed: Vec<[u8; DIGEST]>,
    open: Sha256,
}

/// What a journal keeps of it, in hexadecimal digits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InputsState {
    key: String,
    closed: String,
}

impl Inputs {
    pub(super) fn new(rng: &mut NoiseRng) -> Self {
        let mut key = [0; 32];
        rng.stream().fill_bytes(&mut key);
        Self { key, closed: Vec::new(), open: begun(&key, 0) }
    }

    /// Begins to read block `index` anew.
    pub(super) fn begin(&mut self, index: u64) {
        self.open = begun(&self.key, index);
    }

    /// Rows of the block that is read; in how many pieces they come does not matter.
    pub(super) fn push(&mut self, rows: &[f64]) {
        let mut bytes = [0; 512];
        for part in rows.chunks(64) {
            let bytes = &mut bytes[..8 * part.len()];
            for (out, x) in bytes.chunks_exact_mut(8).zip(part) {
                out.copy_from_slice(&x.to_bits().to_le_bytes());
            }
            self.open.update(&*bytes);
        }
    }

    /// Ends the block that is read, the first that was never read before, and begins the next.
    pub(super) fn close(&mut self) {
        let digest = self.ended();
        self.closed.push(digest);
        self.begin(self.closed.len() as u64);
    }

    /// Ends the block that is read, closed block `index`, and begins the next; whether the rows are those it was made of.
    pub(super) fn is_same(&mut self, index: u64) -> bool {
        let digest = self.ended();
        self.begin(index + 1);
        usize::try_from(index).ok().and_then(|i| self.closed.get(i)) == Some(&digest)
    }

    fn ended(&self) -> [u8; DIGEST] {
        let digest = self.open.clone().finalize();
        *digest.first_chunk().expect("32 bytes")
    }

    pub(super) fn snapshot(&self) -> InputsState {
        let closed = self.closed.iter().map(|digest| hex(digest)).collect();
        InputsState { key: hex(&self.key), closed }
    }

    /// Puts back what [`Inputs::snapshot`] gave after `closed` blocks.
    pub(super) fn restored(state: &InputsState, closed: u64) -> Result<Self> {
        let damaged = || Error::corrupt("it does not say which rows its blocks were made of");
        let key = bytes(&state.key).and_then(|key| key.try_into().ok()).ok_or_else(damaged)?;
        let digests = bytes(&state.closed).ok_or_else(damaged)?;
        let (digests, rest) = digests.as_chunks::<DIGEST>();
        if !rest.is_empty() || digests.len() as u64 != closed {
            return Err(damaged());
        }
        Ok(Self { key, closed: digests.to_vec(), open: begun(&key, closed) })
    }
}

/// A digest is never published and is half of a hash, so that a key before the message is a sound authenticator.
fn begun(key: &[u8; 32], index: u64) -> Sha256 {
    Sha256::new().chain_update(key).chain_update(index.to_le_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16);
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let byte = |[a, b]: &[u8; 2]| Some((digit(*a)? * 16 + digit(*b)?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
}
