//! Corruption of release files whose checksum was set right again: none is accepted.

use fuzzing::releases;
use linalg_dp::any::AnyRelease;
use linalg_dp::verify::Trust;

/// Reads a file as every command does, with everything taken by name that can be.
fn accepted(bytes: &[u8]) -> bool {
    let trust = dp_core::certificate::Exception::ALL.into_iter().fold(Trust::none(), Trust::and);
    AnyRelease::decode(bytes).is_ok_and(|(_, release)| release.verify(&trust).is_ok())
}

/// A number that follows from another.
fn mixed(i: usize) -> usize {
    i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

/// One bit at every byte, with the magic, the version and the checksum set right.
#[test]
fn flipped_bits_under_a_right_checksum_are_refused() {
    let mut trials = 0;
    for sample in releases().unwrap() {
        let good = &sample.bytes;
        assert!(accepted(good), "{}", sample.name);
        for at in 8..good.len() - 32 {
            let mut bad = good.clone();
            bad[at] ^= 1 << (mixed(at) % 8);
            let sealed = fuzzing::sealed(&bad);
            // The version, and the kind beyond those known, are set right too.
            if sealed == *good {
                continue;
            }
            assert!(!accepted(&sealed), "{} flipped at {at}", sample.name);
            trials += 1;
        }
    }
    assert!(trials > 20_000, "{trials}");
}

/// Parts cut out, doubled, or replaced by junk, at many places, with the checksum set right.
#[test]
fn cut_and_filled_files_under_a_right_checksum_are_refused() {
    let mut trials = 0;
    for sample in releases().unwrap() {
        let good = &sample.bytes;
        for i in 0..300 {
            let at = 16 + mixed(i) % (good.len() - 56);
            let length = 1 + mixed(i + 1000) % 40;
            let end = (at + length).min(good.len() - 40);
            let junk: Vec<u8> = (0..length).map(|j| mixed(i * 41 + j) as u8).collect();
            let cut = [&good[..at], &good[end..]].concat();
            let doubled = [&good[..end], &good[at..]].concat();
            let filled = [&good[..at], &junk, &good[end..]].concat();
            let inserted = [&good[..at], &junk, &good[at..]].concat();
            for bad in [cut, doubled, filled, inserted, good[..end].to_vec()] {
                for bad in [fuzzing::sealed(&bad), bad] {
                    assert!(bad == *good || !accepted(&bad), "{} at {at}, {length}", sample.name);
                    trials += 1;
                }
            }
        }
    }
    assert!(trials > 50_000, "{trials}");
}

/// A trailer of other text for the same values is refused: one content has one file.
#[test]
fn other_layouts_of_a_trailer_are_refused() {
    for sample in releases().unwrap() {
        let trailer = fuzzing::trailer(&sample.bytes).unwrap();
        assert_eq!(fuzzing::repacked(&sample.bytes, &trailer).unwrap(), sample.bytes);
        let text = dp_core::certificate::canonical(&trailer);
        let pretty = serde_json::to_string_pretty(&trailer).unwrap();
        let end = sample.bytes.len() - 40 - text.len();
        let length = (pretty.len() as u64).to_le_bytes();
        let other = [&sample.bytes[..end], pretty.as_bytes(), &length, &[0; 32]].concat();
        assert!(!accepted(&fuzzing::sealed(&other)), "{}", sample.name);
    }
}
