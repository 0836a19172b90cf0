//! `dps completions` and `dps man`: both come from the parser.

use crate::error::{Error, Result};
use crate::output::{self, Record};
use clap::Args;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Options of `dps completions`.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(&self, mut parser: clap::Command) -> Result<Record> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut parser, "dps", &mut text);
        output::print(&String::from_utf8_lossy(&text));
        Ok(Record::silent())
    }
}

/// Options of `dps man`.
#[derive(Args)]
pub(crate) struct Man {
    /// Write one page a command into this folder instead, which is made where it is not there. Files that exist are never written
    /// over.
    #[arg(long, value_name = "FOLDER")]
    out: Option<std::path::PathBuf>,
}

/// Writes the pages, all of which must be new.
fn pages(parser: clap::Command, folder: &Path) -> Result<()> {
    let failed = |e| Error::io(folder, e);
    let made = tempfile::tempdir().map_err(failed)?;
    clap_mangen::generate_to(parser, made.path()).map_err(failed)?;
    let names = std::fs::read_dir(made.path()).map_err(failed)?.flatten().map(|e| e.file_name());
    let names: Vec<_> = names.collect();
    if let Some(name) = names.iter().find(|name| folder.join(name).symlink_metadata().is_ok()) {
        let page = folder.join(name);
        return Err(Error::usage(format!("{} exists, and is never written over", page.display())));
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    for name in names {
        let page = std::fs::read(made.path().join(&name)).map_err(failed)?;
        let path = folder.join(name);
        let new = File::create_new(&path).and_then(|mut file| file.write_all(&page));
        new.map_err(|e| Error::io(&path, e))?;
    }
    Ok(())
}

impl Man {
    pub(crate) fn run(&self, parser: clap::Command) -> Result<Record> {
        let failed = |e| Error::io("man page", e);
        if let Some(folder) = &self.out {
            pages(parser, folder)?;
            return Ok(Record::new().text("pages", folder.display().to_string()));
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(parser).render(&mut text).map_err(failed)?;
        output::print(&String::from_utf8_lossy(&text));
        Ok(Record::silent())
    }
}
