//! `dps attest`: the owner of a key says that a release is theirs, or that a ledger had these lines.

mod key;
mod statement;

pub(super) use key::PublicKey;

use super::content::Content;
use crate::error::{Error, Result, no_effect, shown};
use crate::output::{Record, date};
use clap::Args;
use dp_core::certificate::canonical;
use dp_core::ledger_file::BudgetFile;
use dp_core::output::{Access, Existing, Output, write};
use dp_core::release_file;
use key::{SecretKey, beside, hex};
use sha2::{Digest, Sha256};
use statement::{COMMENT, Object, Statement};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Options of `dps attest`.
#[derive(Args)]
pub(crate) struct Attest {
    /// A release file, or a ledger: what is signed is its head.
    #[arg(required_unless_present = "new_key")]
    file: Option<PathBuf>,
    /// The signing key, a file of `--new-key`.
    #[arg(long, value_name = "FILE", required_unless_present = "new_key")]
    key: Option<PathBuf>,
    /// Make a key: FILE is the secret, which only its owner reads; FILE.pub is for everybody.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "key"])]
    new_key: Option<PathBuf>,
    /// Words that are signed too, at most 4096 bytes.
    #[arg(long)]
    comment: Option<String>,
    /// Where the attestation goes [default: FILE.attestation].
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write over an older attestation. Other files are never written over.
    #[arg(long)]
    force: bool,
}

impl Attest {
    pub(crate) fn run(&self) -> Result<Record> {
        if let Some(path) = &self.new_key {
            let why = "a new key signs nothing yet";
            no_effect("--comment", self.comment.as_ref(), why)?;
            no_effect("--out", self.out.as_ref(), why)?;
            let public = SecretKey::create(path)?;
            return Ok(Record::new()
                .text("signing key", path.display().to_string())
                .text("public key file", beside(path, ".pub").display().to_string())
                .text("public key", public.text())
                .text("key id", public.id()));
        }
        let (Some(file), Some(key)) = (&self.file, &self.key) else {
            return Err(Error::usage("a file and --key are required, or --new-key"));
        };
        let comment = self.comment.clone().unwrap_or_default();
        if comment.len() > COMMENT {
            return Err(Error::usage(format!(
                "--comment has {} bytes: it takes at most {COMMENT}",
                comment.len()
            )));
        }
        let out = self.out.clone().unwrap_or_else(|| beside(file, ".attestation"));
        let exists = out.symlink_metadata().is_ok();
        if exists && !(self.force && Statement::is_in(&out)) {
            let why = if Statement::is_in(&out) {
                "--force writes over it"
            } else {
                "it is no attestation"
            };
            return Err(Error::usage(format!("{} exists: {why}", shown(&out))));
        }
        let key = SecretKey::read(key)?;
        let content = Content::open(file)?;
        let of =
            if content.is_release()? { of_release(&content.release()?)? } else { of_ledger(file)? };
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
        let statement = Statement { comment, key: key.public().text(), of, time };
        let text = statement.signed_by(&key);
        if exists {
            write(&out, text.as_bytes(), Access::Shared)?;
        } else {
            let mut new = Output::create(&out, Existing::Keep)?;
            new.write_all(text.as_bytes()).map_err(|e| Error::io(&out, e))?;
            new.commit()?;
        }
        let record = Record::new().text("attestation", out.display().to_string());
        Ok(said(record, &statement, &key.public()))
    }
}

/// What is said of a release: it is whole, and what it states is not signed beyond that.
fn of_release(bytes: &[u8]) -> Result<Object> {
    let certificate = canonical(&release_file::open(bytes)?.summary.certificate);
    let [certificate, sha256] = [certificate.as_bytes(), bytes].map(|b| hex(&Sha256::digest(b)));
    Ok(Object::Release { certificate, sha256 })
}

