//! The options of a release that several processes make.

use crate::error::{Error, Result};
use clap::Args;
use dp_core::parts::{KeyFile, ReleaseKey};
use std::path::PathBuf;

/// i of N.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartOf(pub(super) usize, pub(super) usize);

impl core::str::FromStr for PartOf {
    type Err = String;

    fn from_str(text: &str) -> core::result::Result<Self, String> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((i, n)) if (1..=n).contains(&i) => Ok(Self(i, n)),
            _ => Err("expected I/N with I from 1 to N, such as 2/4".into()),
        }
    }
}

/// Options of a release that several processes make.
#[derive(Args, Debug)]
#[command(next_help_heading = "Parts")]
pub(super) struct PartOptions {
    /// Release nothing yet: read the file, fix blocks of its rows and the mechanism in the manifest at --out, draw the release
    /// key into the new file --key, and charge --ledger now. Afterwards --part makes the parts and `dps merge` the release.
    #[arg(long, requires = "key", conflicts_with_all = ["part", "manifest"])]
    pub(super) plan_parts: bool,
    /// Rows of a block, which is read into memory and never divided [default: about 32 MiB of them].
    #[arg(long, value_name = "ROWS", requires = "plan_parts", value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    pub(super) block_rows: Option<u64>,
    /// Make part I of N of a manifest, with the same options as --plan-parts had: a file that only its owner reads.
    #[arg(long, value_name = "I/N", requires = "manifest")]
    pub(super) part: Option<PartOf>,
    /// --part: the manifest.
    #[arg(long, value_name = "FILE", requires = "part")]
    pub(super) manifest: Option<PathBuf>,
    /// The release key: as secret as the rows, for one manifest and one output, destroyed by `dps merge`.
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,
    /// --part: the environment variable that holds the 64 digits of the release key, where there is no file.
    #[arg(long, value_name = "NAME", requires = "part", conflicts_with = "key")]
    key_variable: Option<String>,
}

impl PartOptions {
    /// Whether more than one process makes the release.
    pub(super) fn any(&self) -> bool {
        self.plan_parts || self.part.is_some()
    }

    pub(super) fn key(&self) -> Result<ReleaseKey> {
        match (&self.key, &self.key_variable) {
            (Some(path), _) => Ok(KeyFile::read(path)?),
            (None, Some(name)) => Ok(ReleaseKey::from_environment(name)?),
            (None, None) => Err(Error::usage("--part needs --key or --key-variable")),
        }
    }
}
