//! What is known of a file or a folder that was seen.

use std::io::Result;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file as it was seen: its identity (device and number), when it changed last (seconds and nanoseconds), and its length. A file that comes when
/// another one is gone may have its identity.
pub(crate) type Stamp = [u64; 5];

/// Which folder it is, whatever it is called and wherever its disk is mounted: its number, and when it was made; zeros for what the
/// system does not say.
pub(crate) type Folder = [u64; 3];

/// Whether a folder may be the one that was seen: of what one of the two does not say, nothing is asked.
pub(crate) fn may_be(own: Folder, found: Folder) -> bool {
    let ([own, made @ ..], [found, again @ ..]) = (own, found);
    own == found && (made == again || made == [0, 0] || again == [0, 0])
}

/// Seconds and nanoseconds since 1970; zeros for what the system does not say.
pub(super) fn since_1970(time: Result<SystemTime>) -> [u64; 2] {
    let passed = time.ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    passed.map_or([0, 0], |passed| [passed.as_secs(), passed.subsec_nanos().into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_known_by_what_both_say() {
        let own = [7, 100, 5];
        for (found, expected) in [
            (own, true),
            ([7, 0, 0], true),
            ([7, 100, 6], false),
            ([7, 101, 5], false),
            ([8, 100, 5], false),
            ([8, 0, 0], false),
        ] {
            assert_eq!((may_be(own, found), may_be(found, own)), (expected, expected), "{found:?}");
        }
        let at = |seconds| Ok(UNIX_EPOCH + std::time::Duration::new(seconds, 9));
        assert_eq!((since_1970(at(3)), since_1970(at(0))), ([3, 9], [0, 9]));
        let before = UNIX_EPOCH - std::time::Duration::from_secs(1);
        assert_eq!(since_1970(Ok(before)), [0, 0]);
        assert_eq!(since_1970(Err(std::io::ErrorKind::Unsupported.into())), [0, 0]);
    }
}
