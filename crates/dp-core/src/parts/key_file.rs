//! The file of a release key, which remembers what the key was used for.

use super::key::ReleaseKey;
use super::manifest::Manifest;
use super::terms::Terms;
use crate::certificate::{AnyCertificate, Certificate};
use crate::disk::{Disk, folder_of, is_private, open_file};
use crate::error::{Error, Result};
use crate::output::Output;
use crate::release_file::{Trailer, Writer, open, read_summary};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Lines of fixed length: a change of state is one write in place, so that no copy of a destroyed key stays behind.
const TITLE: &str = "dps release key 1\n";
const KEY: &str = "key ";
const OUTPUT: &str = "\noutput ";
const DIGITS: usize = 64;
const KEY_AT: usize = TITLE.len() + KEY.len();
const OUTPUT_AT: usize = KEY_AT + DIGITS + OUTPUT.len();
const LENGTH: usize = OUTPUT_AT + DIGITS + 1;

/// The file of a [`ReleaseKey`], held so that nobody else publishes with it.
///
/// One key, one published output: the hash of the output is in the file before the output has its name, an output of any
/// other bits is refused from then on, and the key is overwritten when the output has its name.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    file: File,
    key: ReleaseKey,
    /// Hash of the payload that the key was bound to.
    output: Option<String>,
}

impl KeyFile {
    /// Writes a key into a new file that only its owner reads.
    ///
    /// # Errors
    /// [`Error::Io`], also for a file that exists; a folder whose files others can read.
    pub fn create(path: &Path, key: &ReleaseKey) -> Result<()> {
        let disk = Disk::default();
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        let name = path.file_name().unwrap_or_default();
        let mut staged = disk.stage(folder_of(path), name).map_err(failed)?;
        let text = Zeroizing::new(format!(
            "{TITLE}{KEY}{}{OUTPUT}{}\n",
            key.digits().as_str(),
            "-".repeat(DIGITS)
        ));
        let begun = private(path, &staged.file)
            .and_then(|()| disk.write_at(&staged.file, 0, text.as_bytes()).map_err(failed))
            .and_then(|()| disk.sync(&staged.file).map_err(failed))
            .and_then(|()| disk.name(&mut staged, path).map_err(failed))
            .and_then(|()| disk.sync_folder(folder_of(path)).map_err(failed));
        if let (Err(_), Some(name)) = (&begun, staged.name.filter(|name| name != path)) {
            let _ = disk.remove(&name);
        }
        begun
    }

    /// The key in a file, to make parts with.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for a file that others can read, that is none, or whose key is destroyed.
    pub fn read(path: &Path) -> Result<ReleaseKey> {
        let file = open_file(path, false).map_err(|e| Error::io(path.display(), &e))?;
        Ok(usable(parse(path, &file)?)?.0)
    }

    /// What the release file `out` states, if it is the one output of a key that is destroyed: whoever was killed at the very end
    /// of publishing has nothing left to do.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::File`] for a file of a key that others can read, or that is none, and for an `out` that is no
    /// release file.
    pub fn published(path: &Path, out: &Path) -> Result<Option<Certificate>> {
        let file = open_file(path, false).map_err(|e| Error::io(path.display(), &e))?;
        let (None, Some(bound)) = parse(path, &file)? else { return Ok(None) };
        if !out.exists() {
            return Ok(None);
        }
        let certificate = read_summary(out)?.certificate.private()?;
        let payload = certificate.payload_hash().map(|hash| hash.to_string());
        Ok((payload == Some(bound)).then_some(certificate))
    }

    /// Opens the file to publish with its key; nobody else can until this is dropped.
    ///
    /// # Errors
    /// As [`KeyFile::read`].
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e: std::io::Error| Error::io(path.display(), &e);
        let file = open_file(path, true).map_err(failed)?;
        file.lock().map_err(failed)?;
        let (key, output) = usable(parse(path, &file)?)?;
        Ok(Self { path: path.to_owned(), file, key, output })
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &ReleaseKey {
        &self.key
    }

    /// Hash of the payload of the one output, once it is fixed.
    #[must_use]
    pub fn output(&self) -> Option<&str> {
        self.output.as_deref()
    }

