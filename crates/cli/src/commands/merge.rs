//! `dps merge`.

use crate::commands::mapped::with_map_of;
use crate::commands::release::{promise, read_manifest};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::output::Record;
use clap::Args;
use dp_core::Certificate;
use dp_core::parts::KeyFile;
use linalg_dp::parts::{output, publish};
use std::path::PathBuf;

/// Options of `dps merge`.
#[derive(Args)]
pub(crate) struct Merge {
    /// All parts, in whatever order: `dps release KIND --part` made them.
    #[arg(required = true)]
    parts: Vec<PathBuf>,
    /// The manifest that the parts are of.
    #[arg(long)]
    manifest: PathBuf,
    /// The release key. It is bound to this one output before the output can be read, and destroyed afterwards.
    #[arg(long)]
    key: PathBuf,
    /// The release file to write. Nothing is written over, except by itself: a merge that was killed can be run again.
    #[arg(long)]
    out: PathBuf,
}

impl Merge {
    pub(crate) fn run(&self) -> Result<Record> {
        if let Some(certificate) = KeyFile::published(&self.key, &self.out)? {
            certificate.verify_consistency()?;
            let record = self.record(&certificate)?;
            return Ok(record.text("published", "before: its key is destroyed"));
        }
        let file = KeyFile::open(&self.key)?;
        let manifest = read_manifest(&self.manifest, file.key())?;
        let to = output(&self.out, &file)?;
        interrupt::watch(&self.out, None).map_err(|e| Error::io("signals", e))?;
        let certificate = publish(&manifest, file, &self.parts, to)?;
        certificate.verify_consistency()?;
        let record = self.record(&certificate)?;
        let record =
            record.integer("parts", self.parts.len() as u64).text("release id", manifest.id());
        Ok(match manifest.reserved() {
            Some(reserved) => record.text("paid when it was planned, as", &reserved.charge),
            None => record,
        })
    }

    fn record(&self, certificate: &Certificate) -> Result<Record> {
        let record = Record::new()
            .text("release", self.out.display().to_string())
            .text("mechanism", &certificate.statement().mechanism);
        with_map_of(promise(record, certificate.guarantee()), certificate.statement())
    }
}
