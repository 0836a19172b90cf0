//! Files of one format one behind the other, as `cat` joins them. A reader that begins at the end of the bytes finds the last
//! footer, whose places count from where its own file begins: they lie in the first file, and all others would be lost.

use memchr::memmem;
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};

/// What is said of them.
pub(crate) const JOINED: &str = "two files or more stand in it one behind the other, of which one alone would be read: give each as a file of its \
                                 own, or join them with a program that knows the format";

/// Bytes that are looked through at a time.
const PART: u64 = 1 << 20;

/// Whether a file that begins with `mark` begins within this one, and ends with it. Its footer tells of all bytes in front
/// of the footer but `gap`: those before the file begins, and those of its own that no footer tells of. Where these are as
/// many as one of `own` says, the file is found whatever precedes it. Otherwise it begins earlier, and is found behind a
/// file that ends with `mark`. Of an honest file `gap` is small, and so is what is read. Moves the place in the file.
pub(crate) fn joined(file: &mut File, mark: &[u8], gap: u64, own: &[u64]) -> Result<bool> {
    let length = mark.len() as u64;
    for start in own.iter().filter_map(|own| gap.checked_sub(*own)).filter(|start| *start > 0) {
        file.seek(SeekFrom::Start(start))?;
        let mut found = Vec::new();
        file.by_ref().take(length).read_to_end(&mut found)?;
        if found == mark {
            return Ok(true);
        }
    }
    let seam = mark.repeat(2);
    file.seek(SeekFrom::Start(0))?;
    let (mut left, mut seen) = (gap.saturating_add(length), Vec::new());
    while left > 0 {
        let read = file.by_ref().take(left.min(PART)).read_to_end(&mut seen)? as u64;
        if memmem::find(&seen, &seam).is_some() {
            return Ok(true);
        }
        if read == 0 {
            return Ok(false);
        }
        left -= read;
        // A seam may begin in one part and end in the next.
        seen.drain(..seen.len().saturating_sub(seam.len() - 1));
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Also where two parts meet; and none is looked for behind the gap.
    #[test]
    fn a_seam_is_found_wherever_it_lies() {
        let part = PART as usize;
        for at in (part - 9..part + 2).chain([4, 2 * part - 3]) {
            let mut bytes = vec![0; 2 * part + 20];
            bytes[at..at + 8].copy_from_slice(b"PAR1PAR1");
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            for (behind, found) in [(3, false), (4, true), (5, true), (90, true)] {
                let gap = (at + behind) as u64;
                assert_eq!(joined(&mut file, b"PAR1", gap, &[]).unwrap(), found, "{at} {behind}");
            }
        }
    }

    /// Whatever stands in front, where it is known how many bytes are the file's own; but no file is joined to itself.
    #[test]
    fn a_beginning_is_found_where_it_is_expected() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"PAR1 other PAR1 bytes").unwrap();
        for (gap, own, found) in [
            (11, &[0][..], true),
            (19, &[4, 8], true),
            (19, &[4, 0], false),
            (8, &[8], false),
            (3, &[8], false),
            (0, &[0], false),
        ] {
            assert_eq!(joined(&mut file, b"PAR1", gap, own).unwrap(), found, "{gap} {own:?}");
        }
    }
}