fn of_ledger(path: &Path) -> Result<Object> {
    let file = BudgetFile::open(path)?;
    file.recovered().iter().for_each(|said| crate::output::complain(said));
    if file.lines() == 0 {
        return Err(Error::Refused(format!(
            "{}: a ledger of an older layout has no head; `dps ledger spend` or `record` converts it",
            shown(path)
        )));
    }
    Ok(Object::Ledger { head: file.head().into(), id: file.id().into(), lines: file.lines() })
}

/// Whom a reader trusts, and where the signature is.
#[derive(Args, Debug)]
pub(super) struct SignerOptions {
    /// The public key that must have signed: 64 hexadecimal digits, or a file `KEY.pub`. Take it from its owner, and
    /// not from where the file came from.
    #[arg(long, value_name = "KEY")]
    signer: Option<String>,
    /// The attestation [default: FILE.attestation].
    #[arg(long, value_name = "FILE", requires = "signer")]
    attestation: Option<PathBuf>,
}

impl SignerOptions {
    pub(super) fn asked(&self) -> bool {
        self.signer.is_some()
    }

    /// The statement beside `file` and the key that signed it; `None` where nobody asked.
    fn statement(&self, file: &Path) -> Result<Option<(Statement, PublicKey)>> {
        let Some(signer) = &self.signer else { return Ok(None) };
        let signer = PublicKey::pinned(signer)?;
        let path = self.attestation.clone().unwrap_or_else(|| beside(file, ".attestation"));
        Ok(Some((Statement::checked(&path, &signer)?, signer)))
    }

    /// Refuses a release whose bits the signer did not sign.
    pub(super) fn check_release(
        &self,
        record: Record,
        file: &Path,
        content: &Content,
    ) -> Result<Record> {
        let Some((statement, signer)) = self.statement(file)? else { return Ok(record) };
        if !content.is_release()? {
            return Err(Error::usage(
                "--signer is for release files: a certificate by itself is not attested",
            ));
        }
        if statement.of != of_release(&content.release()?)? {
            return Err(Error::Refused(format!(
                "{}: the attestation of key {} is of another file: this one was altered, or is not the one that was signed",
                content.name(),
                signer.id()
            )));
        }
        Ok(said(record, &statement, &signer))
    }

    /// Refuses a ledger that does not go on from the head that was signed.
    pub(super) fn check_ledger(
        &self,
        record: Record,
        path: &Path,
        shown_as: &BudgetFile,
    ) -> Result<Record> {
        let Some((statement, signer)) = self.statement(path)? else { return Ok(record) };
        let Object::Ledger { head, id, lines } = &statement.of else {
            return Err(Error::Refused(format!(
                "{}: the attestation is of a release",
                shown(path)
            )));
        };
        let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
        let [signed, current] = BudgetFile::heads_after(&bytes, [*lines, shown_as.lines()])?;
        if id != shown_as.id()
            || signed.as_ref() != Some(head)
            || current.as_deref() != Some(shown_as.head())
        {
            return Err(Error::Refused(format!(
                "{}: does not contain the {lines} lines that key {} signed: it was written anew, is an older copy, or is \
                 another ledger",
                shown(path),
                signer.id()
            )));
        }
        let record = said(record, &statement, &signer);
        let later = shown_as.lines().saturating_sub(*lines);
        Ok(record.integer("lines since the signed head", later).text(
            "not checked",
            format!(
                "the {later} later lines, whether this is the newest attestation, and whose key {} is",
                signer.id()
            ),
        ))
    }
}

/// What a signature says.
fn said(record: Record, statement: &Statement, signer: &PublicKey) -> Record {
    let record = record.text("signed by", signer.id());
    let record = match &statement.of {
        Object::Release { sha256, .. } => record.text("release sha256", sha256),
        Object::Ledger { head, lines, .. } => {
            record.text("signed head", head).integer("signed lines", *lines)
        }
    };
    let record = record.text("signed at, by the signer's clock", date(statement.time));
    if statement.comment.is_empty() {
        record
    } else {
        record.text("signed comment", &statement.comment)
    }
}