    /// Publishes the one output of the key, from the bytes of its release file, and destroys the key.
    ///
    /// # Errors
    /// [`Error::File`] for another manifest's terms, or when the key was used for another output; [`Error::Io`]. The key is
    /// destroyed last: whatever fails before can be done again, with the same bits only.
    pub fn publish(self, manifest: &Manifest, to: Output, release: &[u8]) -> Result<Certificate> {
        manifest.check_terms(&Terms::of(release)?)?;
        let opened = open(release)?;
        let shape = opened.summary.shape()?;
        let summary = opened.summary;
        let certificate = summary.certificate.private()?.of_output();
        let trailer = Trailer::new(shape, summary.fingerprint, &summary.parameters, certificate)?;
        let mut out = Writer::begin(to, summary.kind)?;
        out.payload(opened.payload)?;
        self.finish(out, trailer)
    }

    /// Ends a release file, binds the key to it, publishes it, destroys the key.
    pub(super) fn finish(mut self, out: Writer<Output>, trailer: Trailer) -> Result<Certificate> {
        let (output, certificate) = out.end(trailer)?;
        let payload = certificate.payload_hash().map(|hash| hash.to_string()).unwrap_or_default();
        self.bind(&payload)?;
        output.finish(&certificate)?;
        self.destroy()?;
        match certificate {
            AnyCertificate::Private(certificate) => Ok(certificate),
            other => Err(Error::file("certificate", format!("is {}", other.class()))),
        }
    }

    /// Notes, on the disk, what the one output is.
    fn bind(&mut self, payload: &str) -> Result<()> {
        match &self.output {
            Some(bound) if bound == payload => return Ok(()),
            Some(bound) => {
                let reason = format!(
                    "was used for an output with payload {bound}, and this one has {payload}: one key, one published output; \
                     make a new manifest, which spends the budget again"
                );
                return Err(Error::file("release key", reason));
            }
            None => {}
        }
        self.put(OUTPUT_AT, payload.as_bytes())?;
        self.output = Some(payload.to_owned());
        Ok(())
    }

    fn destroy(&mut self) -> Result<()> {
        self.put(KEY_AT, &[b'0'; DIGITS])
    }

    fn put(&self, at: usize, digits: &[u8]) -> Result<()> {
        let (disk, failed) =
            (Disk::default(), |e: std::io::Error| Error::io(self.path.display(), &e));
        disk.write_at(&self.file, at as u64, digits).map_err(failed)?;
        disk.sync(&self.file).map_err(failed)
    }
}

fn private(path: &Path, file: &File) -> Result<()> {
    if is_private(file).map_err(|e| Error::io(path.display(), &e))? {
        return Ok(());
    }
    let reason = format!(
        "{} can be read by others than its owner: chmod 600, on a file system that knows modes",
        path.display()
    );
    Err(Error::file("release key", reason))
}

/// The key, unless it is destroyed, and the payload that it is bound to.
fn parse(path: &Path, file: &File) -> Result<(Option<ReleaseKey>, Option<String>)> {
    private(path, file)?;
    let mut text = Zeroizing::new(String::with_capacity(2 * LENGTH));
    let read = file.take(2 * LENGTH as u64).read_to_string(&mut text);
    read.map_err(|e| Error::io(path.display(), &e))?;
    let whole = text.len() == LENGTH && text.is_ascii();
    if !whole
        || !text.starts_with(TITLE)
        || &text[TITLE.len()..KEY_AT] != KEY
        || &text[KEY_AT + DIGITS..OUTPUT_AT] != OUTPUT
        || !text.ends_with('\n')
    {
        return Err(Error::file("release key", format!("{} holds none", path.display())));
    }
    let output = &text[OUTPUT_AT..OUTPUT_AT + DIGITS];
    let output = match output.bytes().all(|b| b == b'-') {
        true => None,
        false => Some(output.to_owned()),
    };
    let digits = &text[KEY_AT..KEY_AT + DIGITS];
    let destroyed = digits.bytes().all(|b| b == b'0');
    let key = (!destroyed).then(|| ReleaseKey::parse(digits)).transpose()?;
    Ok((key, output))
}

/// A key that is not destroyed.
fn usable(
    (key, output): (Option<ReleaseKey>, Option<String>),
) -> Result<(ReleaseKey, Option<String>)> {
    match key {
        Some(key) => Ok((key, output)),
        None => {
            let used = output.unwrap_or_else(|| "none".to_owned());
            let reason = format!(
                "was destroyed when its output was published (payload {used}): one key, one output; make a new manifest, \
                 which spends the budget again"
            );
            Err(Error::file("release key", reason))
        }
    }
}
