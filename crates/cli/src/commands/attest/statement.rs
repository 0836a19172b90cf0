//! What is signed, and the file that says so.

use super::key::{PublicKey, SecretKey, from_hex, hex};
use crate::error::{Error, Result, shown};
use dp_core::certificate::canonical;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// First line of the file, and of what is signed: no other text that a key signs begins so.
const TITLE: &str = "dps attestation 1\n";
const SIGNATURE: &str = "\nsignature ";
/// Most bytes of a comment.
pub(super) const COMMENT: usize = 4096;
/// Most bytes of a file.
const LONGEST: u64 = 1 << 16;

/// What the owner of a key says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statement {
    pub(super) comment: String,
    /// The public key, so that a signature belongs to one key and to no other.
    pub(super) key: String,
    pub(super) of: Object,
    /// Seconds since 1970, as the signer's clock said.
    pub(super) time: u64,
}

/// What it is said of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Object {
    /// A release file, every bit of it.
    Release {
        /// Hash of the canonical text of its certificate.
        certificate: String,
        /// Hash of the file.
        sha256: String,
    },
    /// The first lines of a ledger.
    Ledger {
        /// Hash of the last of them.
        head: String,
        /// Number of the ledger.
        id: String,
        /// How many.
        lines: u64,
    },
}

impl Statement {
    /// The text of a file that says so.
    pub(super) fn signed_by(&self, key: &SecretKey) -> String {
        let text = self.text();
        let signature = hex(&key.sign(&text));
        format!("{text}{SIGNATURE}{signature}\n")
    }

    /// What is signed.
    fn text(&self) -> String {
        format!("{TITLE}{}", canonical(self))
    }

    /// The statement in a file and its signature, which nobody has checked. There is one text for each.
    fn parse(text: &str) -> Option<(Self, [u8; 64])> {
        let rest = text.strip_prefix(TITLE)?.strip_suffix('\n')?;
        let (body, signature) = rest.split_once(SIGNATURE)?;
        let statement: Self = serde_json::from_str(body).ok()?;
        let fits = canonical(&statement) == body && statement.comment.len() <= COMMENT;
        fits.then_some(())?;
        Some((statement, from_hex::<64>(signature)?))
    }

    fn read(path: &Path) -> Result<(Self, [u8; 64])> {
        let refused = |why: &str| {
            Error::Refused(format!(
                "{}: {why}; nothing says who made the file that it should speak of",
                shown(path)
            ))
        };
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|e| refused(&format!("no attestation ({e})")))?;
        let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
        read.map_err(|e| refused(&format!("no attestation ({e})")))?;
        let text = std::str::from_utf8(&bytes).ok().filter(|_| bytes.len() as u64 <= LONGEST);
        text.and_then(Self::parse).ok_or_else(|| refused("no whole attestation"))
    }

    /// Whether a file holds an attestation, whoever signed it.
    pub(super) fn is_in(path: &Path) -> bool {
        Self::read(path).is_ok()
    }

    /// The statement in a file, signed by the owner of `signer`.
    pub(super) fn checked(path: &Path, signer: &PublicKey) -> Result<Self> {
        let (statement, signature) = Self::read(path)?;
        let said = PublicKey::parse(&statement.key).map_err(Error::Refused)?;
        if said != *signer {
            return Err(Error::Refused(format!(
                "{}: signed with key {}, and --signer is {}: somebody else signed it",
                shown(path),
                said.id(),
                signer.id()
            )));
        }
        if !signer.signed(&statement.text(), &signature) {
            return Err(Error::Refused(format!(
                "{}: the signature does not fit key {}: the attestation was altered, or never signed",
                shown(path),
                signer.id()
            )));
        }
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Key and signature of OpenSSL 3: `openssl pkeyutl -sign -rawin`, with the secret of test 1 of RFC 8032.
    const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    const BY_OPENSSL: &str = "c9aeef2961f5d037ebfbbaadf0d69010fa446443e550d9ea6725b5cb24a55eb0\
        2b57d120e980be0217989b3adf2c2f972e86c11f7ff2f21620dd8293192f7600";

    fn statement() -> Statement {
        let of = Object::Ledger { head: "ab".repeat(32), id: "cd".repeat(16), lines: 7 };
        Statement {
            comment: "day 7, \"all\" paid\n".into(),
            key: KEY.into(),
            of,
            time: 1_800_000_000,
        }
    }

    #[test]
    fn what_another_program_signs_is_accepted() {
        let text = statement().text();
        let expected = format!(
            "dps attestation 1\n{{\"comment\":\"day 7, \\\"all\\\" paid\\n\",\"key\":\"{KEY}\",\"of\":{{\"head\":\"{}\",\"id\":\"{}\",\
             \"kind\":\"ledger\",\"lines\":7}},\"time\":1800000000}}",
            "ab".repeat(32),
            "cd".repeat(16)
        );
        assert_eq!(text, expected);
        let signature = from_hex::<64>(BY_OPENSSL).expect("64 bytes");
        let key = PublicKey::parse(KEY).expect("a key");
        assert!(key.signed(&text, &signature));
        let file = format!("{text}{SIGNATURE}{BY_OPENSSL}\n");
        assert_eq!(Statement::parse(&file), Some((statement(), signature)));
        // One bit of the text or of the signature, anywhere.
        for at in 0..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] ^= 1;
            assert!(!key.signed(&String::from_utf8(other).expect("ASCII"), &signature), "{at}");
        }
        for bit in 0..512 {
            let mut other = signature;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.signed(&text, &other), "{bit}");
        }
    }

    /// The order of the group, little-endian: S and S + L fit the equation alike, and one of them only is a signature.
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde,
        0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];

    #[test]
    fn second_signatures_of_a_text_are_refused() {
        let key = PublicKey::parse(KEY).expect("a key");
        let mut other = from_hex::<64>(BY_OPENSSL).expect("64 bytes");
        let mut carry = 0u16;
        for (byte, order) in other[32..].iter_mut().zip(ORDER) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        assert_eq!(carry, 0);
        assert!(!key.signed(&statement().text(), &other));
    }

    #[test]
    fn keys_of_small_order_are_refused() {
        // Orders 1, 2, 4 and 8, as listed with the curve, and a sign that belongs to no point.
        for key in [
            "0100000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "0200000000000000000000000000000000000000000000000000000000000000",
        ] {
            assert!(PublicKey::parse(key).is_err(), "{key}");
        }
    }

    #[test]
    fn a_file_has_one_text() {
        let text = statement().text();
        let file = format!("{text}{SIGNATURE}{BY_OPENSSL}\n");
        assert!(Statement::parse(&file).is_some());
        let changed = [
            file.trim_end().to_owned(),
            format!("{file}\n"),
            file.replace('\n', "\r\n"),
            file.replace("{\"comment\"", "{ \"comment\""),
            file.replace("\"time\":1800000000", "\"time\":1800000000,\"time\":1800000000"),
            file.replace("\"time\":", "\"more\":1,\"time\":"),
            file.replace("\"lines\":7", "\"lines\":7.0"),
            file.replace(BY_OPENSSL, &BY_OPENSSL.to_uppercase()),
            file.replace("attestation 1", "attestation 2"),
            file.replace("day 7", &"x".repeat(COMMENT)),
        ];
        for (i, changed) in changed.iter().enumerate() {
            assert!(*changed != file && Statement::parse(changed).is_none(), "{i}");
        }
        (0..file.len()).for_each(|end| assert!(Statement::parse(&file[..end]).is_none(), "{end}"));
    }
}
