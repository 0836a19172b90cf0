//! The two halves of a signing key, and their files.

use crate::error::{Error, Result};
use dp_core::output::{Existing, Output};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const SECRET: &str = "dps signing key 1\nsecret ";
const PUBLIC: &str = "dps public key 1\nkey ";
/// Digits of a key of 32 bytes.
const DIGITS: usize = 64;

/// What a signature is checked with: 64 hexadecimal digits, or the file that holds them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PublicKey(VerifyingKey);

impl PublicKey {
    /// The key in `text`: its digits, or the name of a file of it.
    pub(crate) fn pinned(text: &str) -> Result<Self> {
        if text.len() == DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Self::parse(&text.to_ascii_lowercase()).map_err(Error::usage);
        }
        let failed = |e| Error::io(text, e);
        let mut held = Zeroizing::new(Vec::new());
        let file = File::open(text).map_err(failed)?;
        file.take(1024).read_to_end(&mut held).map_err(failed)?;
        if held.starts_with(SECRET.as_bytes()) {
            return Err(Error::usage(format!(
                "--signer {text} is a signing key, which only its owner should have: name the public key, {text}.pub"
            )));
        }
        let digits = std::str::from_utf8(&held).ok().and_then(|text| text.strip_prefix(PUBLIC));
        let digits = digits.and_then(|rest| rest.strip_suffix('\n')).ok_or_else(|| {
            Error::usage(format!(
                "--signer {text} is no public key: it takes 64 hexadecimal digits, or the file KEY.pub that \
                 `dps attest --new-key KEY` wrote"
            ))
        })?;
        Self::parse(digits).map_err(|why| Error::usage(format!("--signer {text}: {why}")))
    }

    /// A key from its digits. Keys of small order are refused: under them one signature fits many texts.
    pub(super) fn parse(digits: &str) -> Result<Self, String> {
        let bytes = from_hex::<32>(digits).ok_or("a public key is 64 hexadecimal digits")?;
        match VerifyingKey::from_bytes(&bytes) {
            Ok(key) if !key.is_weak() => Ok(Self(key)),
            _ => Err(format!("{digits} is no public key of Ed25519 that a signature can rest on")),
        }
    }

    pub(super) fn text(&self) -> String {
        hex(self.0.as_bytes())
    }

    /// A short name: the first 16 digits of the hash of the key.
    pub(crate) fn id(&self) -> String {
        hex(&Sha256::digest(self.0.as_bytes())[..8])
    }

    /// Whether the owner of the key signed `text`. There is one signature for a text: other encodings are refused.
    pub(super) fn signed(&self, text: &str, signature: &[u8; 64]) -> bool {
        self.0.verify_strict(text.as_bytes(), &Signature::from_bytes(signature)).is_ok()
    }
}

/// What signs: it wipes itself when it is dropped.
pub(super) struct SecretKey(SigningKey);

impl SecretKey {
    /// Draws a key and writes its two files, `path` and `path.pub`, neither over another file.
    pub(super) fn create(path: &Path) -> Result<PublicKey> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *seed)
            .map_err(|e| Error::io("randomness of the system", std::io::Error::other(e)))?;
        let key = SigningKey::from_bytes(&seed);
        let public = PublicKey(key.verifying_key());
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let failed = |e| Error::io(path, e);
        // Created for its owner only, complete before it has its name, and refused where the name is taken.
        let mut file =
            tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
        private(path, file.as_file())?;
        let digits = Zeroizing::new(hex(&*seed));
        for part in [SECRET, digits.as_str(), "\n"] {
            file.write_all(part.as_bytes()).map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        let beside = beside(path, ".pub");
        let mut out = Output::create(&beside, Existing::Keep)?;
        let text = format!("{PUBLIC}{}\n", public.text());
        out.write_all(text.as_bytes()).map_err(|e| Error::io(&beside, e))?;
        // First the half that is worth something: without it the other one says nothing.
        file.persist_noclobber(path).map_err(|e| Error::io(path, e.error))?;
        if let Err(error) = out.commit() {
            // It was made a moment ago and has signed nothing.
            let _ = std::fs::remove_file(path);
            return Err(error.into());
        }
        Ok(public)
    }

    /// The key in a file that nobody else can read.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let failed = |e| Error::io(path, e);
        let file = File::open(path).map_err(failed)?;
        private(path, &file)?;
        let length = SECRET.len() + DIGITS + 1;
        let mut held = Zeroizing::new(Vec::with_capacity(length + 1));
        file.take(length as u64 + 1).read_to_end(&mut held).map_err(failed)?;
        let text = std::str::from_utf8(&held).ok().and_then(|text| text.strip_prefix(SECRET));
        let seed = text.and_then(|rest| rest.strip_suffix('\n')).and_then(from_hex::<32>);
        let seed = Zeroizing::new(seed.ok_or_else(|| {
            Error::usage(format!(
                "--key {}: no signing key; `dps attest --new-key FILE` makes one",
                crate::error::shown(path)
            ))
        })?);
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    pub(super) fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, text: &str) -> [u8; 64] {
        self.0.sign(text.as_bytes()).to_bytes()
    }
}

/// Refuses a file of a secret that others than its owner can read.
#[cfg(unix)]
fn private(path: &Path, file: &File) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().map_err(|e| Error::io(path, e))?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{}: a signing key that others than its owner can read (mode {:03o}): chmod 600, on a file system that knows \
         modes; if others may have read it, make a new one",
        crate::error::shown(path),
        mode & 0o777
    )))
}

/// Elsewhere nobody can say who reads a file.
#[cfg(not(unix))]
fn private(path: &Path, _: &File) -> Result<()> {
    crate::output::complain(&format!(
        "warning: whether others can read {} is not known on this system",
        crate::error::shown(path)
    ));
    Ok(())
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from exactly twice as many lower-case digits.
pub(super) fn from_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let lower = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 2 * N || !digits.bytes().all(lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// `path` with more at the end of its name.
pub(super) fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(more);
    name.into()
}
