//! What is known of a file or a folder that was seen.

use std::io::Result;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file as it was seen: its identity (device and number), when it changed last (seconds and nanoseconds), and its length. A file that comes when
/// another one is gone may have its identity.
pub(crate) type Stamp = [u64; 5];

/// Which folder it is, whatever it is called and wherever its disk is mounted: its number, and when it was made; zeros for what the
/// system does not say.
pub(crate) type Folder = [u64; 3];

/// Seconds and nanoseconds since 1970; zeros for what the system does not say.
pub(super) fn since_1970(time: Result<SystemTime>) -> [u64; 2] {
    let passed = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    passed.map_or([0, 0], |passed| [passed.as_secs(), passed.subsec_nanos().into()])
}
