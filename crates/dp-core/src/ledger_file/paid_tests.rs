//! What recovery lets others read.
#![cfg(unix)]

use super::BudgetFile;
use super::paid::payload_hash;
use super::tests::{forged, lines_of, sample};
use crate::certificate::PayloadHash;
use crate::disk::identity;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A file in the form of a release, with this payload.
fn release(payload: &[u8]) -> Vec<u8> {
    [&[7; 16][..], payload, b"abc", &3u64.to_le_bytes(), &[9; 32]].concat()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Whoever writes a ledger names files of whoever reads it: recovery lets others read none but the release that was paid for, itself.
#[test]
fn a_forged_ledger_opens_no_file_to_others() {
    let (folder, _, bytes) = sample();
    let texts: Vec<String> =
        lines_of(&bytes).into_iter().filter(|text| !text.starts_with("close ")).collect();
    let from = folder.path().join("a");
    // A ledger that says that the release was interrupted when it had this name.
    let open = |to: &Path| {
        let named = |path: &Path| path.to_str().unwrap().to_owned();
        let [old, new] = [&from, to].map(|path| {
            let [device, number] = identity(path).unwrap();
            format!("[{device},{number}]")
        });
        let texts: Vec<String> = texts
            .iter()
            .map(|text| text.replace(&named(&from), &named(to)).replace(&old, &new))
            .collect();
        assert!(texts.iter().any(|text| text.starts_with("commit ") && text.contains(&new)));
        let path = folder.path().join("forged");
        std::fs::write(&path, forged(&texts)).unwrap();
        let _ = BudgetFile::open(&path);
    };
    let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
    symlink(&file, &link).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let private = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    // Neither a key, nor a release that nobody paid for, nor what a link leads to; and a pipe is not waited for.
    for (bytes, to) in [
        (&b"a secret key of a release"[..], &file),
        (&release(b"other"), &file),
        (&release(b"text"), &link),
        (&release(b"text"), &pipe),
    ] {
        private(bytes);
        open(to);
        assert_eq!(mode(&file), 0o600, "{}", to.display());
    }
    // The release that was paid for, itself.
    private(&release(b"text"));
    open(&file);
    assert_ne!(mode(&file), 0o600, "what was paid for is let out");
}

#[test]
fn a_file_is_what_was_paid_for_by_its_payload() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let hash = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        payload_hash(&std::fs::File::open(&path).unwrap()).unwrap()
    };
    let (file, expected) = (release(b"payload"), Some(PayloadHash::of(b"payload").to_string()));
    assert_eq!(hash(&file), expected);
    assert_eq!(hash(&release(b"")), Some(PayloadHash::of(b"").to_string()));
    for length in 0..file.len() {
        assert_ne!(hash(&file[..length]), expected);
    }
    let far = [&[7; 16][..], b"abc", &u64::MAX.to_le_bytes(), &[9; 32]].concat();
    assert_eq!(hash(&far), None);
}

/// Lines that name neither the folder nor when the replaced file changed are read, and settled as they were; a file that they name by
/// its number alone is not replaced.
#[test]
fn older_reservations_are_read() {
    let (folder, path, bytes) = sample();
    let out = folder.path().join("a");
    let texts: Vec<String> = lines_of(&bytes);
    let line = texts.iter().position(|text| text.starts_with("reserve ")).unwrap();
    let [start, end] = ["\"folder\":", "\"id\":"].map(|name| texts[line].find(name).unwrap());
    let with = |folder: &str, replaces: &str, open: bool| {
        let mut texts = texts.clone();
        texts[line].replace_range(start..end, folder);
        texts[line] = texts[line].replace("\"replaces\":null", &format!("\"replaces\":{replaces}"));
        texts.retain(|text| !(open && text.starts_with("close ")));
        forged(&texts)
    };
    for replaces in ["null", "[1,2]", "[1,2,3,4,5]"] {
        for folder in ["", "\"folder\":[1,2,3],"] {
            assert!(
                BudgetFile::parse(&with(folder, replaces, false)).is_ok(),
                "{folder} {replaces}"
            );
        }
    }
    for (folder, replaces) in [("", "[1]"), ("", "[1,2,3]"), ("\"folder\":[1,2],", "null")] {
        assert!(BudgetFile::parse(&with(folder, replaces, false)).is_err(), "{folder} {replaces}");
    }
    // Interrupted before its name was given.
    let number = texts[line].split("\"id\":\"").nth(1).unwrap()[..32].to_owned();
    let hidden = folder.path().join(format!(".dps-{number}.reserved"));
    for replaces in [false, true] {
        std::fs::rename(&out, &hidden).or_else(|_| std::fs::write(&hidden, "text")).unwrap();
        std::fs::set_permissions(&hidden, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut named = "null".to_owned();
        if replaces {
            std::fs::write(&out, "older").unwrap();
            let [device, number] = identity(&out).unwrap();
            named = format!("[{device},{number}]");
        }
        std::fs::write(&path, with("", &named, true)).unwrap();
        let file = BudgetFile::open(&path).unwrap();
        assert_eq!(file.charges().len(), 3 - usize::from(replaces), "{:?}", file.recovered());
        let expected = if replaces { "older" } else { "text" };
        assert_eq!(std::fs::read_to_string(&out).unwrap(), expected);
        assert!(!hidden.exists());
        assert!(BudgetFile::open(&path).unwrap().recovered().is_empty());
    }
}
