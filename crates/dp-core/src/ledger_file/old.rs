//! Ledgers of the layout before: one JSON object, written again as a whole.

use super::apart::apart;
use super::lines::{FORMAT, Header, Id, Payment, in_file, new_ledger, now};
use crate::accounting::Ledger;
use crate::certificate::hex;
use crate::disk::{
    Disk, folder_of, has_other_names, identity, keep_owner_and_mode, open_file, random_id,
};
use crate::error::{Error, Result};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Most bytes of such a file.
const LONGEST: u64 = 1 << 28;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Old {
    format: u32,
    data: String,
    ledger: serde_json::Value,
}

/// Reads one; every entry is checked.
pub(super) fn read(path: &Path, mut file: &File) -> Result<(Header, Ledger)> {
    use std::io::Seek;
    let failed = in_file(path);
    let bad = |reason: String| Error::Ledger {
        path: path.display().to_string(),
        reason: format!("not a valid ledger: {reason}"),
    };
    file.rewind().map_err(&failed)?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(&failed)?;
    // It might be data: nothing of it is told.
    let old: Old =
        serde_json::from_slice(&bytes).map_err(|_| bad("it does not begin as one".into()))?;
    if old.format != 1 {
        return Err(bad(format!("a file of this kind has format 1, not {}", old.format)));
    }
    let ledger: Ledger = serde_json::from_value(old.ledger).map_err(|e| bad(e.to_string()))?;
    let header = Header {
        adjacency: ledger.adjacency(),
        converted: Some(hex(&Sha256::digest(&bytes))),
        data: old.data,
        filter: ledger.filter().copied(),
        format: FORMAT,
        id: random_id().map_err(&failed)?,
        time: now(),
    };
    Ok((header, ledger))
}

/// Where the old file is kept.
fn kept(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".before-lines");
    name.into()
}

/// Puts a ledger of lines in the place of `path`, with its owner, group and mode; the old file is kept beside it.
/// The lock on the old file is held.
pub(super) fn convert(disk: &Disk, path: &Path, file: &File) -> Result<()> {
    let failed = in_file(path);
    let refused = |reason: &str| Error::Ledger {
        path: path.display().to_string(),
        reason: reason.to_owned(),
    };
    // What wrote the old layout takes this lock.
    let mut sidecar = path.as_os_str().to_owned();
    sidecar.push(".lock");
    let sidecar = open_file(Path::new(&sidecar), true).ok();
    if let Some(lock) = &sidecar {
        lock.lock().map_err(&failed)?;
    }
    let (header, ledger) = apart(|| read(path, file))??;
    let kept = kept(path);
    // An interrupted conversion leaves the second name behind.
    let begun = identity(&kept).is_some() && identity(&kept) == identity(path);
    if !begun && has_other_names(file).map_err(&failed)? {
        return Err(refused(
            "has other names (hard links), and is of an older layout: a new file could take the \
             place of one name only; leave one name",
        ));
    }
    let folder = folder_of(path);
    let name = path.file_name().unwrap_or_default();
    let ids = ledger.entries().iter().map(|_| Id::random()).collect::<std::io::Result<Vec<_>>>();
    let payments = ledger.entries().iter().zip(ids.map_err(&failed)?).map(|(entry, id)| Payment {
        certificate: None,
        cost: entry.cost().as_ref(),
        folder: None,
        id,
        label: entry.label().to_owned(),
        part: entry.part().cloned().map(Box::new),
        path: None,
        payload: None,
        replaces: None,
        time: None,
    });
    let bytes = new_ledger(&header, payments)?;
    let mut staged = disk.stage(folder, name).map_err(&failed)?;
    let written = disk.write_at(&staged.file, 0, &bytes);
    let written = written.and_then(|()| disk.sync(&staged.file)).map_err(&failed);
    let kept_mode = written.and_then(|()| {
        keep_owner_and_mode(file, &staged.file).map_err(|_| {
            refused(
                "is of an older layout and belongs to somebody else: its owner has to use it \
                 once (`dps ledger show`), so that owner and mode stay",
            )
        })
    });
    let placed = kept_mode.and_then(|()| {
        if staged.name.is_none() {
            let hidden = folder.join(format!(".dps-{}.partial", header.id));
            disk.name(&mut staged, &hidden).map_err(&failed)?;
        }
        if !begun {
            disk.link(path, &kept).map_err(in_file(&kept))?;
        }
        let new = staged.name.as_deref().unwrap_or(path);
        disk.rename_over(new, path).and_then(|()| disk.sync_folder(folder)).map_err(&failed)
    });
    if placed.is_err()
        && let Some(name) = &staged.name
    {
        let _ = disk.remove(name);
    }
    placed
}
